package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// warmLimit is how long it may take until all is well for a while.
	warmLimit = 15 * time.Second

	// recoveredWindow is how long clients go on after the fault, at least.
	recoveredWindow = 1500 * time.Millisecond

	// recordedAfter is how long it may take until an operation that has returned is recorded.
	recordedAfter = 100 * time.Millisecond

	// lookFailures is how many objects in a row may not be read when the clients have stopped.
	lookFailures = 3

	lookEvery  = 50 * time.Millisecond
	judgeEvery = 500 * time.Millisecond
)

// Outcome is what came of a scenario. One of History, Skipped, Wrong and Err is set.
type Outcome struct {
	Scenario Scenario
	History  *record.History
	Skipped  string // why the scenario does not apply
	Wrong    string // what the webhook does wrong while nothing is disrupted
	Err      error  // why it could not be judged
	Seconds  float64
}

// tries is how often a scenario is tried whose record is void, since the machine was too busy.
const tries = 3

// isVoid reports whether there is nothing to judge in what came of a scenario, through no fault of the webhook.
func (o Outcome) isVoid() bool {
	if void := (voidError{}); errors.As(o.Err, &void) {
		return true
	}
	if o.History == nil || len(Violations(o.History)) > 0 {
		return false
	}
	report, err := record.Judge(o.History)
	return err == nil && len(report.Void) > 0
}

// voidError is that a scenario could not begin since the machine was too busy.
type voidError struct{ error }

func (e voidError) Unwrap() error { return e.error }

// undisturbedError is that the webhook fails while nothing is disrupted.
type undisturbedError struct {
	error

	kind record.Error
}

func (e undisturbedError) Unwrap() error { return e.error }

// advice says what to do about it, as far as that follows from how requests fail.
func (e undisturbedError) advice() string {
	if e.kind == record.Reset {
		return "; it closes connections that API servers are about to use, or use: keep idle ones for more than 90 s, as API servers do, and give a request and its answer 30 s"
	}
	return ""
}

// undisturbed returns an error of a request that failed while nothing is disrupted.
func undisturbed(err error) error {
	if kind := answered(err).error; isFault(kind) {
		return undisturbedError{err, kind}
	}
	return err
}

// outcomeOf is the outcome of a scenario of which there is a history or an error.
func outcomeOf(s Scenario, history *record.History, err error) Outcome {
	if wrong := (undisturbedError{}); errors.As(err, &wrong) {
		return Outcome{Scenario: s, Wrong: "the webhook fails while nothing is disrupted: " + err.Error() + wrong.advice()}
	}
	return Outcome{Scenario: s, History: history, Err: err}
}

// isFault reports whether a request failed by what the webhook did, rather than by how long it took on a busy machine.
func isFault(kind record.Error) bool {
	return slices.Contains([]record.Error{record.Answer, record.Reset, record.Refused, record.Certificate}, kind)
}

