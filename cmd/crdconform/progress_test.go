package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// shown returns a progress, and what it writes to.
func shown(s streams) (*progress, *strings.Builder) {
	var out strings.Builder
	s.out = &out
	return &progress{
		streams: s,
		rerun:   func(_ string, id requirement.ID) string { return "crdconform run --filter " + string(id) },
		revise:  func(*suites.Result) {},
	}, &out
}

// play has two specs run, of which the second fails.
func play(p *progress) {
	p.Started(10)
	p.SpecStarted("webhook.response.uid", "compares the uids")
	p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: requirement.Passed, Duration: 1500 * time.Millisecond})
	p.SpecStarted("webhook.response.kind", "compares the kinds")
	p.SpecDone(suites.Result{Requirement: "webhook.response.kind", Verdict: requirement.Failed, Reason: "\nexpected \x1b[31ma\a,\ngot b\n"})
	p.wipe()
}

func statement(t *testing.T, id requirement.ID) string {
	t.Helper()
	r, found := requirement.Lookup(id)
	if !found {
		t.Fatalf("there is no %s", id)
	}
	return r.Statement
}

func why(t *testing.T, id requirement.ID) string {
	t.Helper()
	r, found := requirement.Lookup(id)
	if !found || r.Why == "" {
		t.Fatalf("it is not said why %s matters", id)
	}
	return r.Why
}

