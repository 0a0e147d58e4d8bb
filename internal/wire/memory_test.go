package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/pki"
)

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.ContentLength != int64(len(body)) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Write(body)
}

func TestSender(t *testing.T) {
	authority := newAuthority(t)
	url := serve(t, authority, echo, "127.0.0.1")
	large := bytes.Repeat([]byte("x"), joined)
	for _, http2 := range []bool{false, true} {
		sender := connectSender(t, Endpoint{URL: url, CA: authority.PEM(), HTTP2: http2})
		for name, parts := range map[string][][]byte{
			"no part":     {},
			"empty parts": {nil, {}},
			"one part":    {[]byte("one")},
			"small parts": {[]byte("before"), []byte("uid"), []byte("after")},
			"large parts": {large, []byte("uid"), large},
		} {
			want := slices.Concat(parts...)
			for _, into := range [][]byte{nil, make([]byte, 0, 3), make([]byte, 10, 2*len(want)+1024), []byte("what was there before")} {
				response := sender.Send(t.Context(), into, parts...)
				if response.Err != nil || response.Status != 200 || !bytes.Equal(response.Body, want) {
					t.Errorf("%s into %d bytes: got %d with %d bytes, %v", name, cap(into), response.Status, len(response.Body), response.Err)
				}
				if fits := cap(into) > len(want)+512; fits && &response.Body[:1][0] != &into[:1][0] {
					t.Errorf("%s: the response is not in the memory that was there for it", name)
				}
			}
			if !bytes.Equal(slices.Concat(parts...), want) {
				t.Errorf("%s: the parts were changed", name)
			}
		}
	}
}

// TestPartsAreSentAgain has a webhook that redirects, or wants to be asked again, so that the body must be read anew.
func TestPartsAreSentAgain(t *testing.T) {
	authority := newAuthority(t)
	var asked atomic.Int64
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == 1 && r.URL.Path == "/redirect":
			io.Copy(io.Discard, r.Body)
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case n == 1:
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "not yet")
		default:
			echo(w, r)
		}
	}, "127.0.0.1")
	large := bytes.Repeat([]byte("x"), joined)
	into := make([]byte, 0, 3*joined)
	for _, path := range []string{"/redirect", "/retry"} {
		for _, parts := range [][][]byte{{[]byte("before"), []byte("after")}, {large, large}} {
			asked.Store(0)
			response := connectSender(t, Endpoint{URL: url + path, CA: authority.PEM()}).Send(t.Context(), into, parts...)
			if response.Err != nil || !bytes.Equal(response.Body, slices.Concat(parts...)) || asked.Load() != 2 {
				t.Errorf("%s: got %d with %d bytes, %v, on request %d", path, response.Status, len(response.Body), response.Err, asked.Load())
			}
			if redirected := path == "/redirect"; redirected != (response.RedirectedTo == url+"/there") || redirected != (response.Attempts == 1) {
				t.Errorf("%s: redirected to %q, attempt %d", path, response.RedirectedTo, response.Attempts)
			}
		}
	}
}

// TestLengths has webhooks say how long their response is, truly or not.
func TestLengths(t *testing.T) {
	authority := newAuthority(t)
	const limit = 1 << 20
	for name, test := range map[string]struct {
		length string // Content-Length; empty for none
		body   int    // bytes that are sent
		want   int    // bytes that are read
		err    string
	}{
		"none":                    {"0", 0, 0, ""},
		"short":                   {"100", 100, 100, ""},
		"long":                    {"700000", 700_000, 700_000, ""},
		"not said":                {"", 700_000, 700_000, ""},
		"less than said":          {"700000", 1000, 1000, "unexpected EOF"},
		"as long as may be":       {"1048576", limit, limit, ""},
		"too long":                {"1048577", limit + 1, limit + 1, "longer than 1024 KiB"},
		"too long, and not said":  {"", limit + 5, limit + 1, "longer than 1024 KiB"},
		"far too much to be true": {"9000000000000000000", 1000, 1000, "unexpected EOF"},
	} {
		url := serve(t, authority, func(w http.ResponseWriter, _ *http.Request) {
			if test.length != "" {
				w.Header().Set("Content-Length", test.length)
			}
			for sent := 0; sent < test.body; sent += 1000 {
				w.Write(make([]byte, min(1000, test.body-sent)))
			}
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "127.0.0.1")
		if test.err == "" {
			url = serve(t, authority, func(w http.ResponseWriter, _ *http.Request) {
				if test.length != "" {
					w.Header().Set("Content-Length", test.length)
				}
				w.Write(make([]byte, test.body))
			}, "127.0.0.1")
		}
		sender := connectSender(t, Endpoint{URL: url, CA: authority.PEM()})
		sender.client.limit = func(int) int64 { return limit }
		response := sender.Send(t.Context(), make([]byte, 0, 100))
		if response.Status != 200 || len(response.Body) != test.want || (response.Err == nil) != (test.err == "") {
			t.Errorf("%s: got %d with %d bytes, %v", name, response.Status, len(response.Body), response.Err)
		} else if test.err != "" && !strings.Contains(response.Err.Error(), test.err) {
			t.Errorf("%s: got %v, want something with %q", name, response.Err, test.err)
		}
		if cap(response.Body) > 2*limit {
			t.Errorf("%s: %d bytes of memory for %d", name, cap(response.Body), len(response.Body))
		}
	}
}

// TestSenderByMany has many requests under way at the same time, which share parts and have each their own memory.
func TestSenderByMany(t *testing.T) {
	authority := newAuthority(t)
	sender := connectSender(t, Endpoint{URL: serve(t, authority, echo, "127.0.0.1"), CA: authority.PEM()})
	before, after := []byte("before"), bytes.Repeat([]byte("after"), joined/5)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			var into []byte
			for i := range 50 {
				uid := fmt.Appendf(nil, "%d-%d", n, i)
				response := sender.Send(t.Context(), into, before, uid, after)
				if want := slices.Concat(before, uid, after); response.Err != nil || !bytes.Equal(response.Body, want) {
					t.Errorf("%s: got %d with %d bytes, %v", uid, response.Status, len(response.Body), response.Err)
				}
				into = response.Body
			}
		})
	}
	all.Wait()
	if want := Header(); fmt.Sprint(sender.client.header) != fmt.Sprint(want) {
		t.Errorf("the header that all share is %v, want %v", sender.client.header, want)
	}
}

