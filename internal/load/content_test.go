package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// changing is the reference webhook with a change to the objects in its answers. It is given the number of the request.
func changing(change func(n uint64, objects []map[string]any)) http.Handler {
	return writing(change, json.Marshal)
}

func writing(change func(n uint64, objects []map[string]any), encode func(any) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		webhook.Handler().ServeHTTP(recorder, r)
		var review struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Response   struct {
				UID              string            `json:"uid"`
				ConvertedObjects []map[string]any  `json:"convertedObjects"`
				Result           map[string]string `json:"result"`
			} `json:"response"`
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var n uint64
		if _, err := fmt.Sscanf(review.Response.UID, "c0ffee00-0000-4000-8000-%x", &n); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		change(n, review.Response.ConvertedObjects)
		body, err := encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
			"uid": review.Response.UID, "convertedObjects": review.Response.ConvertedObjects, "result": review.Response.Result,
		}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}

// together has two requests of a load be under way at the same time, and each learns of something of the other.
type together chan map[string]any

func (t together) meet(n uint64, own map[string]any) map[string]any {
	if n >= lessons { // nothing else is under way
		return own
	}
	select {
	case t <- own:
		return <-t
	case other := <-t:
		t <- own
		return other
	}
}

// spec is what conversions change of a CronTab.
func spec(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, key)
	}
	return fields
}

func annotate(object map[string]any, value string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations["example.com/at"] = value
}

