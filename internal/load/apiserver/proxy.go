package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// proxy stands between the API server and the webhook, and counts what passes. It changes nothing: what the API server sends
// goes on with its headers, and what comes back, or does not, is the webhook's, but for what is longer than contract.MaxResponse
// allows. API servers get to it by the version of HTTP by which they would get to the webhook.
type proxy struct {
	url    string
	ca     []byte
	client *wire.Client
	server *http.Server
	done   chan error

	mu       sync.Mutex
	seen     loadgen.Calls
	calls    []call
	inFlight int
	last     time.Time // when a call came, or was over
}

func startProxy(ctx context.Context, c cluster.Cluster, e wire.Endpoint) (*proxy, error) {
	client, err := wire.Connect(e)
	if err != nil {
		return nil, err
	}
	authority, err := pki.NewAuthority("crdconform proxy")
	if err != nil {
		return nil, err
	}
	listener, host, err := c.Listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening a port that the %s cluster can reach: %w", c.Name(), err)
	}
	p := &proxy{ca: authority.PEM(), client: client, done: make(chan error, 1)}
	certificate, err := certify(authority, host)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.url = "https://" + net.JoinHostPort(host, port) + "/convert"
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(e.HTTP2)
	p.server = &http.Server{
		Handler:   p,
		Protocols: protocols,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	go func() { p.done <- p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

func certify(authority *pki.Authority, host string) (tls.Certificate, error) {
	pair, err := authority.Server(host, "localhost")
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair.TLS()
}

func (p *proxy) close() error {
	err := p.server.Close()
	if ended := <-p.done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	p.client.Close()
	return err
}

// ServeHTTP passes a call on.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the API server went away
	}
	objects := namesOf(body)
	began := p.begin(len(objects))
	answered := false
	defer func() { p.end(began, objects, answered) }()
	request, err := http.NewRequestWithContext(r.Context(), r.Method, p.client.URL(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Accept-Encoding") // net/http adds the same, and decompresses
	response, err := p.client.HTTP().Do(request)
	if err != nil {
		panic(http.ErrAbortHandler) // the API server is to have no response either
	}
	defer response.Body.Close()
	for name, values := range response.Header {
		if name != "Connection" { // which is about the webhook's own connection
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	limit := contract.MaxResponse(len(body))
	if passed, err := io.Copy(w, io.LimitReader(response.Body, limit+1)); err != nil || passed > limit {
		panic(http.ErrAbortHandler)
	}
	answered = true
}

// namesOf are the names of the objects to convert.
func namesOf(body []byte) []string {
	request, err := contract.ParseRequest(body)
	if err != nil {
		return nil
	}
	names := make([]string, len(request.Objects))
	for i, raw := range request.Objects {
		var object struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if json.Unmarshal(raw, &object) == nil {
			names[i] = object.Metadata.Name
		}
	}
	return names
}

func (p *proxy) begin(objects int) time.Time {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight++
	p.last = now
	s := &p.seen
	s.Calls++
	s.Objects += uint64(objects)
	s.MostObjects = max(s.MostObjects, objects)
	s.MostInFlight = max(s.MostInFlight, p.inFlight)
	return now
}

func (p *proxy) end(began time.Time, objects []string, answered bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.last = now
	p.seen.Seconds += now.Sub(began).Seconds()
	p.calls = append(p.calls, call{objects, span{began, now}})
	if !answered {
		p.seen.Unanswered++
	}
}

// count starts counting. The function that it returns reports what was seen since then. Only one count runs at a time.
func (p *proxy) count() func() loadgen.Calls {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.calls = loadgen.Calls{MostInFlight: p.inFlight}, nil
	return func() loadgen.Calls {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.seen
	}
}

// passed are the calls that are over, of those that are counted.
func (p *proxy) passed() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// quiet reports whether no call is in flight, and none came or was over for a while.
func (p *proxy) quiet(since time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight == 0 && time.Since(p.last) >= since
}
