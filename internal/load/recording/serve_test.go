package recording

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestServe has a request under way when the proxy is to end. It is recorded if it is answered, and counted if not.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]int{"answered": 1, "cut off": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, answer := make(chan struct{}), make(chan struct{})
			b := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				<-answer
				webhook.Handler().ServeHTTP(w, r)
			}), Options{})
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			b.grace = 20 * time.Millisecond
			if answered == 1 {
				b.grace = time.Hour
			}
			ctx, interrupt := context.WithCancel(t.Context())
			served := make(chan Traffic)
			go func() {
				traffic, err := b.Serve(ctx, listener, b.server.TLS.Certificates[0])
				if err != nil {
					t.Error(err)
				}
				served <- traffic
			}()
			address := url.URL{Scheme: "https", Host: listener.Addr().String()}
			got := make(chan error)
			go func() { got <- posted(context.WithoutCancel(t.Context()), b.server, address.String()) }()
			<-asked
			interrupt()
			for err = nil; err == nil; { // the port is closed first
				var c net.Conn
				if c, err = new(net.Dialer).DialContext(t.Context(), "tcp", address.Host); err == nil {
					c.Close()
				}
			}
			if answered == 1 {
				close(answer)
			} else {
				defer close(answer)
			}
			if err := <-got; (err == nil) != (answered == 1) {
				t.Errorf("the caller got %v", err)
			}
			traffic, summary := <-served, b.recorder.Close()
			if traffic.UnderWay != int64(1-answered) || traffic.Requests != 1 || summary.Exchanges != answered {
				t.Errorf("got %+v and %+v", traffic, summary)
			}
			if read, err := Read(&b.file); err != nil || answered == 1 && read.Exchanges[0].Response.Status != http.StatusOK {
				t.Errorf("recorded are %+v, %v", read, err)
			}
		})
	}
}

// posted sends a request to a URL with a client of a server, and returns why it has no whole response.
func posted(ctx context.Context, server *httptest.Server, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(fixtures.ReviewRequest("v1")))
	if err != nil {
		return err
	}
	response, err := server.Client().Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return err
}