// shuffled encodes maps in another order each time.
func shuffled(v any) ([]byte, error) {
	switch v := v.(type) {
	case map[string]any:
		var fields [][]byte
		for key, inner := range v {
			value, err := shuffled(inner)
			if err != nil {
				return nil, err
			}
			fields = append(fields, fmt.Appendf(nil, "%q : %s", key, value))
		}
		rand.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		return slices.Concat([]byte("{ "), bytes.Join(fields, []byte(", ")), []byte("}")), nil
	case []map[string]any:
		var items [][]byte
		for _, inner := range v {
			item, err := shuffled(inner)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")), nil
	}
	return json.Marshal(v)
}

// contents runs a load by two clients, with the content judged.
func contents(t *testing.T, client *wire.Client, w Workload, rules Rules) (*Content, Summary) {
	t.Helper()
	requests, err := Bodies(crontabs, w)
	if err != nil {
		t.Fatal(err)
	}
	w.JudgeContent = true
	if w.Content, err = learn(t.Context(), client, requests, rules, time.Microsecond); err != nil {
		t.Fatal(err)
	}
	s, err := Run(t.Context(), client, requests, w, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	return w.Content, s
}

func twoClients(batch int) Workload {
	w := workload()
	w.Phases, w.Clients, w.Requests, w.Duration, w.Batch = nil, 2, 200, time.Minute, batch
	return w
}

// TestContentUnderLoad has webhooks that are correct as long as one request is under way, and others that are correct.
func TestContentUnderLoad(t *testing.T) {
	t.Parallel()
	nothing := func(uint64, []map[string]any) {}
	for name, test := range map[string]struct {
		handler func() http.Handler
		batch   int
		failed  uint64 // at least; none if 0
		path    string // of the first difference
		varying []string
	}{
		"reference":       {handler: func() http.Handler { return webhook.Handler() }, batch: 3},
		"another order":   {handler: func() http.Handler { return writing(nothing, shuffled) }, batch: 3},
		"its own encoder": {handler: func() http.Handler { return changing(nothing) }, batch: 3},
		"time of the moment": {handler: func() http.Handler {
			var calls atomic.Int64
			return changing(func(_ uint64, objects []map[string]any) { annotate(objects[0], strconv.FormatInt(calls.Add(1), 10)) })
		}, batch: 1, varying: []string{"metadata.annotations['example.com/at']"}},
		"shared buffer": {handler: func() http.Handler {
			var mu sync.Mutex
			var buffer map[string]any
			meeting := make(together)
			return changing(func(n uint64, objects []map[string]any) {
				mu.Lock()
				buffer = spec(objects[0])
				mu.Unlock()
				meeting.meet(n, nil)
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(objects[0], buffer)
			})
		}, batch: 1, failed: 50, path: "host"},
		"swaps objects": {handler: func() http.Handler {
			meeting := make(together)
			return changing(func(n uint64, objects []map[string]any) { maps.Copy(objects[1], meeting.meet(n, spec(objects[1]))) })
		}, batch: 2, failed: 100, path: "host"},
		"drops a field of every 100th object": {handler: func() http.Handler {
			var seen atomic.Int64
			return changing(func(_ uint64, objects []map[string]any) {
				for _, object := range objects {
					if seen.Add(1)%100 == 0 {
						delete(object, "port")
					}
				}
			})
		}, batch: 3, failed: 5, path: "port"},
		"drops a field, and has the time": {handler: func() http.Handler {
			var seen atomic.Int64
			return changing(func(_ uint64, objects []map[string]any) {
				for _, object := range objects {
					n := seen.Add(1)
					if n%100 == 0 {
						delete(object, "port")
					}
					annotate(object, strconv.FormatInt(n, 10))
				}
			})
		}, batch: 3, failed: 5, path: "port", varying: []string{"metadata.annotations['example.com/at']"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, s := contents(t, connect(t, test.handler()), twoClients(test.batch), Rules{Kind: crontabs})
			if s.Requests != 200 || s.Failed() < test.failed || test.failed == 0 && s.Failed() > 0 || s.Errors[Differs] != s.Failed() {
				t.Errorf("%d of %d requests failed: %v, %v", s.Failed(), s.Requests, s.Errors, s.Findings)
			}
			if !slices.Equal(content.Varying, test.varying) || (len(content.Notes()) > 0) != (test.varying != nil) {
				t.Errorf("varying: %q, noted %q, want %q", content.Varying, content.Notes(), test.varying)
			}
			if test.failed == 0 {
				return
			}
			if f := s.Findings[0]; f.Requirement != requirement.WebhookConversionPure || f.Tolerated || !strings.Contains(f.Text, ": "+test.path+": expected ") ||
				!strings.Contains(f.Text, " as before the load, got ") || len(f.Files) != 2 {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// TestContentByTheRules has webhooks whose answers are wrong before the load already.
func TestContentByTheRules(t *testing.T) {
	t.Parallel()
	lossy := func(object map[string]any) { delete(object, "port") }
	for name, test := range map[string]struct {
		handler http.Handler
		rules   Rules
		want    string // the first finding; none if empty
	}{
		"lossy": {
			handler: changing(func(_ uint64, objects []map[string]any) { lossy(objects[0]) }), rules: Rules{Kind: crontabs},
			want: "webhook.conversion.round-trip: object 0: hostPort: expected ",
		},
		"declared": {
			handler: changing(func(_ uint64, objects []map[string]any) { lossy(objects[0]) }),
			rules:   Rules{Kind: crontabs, Lossy: func(pair corpus.Pair, path string) bool { return pair.To == "v1" && path == "hostPort" }},
		},
		"without agreement": {
			// The first request has two answers twice, and ten others have another one once: that is no field which differs each time.
			handler: changing(func(n uint64, objects []map[string]any) {
				if n < lessons {
					return
				}
				if ask, request := (n-lessons)/maxBodies, (n-lessons)%maxBodies; request == 0 && ask < 2 || request > 0 && request <= 10 && ask == 1 {
					lossy(objects[0])
				}
			}), rules: Rules{Kind: crontabs},
			want: "webhook.conversion.pure: object 0: port: expected nothing each time before the load, got ",
		},
		"rejected before": {
			handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if request, err := contract.ParseRequest(body); err == nil && request.UID >= uid(lessons) {
					http.Error(w, "not ready", http.StatusServiceUnavailable)
					return
				}
				webhook.Handler().ServeHTTP(w, r)
			}), rules: Rules{Kind: crontabs},
			want: `webhook.conversion.pure: response: expected an answer as before the load, when 4 of 4 were rejected (webhook.response.http-status: `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := contents(t, connect(t, test.handler), twoClients(1), test.rules)
			got := ""
			if len(s.Findings) > 0 {
				got = fmt.Sprintf("%s: %s", s.Findings[0].Requirement, s.Findings[0].Text)
			}
			if !strings.HasPrefix(got, test.want) || (s.Failed() > 0) != (test.want != "") || s.Errors[Differs] != s.Failed() {
				t.Errorf("%d of %d requests failed: %v, %q", s.Failed(), s.Requests, s.Errors, got)
			}
		})
	}
}
