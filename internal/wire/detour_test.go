package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
)

// testRedirects follows redirects as API servers do: those by 307 and 308 with the request, those by 301 to 303 with
// nothing but a GET.
func testRedirects(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	other := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	}, "127.0.0.1")
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		switch r.URL.Path {
		case "/308/nowhere":
			http.Redirect(w, r, "https://me:secret@no-such-host.invalid/", status)
		case "/307/malformed":
			w.Header().Set("Location", "https://me:secret@host/%zz")
			w.WriteHeader(status)
		case "/307/loop":
			http.Redirect(w, r, "/307/loop", status)
		case "/307/without":
			w.WriteHeader(status)
		default:
			http.Redirect(w, r, strings.Replace(other, "https://", "https://me:secret@", 1)+"/there", status)
		}
	}, "127.0.0.1")
	ask := func(path string) contract.Response {
		return send(t.Context(), t, Endpoint{URL: url + path, CA: authority.PEM()}, 0, []byte("request"))
	}
	for status, want := range map[int]string{301: "GET ", 302: "GET ", 303: "GET ", 307: "POST request", 308: "POST request"} {
		response := ask(fmt.Sprint("/", status))
		if response.Err != nil || response.Status != 200 || string(response.Body) != want || response.RedirectedTo != other+"/there" {
			t.Errorf("%d: got %+v, want %s", status, response, want)
		}
	}
	if response := ask("/307/loop"); response.Err != nil || response.Status != 307 || response.RedirectedTo != url+"/307/loop" {
		t.Errorf("round and round: got %+v", response)
	}
	if response := ask("/307/without"); response.Err != nil || response.Status != 307 || response.RedirectedTo != "" {
		t.Errorf("without a place: got %+v", response)
	}
	if response := ask("/307/malformed"); response.Err == nil || !strings.Contains(response.Err.Error(), "it redirects to an invalid URL") ||
		strings.Contains(response.Err.Error(), "secret") {
		t.Errorf("to what is no URL: got %+v", response)
	}
	response := ask("/308/nowhere")
	if response.Err == nil || response.Status != 0 || response.RedirectedTo != "https://no-such-host.invalid/" ||
		!strings.Contains(response.Err.Error(), "which redirects to https://no-such-host.invalid/: the host no-such-host.invalid cannot be resolved") {
		t.Errorf("to nowhere: got %+v", response)
	}
}

// testRedirectsOfServices redirects to the name of the service, which is not known where the test runs.
func testRedirectsOfServices(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "https://"+r.Host+"/there", http.StatusTemporaryRedirect)
		}
	}, "service.namespace.svc")
	response := send(t.Context(), t, Endpoint{URL: url, CA: authority.PEM(), ServerName: "service.namespace.svc"}, 0, nil)
	if response.Err != nil || response.Status != 200 || !strings.HasPrefix(response.RedirectedTo, "https://service.namespace.svc:") {
		t.Errorf("got %+v", response)
	}
}

// testPaths tidies paths up as API servers do.
func testPaths(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	var got string
	url := serve(t, authority, func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI }, "127.0.0.1")
	for given, want := range map[string]string{
		"": "/", "/": "/", "/convert": "/convert", "/convert/": "/convert", "//a//b": "/a/b", "/a/../b": "/b",
	} {
		if send(t.Context(), t, Endpoint{URL: url + given, CA: authority.PEM()}, 0, nil); got != want+"?timeout=30s" {
			t.Errorf("%q: asked for %s, want %s", given, got, want)
		}
	}
}

