package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// between is a proxy that records to memory, in front of a webhook.
type between struct {
	*Proxy
	server   *httptest.Server // of the proxy
	recorder *Recorder
	file     bytes.Buffer
}

func proxied(t *testing.T, handler http.Handler, o Options) *between {
	t.Helper()
	behind := httptest.NewTLSServer(handler)
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := behind.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatalf("got a %T", behind.Client().Transport)
	}
	b := &between{}
	if b.recorder, err = NewRecorder(&b.file, o); err != nil {
		t.Fatal(err)
	}
	b.Proxy = NewProxy(target, transport, b.recorder, time.Now())
	b.server = httptest.NewUnstartedServer(b.Proxy)
	b.server.EnableHTTP2 = true
	b.server.StartTLS()
	t.Cleanup(func() {
		b.server.Close()
		b.Close()
	})
	return b
}

// recorded ends the proxy and returns what it recorded.
func (b *between) recorded(t *testing.T) (*Recording, Summary) {
	t.Helper()
	b.server.Close()
	for b.Traffic().UnderWay > 0 { // a client may have its answer before the exchange is written
		runtime.Gosched()
	}
	summary := b.recorder.Close()
	read, err := Read(&b.file)
	if err != nil {
		t.Fatal(err)
	}
	return read, summary
}

// client returns a client of a server that changes nothing by itself.
func client(t *testing.T, server *httptest.Server, http2 bool) *http.Client {
	t.Helper()
	transport, ok := server.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatalf("got a %T", server.Client().Transport)
	}
	transport = transport.Clone()
	transport.DisableCompression = true
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.Protocols.SetHTTP2(http2)
	transport.TLSClientConfig.NextProtos = []string{map[bool]string{false: "http/1.1", true: "h2"}[http2]}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// passage is a request or response as somebody saw it.
type passage struct {
	line   string // method, path and query, or status
	header http.Header
	body   string
}

