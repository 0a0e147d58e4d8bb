package load

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
)

// null is a handler that looks the answers to a workload up: it costs no more than HTTP and TLS do.
func null(b *testing.B, w Workload) http.Handler {
	b.Helper()
	requests, err := Bodies(crontabs, w)
	if err != nil {
		b.Fatal(err)
	}
	bodies, err := prepared(requests, nil)
	if err != nil {
		b.Fatal(err)
	}
	zero := []byte(uid(0))
	at := len(bodies[0].before)
	answers := map[string][]byte{} // by what follows the uid of the request
	for _, body := range bodies {
		recorder := httptest.NewRecorder()
		webhook.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, webhook.Path, bytes.NewReader(body.bytes(uid(0)))))
		answers[string(body.after)] = recorder.Body.Bytes()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(bytes.Replace(answers[string(body[at+len(zero):])], zero, body[at:at+len(zero)], 1))
	})
}

func bench(b *testing.B, w Workload) Summary {
	b.Helper()
	server, err := webhook.Start(b.Context(), "127.0.0.1:0", null(b, w))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	b.ResetTimer()
	s, err := attack(b.Context(), client, w, Watch{})
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	if s.Failed() > 0 {
		b.Fatalf("%d of %d requests failed: %v", s.Failed(), s.Requests, s.Findings[0])
	}
	return s
}

// BenchmarkRate sends as fast as can be, with 64 requests in flight, and judges every response. An iteration is a request.
// The handler takes its share of the machine.
func BenchmarkRate(b *testing.B) {
	for _, batch := range []int{1, 50} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			w := workload()
			w.Phases, w.Batch, w.InFlight = Constant(1e6, time.Duration(b.N)*time.Microsecond), batch, 64
			s := bench(b, w)
			b.ReportMetric(s.RequestRate(), "requests/s")
			b.ReportMetric(s.ObjectRate(), "objects/s")
		})
	}
}

// BenchmarkLag sends at constant rates and reports how late the requests were, and which share of a core everything took,
// including the handler. An iteration is a request.
func BenchmarkLag(b *testing.B) {
	for _, rate := range []float64{100, 500, 1000} {
		b.Run(fmt.Sprintf("rate=%g", rate), func(b *testing.B) {
			w := workload()
			w.Phases, w.Batch = Constant(rate, time.Duration(float64(b.N)/rate*float64(time.Second))), 1
			s := bench(b, w)
			b.ReportMetric(float64(s.Lag.ValueAtPercentile(50)), "p50-lag-us")
			b.ReportMetric(float64(s.Lag.ValueAtPercentile(99)), "p99-lag-us")
			b.ReportMetric(float64(s.Service.ValueAtPercentile(50)), "p50-service-us")
			b.ReportMetric(float64(s.Service.ValueAtPercentile(99)), "p99-service-us")
			b.ReportMetric(float64(s.Late), "late")
			b.ReportMetric(100*s.Generator.ProcessorSeconds/s.Elapsed.Seconds(), "%core")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkContent judges a response, without its content, with content that is the same byte by byte, and with content in another order.
func BenchmarkContent(b *testing.B) {
	for _, batch := range []int{1, 500} {
		w := workload()
		w.Batch, w.Bytes = batch, 1<<10
		requests, err := Bodies(crontabs, w)
		if err != nil {
			b.Fatal(err)
		}
		request := requests[0]
		request.UID = uid(1)
		body, err := request.Body()
		if err != nil {
			b.Fatal(err)
		}
		response := func(handler http.Handler) contract.Response {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, webhook.Path, bytes.NewReader(body)))
			return contract.Response{Status: http.StatusOK, ContentType: "application/json", Body: recorder.Body.Bytes()}
		}
		usual := response(webhook.Handler())
		judgement := request.Judge(usual)
		answer := Answer{Body: bytes.Clone(usual.Body), UID: uid(1)} // what is at the same place in memory need not be compared
		for _, raw := range judgement.Objects {
			answer.Objects = append(answer.Objects, bytes.Clone(raw))
		}
		content := &Content{Answers: []Answer{answer}}
		for name, path := range map[string]struct {
			expected *expected
			response contract.Response
		}{
			"without":       {nil, usual},
			"same":          {content.expected(0, request), usual},
			"another-order": {content.expected(0, request), response(writing(func(uint64, []map[string]any) {}, shuffled))},
		} {
			b.Run(fmt.Sprintf("batch=%d/%s", batch, name), func(b *testing.B) {
				judge := request.Repeated()
				b.SetBytes(int64(len(path.response.Body)))
				b.ReportAllocs()
				for b.Loop() {
					j := judge.Judge(uid(1), path.response)
					path.expected.judge(&j, uid(1), path.response)
					if len(j.Violations) > 0 {
						b.Fatal(j.Violations[0])
					}
				}
			})
		}
	}
}
