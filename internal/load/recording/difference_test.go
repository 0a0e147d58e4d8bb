package recording_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/wire"
)

func connect(t *testing.T, handler http.Handler) *wire.Client {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func faulty(t *testing.T, name string) http.Handler {
	t.Helper()
	fault, found := webhook.FaultNamed(name)
	if !found {
		t.Fatalf("there is no fault %s", name)
	}
	return webhook.Handler(fault)
}

// changing is the reference webhook with a change to the spec of what it converts, and to the annotations.
func changing(change func(spec, annotations map[string]any)) http.Handler {
	return webhook.Changing(func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}
		meta, _ := object["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		change(spec, annotations)
		object["spec"], meta["annotations"] = spec, annotations
	})
}

func crontabs() corpus.Corpus { return corpus.CronTabs("v1alpha1", "v1beta1", "v1") }

func schemaOf(c corpus.Corpus) func(group, kind, version string) *corpus.Schema {
	return func(group, kind, version string) *corpus.Schema {
		if group != c.Group || kind != c.Kind {
			return nil
		}
		return c.Definition.Schema(version)
	}
}

func about(t *testing.T, objects int) []recording.Question {
	t.Helper()
	questions, err := recording.About(t.Context(), crontabs(), "v1", objects, 1)
	if err != nil {
		t.Fatal(err)
	}
	return questions
}

// places are the differences in short, in their order.
func places(all []recording.Difference) []string {
	short := []string{}
	for _, d := range all {
		short = append(short, strings.TrimSpace(fmt.Sprintf("%s %s %s %d", d.What, d.Kind, d.Path, d.Count)))
	}
	return short
}

// TestAlike compares webhooks that answer the same in other words.
func TestAlike(t *testing.T) {
	t.Parallel()
	questions := about(t, 10)
	for name, other := range map[string]http.Handler{
		"the same build": webhook.Handler(),
		"empty values":   changing(func(spec, _ map[string]any) { spec["labels"], spec["nothing"] = map[string]any{}, nil }),
	} {
		r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, webhook.Handler()), B: connect(t, other), Schema: schemaOf(crontabs())})
		n := len(questions)
		if len(r.Differences)+len(r.Chance) > 0 || r.Requests != n || r.Compared != n || r.Converted != n || r.Objects != n || r.Alike != n || r.Uncompared != "" || r.Interrupted {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	b := changing(func(spec, annotations map[string]any) {
		spec["added"] = int64(7)
		spec["list"] = []any{map[string]any{"x": "new"}, map[string]any{"x": "same"}}
		annotations["example.com/owner"] = "<nobody>"
		delete(spec, "gone")
	})
	a := changing(func(spec, _ map[string]any) {
		spec["list"] = []any{map[string]any{"x": "old"}, map[string]any{"x": "same"}}
		spec["gone"] = map[string]any{"deep": true}
	})
	r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, a), B: connect(t, b)})
	n := len(questions)
	want := []string{}
	for _, path := range []string{"metadata.annotations['example.com/owner']", "spec.added", "spec.gone.deep", "spec.list[*].x"} {
		want = append(want, fmt.Sprintf("field CronTab %s %d", path, n))
	}
	if got := places(r.Differences); !slices.Equal(got, want) || len(r.Chance) > 0 || r.Alike != 0 || r.Objects != n {
		t.Fatalf("got %q, %q, %+v", got, places(r.Chance), r)
	}
	for i, want := range []recording.Example{
		{Path: "metadata.annotations['example.com/owner']", A: []byte(`"somebody"`), B: []byte(`"<nobody>"`)},
		{Path: "spec.added", B: []byte("7")},
		{Path: "spec.gone.deep", A: []byte("true")},
		{Path: "spec.list[0].x", A: []byte(`"old"`), B: []byte(`"new"`)},
	} {
		got := r.Differences[i].First
		if got.Path != want.Path || string(got.A) != string(want.A) || string(got.B) != string(want.B) {
			t.Errorf("got the example %s: %s, %s", got.Path, got.A, got.B)
		}
		if got.Object != "default/local-crontab" || got.From != "example.com/v1alpha1" || got.To != "example.com/v1beta1" || got.Line != 0 {
			t.Errorf("the first example is %+v", got)
		}
	}
}

