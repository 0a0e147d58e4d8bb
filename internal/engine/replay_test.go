package engine

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/loadgen"
)

// recordedBy writes a recording of requests every 50 ms, with the answers of the reference webhook.
func recordedBy(t *testing.T, redact []string, bodies [][]byte) (path string) {
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
	for i, body := range bodies {
		answer := httptest.NewRecorder()
		webhook.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, bytes.NewReader(body)))
		recorder.Record(recording.Exchange{Offset: time.Duration(i) * 50 * time.Millisecond, Body: body, Response: contract.Response{
			Status: answer.Code, ContentType: answer.Header().Get("Content-Type"), Body: answer.Body.Bytes(),
		}})
	}
	recorder.Close()
	path = filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replayed sends a recording, at a rate unless that is 0. It returns the stage, which is void where the machine is busy, and the notes.
func replayed(t *testing.T, handler http.Handler, path string, rate float64) (loadgen.Stage, []string) {
	t.Helper()
	d := Description{Handler: handler, Config: config.Config{Load: config.Load{Profile: profiles.Replay, Recording: path}}}
	if rate > 0 {
		d.Load.Rates = []float64{rate}
	}
	d.APIServer = config.None
	plan, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Load(t.Context(), nil, nil)
	if report.Load == nil || len(report.Load.Stages) != 1 {
		t.Fatalf("got %+v: %s", report.Load, report.Error)
	}
	return report.Load.Stages[0], report.Notes
}

// TestReplay sends what was recorded, at its own times and at another rate.
func TestReplay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: loads of a second")
	}
	requests, err := load.Bodies(corpus.CronTabs("v1beta1", "v1"), load.Workload{
		Phases: load.Constant(20, time.Second), Batch: 4, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1", To: "v1beta1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	for _, request := range requests {
		body, err := request.Body()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	path := recordedBy(t, nil, bodies)
	s, _ := replayed(t, webhook.Handler(), path, 0)
	if s.Requests != 20 || s.Objects != 80 || s.Failed != 0 || s.Batch != 4 || s.Rate != 20 || !s.Recorded || len(s.Phases) > 0 || !slices.Equal(s.Pairs, []loadgen.Pair{{From: "v1", To: "v1beta1"}}) {
		t.Errorf("got %+v", s)
	}
	if s, _ := replayed(t, webhook.Handler(), path, 70); s.Requests != 20 || s.Recorded || math.Abs(s.Rate-70) > 0.1 {
		t.Errorf("at another rate: %+v", s)
	}
}

// TestReplayOfWhatWasRedacted sends what was redacted, but for what the webhook refuses for that.
func TestReplayOfWhatWasRedacted(t *testing.T) {
	t.Parallel()
	const masked = `"hostPort":"xxxxxxxxx:`
	picky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(masked)) {
			http.Error(w, "no such host", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
	questions, err := recording.About(t.Context(), corpus.CronTabs("v1beta1", "v1"), "v1", 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	for _, q := range questions {
		bodies = append(bodies, q.Body)
	}
	path := recordedBy(t, []string{"hostPort"}, bodies)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, redacted := len(bodies), bytes.Count(text, []byte(`"objects":[{"apiVersion":"example.com/v1beta1",`+masked))
	if redacted == 0 || redacted == all {
		t.Fatalf("%d of %d requests are for a host of nine letters", redacted, all)
	}
	for sent, handler := range map[int]http.Handler{all: webhook.Handler(), all - redacted: picky} {
		s, notes := replayed(t, handler, path, 100)
		noted := slices.ContainsFunc(notes, func(note string) bool {
			return strings.Contains(note, fmt.Sprintf("%d of %d requests are not sent: they were redacted at hostPort", redacted, all))
		})
		if s.Requests != uint64(sent) || s.Failed > 0 || noted != (sent < all) {
			t.Errorf("got %+v, want %d of %d; the notes are %q", s, sent, all, notes)
		}
	}
}