func squeezed(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBytesPassAsTheyAre compares what goes in at one end of the proxy with what comes out at the other.
func TestBytesPassAsTheyAre(t *testing.T) {
	t.Parallel()
	request := string(fixtures.ReviewRequest("v1"))
	spaced := "\n{ \"kind\" : \"ConversionReview\",\t\"kind\": \"ConversionReview\", \"apiVersion\":\"apiextensions.k8s.io/v1\", \"request\":{\"uid\":\"\\u0061\", \"n\": 1.50e+2, \"objects\":[ ]} }\r\n\n"
	answer := fixtures.ReviewSuccess("v1")
	for name, test := range map[string]struct {
		request  passage
		response passage
		chunked  bool
		recorded int
		other    int64
		body     []byte // of the response, as recorded
	}{
		"as API servers do": {
			passage{"POST /convert?timeout=30s", http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, */*"}, "User-Agent": {"kube-apiserver-admission"}, "Accept-Encoding": {"gzip"},
			}, request},
			passage{"200", http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(answer))}}, string(answer)},
			false, 1, 0, answer,
		},
		"compressed": {
			passage{"POST /convert", http.Header{"Accept-Encoding": {"gzip"}}, request},
			passage{"200", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, squeezed(t, answer)},
			false, 1, 0, answer,
		},
		"compressed in an odd way": {
			passage{"POST /convert", nil, request},
			passage{"200", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"br"}}, "\x0b\x02"},
			false, 1, 0, nil,
		},
		"not compressed after all": {
			passage{"POST /convert", nil, request},
			passage{"200", http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "plain"},
			false, 1, 0, nil,
		},
		"odd paths, spaces and headers": {
			passage{"POST /a%2Fb//c/;x?q=%zz&q=;&&=", http.Header{"X-Remote-User": {"a", "b"}, "Authorization": {"Bearer secret"}, "Cookie": {"session=secret"}}, spaced},
			passage{"418", http.Header{"Content-Type": {"text/plain; charset=x"}, "X-Odd": {"1", "2"}, "Retry-After": {"7"}}, "I'm a\x00teapot\xff"},
			true, 1, 0, []byte("I'm a\x00teapot\xff"),
		},
		"redirect": {
			passage{"POST /convert", nil, request},
			passage{"307", http.Header{"Location": {"/elsewhere"}}, ""},
			false, 1, 0, nil,
		},
		"no body":       {passage{"GET /healthz", nil, ""}, passage{"200", nil, "ok"}, false, 0, 1, nil},
		"no conversion": {passage{"POST /validate", nil, `{"kind":"AdmissionReview"}`}, passage{"200", nil, "{}"}, false, 0, 1, nil},
		"other method":  {passage{"PUT /convert", nil, request}, passage{"405", nil, ""}, false, 0, 1, nil},
		"head":          {passage{"HEAD /convert", nil, ""}, passage{"200", http.Header{"Content-Length": {"7"}}, ""}, false, 0, 1, nil},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", name, http2), func(t *testing.T) {
				t.Parallel()
				var seen passage
				b := proxied(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					seen = passage{r.Method + " " + r.RequestURI, r.Header, string(body)}
					maps.Copy(w.Header(), test.response.header)
					status := 0
					fmt.Sscan(test.response.line, &status)
					w.WriteHeader(status)
					if test.chunked {
						http.NewResponseController(w).Flush()
					}
					io.WriteString(w, test.response.body)
				}), Options{})
				method, uri, _ := strings.Cut(test.request.line, " ")
				r, err := http.NewRequestWithContext(t.Context(), method, b.server.URL, strings.NewReader(test.request.body))
				if err != nil {
					t.Fatal(err)
				}
				r.URL.Opaque = uri // untouched by net/url
				if test.request.header != nil {
					r.Header = test.request.header.Clone()
				}
				response, err := client(t, b.server, http2).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				got := passage{strconv.Itoa(response.StatusCode), response.Header, string(body)}
				if seen.line != test.request.line || seen.body != test.request.body || !holds(seen.header, test.request.header) {
					t.Errorf("the webhook saw\n%q\nwant\n%q", seen, test.request)
				}
				if _, added := seen.header["Accept-Encoding"]; added && test.request.header["Accept-Encoding"] == nil {
					t.Error("the proxy asks for compressed answers by itself")
				}
				if got.line != test.response.line || got.body != test.response.body || !holds(got.header, test.response.header) {
					t.Errorf("the client got\n%q\nwant\n%q", got, test.response)
				}
				file, summary := b.recorded(t)
				if traffic := b.Traffic(); traffic != (Traffic{1, test.other, 0, 0}) || summary.Exchanges != test.recorded || len(file.Exchanges) != test.recorded {
					t.Fatalf("got %+v with %+v", traffic, summary)
				}
				if test.recorded == 0 {
					return
				}
				x := file.Exchanges[0]
				// Spaces between what is JSON are all that may be gone.
				var compact bytes.Buffer
				if err := json.Compact(&compact, []byte(test.request.body)); err != nil || !bytes.Equal(x.Body, compact.Bytes()) {
					t.Errorf("recorded the request %s, %v", x.Body, err)
				}
				if strconv.Itoa(x.Response.Status) != test.response.line || x.Response.ContentType != test.response.header.Get("Content-Type") || (x.Withheld == "") != (test.body != nil || test.response.body == "") {
					t.Errorf("recorded the response %+v, withheld %q", x.Response, x.Withheld)
				}
				if string(x.Response.Body) != string(test.body) && !equalJSON(t, string(x.Response.Body), string(test.body)) {
					t.Errorf("recorded the body %q, want %q", x.Response.Body, test.body)
				}
				if x.Service <= 0 || x.Offset < 0 {
					t.Errorf("recorded %s and %s", x.Offset, x.Service)
				}
				if strings.Contains(fmt.Sprintf("%s %+v", x.Body, x), "secret") {
					t.Error("credentials are recorded")
				}
			})
		}
	}
}

// holds reports whether a header has all that another has.
func holds(header, all http.Header) bool {
	for key, values := range all {
		if !reflect.DeepEqual(header[key], values) {
			return false
		}
	}
	return true
}

func send(ctx context.Context, t *testing.T, b *between, body []byte) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL+"/convert", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t, b.server, false).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// TestWebhooksThatDoNotAnswer wants 502 with a reason, and the exchange in the recording.
func TestWebhooksThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
		status  int // that is recorded
	}{
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", 0},
		"half a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "unexpected EOF", 200},
		"too much": {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 3<<20)) }, "the response is longer than 10", 200},
		"too much, compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(w)
			zip.Write(make([]byte, 3<<20))
			zip.Close()
		}, "the response is longer than 10", 200},
		"too deep": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("[", 1000)) }, "nested more than 256 deep", 200},
		"a long header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 2<<20))
		}, "exceeded 1048576 bytes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := proxied(t, test.handler, Options{})
			status, text, err := send(t.Context(), t, b, review("1"))
			if err != nil || status != http.StatusBadGateway || !strings.HasPrefix(text, "crdconform record: the webhook gave no complete response: ") || !strings.Contains(text, test.want) {
				t.Errorf("got %d: %s, %v", status, text, err)
			}
			file, summary := b.recorded(t)
			if summary.Exchanges != 1 || b.Traffic() != (Traffic{1, 0, 1, 0}) {
				t.Fatalf("%+v, %+v", summary, b.Traffic())
			}
			if x := file.Exchanges[0]; x.Response.Err == nil || !strings.Contains(x.Response.Err.Error(), test.want) || x.Response.Status != test.status || x.Response.TimedOut {
				t.Errorf("recorded %+v", x.Response)
			}
		})
	}
}

func TestCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	asked, over := make(chan struct{}), make(chan struct{})
	b := proxied(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
		close(over)
	}), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, _, err := send(ctx, t, b, review("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-over // the webhook is not kept waiting either
	file, _ := b.recorded(t)
	if len(file.Exchanges) != 1 || !file.Exchanges[0].Response.TimedOut || !strings.HasPrefix(file.Exchanges[0].Response.Err.Error(), "the caller gave up after ") {
		t.Errorf("recorded %+v", file.Exchanges)
	}
}

func TestRequestsThatAreTooLong(t *testing.T) {
	t.Parallel()
	b := proxied(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is passed on") }), Options{})
	b.limit = 1000
	status, text, err := send(t.Context(), t, b, make([]byte, 1001))
	if err != nil || status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "it is longer than 64 MiB") {
		t.Errorf("got %d: %s, %v", status, text, err)
	}
	if _, summary := b.recorded(t); summary.Exchanges != 0 || b.Traffic() != (Traffic{1, 0, 1, 0}) {
		t.Errorf("%+v, %+v", summary, b.Traffic())
	}
}

// TestProxyOutlivesTheRecording goes on when the recording is full, and when its disk is.
func TestProxyOutlivesTheRecording(t *testing.T) {
	t.Parallel()
	b := proxied(t, webhook.Handler(), Options{MaxExchanges: 3})
	request := fixtures.ReviewRequest("v1")
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 5 {
				if status, text, err := send(t.Context(), t, b, request); err != nil || status != 200 || !strings.Contains(text, `"Success"`) {
					t.Errorf("got %d: %s, %v", status, text, err)
				}
			}
		})
	}
	work.Wait()
	if file, summary := b.recorded(t); summary.Exchanges != 3 || summary.Dropped != 17 || len(file.Exchanges) != 3 {
		t.Errorf("%+v", summary)
	}
}

// BenchmarkProxy measures what the proxy adds to an exchange.
func BenchmarkProxy(b *testing.B) {
	behind := httptest.NewTLSServer(webhook.Handler())
	defer behind.Close()
	target, err := url.Parse(behind.URL)
	if err != nil {
		b.Fatal(err)
	}
	redaction, err := ParseRedaction([]string{"spec.password", "spec.users[*].token"})
	if err != nil {
		b.Fatal(err)
	}
	transport, ok := behind.Client().Transport.(*http.Transport)
	if !ok {
		b.Fatalf("got a %T", behind.Client().Transport)
	}
	for name, o := range map[string]*Options{"direct": nil, "recording": {}, "compressing": {Compress: true}, "redacting": {Redaction: redaction}} {
		b.Run(name, func(b *testing.B) {
			server := behind
			if o != nil {
				o.MaxBytes = 1 << 40
				recorder, err := NewRecorder(io.Discard, *o)
				if err != nil {
					b.Fatal(err)
				}
				proxy := NewProxy(target, transport, recorder, time.Now())
				defer proxy.Close()
				server = httptest.NewTLSServer(proxy)
				defer server.Close()
			}
			body := fixtures.ReviewRequest("v1")
			for b.Loop() {
				response, err := server.Client().Post(server.URL+webhook.Path, "application/json", bytes.NewReader(body)) //nolint:noctx // there is nothing to stop
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != 200 {
					b.Fatal(response.Status, err)
				}
				response.Body.Close()
			}
		})
	}
}
