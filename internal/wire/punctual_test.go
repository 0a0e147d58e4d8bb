package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
)

// stuck is a transport whose responses have bodies that end only when they are closed.
type stuck struct{ protocol int }

func (s stuck) RoundTrip(*http.Request) (*http.Response, error) {
	read, _ := io.Pipe() // nothing is ever written
	return &http.Response{ProtoMajor: s.protocol, Body: read}, nil
}

// TestPunctual has the body of a response over HTTP/2 end with the context of its request, though the transport does not notice that.
func TestPunctual(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := Punctual(stuck{2}).RoundTrip(request) //nolint:bodyclose // it is closed in the end
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(response.Body)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("reading ended with %v, want that the context was canceled", err)
	}
	// Over HTTP/1.1 net/http does it itself.
	plain, err := Punctual(stuck{1}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if _, wrapped := plain.Body.(punctualBody); wrapped {
		t.Error("a body over HTTP/1.1 is watched too")
	}
}
