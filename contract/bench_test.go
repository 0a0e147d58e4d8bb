package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// wide returns objects of about 1 kB with many short fields, as at a version, no two of the same shape.
func wide(version string, n int) []json.RawMessage {
	objects := make([]json.RawMessage, n)
	for i := range objects {
		spec := map[string]any{}
		for j := range 18 + i%5 {
			spec[fmt.Sprintf("text%d", j)] = strings.Repeat("v", (i*7+j*5)%19)
			switch j % 4 {
			case 0:
				spec[fmt.Sprintf("number%d", j)] = i * j * 37
			case 1:
				spec[fmt.Sprintf("list%d", j)] = []any{"a", i%3 == 0, nil}
			case 2:
				spec[fmt.Sprintf("port%d", j)] = map[string]any{"name": fmt.Sprintf("port-%d", i), "port": 8080 + j}
			}
		}
		objects[i], _ = json.Marshal(map[string]any{
			"apiVersion": "example.com/" + version, "kind": "CronTab", "spec": spec,
			"metadata": map[string]any{
				"name": fmt.Sprintf("crontab-%d", i), "namespace": "default", "uid": fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", i),
				"resourceVersion": "4711", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z",
			},
		})
	}
	return objects
}

// padded returns CronTabs of 1 kB, most of which is an annotation.
func padded(n int) []json.RawMessage {
	objects := corpus.CronTabs("v1beta1", "v1").Batch("v1beta1", n)
	for _, object := range objects {
		object.SetAnnotations(map[string]string{"example.com/padding": strings.Repeat("x", 600)})
	}
	return corpus.JSON(objects...)
}

// stamps are the places of what is to be different each time: three digits at the beginning of each object.
func stamps(b *testing.B, body []byte, n int) (stamped []byte, at []int) {
	b.Helper()
	const start, stamp = `{"apiVersion":"example.com/v1"`, `{"at":"000",`
	stamped = bytes.ReplaceAll(body, []byte(start), []byte(stamp+start[1:]))
	for i := bytes.Index(stamped, []byte(stamp)); i >= 0; {
		at = append(at, i+len(`{"at":"`))
		next := bytes.Index(stamped[i+1:], []byte(stamp))
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if len(at) != n {
		b.Fatalf("%d of %d objects have a stamp", len(at), n)
	}
	return stamped, at
}

// exchange is a request and the response to it.
func exchange(b *testing.B, objects []json.RawMessage) (contract.Request, contract.Response) {
	b.Helper()
	request := contract.Request{
		ReviewVersion: "v1", UID: "c0ffee00-0000-4000-8000-000000000000", DesiredAPIVersion: "example.com/v1", Objects: objects,
	}
	body, err := request.Body()
	if err != nil {
		b.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	webhook.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(body)))
	return request, ok(recorder.Body.Bytes())
}

// BenchmarkJudge judges one response after the other to the same request, as a load test does. Objects that are wide have many
// short fields; those that are padded have a long one. What is full is judged by itself. What is known has been judged before,
// what is scanned has something different in each object.
func BenchmarkJudge(b *testing.B) {
	for _, size := range []int{1, 50, 500} {
		for name, objects := range map[string][]json.RawMessage{"wide": wide("v1beta1", size), "padded": padded(size)} {
			request, response := exchange(b, objects)
			stamped, places := stamps(b, response.Body, size)
			changing := ok(stamped)
			bench := func(how string, response contract.Response, judge func(n int) contract.Judgement) {
				b.Run(fmt.Sprintf("%s/%s/batch=%d", how, name, size), func(b *testing.B) {
					b.SetBytes(int64(len(response.Body)))
					b.ReportAllocs()
					for n := 0; b.Loop(); n++ {
						if judgement := judge(n); len(judgement.Violations) > 0 {
							b.Fatal(judgement.Violations)
						}
					}
				})
			}
			prepared, repeated := request.Prepare(), request.Repeated()
			bench("full", response, func(int) contract.Judgement { return prepared.Judge(response) })
			bench("known", response, func(int) contract.Judgement { return repeated.Judge(request.UID, response) })
			bench("scanned", changing, func(n int) contract.Judgement {
				for _, at := range places {
					changing.Body[at], changing.Body[at+1], changing.Body[at+2] = byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10)
				}
				return repeated.Judge(request.UID, changing)
			})
		}
	}
}
