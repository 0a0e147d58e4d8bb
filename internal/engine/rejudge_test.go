package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/requirement"
)

// calm is a history in which nothing went wrong, beside what is marked.
func calm(marks ...record.Mark) *record.History {
	const rate, end = 200, 8 * time.Second
	h := &record.History{
		Header: record.Header{
			Scenario: string(requirement.DisruptionRestartKilled), Rate: rate, Limit: 3 * time.Second,
			Definition: record.Definition{Name: "widgets.example.com", Versions: []string{"v1", "v1beta1"}, Storage: "v1"},
			Before:     map[string]history.State{"default/a": {Exists: true}},
		},
		Marks: append(marks,
			record.Mark{Name: record.Quiet}, record.Mark{Name: record.FaultBegan, At: 3 * time.Second},
			record.Mark{Name: record.FaultEnded, At: 4 * time.Second}, record.Mark{Name: record.End, At: end}),
	}
	for at := time.Duration(0); at < end; at += time.Second / rate {
		h.Operations = append(h.Operations, record.Operation{
			Operation: history.Operation{
				Object: "default/a", Version: "v1beta1", Call: at, Return: at + time.Millisecond, Outcome: history.Acknowledged, Seen: &history.State{Exists: true},
			},
			Verb: record.Get, Code: 200, Digest: "of v1beta1",
		})
	}
	for at := time.Duration(0); at < end; at += 50 * time.Millisecond {
		h.Lags = append(h.Lags, record.Lag{At: at})
	}
	return h
}

// TestRejudge judges histories again, and what is known to fail is revised as in a run.
func TestRejudge(t *testing.T) {
	t.Parallel()
	violated := record.Mark{Name: "violation came back", Text: "it did not come back", At: 5 * time.Second}
	known := []config.KnownFailing{{ID: string(requirement.DisruptionRestartKilled), Reason: "mended next week"}}
	for name, test := range map[string]struct {
		history *record.History
		known   []config.KnownFailing
		verdict requirement.Verdict
		reason  string
	}{
		"good":            {calm(), nil, requirement.Passed, ""},
		"bad":             {calm(violated), nil, requirement.Failed, "it did not come back"},
		"known to be bad": {calm(violated), known, requirement.KnownFailing, "mended next week"},
		"good by now":     {calm(), known, requirement.Failed, "it passes, but"},
	} {
		file := filepath.Join(t.TempDir(), "history.jsonl")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err = record.Encode(f, test.history); err != nil {
			t.Fatal(err)
		}
		if err = f.Close(); err != nil {
			t.Fatal(err)
		}
		d := Disruption{Description: Description{Config: completed(config.Config{})}}
		d.KnownFailing = test.known
		got, err := d.Rejudge(file)
		if err != nil || len(got) != 1 || got[0].Result.Verdict != test.verdict || !strings.Contains(got[0].Result.Reason, test.reason) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
