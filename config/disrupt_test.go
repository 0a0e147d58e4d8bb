package config

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/disruption/objective"
)

func TestObjectivesOfDisruptions(t *testing.T) {
	t.Parallel()
	c := parse(t, head+"disrupt: {objectives: [single, restart.graceful.recovery=5s, failed=3]}\n")
	limits, err := objective.Parse(c.Disrupt.Objectives, disruptions())
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string]string{
		"disruption.restart.graceful": "recovery=5s, failed=3, lost=0, wrong=0",
		"disruption.restart.killed":   "recovery=10s, failed=3, lost=0, wrong=0",
		"disruption.network.reset":    "failed=3",
	} {
		if got := limits.For(scenario).String(); got != want {
			t.Errorf("%s: got %q, want %q", scenario, got, want)
		}
	}
	for text, want := range map[string]string{
		"[rolling, restart.graceful.recovery=5]": `3:33: disrupt.objectives[1]: "restart.graceful.recovery=5": 5 has no unit; write 5s or 5ms`,
		"[restart.gracefully.failed=0]":          `disrupt.objectives[0]: unknown scenario "restart.gracefully"`,
		"[p99=5ms]":                              `disrupt.objectives[0]: unknown figure "p99"`,
	} {
		_, err := Parse("dir/crdconform.yaml", []byte(head+"disrupt: {objectives: "+text+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestBadDisruptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{scenarios: [network, nosuch]}":              `3:32: disrupt.scenarios[1]: unknown scenario "nosuch"; write an ID such as restart.graceful, or a beginning`,
		"{scenarios: [restart.gracful]}":              `disrupt.scenarios[0]: unknown scenario "restart.gracful"; did you mean restart.graceful?`,
		"{scenarios: [disruption.restart.graceful1]}": `unknown scenario "disruption.restart.graceful1"; did you mean restart.graceful?`,
		"{scenarios: [networ]}":                       `unknown scenario "networ"; did you mean network?`,
		"{oldProgram: \"'\"}":                         "disrupt.oldProgram: ",
		"{quiet: 5ms}":                                "disrupt.quiet: 5ms is too short",
		"{rate: 1}":                                   "disrupt.rate: 1 requests a second: want 20 to 5000",
	} {
		_, err := Parse("dir/crdconform.yaml", []byte(head+"disrupt: "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