// TestSchemas has values compared and grouped by what the schema says of them.
func TestSchemas(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	a := changing(func(spec, _ map[string]any) { spec["environment"] = map[string]any{"A": "1", "B": "1"} })
	b := changing(func(spec, _ map[string]any) { spec["environment"] = map[string]any{"A": "2", "B": "2"} })
	o := recording.Sides{A: connect(t, a), B: connect(t, b)}
	if got := places(recording.Compare(t.Context(), questions, o).Differences); len(got) != 2 {
		t.Errorf("without a schema: %q", got)
	}
	o.Schema = schemaOf(crontabs())
	want := []string{fmt.Sprintf("field CronTab spec.environment['*'] %d", 2*len(questions))}
	if got := places(recording.Compare(t.Context(), questions, o).Differences); !slices.Equal(got, want) {
		t.Errorf("with a schema: %q, want %q", got, want)
	}
}

// TestListMaps compares items by their keys, whatever their order, and reports an added one once.
func TestListMaps(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	n := len(questions)
	containers := func(items ...any) http.Handler {
		return changing(func(spec, _ map[string]any) { spec["containers"] = items })
	}
	item := func(name, image string) any { return map[string]any{"name": name, "image": image} }
	o := recording.Sides{A: connect(t, containers(item("a", "1"), item("b", "1"))), Schema: schemaOf(crontabs())}
	for name, test := range map[string]struct {
		b    http.Handler
		want []string
	}{
		"another order": {containers(item("b", "1"), item("a", "1")), []string{}},
		"one changed":   {containers(item("b", "2"), item("a", "1")), []string{fmt.Sprintf("field CronTab spec.containers[*].image %d", n)}},
		"one more":      {containers(item("c", "1"), item("a", "1"), item("b", "1")), []string{fmt.Sprintf("field CronTab spec.containers %d", n)}},
		"one less":      {containers(item("b", "1")), []string{fmt.Sprintf("field CronTab spec.containers[*] %d", n)}},
	} {
		o.B = connect(t, test.b)
		if got := places(recording.Compare(t.Context(), questions, o).Differences); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	n := len(questions)
	refusing := func(message string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var review struct {
				Request struct {
					UID string `json:"uid"`
				} `json:"request"`
			}
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":%q,"result":{"status":"Failed","message":%q}}}`, review.Request.UID, message)
		})
	}
	for name, test := range map[string]struct {
		a, b         http.Handler
		what         string
		wantA, wantB string
		objects      int
	}{
		"a violation":       {webhook.Handler(), faulty(t, "wrong-uid"), "verdict", "is fine", "violates webhook.response.uid: response.uid: expected", n},
		"the other way":     {faulty(t, "wrong-uid"), webhook.Handler(), "verdict", "violates webhook.response.uid: ", "is fine", n},
		"another violation": {faulty(t, "status-none"), faulty(t, "no-response"), "verdict", "violates webhook.response.status: ", "violates webhook.response.stanza: ", 0},
		"what is tolerated": {webhook.Handler(), faulty(t, "status-201"), "verdict", "is fine", "violates webhook.response.http-status by 201 (tolerated): ", n},
		"a status":          {http.NotFoundHandler(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }), "verdict", "violates webhook.response.http-status by 404: ", "violates webhook.response.http-status by 500: ", 0},
		"a refusal":         {webhook.Handler(), refusing("no"), "verdict", "is fine", `violates webhook.failure.avoided: response.result: expected a conversion that succeeds, got Failed: "no"`, 0},
		"metadata":          {faulty(t, "adds-finalizer"), webhook.Handler(), "verdict", "violates webhook.metadata.unchanged (tolerated): object 0: metadata.finalizers: ", "is fine", n},
		"a message":         {refusing("no"), refusing("never"), "message", "no", "never", 0},
		"no answer":         {webhook.Handler(), faulty(t, "drops-connection"), "verdict", "is fine", "violates webhook.response.in-time: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, test.a), B: connect(t, test.b)})
			if len(r.Differences) != 1 || len(r.Chance) != 0 || r.Objects != test.objects || r.Converted != test.objects || r.Alike != 0 || r.Compared != n {
				t.Fatalf("got %q, %+v", places(r.Differences), r)
			}
			var a, b string
			d := r.Differences[0]
			if json.Unmarshal(d.First.A, &a) != nil || json.Unmarshal(d.First.B, &b) != nil {
				t.Fatalf("got %s and %s", d.First.A, d.First.B)
			}
			if string(d.What) != test.what || d.Count != n || !strings.HasPrefix(a, test.wantA) || !strings.HasPrefix(b, test.wantB) {
				t.Errorf("got %s: %s, %s", d.What, a, b)
			}
		})
	}
}

