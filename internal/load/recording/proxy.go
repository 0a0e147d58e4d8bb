package recording

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/wire"
)

// maxRequest bounds the bodies of requests that pass, in bytes. Those of responses have the bounds of package contract.
const maxRequest = 64 << 20

var errTooLong = fmt.Errorf("it is longer than %d MiB, which is more than this proxy passes on", maxRequest>>20)

// Grace is how long requests under way may take when a proxy is to end.
const Grace = 5 * time.Second

// Proxy stands between API servers and a webhook: it passes requests and responses on as they are, and records those that are
// conversions. Method, path, query and bodies are untouched, and so are the headers that are not about a single connection.
// It is an http.Handler.
type Proxy struct {
	target    *url.URL
	transport *http.Transport
	recorder  *Recorder
	began     time.Time
	limit     int64         // on the bodies of requests
	grace     time.Duration // Grace

	passed, other, failed, underWay atomic.Int64
}

// Traffic counts what passed a proxy.
type Traffic struct {
	Requests int64 // altogether
	Other    int64 // that asked for no conversion, and are not recorded for that
	Failed   int64 // to which no whole response came
	UnderWay int64 // that are not over, and not recorded so far
}

// NewProxy returns a proxy in front of the webhook at the host of a URL, which it reaches by the transport. Offsets are counted
// from began.
func NewProxy(target *url.URL, transport *http.Transport, recorder *Recorder, began time.Time) *Proxy {
	transport.MaxResponseHeaderBytes = contract.MaxHeader
	transport.DisableCompression = true // it would ask for compressed responses by itself, and decompress them
	return &Proxy{target: target, transport: transport, recorder: recorder, began: began, limit: maxRequest, grace: Grace}
}

// Serve passes on what comes to a listener until the context ends, and returns what passed. It closes the listener. Requests that are still
// under way after Grace are cut off, and not recorded.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener, certificate tls.Certificate) (Traffic, error) {
	defer p.Close()
	server := &http.Server{
		Handler:           p,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		ReadHeaderTimeout: wire.APIServerTimeout,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return p.Traffic(), err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.grace)
	defer cancel()
	if server.Shutdown(within) == nil {
		return p.Traffic(), nil
	}
	// Being cut off is nothing to record.
	p.recorder.Close()
	traffic := p.Traffic()
	server.Close() //nolint:errcheck // there is nothing else to be done
	return traffic, nil
}

// Close closes the idle connections to the webhook.
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }

// Traffic returns what passed so far.
func (p *Proxy) Traffic() Traffic {
	return Traffic{Requests: p.passed.Load(), Other: p.other.Load(), Failed: p.failed.Load(), UnderWay: p.underWay.Load()}
}

// ServeHTTP passes a request on, and what came back. Without a whole response the answer is 502 and says why. The exchange is
// written when the response is on its way.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.passed.Add(1)
	p.underWay.Add(1)
	defer p.underWay.Add(-1)
	x := Exchange{Offset: time.Since(p.began)}
	var err error
	if x.Body, err = read(r.Body, p.limit, errTooLong); err != nil {
		p.failed.Add(1)
		status := http.StatusBadRequest
		if errors.Is(err, errTooLong) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "crdconform record: the request cannot be forwarded: "+err.Error(), status)
		return
	}
	// Passing on may panic, which is how net/http ends the connection of a client that is gone.
	defer func() {
		if _, err := contract.ParseRequest(x.Body); err != nil || r.Method != http.MethodPost {
			p.other.Add(1)
			return
		}
		p.recorder.Record(x)
	}()
	p.pass(w, r, &x)
	// The client is not to wait for the disk.
	http.NewResponseController(w).Flush() //nolint:errcheck // a client that is gone is none of the recording's business
}

// pass passes a request on, and notes in the exchange what came back.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, x *Exchange) {
	began := time.Now()
	proxy := httputil.ReverseProxy{
		Transport: wire.Punctual(p.transport),
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		Rewrite:   func(pr *httputil.ProxyRequest) { p.readdress(pr, x.Body) },
		ModifyResponse: func(response *http.Response) error {
			x.Response.Status, x.Response.ContentType = response.StatusCode, response.Header.Get("Content-Type")
			limit := contract.MaxResponse(len(x.Body))
			body, err := read(response.Body, limit, contract.LengthError(limit))
			x.Service = time.Since(began)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil {
				x.Response.Body, x.Withheld, err = decompressed(body, response.Header.Get("Content-Encoding"), limit)
			}
			return cmp.Or(err, contract.CheckBody(x.Body, x.Response.Body))
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.failed.Add(1)
			x.Service = time.Since(began)
			x.Response.Err = err
			if r.Context().Err() != nil {
				x.Response.TimedOut, x.Response.Err = true, fmt.Errorf("the caller gave up after %s", x.Service.Round(time.Millisecond))
			}
			http.Error(w, "crdconform record: the webhook gave no complete response: "+x.Response.Err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// readdress addresses a request to the webhook.
func (p *Proxy) readdress(pr *httputil.ProxyRequest, body []byte) {
	out := pr.Out
	out.URL.Scheme, out.URL.Host, out.Host = p.target.Scheme, p.target.Host, ""
	out.URL.RawQuery = pr.In.URL.RawQuery // parts that Go does not understand would be gone
	out.ContentLength, out.TransferEncoding = int64(len(body)), nil
	out.GetBody = func() (io.ReadCloser, error) {
		if len(body) == 0 {
			return http.NoBody, nil
		}
		return io.NopCloser(bytes.NewReader(body)), nil
	}
	out.Body, _ = out.GetBody() // it does not fail
}

// read reads a body as a whole. It fails with an error if that is longer than the limit, in bytes.
func read(body io.Reader, limit int64, tooLong error) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(read)) > limit {
		err = tooLong
	}
	return read, err
}

// decompressed returns the body of a response as the webhook meant it, or else why it cannot. It fails when that is longer than the
// limit, in bytes.
func decompressed(body []byte, encoding string, limit int64) (plain []byte, withheld string, err error) {
	switch encoding {
	case "", "identity":
		return body, "", nil
	case "gzip":
		zip, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			plain, err = read(zip, limit, contract.LengthError(limit))
		}
		if tooLong := contract.LengthError(0); err == nil || errors.As(err, &tooLong) {
			return plain, "", err
		}
	}
	return nil, fmt.Sprintf("its Content-Encoding is %q, and it cannot be decoded", encoding), nil
}