func testCompression(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	compressed := func(plain []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(plain)
		w.Close()
		return b.Bytes()
	}
	whole := compressed([]byte("text"))
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(map[string][]byte{
			"/whole": whole,
			"/half":  whole[:len(whole)-8],
			"/plain": []byte("text that is not compressed"),
			"/bomb":  compressed(make([]byte, 3<<20)),
		}[r.URL.Path])
	}, "127.0.0.1")
	for name, test := range map[string]struct{ body, err string }{
		"whole": {"text", ""},
		"half":  {"text", "EOF"},
		"plain": {"", "gzip"},
		"bomb":  {string(make([]byte, 2<<20+1)), "longer than 2048 KiB"},
	} {
		response := send(t.Context(), t, Endpoint{URL: url + "/" + name, CA: authority.PEM()}, 2<<20, nil)
		if response.Status != 200 || string(response.Body) != test.body || (response.Err == nil) != (test.err == "") {
			t.Errorf("%s: got %d with %d bytes, %v", name, response.Status, len(response.Body), response.Err)
		} else if test.err != "" && (!strings.Contains(response.Err.Error(), test.err) || response.TimedOut) {
			t.Errorf("%s: got %v, want something with %q", name, response.Err, test.err)
		}
	}
}

// testRetries asks again when the webhook wants it and API servers would.
func testRetries(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	for name, test := range map[string]struct {
		status     int
		retryAfter string
		times      int64 // that the webhook is not ready
		want       int   // status in the end
		attempts   int
	}{
		"at once":                    {503, "0", 0, 200, 1},
		"429":                        {429, "0", 2, 200, 3},
		"500":                        {500, "0", 1, 200, 2},
		"503":                        {503, "0", 10, 200, 11},
		"503 for too long":           {503, "0", 11, 503, 11},
		"404":                        {404, "0", 1, 404, 1},
		"200":                        {200, "0", 1, 200, 1},
		"no time":                    {503, "", 1, 503, 1},
		"a date":                     {503, "Fri, 31 Dec 1999 23:59:59 GMT", 1, 503, 1},
		"a time in the past":         {503, "-1", 1, 200, 2},
		"a time after the last time": {503, "3600", 1, 503, 1},
	} {
		var asked atomic.Int64
		url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); string(body) != "request" {
				t.Errorf("%s: got %q", name, body)
			}
			if asked.Add(1) > test.times {
				return
			}
			if test.retryAfter != "" {
				w.Header().Set("Retry-After", test.retryAfter)
			}
			w.WriteHeader(test.status)
			io.WriteString(w, "not yet")
		}, "127.0.0.1")
		response := send(t.Context(), t, Endpoint{URL: url, CA: authority.PEM()}, 0, []byte("request"))
		if response.Err != nil || response.Status != test.want || response.Attempts != test.attempts {
			t.Errorf("%s: got %+v, want %d on attempt %d", name, response, test.want, test.attempts)
		}
		if int(asked.Load()) != test.attempts {
			t.Errorf("%s: asked %d times, want %d", name, asked.Load(), test.attempts)
		}
	}
}

// testInterruptions has the caller give up: before, while waiting for an answer, in the middle of one, and before a retry.
func testInterruptions(t *testing.T, send sending) { //nolint:thelper // it is a test, which TestWires runs
	authority := newAuthority(t)
	enough := errors.New("enough")
	for _, path := range []string{"/before", "/silent", "/half", "/retry"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
			switch path {
			case "/half":
				w.Write([]byte("half"))
				http.NewResponseController(w).Flush()
			case "/retry":
				w.Header().Set("Retry-After", "20")
				w.WriteHeader(http.StatusServiceUnavailable)
				http.NewResponseController(w).Flush()
			}
			cancel(enough)
			if path != "/retry" {
				<-r.Context().Done()
				panic(http.ErrAbortHandler) // or the end of the body might arrive all the same
			}
		}, "127.0.0.1")
		if path == "/before" {
			cancel(enough)
		}
		client := connect(t, Endpoint{URL: url + path, CA: authority.PEM()})
		response := send(ctx, t, client.Endpoint(), 0, nil)
		if !response.Interrupted || response.TimedOut || !errors.Is(response.Err, context.Canceled) || !errors.Is(response.Err, enough) {
			t.Errorf("%s: got %+v", path, response)
		}
		if err := client.Reach(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
			t.Errorf("%s: Reach: got %v", path, err)
		}
	}
	ended, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	response := send(ended, t, Endpoint{URL: "https://127.0.0.1/"}, 0, nil)
	if !response.Interrupted || response.TimedOut || !errors.Is(response.Err, context.DeadlineExceeded) {
		t.Errorf("deadline of the caller: got %+v", response)
	}
}
