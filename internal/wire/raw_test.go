package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestSendRaw(t *testing.T) {
	authority := newAuthority(t)
	var asked atomic.Int64
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%s %s %s %v %d %q", r.Method, r.RequestURI, r.Proto, r.Header["Content-Type"], r.ContentLength, body)
	}, "127.0.0.1")
	for name, test := range map[string]struct {
		method string
		header http.Header
		body   string
		want   string
	}{
		"a GET":                  {http.MethodGet, nil, "", `GET /convert?timeout=30s HTTP/1.1 [application/json] 0 ""`},
		"an empty body":          {http.MethodPost, nil, "", `POST /convert?timeout=30s HTTP/1.1 [application/json] 0 ""`},
		"half a body":            {http.MethodPost, nil, `{"kind":`, `POST /convert?timeout=30s HTTP/1.1 [application/json] 8 "{\"kind\":"`},
		"another type":           {http.MethodPost, http.Header{"Content-Type": {"text/xml"}}, "{}", `POST /convert?timeout=30s HTTP/1.1 [text/xml] 2 "{}"`},
		"no type":                {http.MethodPost, http.Header{}, "{}", `POST /convert?timeout=30s HTTP/1.1 [] 2 "{}"`},
		"bytes that are no text": {http.MethodPut, nil, "\x00\xff", `PUT /convert?timeout=30s HTTP/1.1 [application/json] 2 "\x00\xff"`},
	} {
		asked.Store(0)
		before := maps.Clone(test.header)
		response := connect(t, Endpoint{URL: url + "/convert", CA: authority.PEM()}).SendRaw(t.Context(), test.method, test.header, []byte(test.body))
		if response.Err != nil || response.Status != 503 || string(response.Body) != test.want || response.ContentType != "text/plain" || response.Attempts != 1 {
			t.Errorf("%s: got %+v with %s, want %s", name, response, response.Body, test.want)
		}
		if asked.Load() != 1 {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
		if !maps.EqualFunc(before, test.header, slices.Equal) {
			t.Errorf("%s: the header of the caller is now %v", name, test.header)
		}
	}
}

func TestSendRawErrors(t *testing.T) {
	authority := newAuthority(t)
	url := serve(t, authority, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // or it would answer while the client hangs up
	}, "127.0.0.1")
	client := connect(t, Endpoint{URL: url, CA: authority.PEM(), Timeout: 100 * time.Millisecond})
	if response := client.SendRaw(t.Context(), http.MethodGet, nil, nil); !response.TimedOut || response.Interrupted || !strings.Contains(response.Err.Error(), "within 100ms") {
		t.Errorf("too slow: got %+v", response)
	}
	if response := client.SendRaw(t.Context(), "NO METHOD", nil, nil); response.Err == nil || !strings.Contains(response.Err.Error(), "invalid method") {
		t.Errorf("no method: got %+v", response)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if response := client.SendRaw(ctx, http.MethodPost, nil, nil); !response.Interrupted || !errors.Is(response.Err, context.Canceled) {
		t.Errorf("cancelled: got %+v", response)
	}
}