// TestChance wants what the first webhook answers differently each time to be kept apart from what the second one changed.
func TestChance(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	n := len(questions)
	random := func(spec, _ map[string]any) { spec["random"] = strconv.FormatInt(rand.Int64(), 10) }
	both := func(spec, annotations map[string]any) {
		random(spec, annotations)
		spec["changed"] = true
	}
	r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, changing(random)), B: connect(t, changing(both))})
	if got, chance := places(r.Differences), places(r.Chance); !slices.Equal(got, []string{fmt.Sprintf("field CronTab spec.changed %d", n)}) || !slices.Equal(chance, []string{fmt.Sprintf("field CronTab spec.random %d", n)}) || r.Alike != 0 {
		t.Errorf("got %q, by chance %q, %+v", got, chance, r)
	}
	r = recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, changing(random)), B: connect(t, changing(random))})
	if len(r.Differences) > 0 || len(r.Chance) != 1 || r.Alike != n {
		t.Errorf("the same build: %q, by chance %q, %d alike", places(r.Differences), places(r.Chance), r.Alike)
	}
	// What only the second one does by chance is a difference between them.
	r = recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, webhook.Handler()), B: connect(t, changing(random))})
	if len(r.Differences) != 1 || len(r.Chance) != 0 {
		t.Errorf("only the second: %q, by chance %q", places(r.Differences), places(r.Chance))
	}
	// A time in seconds changes while all is asked.
	timed := changing(func(spec, _ map[string]any) { spec["time"] = time.Now().Format(time.RFC3339) })
	r = recording.Compare(t.Context(), slices.Repeat(questions, 100), recording.Sides{A: connect(t, timed), B: connect(t, timed)})
	if len(r.Differences) > 0 {
		t.Errorf("the time: %q, by chance %q", places(r.Differences), places(r.Chance))
	}
	var turn atomic.Int64
	flaky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if turn.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		webhook.Handler().ServeHTTP(w, r)
	})
	r = recording.Compare(t.Context(), questions[:1], recording.Sides{A: connect(t, flaky), B: connect(t, faulty(t, "wrong-uid"))})
	if len(r.Differences) > 0 || len(r.Chance) != 1 || r.Chance[0].What != recording.VerdictDiffers {
		t.Errorf("a verdict that changes: %q, by chance %q", places(r.Differences), places(r.Chance))
	}
}

// recorded is a recording of what a webhook answers.
func recorded(t *testing.T, handler http.Handler, redact ...string) *recording.Recording {
	t.Helper()
	redaction, err := recording.ParseRedaction(redact)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	recorder, err := recording.NewRecorder(&file, recording.Options{Redaction: redaction})
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, handler)
	for i, q := range about(t, 0) {
		recorder.Record(recording.Exchange{Offset: time.Duration(i), Body: q.Body, Response: client.Send(t.Context(), q.Body)})
	}
	read, err := recording.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	old := recorded(t, changing(func(spec, _ map[string]any) { spec["build"], spec["time"] = "old", "2020-01-01T00:00:00Z" }))
	questions := recording.Recorded(old)
	n := len(questions)
	r := recording.Compare(t.Context(), questions, recording.Sides{B: connect(t, changing(func(spec, _ map[string]any) {
		spec["build"], spec["time"] = "new", time.Now().Format(time.RFC3339)
	}))})
	if got, chance := places(r.Differences), places(r.Chance); !slices.Equal(got, []string{fmt.Sprintf("field CronTab spec.build %d", n)}) || !slices.Equal(chance, []string{fmt.Sprintf("field CronTab spec.time %d", n)}) {
		t.Errorf("got %q, by chance %q", got, chance)
	}
	if first := r.Differences[0].First; first.Line != 2 || string(first.A) != `"old"` || string(first.B) != `"new"` {
		t.Errorf("got %+v", first)
	}
	if r := recording.Compare(t.Context(), questions, recording.Sides{B: connect(t, changing(func(spec, _ map[string]any) {
		spec["build"], spec["time"] = "old", "2020-01-01T01:00:00+01:00"
	}))}); len(r.Differences)+len(r.Chance) > 0 || r.Alike != n {
		t.Errorf("the same again: %q, %q", places(r.Differences), places(r.Chance))
	}
}

