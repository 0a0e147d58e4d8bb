package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/fixtures"
)

// nowhere is a cluster that can do no more than listen.
type nowhere struct{}

func (nowhere) Name() string               { return "nowhere" }
func (nowhere) Config() *rest.Config       { return &rest.Config{Host: "https://127.0.0.1:1"} }
func (nowhere) WatchCache() bool           { return true }
func (nowhere) Stop(context.Context) error { return nil }
func (nowhere) Listen(ctx context.Context) (net.Listener, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return listener, "127.0.0.1", err
}

// answer is what came back from the proxy.
type answer struct {
	status, http int
	retryAfter   string
	body         string
}

func TestProxy(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		waiting, release := make(chan struct{}, 2), make(chan struct{})
		endpoint := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.URL.RawQuery != "timeout=30s" || r.Header.Get("User-Agent") != "somebody" {
				t.Errorf("got %s with %v, %d bytes, %v", r.URL, r.Header, len(body), err)
			}
			switch r.Header.Get("Want") {
			case "retry":
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
			case "drop":
				panic(http.ErrAbortHandler)
			case "wait":
				waiting <- struct{}{}
				<-release
			}
			w.Write(body)
		}))
		endpoint.HTTP2 = http2
		p, err := startProxy(t.Context(), nowhere{}, endpoint)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(p.ca)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
		client := &http.Client{Transport: transport}
		ask := func(want string) (answer, error) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"?timeout=30s", strings.NewReader(string(fixtures.ReviewRequest("v1"))))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("User-Agent", "somebody")
			request.Header.Set("Want", want)
			response, err := client.Do(request)
			if err != nil {
				return answer{}, err
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			return answer{response.StatusCode, response.ProtoMajor, response.Header.Get("Retry-After"), string(body)}, err
		}
		counted := p.count()
		want := answer{http.StatusOK, map[bool]int{false: 1, true: 2}[http2], "", string(fixtures.ReviewRequest("v1"))}
		if got, err := ask(""); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		want.status, want.retryAfter = http.StatusServiceUnavailable, "1"
		if got, err := ask("retry"); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if got := counted(); got.Calls != 2 || got.Objects != 4 || got.MostObjects != 2 || got.MostInFlight != 1 || got.Unanswered > 0 || got.Seconds <= 0 {
			t.Errorf("got %+v", got)
		}
		if got, err := ask("drop"); err == nil {
			t.Errorf("the webhook gives no response, and the proxy %+v", got)
		}
		// Without a response, clients may ask again.
		if got := counted(); got.Unanswered == 0 || got.Unanswered != got.Calls-2 {
			t.Errorf("got %+v", got)
		}
		counted = p.count()
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := ask("wait")
				done <- err
			}()
			<-waiting
		}
		if p.quiet(0) {
			t.Error("calls are in flight, and it is quiet")
		}
		close(release)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := counted(); got.Calls != 2 || got.MostInFlight != 2 {
			t.Errorf("got %+v", got)
		}
		if p.quiet(time.Hour) {
			t.Error("calls were just over, and it was quiet for an hour")
		}
		transport.CloseIdleConnections()
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}
