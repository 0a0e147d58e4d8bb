package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// shown returns a progress, and what it writes to.
func shown(s streams) (*progress, *strings.Builder) {
	var out strings.Builder
	s.out = &out
	return &progress{
		streams: s,
		rerun:   func(_ string, id requirement.ID) string { return "crdconform run --filter " + string(id) },
		revise:  unrevised,
	}, &out
}

// unrevised leaves verdicts as they are.
func unrevised(_ requirement.ID, v requirement.Verdict, reason string) (requirement.Verdict, string) {
	return v, reason
}

// TestProgress compares what is shown in pipes and on terminals with testdata/golden/progress.txt. There, what is wiped ends with ⌫.
func TestProgress(t *testing.T) {
	two := func(p *progress) { // specs, of which the second fails
		p.Started(10)
		p.SpecStarted("webhook.response.uid", "compares the uids")
		p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: requirement.Passed, Duration: 1500 * time.Millisecond})
		p.SpecStarted("webhook.response.kind", "compares the kinds")
		p.SpecDone(suites.Result{Requirement: "webhook.response.kind", Verdict: requirement.Failed, Reason: "\nexpected \x1b[31ma\a,\ngot b\n"})
		p.wipe()
	}
	verdicts := func(p *progress) {
		for _, v := range []requirement.Verdict{
			requirement.Passed, requirement.NotApplicable, requirement.KnownFailing, requirement.Tolerated, requirement.Failed, requirement.Errored,
		} {
			p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: v, Reason: "because"})
		}
	}
	lines := func(p *progress) { // one that wraps could not be wiped
		for _, width := range []int{20, 6, 5, 4, 1, 0} { // at 1 nothing fits, so it is as good as unknown
			p.width = width
			for _, text := range []string{"short", "größer"} {
				p.show(text)
				p.wipe()
				p.wipe()
			}
		}
	}
	loads := func(p *progress) {
		for _, name := range []string{"", "batch 10"} {
			report := p.Loading(load.Workload{Name: name, Phases: load.Constant(1, time.Minute)}).Second
			for s := range 12 {
				report(load.Snapshot{
					Elapsed: time.Duration(s+1)*time.Second + 3*time.Millisecond, Requests: uint64(100 * (s + 1)), Failed: 2,
					P99: 1234 * time.Microsecond, Last: load.Second{Second: loadgen.Second{Requests: 99}},
				})
			}
		}
	}
	disrupted := func(p *progress) { // what fails is followed by why it matters and how to repeat it
		for _, v := range []requirement.Verdict{
			requirement.Passed, requirement.NotApplicable, requirement.Tolerated, requirement.Failed, requirement.Errored,
		} {
			r := reports.Result{Verdict: v, Reason: "it was so", Rerun: "crdconform disrupt --scenario=restart.graceful --seed=1"}
			r.ID = requirement.DisruptionRestartGraceful
			p.Disrupted(r, nil)
		}
	}
	var all strings.Builder
	for _, scene := range []struct {
		name    string
		streams streams
		play    func(*progress)
	}{
		{"two specs in a pipe", streams{}, two},
		{"two specs on a terminal", streams{terminal: true, width: 40}, two},
		{"two specs in colours", streams{terminal: true, width: 40, color: true}, two},
		{"verdicts", streams{}, func(p *progress) { p.Started(9); verdicts(p) }},
		{"verdicts in a strict run", streams{}, func(p *progress) { p.strict = true; p.Started(221); verdicts(p) }},
		{"verdicts of what is known to fail", streams{}, func(p *progress) {
			p.revise = func(_ requirement.ID, _ requirement.Verdict, reason string) (requirement.Verdict, string) {
				return requirement.KnownFailing, reason
			}
			p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: requirement.Failed})
		}},
		{"lines that change, in a pipe", streams{}, lines},
		{"lines that change, on terminals", streams{terminal: true}, lines},
		{"time that is left", streams{terminal: true, width: 80}, func(p *progress) {
			now := time.Unix(0, 0)
			p.clock = func() time.Time { return now }
			p.Started(40)
			for range 40 {
				p.SpecStarted("a.b.c", "does it")
				p.SpecDone(suites.Result{Requirement: "a.b.c", Verdict: requirement.Passed})
				now = now.Add(1500 * time.Millisecond)
			}
		}},
		{"load in a pipe", streams{}, loads},
		{"load on a terminal", streams{terminal: true, width: 80}, loads},
		{"scenarios of a disruption", streams{}, disrupted},
		{"scenarios of a disruption, strictly", streams{}, func(p *progress) { p.strict = true; disrupted(p) }},
		{"two specs in a quiet run", streams{}, func(p *progress) { p.said.quiet = true; two(p) }},
		{"two specs in a verbose run on a terminal", streams{terminal: true, width: 40}, func(p *progress) { p.said.verbose = 1; two(p) }},
		{"verdicts in a verbose run", streams{}, func(p *progress) { p.said.verbose = 1; p.Started(9); verdicts(p) }},
		{"load in a quiet run", streams{}, func(p *progress) { p.said.quiet = true; loads(p) }},
		{"load in a verbose run", streams{terminal: true, width: 80}, func(p *progress) { p.said.verbose = 1; loads(p) }},
		{"scenarios in a quiet run", streams{}, func(p *progress) { p.said.quiet = true; disrupted(p) }},
		{"steps in a pipe", streams{}, func(p *progress) { p.Step("get at v1"); p.Step("list at v1") }},
		{"steps on a terminal", streams{terminal: true, width: 80}, func(p *progress) { p.Step("get at v1"); p.Step("list at v1") }},
	} {
		p, out := shown(scene.streams)
		scene.play(p)
		fmt.Fprintf(&all, "== %s\n%s\n", scene.name, strings.NewReplacer(erase, "⌫\n", "\x1b", "␛").Replace(out.String()))
	}
	golden(t, "progress.txt", all.String())
}

// lineByLine is a writer from which a test takes lines while others are written.
type lineByLine chan string

func (l lineByLine) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// TestSilenceIsBroken expects a slow spec to be reported where lines cannot change, and nothing once it is over.
func TestSilenceIsBroken(t *testing.T) {
	lines := make(lineByLine, 1000)
	p := &progress{streams: streams{out: lines}, revise: unrevised, patience: time.Millisecond}
	p.Started(1)
	p.SpecStarted("a.b.c", "does it")
	if got, want := <-lines, "still running: [1/1] a.b.c: does it (for 0s)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.SpecDone(suites.Result{Requirement: "a.b.c", Verdict: requirement.Passed})
	last := ""
	for len(lines) > 0 {
		last = <-lines
	}
	if want := "[1/1] Passed        a.b.c (0.000 s)\n"; last != want || p.waiting.timer != nil {
		t.Errorf("got %q last, want %q; still waiting: %t", last, want, p.waiting.timer != nil)
	}
}