// TestRedactedAnswers compares with a recording in which something is missing.
func TestRedactedAnswers(t *testing.T) {
	t.Parallel()
	handler := changing(func(spec, _ map[string]any) { spec["password"] = "made-by-the-webhook" })
	old := recorded(t, handler, "spec.password")
	redaction, err := recording.ParseRedaction(old.Redacted)
	if err != nil {
		t.Fatal(err)
	}
	questions := recording.Recorded(old)
	o := recording.Sides{B: connect(t, handler), Redaction: redaction}
	if r := recording.Compare(t.Context(), questions, o); len(r.Differences)+len(r.Chance) > 0 || r.Objects != len(questions) {
		t.Errorf("got %q, %+v", places(r.Differences), r)
	}
	questions[3].Withheld, questions[5].Withheld = "because", "never"
	r := recording.Compare(t.Context(), questions, o)
	if r.Compared != len(questions)-2 || r.Requests != len(questions) || r.Uncompared != "the recording does not have the response: because" || len(r.Differences) > 0 {
		t.Errorf("got %+v", r)
	}
}

// TestRedactedRequests has a webhook that is good get nothing but redacted values to work with.
func TestRedactedRequests(t *testing.T) {
	t.Parallel()
	paths := []string{"hostPort", "host", "port", "spec"}
	old := recorded(t, webhook.Handler(), paths...)
	redaction, err := recording.ParseRedaction(old.Redacted)
	if err != nil {
		t.Fatal(err)
	}
	questions := recording.Recorded(old)
	r := recording.Compare(t.Context(), questions, recording.Sides{B: connect(t, webhook.Handler()), Redaction: redaction})
	if len(r.Differences)+len(r.Chance)+len(r.Redaction)+r.Failed > 0 || r.Alike != len(questions) || r.Objects != len(questions) {
		t.Errorf("got %q, for the redaction %q, %+v", places(r.Differences), places(r.Redaction), r)
	}
}

// TestRedactionIsTheReason has a webhook whose answers depend on what is redacted, and count for nothing where they do.
func TestRedactionIsTheReason(t *testing.T) {
	t.Parallel()
	handler := webhook.Changing(func(object map[string]any) {
		for _, field := range []string{"host", "hostPort"} {
			if text, ok := object[field].(string); ok {
				object["letters"] = text[:3] // which is no word, so that the recording has it
			}
		}
	})
	picky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"hostPort":"xxx`)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	old := recorded(t, handler, "hostPort")
	redaction, err := recording.ParseRedaction(old.Redacted)
	if err != nil {
		t.Fatal(err)
	}
	questions := recording.Recorded(old)
	n := 0
	for _, q := range questions {
		if len(q.Redacted) > 0 {
			n++
		}
	}
	r := recording.Compare(t.Context(), questions, recording.Sides{B: connect(t, handler), Redaction: redaction})
	if n == 0 || len(r.Differences)+len(r.Chance) > 0 || r.Alike != len(questions) || !slices.Equal(places(r.Redaction), []string{fmt.Sprintf("field CronTab letters %d", n)}) {
		t.Errorf("of %d redacted requests: %q, for the redaction %q, %+v", n, places(r.Differences), places(r.Redaction), r)
	}
	r = recording.Compare(t.Context(), questions, recording.Sides{B: connect(t, picky), Redaction: redaction})
	if want := "its request was redacted at hostPort since A was asked, and only B refuses it: "; len(r.Differences) > 0 || r.Compared != r.Requests-n || !strings.HasPrefix(r.Uncompared, want) {
		t.Errorf("of %d redacted requests: %q, %+v", n, places(r.Differences), r)
	}
	// Side by side, both are asked the same.
	r = recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, handler), B: connect(t, picky), Redaction: redaction})
	if got := places(r.Differences); !slices.Equal(got, []string{fmt.Sprintf("verdict   %d", n)}) {
		t.Errorf("of %d redacted requests: %q", n, got)
	}
	r = recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, picky), B: connect(t, picky), Redaction: redaction})
	if len(r.Differences) > 0 || r.Failed != n || len(r.Failures) != 1 || r.Failures[0].Count != n || r.Failures[0].Redacted != n {
		t.Errorf("of %d redacted requests: %q, %+v", n, places(r.Differences), r.Failures)
	}
}