// Run disrupts a webhook scenario by scenario, and hands out what came of each. The error says why nothing more could be done. If the
// context ends, what is broken is mended first.
func Run(ctx context.Context, p *Plan, c cluster.Cluster, dir string, header record.Header, limits func(scenario string) objective.Limit, each func(Outcome)) (err error) {
	if len(p.Scenarios) == 0 {
		return errors.New("no scenario to run")
	}
	l, err := newLab(p, c, dir)
	if err != nil {
		return err
	}
	defer l.clients.Close()
	defer func() { err = errors.Join(err, l.removeOwned(ctx)) }()
	err = l.prepare(ctx)
	if wrong := (undisturbedError{}); errors.As(err, &wrong) && ctx.Err() == nil {
		for _, s := range p.Scenarios {
			each(outcomeOf(s, nil, err))
		}
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range p.Scenarios {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p.note(s.Title)
		began := time.Now()
		o := Outcome{Scenario: s}
		if o.Skipped, o.Err = p.lacks(ctx, &s); o.Skipped == "" && o.Err == nil {
			header.Objective = limits(string(s.ID))
			for n := 1; ; n++ {
				history, failed := l.run(ctx, &s, header)
				o = outcomeOf(s, history, failed)
				if n == tries || ctx.Err() != nil || !o.isVoid() {
					break
				}
				p.note(s.Title + ", once more, since the machine was too busy")
			}
		}
		o.Seconds = time.Since(began).Seconds()
		each(o)
	}
	return context.Cause(ctx)
}

// lacks says why a scenario does not apply; "" if it does.
func (p *Plan) lacks(ctx context.Context, s *Scenario) (string, error) {
	switch {
	case !s.Applies():
		return s.skipped, nil
	case s.issued && p.Pods != nil && !p.Pods.Issued():
		return "it needs a certificate that crdconform issues, and the webhook brings its own", nil
	case s.needsOld && p.OldProgram == nil:
		return "it needs the program of an old build, and none is given", nil
	case s.short:
		return limited(ctx)
	}
	return "", nil
}

// prepare installs the definition and creates the objects, with a replica of its own.
func (l *lab) prepare(ctx context.Context) (err error) {
	l.note("installing " + l.name)
	authority, err := l.firstAuthority()
	if err != nil {
		return err
	}
	if err = l.createNamespace(ctx); err != nil {
		return err
	}
	if err = l.install(ctx, authority); err != nil {
		return err
	}
	l.note("starting the webhook and creating objects")
	st, err := l.set(ctx, &Scenario{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.hook.remove(context.WithoutCancel(ctx))) }()
	if err = l.convertBy(ctx, st.hook.authority()); err != nil {
		return err
	}
	return l.seed(ctx)
}

// firstAuthority is what the definition trusts before a program was started: nothing that serves, as a definition must trust something.
func (l *lab) firstAuthority() ([]byte, error) {
	if l.Pods != nil {
		return l.Pods.ClientConfig().CABundle, nil
	}
	certs, err := issue(l.Program)
	if err != nil {
		return nil, err
	}
	return certs.authority.PEM(), certs.remove()
}

// run runs one scenario. The history is nil if there is nothing to judge.
func (l *lab) run(ctx context.Context, s *Scenario, header record.Header) (_ *record.History, err error) {
	st, err := l.set(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.hook.remove(context.WithoutCancel(ctx))) }()
	if header.Before, err = l.before(ctx); err != nil {
		return nil, err
	}
	header.Scenario, header.Title, header.Replicas = string(s.ID), s.Title, max(1, s.replicas)
	header.Definition = record.Definition{Name: l.name, Versions: l.versions, Storage: l.storage}
	header.Rate, header.Limit = l.Rate, l.Limit
	st.record = record.New(header)
	f := &crew{Clients: l.clients, record: st.record, versions: l.versions, storage: l.storage, things: l.things, run: strconv.Itoa(int(l.port)), seed: l.Seed}
	if s.affects {
		f.storage = ""
	}
	f.start(ctx, l.Rate)
	stop := memory.Follow(ctx, st.hook.usage, st.record.Now, st.record.Sample)
	recovered, err := st.disrupt(ctx, s)
	stop()
	f.end()
	if err == nil && recovered {
		err = st.lookAtAll(ctx, f)
	}
	if err == nil && s.after != nil {
		err = s.after(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	ended, err := st.hook.ended(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range ended {
		st.violates("%s", text)
	}
	return st.record.History(), nil
}

// disrupt makes the fault happen while the clients are at work, takes it back, and waits until all is as before.
func (st *stage) disrupt(ctx context.Context, s *Scenario) (recovered bool, err error) {
	if err = st.quiet(ctx); err != nil {
		return false, err
	}
	err = s.do(ctx, st)
	if err == nil {
		err = pause.For(ctx, s.Hold)
	}
	if s.undo != nil {
		within, cancel := undoing(ctx)
		err = errors.Join(err, s.undo(within, st))
		cancel()
	}
	st.end("the fault is over")
	if err != nil {
		return false, err
	}
	return st.recovered(ctx)
}

// quiet waits until the clients have been at work for a while, as fast as they should, and without a failure.
func (st *stage) quiet(ctx context.Context) error {
	if err := pause.For(ctx, st.Quiet); err != nil {
		return err
	}
	for end := time.Now().Add(warmLimit); ; {
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
		now := st.record.Now()
		err := st.paced(st.Quiet)
		if err == nil {
			st.record.MarkAt(record.Quiet, now-st.Quiet, "")
			return nil
		}
		if time.Now().After(end) {
			if wrong := (undisturbedError{}); errors.As(err, &wrong) {
				return err
			}
			return voidError{fmt.Errorf("void: before anything was disrupted, %w", err)}
		}
	}
}

// paced says what is not as it should be in the last moments.
func (st *stage) paced(window time.Duration) error {
	operations, failed := st.record.Since(st.record.Now() - window)
	rate := float64(operations) / window.Seconds()
	switch {
	case failed > 0:
		text, kind := st.lastFailure()
		err := fmt.Errorf("%d of %d requests failed, such as: %s", failed, operations, text)
		if isFault(kind) {
			return undisturbedError{err, kind}
		}
		return err
	case rate < st.Reached*st.Rate:
		return fmt.Errorf("clients made %.0f requests a second, and should make %.0f; the machine is too busy for that rate", rate, st.Rate)
	}
	return nil
}

func (st *stage) lastFailure() (text string, kind record.Error) {
	for _, o := range slices.Backward(st.record.History().Operations) {
		if o.Failed() {
			return fmt.Sprintf("%s at %s: %s", o.Verb, o.Version, o.Text), o.Error
		}
	}
	return "nothing", ""
}

// recovered waits until all is as before the fault, as the judge sees it, or the limit is over. The record ends with what the judge saw, as
// the clients work on while it looks.
func (st *stage) recovered(ctx context.Context) (bool, error) {
	if err := pause.For(ctx, recoveredWindow); err != nil {
		return false, err
	}
	for end := time.Now().Add(st.Limit); ; {
		at := st.record.Now() - recordedAfter
		h := st.record.History()
		h.Marks = append(h.Marks, record.Mark{Name: record.End, At: at})
		recovered := record.Recovered(h)
		if recovered || time.Now().After(end) {
			st.record.MarkAt(record.End, at, "")
			return recovered, nil
		}
		if err := pause.For(ctx, judgeEvery); err != nil {
			return false, err
		}
	}
}

// lookAtAll reads each object once more at each version, so that no write is lost unseen. A webhook that has recovered and does not convert
// them in the end violates the requirement.
func (st *stage) lookAtAll(ctx context.Context, f *crew) error {
	for i, version := range st.versions {
		c := &client{crew: f, id: -1 - i, version: version}
		failed := 0 // in a row
		for _, t := range st.things {
			if c.look(ctx, t) != nil {
				failed = 0
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if failed++; failed == lookFailures {
				text, _ := st.lastFailure()
				st.violates("when the clients had stopped, %d objects in a row could not be read at %s; %s", failed, version, text)
				break // each may take as long as API servers wait
			}
		}
	}
	return context.Cause(ctx)
}