// TestSenderEnds has what Send has when there is no answer in time, or the caller gives up, with one request at least before
// that on the same connection.
func TestSenderEnds(t *testing.T) {
	authority := newAuthority(t)
	var silent atomic.Bool
	url := serve(t, authority, func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		echo(w, r)
	}, "127.0.0.1")
	sender := connectSender(t, Endpoint{URL: url, CA: authority.PEM(), Timeout: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	for name, test := range map[string]struct {
		ctx   context.Context //nolint:containedctx // a case of the table
		after func()
		want  contract.Response
	}{
		"too late":    {t.Context(), func() {}, contract.Response{TimedOut: true}},
		"interrupted": {ctx, cancel, contract.Response{Interrupted: true}},
	} {
		silent.Store(false)
		into := make([]byte, 0, 1000)
		if response := sender.Send(test.ctx, into, []byte("first")); response.Err != nil || string(response.Body) != "first" {
			t.Fatalf("%s: got %+v", name, response)
		}
		silent.Store(true)
		test.after()
		response := sender.Send(test.ctx, into, []byte("second"))
		if response.Err == nil || response.TimedOut != test.want.TimedOut || response.Interrupted != test.want.Interrupted || len(response.Body) > 0 {
			t.Errorf("%s: got %+v", name, response)
		}
	}
}

// BenchmarkSend sends to a server with canned responses, as large as the requests, with 16 requests under way at once. The
// server takes its share of the machine. Client and Sender are what this package has; Plain is http.Client with io.ReadAll,
// without a time limit or a look at the response.
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{1300, 600_000} {
		url, ca := canned(b, size)
		client, err := Connect(Endpoint{URL: url, CA: ca})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(client.Close)
		sender := client.Sender()
		b.Cleanup(sender.Close)
		body := make([]byte, size)
		third := size / 3
		parts := [][]byte{body[:third], body[third : third+36], body[third+36:]}
		for _, way := range []struct {
			name string
			send func(ctx context.Context, into []byte) []byte
		}{
			{"Sender", func(ctx context.Context, into []byte) []byte { return sender.Send(ctx, into, parts...).Body }},
			{"Client", func(ctx context.Context, _ []byte) []byte { return client.Send(ctx, slices.Concat(parts...)).Body }},
			{"Plain", func(ctx context.Context, _ []byte) []byte { return plain(ctx, b, client, slices.Concat(parts...)) }},
		} {
			b.Run(fmt.Sprintf("%s/bytes=%d", way.name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					var into []byte
					for pb.Next() {
						if into = way.send(b.Context(), into); len(into) != size {
							b.Errorf("%d bytes came back, want %d", len(into), size)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

// canned serves the same so many bytes over and over.
func canned(b *testing.B, size int) (url string, ca []byte) {
	b.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		b.Fatal(err)
	}
	answer, length := make([]byte, size), []string{strconv.Itoa(size)}
	return serve(b, authority, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["Content-Length"] = length
		w.Header()["Content-Type"] = []string{"application/json"}
		w.Write(answer)
	}, "127.0.0.1"), authority.PEM()
}

// plain sends a request as programs do that need nothing but the response.
func plain(ctx context.Context, b *testing.B, client *Client, body []byte) []byte {
	b.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.URL(), bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return nil
	}
	request.Header = Header()
	response, err := client.HTTP().Do(request)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		b.Error(err)
	}
	return all
}
