package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestHold has the program go on after all is judged: the scripts of the report reach it until the interruption, which takes
// nothing from the verdict.
func TestHold(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{"check", "--objects", few, "--hold", "--filter", "webhook.response.uid"}, webhookProgram(t, "serve")...)...)
	p.await(t, "The webhook keeps running")
	served, err := filepath.Glob(filepath.Join(p.temporary, "crdconform-certs-*", "ca.crt"))
	if err != nil || len(served) != 1 {
		t.Fatalf("the program's certificates: %v, %v", served, err)
	}
	url := regexp.MustCompile(`https://127\.0\.0\.1:[0-9]+/convert`).FindString(p.out.String())
	ca, err := os.ReadFile(served[0])
	check(t, err)
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca})
	check(t, err)
	defer client.Close()
	if err := client.Reach(t.Context()); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
	p.signal(t, os.Interrupt)
	r := p.end()
	r.exits(t, exitConforms)
	if got := r.report(t).Outcome; got != reports.Conformant {
		t.Errorf("the report says %s", got)
	}
	gone(t, p.temporary)
}

// TestInterruptedProgram stops check while its program starts, and while specs run: nothing is left.
func TestInterruptedProgram(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode  string
		until func(*testing.T, *running)
	}{
		"while it starts": {"never", func(t *testing.T, p *running) {
			t.Helper()
			eventually(t, func() bool {
				found, err := filepath.Glob(filepath.Join(p.temporary, "crdconform-certs-*", "ca.crt"))
				return err == nil && len(found) > 0
			})
		}},
		"in specs": {"serve", said("[ 2/")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"check"}, webhookProgram(t, test.mode)...)...)
			test.until(t, p)
			p.signal(t, os.Interrupt)
			r := p.end()
			r.exits(t, exitInterrupted)
			report := r.report(t)
			if report.Outcome != reports.Interrupted || report.Error != "" || report.Counts[requirement.Failed]+report.Counts[requirement.Errored] > 0 {
				t.Errorf("got %s with %v and %q", report.Outcome, report.Counts, report.Error)
			}
			gone(t, p.temporary)
		})
	}
}
