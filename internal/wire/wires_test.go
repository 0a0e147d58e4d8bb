package wire

import (
	"context"
	"testing"

	"github.com/crdconform/crdconform/contract"
)

// sending sends a request to an endpoint, within the limit for responses if that is not 0.
type sending func(ctx context.Context, t *testing.T, e Endpoint, limit int64, body []byte) contract.Response

// TestWires has everything that API servers do with a response hold for requests of a client, which net/http sends, and for those of a
// sender, which it does not send over HTTP/1.1.
func TestWires(t *testing.T) {
	for wire, send := range map[string]sending{
		"client": func(ctx context.Context, t *testing.T, e Endpoint, limit int64, body []byte) contract.Response {
			t.Helper()
			client := connect(t, e)
			if limit > 0 {
				client.limit = func(int) int64 { return limit }
			}
			return client.Send(ctx, body)
		},
		"sender": func(ctx context.Context, t *testing.T, e Endpoint, limit int64, body []byte) contract.Response {
			t.Helper()
			sender := connectSender(t, e)
			if limit > 0 {
				sender.client.limit = func(int) int64 { return limit }
			}
			return sender.Send(ctx, nil, body)
		},
	} {
		for name, test := range map[string]func(*testing.T, sending){
			"Send": testSend, "Explained": testExplained, "Timeout": testTimeout, "HalfABody": testHalfABody,
			"Redirects": testRedirects, "RedirectsOfServices": testRedirectsOfServices, "Paths": testPaths,
			"Compression": testCompression, "Retries": testRetries, "Interruptions": testInterruptions,
		} {
			t.Run(wire+"/"+name, func(t *testing.T) { test(t, send) })
		}
	}
}

// connectSender returns a sender that is closed when the test is over.
func connectSender(t *testing.T, e Endpoint) *Sender {
	t.Helper()
	sender := connect(t, e).Sender()
	t.Cleanup(sender.Close)
	return sender
}
