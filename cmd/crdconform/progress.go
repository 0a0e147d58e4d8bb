package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// progress shows how a run goes on: on a terminal one line that changes, elsewhere a line for each spec. What fails is
// shown at once in both.
type progress struct {
	streams
	said    verbosity
	strict  bool
	several bool // there are several definitions, so that problems take a line each
	rerun   func(definition string, id requirement.ID) string
	revise  func(id requirement.ID, v requirement.Verdict, reason string) (requirement.Verdict, string) // in view of what is known to fail
	objects int                                                                                         // of a rehearsal

	observers observers

	seed        int64
	definition  string // that is judged; empty when there is only one way to name it
	total, done int
	began       time.Time        // the specs
	clock       func() time.Time // time.Now if nil
	status      bool             // there is a line that changes

	patience time.Duration // how long nothing may be written where lines cannot change, before a line says what goes on; forever if 0
	waiting  waiting
}

// patience is how long a run is silent where lines cannot change: some that run CI take silence for a run that hangs.
const patience = 30 * time.Second

// waiting has what goes on be written from time to time, until it is stopped.
type waiting struct {
	mu    sync.Mutex
	timer *time.Timer // nil while nothing is waited for
	text  string
	began time.Time // what the text is about
}

// on says what goes on now. A wait that has begun goes on, however often that changes.
func (w *waiting) on(text string, every time.Duration, write func(text string, since time.Duration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text, w.began = text, time.Now()
	if w.timer != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(every, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timer == timer {
			write(w.text, time.Since(w.began))
			timer.Reset(every)
		}
	})
	w.timer = timer
}

// stop has nothing written from here on.
func (w *waiting) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// erase is the escape sequence that wipes a line of a terminal.
const erase = "\r\x1b[K"

// say prints a line, above the one that changes.
func (p *progress) say(format string, arguments ...any) {
	p.wipe()
	fmt.Fprintf(p.out, format+"\n", arguments...)
}

// info prints a line that a quiet run leaves out.
func (p *progress) info(format string, arguments ...any) {
	if !p.said.quiet {
		p.say(format, arguments...)
	}
}

func (p *progress) wipe() {
	p.waiting.stop()
	if p.status {
		fmt.Fprint(p.out, erase)
		p.status = false
	}
}

// show replaces the line that changes. Where lines cannot change, the text is written if it holds for long.
func (p *progress) show(text string) {
	if p.said.quiet {
		return
	}
	if !p.terminal {
		if p.patience > 0 {
			p.waiting.on(text, p.patience, func(text string, since time.Duration) {
				fmt.Fprintf(p.out, "%s%s (for %s)\n", goesOn, visible.Text(text), since.Round(time.Second))
			})
		}
		return
	}
	if most, runes := p.width-1, []rune(text); most > 0 && len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	fmt.Fprint(p.out, erase+text)
	p.status = true
}

// goesOn begins a line about something that takes long.
const goesOn = "still running: "

// Note shows what goes on between the specs.
func (p *progress) Note(text string) { p.show(text) }

// Say shows what is good to know later.
func (p *progress) Say(text string) { p.info("%s", text) }

// Checking says what is judged.
func (p *progress) Checking(name, version string) {
	p.info("crdconform %s: Kubernetes %s (%s), seed %d", toolVersion(), version, name, p.seed)
}

// Step shows what is measured through an API server: where lines cannot change, in a line for each.
func (p *progress) Step(text string) {
	text = "through the API server: " + visible.Text(text)
	if p.terminal {
		p.show(text)
	} else {
		p.info("%s", text)
	}
}

// Judging says what is judged.
func (p *progress) Judging(url, definition string) {
	p.definition = definition
	if definition != "" {
		definition = definition + " at "
	}
	p.info("crdconform %s: %s%s, seed %d", toolVersion(), definition, url, p.seed)
}

// Started notes how many specs there are.
func (p *progress) Started(total int) { p.total, p.done, p.began = total, 0, p.now() }

func (p *progress) now() time.Time {
	if p.clock != nil {
		return p.clock()
	}
	return time.Now()
}

// SpecStarted shows what runs.
func (p *progress) SpecStarted(id requirement.ID, text string) {
	p.show(fmt.Sprintf("[%*d/%d%s] %s: %s", digits(p.total), p.done+1, p.total, p.left(), id, text))
}