// TestFailuresOfBoth reports what fails on both sides, which is no difference.
func TestFailuresOfBoth(t *testing.T) {
	t.Parallel()
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"desiredAPIVersion":"example.com/v1"`)) {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
	questions := about(t, 0)
	n := 0
	for _, q := range questions {
		if q.Request.DesiredAPIVersion == "example.com/v1" {
			n++
		}
	}
	r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, failing), B: connect(t, failing)})
	if n == 0 || n == len(questions) || len(r.Differences) > 0 || r.Alike != len(questions) || r.Converted != len(questions)-n || r.Failed != n || len(r.Failures) != 1 {
		t.Fatalf("%d of %d fail: %+v", n, len(questions), r)
	}
	f := r.Failures[0]
	if f.Count != n || f.Redacted != 0 || !strings.Contains(string(f.First.A), "500") || !bytes.Equal(f.First.A, f.First.B) || f.First.Object == "" || f.First.To != "example.com/v1" {
		t.Errorf("got %+v", f)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)
	r := recording.Compare(t.Context(), questions, recording.Sides{A: connect(t, faulty(t, "drops-connection")), B: connect(t, faulty(t, "drops-connection"))})
	if len(r.Differences) > 0 || r.Compared != 0 || r.Alike != 0 || !strings.HasPrefix(r.Uncompared, "webhook https://") {
		t.Errorf("got %+v", r)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	stopping := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 20 {
			cancel()
		}
		webhook.Handler().ServeHTTP(w, r)
	})
	questions := slices.Repeat(about(t, 0), 10)
	r := recording.Compare(ctx, questions, recording.Sides{A: connect(t, webhook.Handler()), B: connect(t, stopping)})
	if !r.Interrupted || r.Compared >= len(questions) || r.Left != len(questions)-r.Compared || len(r.Differences) > 0 || r.Uncompared != "" {
		t.Errorf("got %+v", r)
	}
}

// TestInterruptedLate has the interruption come while the only answers are compared, so that nothing is left but to ask again.
func TestInterruptedLate(t *testing.T) {
	t.Parallel()
	questions := about(t, 0)[:1]
	changed := changing(func(spec, _ map[string]any) { spec["changed"] = true })
	for name, test := range map[string]struct {
		b           http.Handler
		comparison  int64 // in which the interruption comes
		differences int
		interrupted bool
	}{
		"nothing differs":                {webhook.Handler(), 1, 0, false},
		"before A is asked again":        {changed, 1, 1, true},
		"before A is asked a third time": {changed, 2, 1, true},
		"all was asked":                  {changed, 3, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var compared atomic.Int64
			r := recording.Compare(ctx, questions, recording.Sides{
				A: connect(t, webhook.Handler()), B: connect(t, test.b),
				Schema: func(group, kind, version string) *corpus.Schema {
					if compared.Add(1) == test.comparison {
						cancel()
					}
					return schemaOf(crontabs())(group, kind, version)
				},
			})
			if ctx.Err() == nil || r.Interrupted != test.interrupted || r.Left != 0 || r.Compared != 1 || len(r.Differences) != test.differences {
				t.Errorf("got %+v", r)
			}
		})
	}
}