func TestProgressInAPipe(t *testing.T) {
	p, out := shown(streams{})
	play(p)
	want := `[ 1/10] Passed        webhook.response.uid (1.500 s)
[ 2/10] Failed        webhook.response.kind (0.000 s)
FAILED webhook.response.kind: ` + statement(t, "webhook.response.kind") + `
    expected ` + "\uFFFD[31ma\uFFFD" + `,
    got b
    why it matters: ` + why(t, "webhook.response.kind") + `
    again: crdconform run --filter webhook.response.kind
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestProgressOnATerminal(t *testing.T) {
	for color, want := range map[bool]string{
		false: "FAILED webhook.response.kind: " + statement(t, "webhook.response.kind") + "\n    expected \uFFFD[31ma\uFFFD,\n    got b\n    why it matters: " + why(t, "webhook.response.kind") + "\n    again: crdconform run --filter webhook.response.kind\n",
		true:  red + "FAILED" + plain + " webhook.response.kind: " + statement(t, "webhook.response.kind") + "\n    expected \uFFFD[31ma\uFFFD,\n    got b\n    " + dim + "why it matters: " + why(t, "webhook.response.kind") + plain + "\n    " + dim + "again: crdconform run --filter webhook.response.kind" + plain + "\n",
	} {
		p, out := shown(streams{terminal: true, width: 40, color: color})
		play(p)
		want = erase + "[ 1/10] webhook.response.uid: compares " + erase + "[ 2/10] webhook.response.kind: compares" + erase + want
		if got := out.String(); got != want {
			t.Errorf("color %t: got:\n%q\nwant:\n%q", color, got, want)
		}
	}
}

// TestLineThatChanges has it fit on one line of the terminal, since one that wraps cannot be wiped.
func TestLineThatChanges(t *testing.T) {
	for _, test := range []struct {
		width      int
		text, want string
	}{
		{20, "short", "short"},
		{6, "short", "short"},
		{5, "short", "shor"},
		{5, "größer", "größ"},
		{4, "größer", "grö"},
		{1, "short", "short"}, // nothing fits, so it is as good as unknown
		{0, "short", "short"},
	} {
		p, out := shown(streams{terminal: true, width: test.width})
		p.show(test.text)
		if got := out.String(); got != erase+test.want || !utf8.ValidString(got) {
			t.Errorf("%d columns for %q: %q, want %q", test.width, test.text, got, test.want)
		}
		p.wipe()
		p.wipe()
		if got := out.String(); got != erase+test.want+erase {
			t.Errorf("wiped twice: %q", got)
		}
	}
	p, out := shown(streams{width: 20})
	p.show("nothing")
	p.wipe()
	if got := out.String(); got != "" {
		t.Errorf("a pipe gets %q", got)
	}
}

// TestProgressEstimates has the time that is left be told once there is enough to tell it by.
func TestProgressEstimates(t *testing.T) {
	p, out := shown(streams{terminal: true, width: 80})
	now := time.Unix(0, 0)
	p.clock = func() time.Time { return now }
	p.Started(40)
	for range 40 {
		p.SpecStarted("a.b.c", "does it")
		p.SpecDone(suites.Result{Requirement: "a.b.c", Verdict: requirement.Passed})
		now = now.Add(1500 * time.Millisecond)
	}
	for _, want := range []string{"[10/40] a.b.c: does it", "[11/40, about 45s left] a.b.c", "[31/40, about 15s left] a.b.c", "[40/40, about 2s left] a.b.c"} {
		if !strings.Contains(out.String(), erase+want) {
			t.Errorf("there is no %q in %q", want, out.String())
		}
	}
}

// TestWhatIsShownAsAProblem depends on the verdict, on strictness, and on what is known.
func TestWhatIsShownAsAProblem(t *testing.T) {
	for _, test := range []struct {
		verdict requirement.Verdict
		strict  bool
		want    string // the word that begins the problem
	}{
		{requirement.Passed, true, ""},
		{requirement.NotApplicable, true, ""},
		{requirement.KnownFailing, true, ""},
		{requirement.Tolerated, false, ""},
		{requirement.Tolerated, true, "TOLERATED "},
		{requirement.Failed, false, "FAILED "},
		{requirement.Errored, false, "ERRORED "},
	} {
		p, out := shown(streams{})
		p.strict = test.strict
		p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: test.verdict, Reason: "because"})
		_, problem, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(problem, test.want) || test.want == "" && problem != "" {
			t.Errorf("%s, strict %t: %q, want %q", test.verdict, test.strict, problem, test.want)
		}
	}
	p, out := shown(streams{})
	p.revise = func(r *suites.Result) { r.Verdict = requirement.KnownFailing }
	p.SpecDone(suites.Result{Requirement: "webhook.response.uid", Verdict: requirement.Failed})
	if got, want := out.String(), "[1/0] KnownFailing  webhook.response.uid (0.000 s)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// lineByLine is a writer from which a test takes lines while others are written.
type lineByLine chan string

func (l lineByLine) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// TestSilenceIsBroken has what takes long be told where lines cannot change, but nothing after it is over.
func TestSilenceIsBroken(t *testing.T) {
	lines := make(lineByLine, 1000)
	p := &progress{streams: streams{out: lines}, revise: func(*suites.Result) {}, patience: time.Millisecond}
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

func TestProgressOfLoad(t *testing.T) {
	snapshot := func(seconds int) load.Snapshot {
		return load.Snapshot{Elapsed: time.Duration(seconds)*time.Second + 3*time.Millisecond, Requests: uint64(100 * seconds), Failed: 2, P99: 1234 * time.Microsecond, Last: load.Second{Second: loadgen.Second{Requests: 99}}}
	}
	w := load.Workload{Phases: load.Constant(1, time.Minute)}
	p, out := shown(streams{})
	report := p.Loading(w).Second
	for seconds := range 12 {
		report(snapshot(seconds + 1))
	}
	if want := "load: 1s of 1m0s, 100 requests, 99/s, 2 failed, p99 1.23 ms\nload: 11s of 1m0s, 1100 requests, 99/s, 2 failed, p99 1.23 ms\n"; out.String() != want {
		t.Errorf("in a pipe: %q, want %q", out, want)
	}
	p, out = shown(streams{terminal: true, width: 80})
	w.Name = "batch 10"
	report = p.Loading(w).Second
	for seconds := range 2 {
		report(snapshot(seconds + 1))
	}
	if want := erase + "batch 10: 1s of 1m0s, 100 requests, 99/s, 2 failed, p99 1.23 ms" + erase + "batch 10: 2s of 1m0s, 200 requests, 99/s, 2 failed, p99 1.23 ms"; out.String() != want {
		t.Errorf("on a terminal: %q, want %q", out, want)
	}
}

func TestDigits(t *testing.T) {
	for n, want := range map[int]int{0: 1, 9: 1, 10: 2, 221: 3} {
		if got := digits(n); got != want {
			t.Errorf("%d has %d digits, want %d", n, got, want)
		}
	}
}

// TestSteps has a line for each step of a measurement where lines cannot change.
func TestSteps(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[bool]string{
		false: "through the API server: get at v1\nthrough the API server: list at v1\n",
		true:  erase + "through the API server: get at v1" + erase + "through the API server: list at v1",
	} {
		p, out := shown(streams{terminal: terminal, width: 80})
		p.Step("get at v1")
		p.Step("list at v1")
		if out.String() != want {
			t.Errorf("terminal %t: it shows %q, want %q", terminal, out, want)
		}
	}
}