// left says how long the rest of the specs will take, if they take as long as those so far. It says nothing before enough of
// them are done for an estimate, nor where lines cannot change: one is written there for what takes longer than others.
func (p *progress) left() string {
	const enough = 10
	if p.done < enough || !p.terminal {
		return ""
	}
	rest := p.now().Sub(p.began) / time.Duration(p.done) * time.Duration(p.total-p.done)
	if rest < time.Second {
		return ""
	}
	return fmt.Sprintf(", about %s left", rest.Round(time.Second))
}

// SpecDone shows what came of it.
func (p *progress) SpecDone(r suites.Result) {
	p.done++
	r.Verdict, r.Reason = p.revise(r.Requirement, r.Verdict, r.Reason)
	if p.said.verbose > 0 || !p.terminal && !p.several {
		p.info("[%*d/%d] %-13s %s (%.3f s)%s", digits(p.total), p.done, p.total, r.Verdict, r.Requirement, r.Duration.Seconds(), p.reason(r))
	}
	if p.isProblem(r.Verdict) {
		p.problem(r)
	}
}

// reason is why a verdict is what it is, for a verbose run; of a problem that is shown in any case.
func (p *progress) reason(r suites.Result) string {
	if why := reporter.Brief(reports.Result{Reason: r.Reason}); p.said.verbose > 0 && why != "" && !p.isProblem(r.Verdict) {
		return ": " + why
	}
	return ""
}

// isProblem reports whether a verdict counts against somebody, or against crdconform itself.
func (p *progress) isProblem(v requirement.Verdict) bool {
	return reporter.Problem(&reports.Report{Strict: p.strict}, reports.Result{Verdict: v})
}

// Rehearsing says which upgrade it is.
func (p *progress) Rehearsing(from, to string) {
	p.info("crdconform %s: the upgrade from %s to %s, with %s, seed %d", toolVersion(), visible.Text(from), visible.Text(to), visible.Count(p.objects, "object", ""), p.seed)
}

// Stepped says what came of a step of a rehearsal.
func (p *progress) Stepped(step reports.LegStep) {
	p.wipe()
	if p.said.quiet && !p.isProblem(reporter.StepVerdict(step)) {
		return
	}
	p.screen().Line(verdictColor(reporter.StepVerdict(step)), fmt.Sprintf("%-12s", step.Name), " "+reporter.StepSummary(step)+fmt.Sprintf(" (%.1f s)", step.Seconds))
}

// Disrupted says what came of a scenario.
func (p *progress) Disrupted(result reports.Result, figures *reports.Disruption) {
	p.wipe()
	if p.said.quiet && !p.isProblem(result.Verdict) {
		return
	}
	p.screen().Line(verdictColor(result.Verdict), fmt.Sprintf("%-13s", result.Verdict), fmt.Sprintf(" %s (%.1f s)", engine.DisruptionSummary(result, figures), result.Seconds))
	if p.isProblem(result.Verdict) {
		p.screen().Sequel(result.ID, result.Verdict, result.Rerun)
	}
}

// problem shows a result that counts against somebody, with what a reader needs to go on. Of several definitions there would be too
// much to read.
func (p *progress) problem(r suites.Result) {
	if p.several {
		p.wipe()
		p.screen().Line(reporter.Red, strings.ToUpper(r.Verdict.String()), fmt.Sprintf(" %s of %s: %s", r.Requirement, p.definition, reporter.Brief(reports.Result{Reason: r.Reason})))
		return
	}
	statement := ""
	if known, found := requirement.Lookup(r.Requirement); found {
		statement = known.Statement
	}
	p.wipe()
	p.screen().Problem(r.Verdict, r.Requirement, statement, r.Reason)
	p.screen().Sequel(r.Requirement, r.Verdict, p.rerun(p.definition, r.Requirement))
}

// Loading shows how a stage of a load test goes on: each second on a terminal, elsewhere after one second and every ten from
// there.
func (p *progress) Loading(w load.Workload) load.Watch {
	name := "load"
	if w.Name != "" {
		name = w.Name
	}
	seconds := 0
	return p.observers.join(w, load.Watch{Second: func(s load.Snapshot) {
		line := fmt.Sprintf("%s: %s of %s, %s, %d/s, %d failed, p99 %.2f ms", name,
			s.Elapsed.Round(time.Second), w.Length(), visible.Count(s.Requests, "request", ""), s.Last.Requests, s.Failed, float64(s.P99.Microseconds())/1000)
		switch {
		case p.terminal && p.said.verbose == 0:
			p.show(line)
		case p.said.verbose > 0 || seconds%10 == 0:
			p.info("%s", line)
		}
		seconds++
	}})
}

func digits(n int) int { return len(strconv.Itoa(n)) }
