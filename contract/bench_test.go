package contract_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/fixtures/webhook"
)

// BenchmarkJudge judges one response after the other to the same request, as a load test does.
func BenchmarkJudge(b *testing.B) {
	c := corpus.CronTabs("v1beta1", "v1")
	for _, size := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			request := contract.Request{
				ReviewVersion:     "v1",
				UID:               "c0ffee00-0000-4000-8000-000000000000",
				DesiredAPIVersion: c.APIVersion("v1"),
				Objects:           corpus.JSON(c.Batch("v1beta1", size)...),
			}
			body, err := request.Body()
			if err != nil {
				b.Fatal(err)
			}
			recorder := httptest.NewRecorder()
			webhook.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(body)))
			response := contract.Response{Status: recorder.Code, ContentType: "application/json", Body: recorder.Body.Bytes()}
			request = request.Prepare()
			b.SetBytes(int64(len(response.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if judgement := request.Judge(response); len(judgement.Violations) > 0 || len(judgement.Objects) != size {
					b.Fatal(judgement.Violations)
				}
			}
		})
	}
}
