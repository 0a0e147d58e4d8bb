// Package suites is the engine of the suites: it declares specs, gives them what they need, runs them and says what they
// amount to. It is the only place that runs Ginkgo.
package suites

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Area is a chapter: specs for the requirements whose IDs begin with its name.
type Area struct {
	Name     string
	Register func(env *Env) // declares the specs; it must not touch the cluster
}

// specTimeout is how long a spec may take that asks an API server. The slowest take sixteen seconds where nothing else runs, and more
// than a minute on a busy machine, for which no server is to blame. Specs that ask a webhook have no limit together, since there is
// one for each request: a webhook may take long for each of many.
const specTimeout = 3 * time.Minute

// labelsOf are the labels by which people select a spec with Ginkgo's label filter: the ID first, then the chapter, the level and whom the
// requirement binds.
func labelsOf(r requirement.Requirement) []string {
	return []string{string(r.ID), r.ID.Area(), string(r.Level), "binds-" + string(r.Binds)}
}

// Slow is the label of specs that wait for seconds.
const Slow = "slow"

// It declares the spec that checks one requirement. The text says what the spec does, as opposed to what the requirement
// asks. Assertions in the body make it Failed; problems with what it needs make it Errored. The labels are beside those that every spec has.
func (e *Env) It(id requirement.ID, text string, body func(ctx ginkgo.SpecContext), labels ...string) {
	e.declare(id, text, body, labels)
}

func (e *Env) declare(id requirement.ID, text string, body func(ctx ginkgo.SpecContext), labels []string) {
	r, found := requirement.Lookup(id)
	if !found {
		panic(fmt.Sprintf("suites: spec %q names the unknown requirement %q", text, id))
	}
	if !e.selects(id) {
		return
	}
	if e.readings != nil && r.Binds == requirement.Server {
		text, body = e.reading(id, text)
	}
	decorators := []any{
		ginkgo.Offset(2), ginkgo.Label(append(labelsOf(r), labels...)...), ginkgo.AroundNode(e.untilStopped), ginkgo.SpecPriority(e.priority(id)),
	}
	if r.Binds == requirement.Server {
		decorators = append(decorators, ginkgo.SpecTimeout(specTimeout))
	}
	//nolint:forbidigo // this is what everybody else is to use
	ginkgo.It(text, append(decorators, func(ctx ginkgo.SpecContext) {
		e.attempt = attempt{running: id}
		e.skipUnlessApplicable(r)
		defer e.noteStop()
		defer e.unreachable.watch()()
		body(ctx)
		e.skipUntried(id)
	})...)
}

// untilStopped ends the context of a spec when the run is stopped.
func (e *Env) untilStopped(ctx context.Context, body func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := e.stopped // the goroutine may start when the next run has begun
	go func() {
		select {
		case <-stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	body(ctx)
}

// noteStop says of the running spec that it was stopped if it was: then what it found says nothing.
func (e *Env) noteStop() {
	select {
	case <-e.stopped:
		ginkgo.AddReportEntry(entryStopped, "", ginkgo.ReportEntryVisibilityNever)
	default:
	}
}

// skipUnlessApplicable skips requirements that do not hold for the Kubernetes minor of the cluster. Nobody can blame it for that.
func (e *Env) skipUnlessApplicable(r requirement.Requirement) {
	if r.Binds != requirement.Server {
		return
	}
	if !r.HoldsFor(e.minor) {
		bounds := "since " + r.Since.String()
		if (r.Until != requirement.Minor{}) {
			bounds = "until " + r.Until.String()
		}
		e.Inapplicable(fmt.Sprintf("holds %s of Kubernetes, and this is %s", bounds, e.minor))
	}
}

// Setup is a definition that specs want to have installed.
type Setup struct {
	env        *Env
	definition fixtures.Definition
	options    []fixtures.Option
	shared     *shared         // nil when every spec gets a definition of its own
	apart      fixtures.Option // what makes the shared definition that of one spec; nil when it is of all
	inTurn     bool            // see InTurn
	needs      Need            // nil when the rights that every run has are enough
}

// Need is something that a spec cannot do without. It returns what is lacking, as a reason that follows "needs", and nothing where all
// is there.
type Need func(ctx ginkgo.SpecContext, env *Env) string

// Needs skips the running spec unless everything is there that it needs.
func (e *Env) Needs(ctx ginkgo.SpecContext, all ...Need) {
	ginkgo.GinkgoHelper()
	for _, one := range all {
		if lacking := one(ctx, e); lacking != "" {
			e.Inapplicable("needs " + lacking)
		}
	}
}

// With prepares specs that need a documented definition, changed by options. Each spec gets one of its own, in an API group of
// its own, installed before the spec starts and removed after it. A definition with a conversion webhook is connected to a
// webhook of its own too.
func (e *Env) With(definition fixtures.Definition, options ...fixtures.Option) Setup {
	return Setup{env: e, definition: definition, options: options}
}

// Together makes the specs of the set-up share one definition, in the API group of the first of them that is selected. It is
// for specs that only create objects of names that no other spec uses, and leave the definition as it is: installing one takes
// seconds.
func (s Setup) Together() Setup {
	s.shared = &shared{}
	return s
}

// Needing makes the specs of the set-up skip where something is lacking without which their definition cannot be installed.
func (s Setup) Needing(need Need) Setup {
	s.needs = need
	return s
}

// It declares the spec that checks one requirement, with the definition of the set-up. See Env.It.
func (s Setup) It(id requirement.ID, text string, body func(ctx ginkgo.SpecContext, crd *Resource), labels ...string) {
	pending := s.env.installer.announce(s, id)
	s.env.declare(id, text, func(ctx ginkgo.SpecContext) {
		if s.env.readings != nil { // nothing is installed
			ginkgo.Skip(onlyReads)
		}
		if s.needs != nil {
			s.env.Needs(ctx, s.needs)
		}
		body(ctx, s.take(ctx, id, pending))
	}, labels)
}

// Apart names the part of a shared definition that a spec is about. Where the API server refuses the whole as invalid, the spec has its
// part installed instead: it fails if that is refused, and is judged by it otherwise.
func (s Setup) Apart(part fixtures.Option) Setup {
	s.apart = part
	return s
}

// Severity returns what a violation of the running spec's requirement amounts to, Failed or Tolerated, by the part of the
// requirement that it is in. The part is empty for those that are in none.
func (e *Env) Severity(part requirement.PartName) requirement.Verdict {
	return requirement.SeverityOf(e.running, part)
}

// Violated makes the verdict of the running spec what a violation amounts to. If that is Failed, the spec ends; if it is
// Tolerated, the spec goes on and may still fail.
func (e *Env) Violated(severity requirement.Verdict, how string) {
	ginkgo.GinkgoHelper()
	if severity != requirement.Tolerated {
		ginkgo.Fail(how)
	}
	e.Tried(1)
	ginkgo.AddReportEntry(entryTolerated, how, ginkgo.ReportEntryVisibilityFailureOrVerbose)
}

// Inapplicable skips the running spec because the subject has nothing that the requirement is about. That takes nothing from
// the outcome of a run.
func (e *Env) Inapplicable(reason string) {
	ginkgo.GinkgoHelper()
	ginkgo.AddReportEntry(entryImmaterial, "", ginkgo.ReportEntryVisibilityNever)
	ginkgo.Skip(reason)
}

// Tried adds to the number of effective trials of the running spec: of times that something was done which could have shown a violation.
// A patch that changes nothing is none.
func (e *Env) Tried(n int) { e.trials += n }

// Fruitless notes why something that the running spec tried was no effective trial. The first such reason is given if there is none at all.
func (e *Env) Fruitless(format string, arguments ...any) {
	if e.fruitless == "" {
		e.fruitless = fmt.Sprintf(format, arguments...)
	}
}

// needsTrials reports whether a spec tries what is the user's own, of which there may be nothing that could show a violation.
func needsTrials(id requirement.ID) bool {
	return id.Area() == "resource" || strings.HasPrefix(string(id), "webhook.conversion.")
}

// skipUntried skips the running spec if it has reported no effective trial: it would have passed whatever the webhook does.
func (e *Env) skipUntried(id requirement.ID) {
	ginkgo.GinkgoHelper()
	if !needsTrials(id) {
		return
	}
	fmt.Fprintf(ginkgo.GinkgoWriter, "effective trials: %d\n", e.trials)
	if e.trials == 0 {
		ginkgo.Skip("could not be judged: " + cmp.Or(e.fruitless, "there was nothing to try that could have shown a violation"))
	}
}

// Attach adds a file to the result of the running spec, as evidence or to reproduce what was seen.
func (e *Env) Attach(name string, data []byte) {
	ginkgo.AddReportEntry(entryAttachment, Attachment{name, data}, ginkgo.ReportEntryVisibilityNever)
}

// Found records what the running spec found at which fields, in place of what it recorded before.
func (e *Env) Found(findings []reports.FieldFinding) {
	ginkgo.AddReportEntry(entryFindings, findings, ginkgo.ReportEntryVisibilityNever)
}

// Require ends the running spec as Errored when what it needs could not be had. The arguments say what that was.
func (e *Env) Require(err error, format string, arguments ...any) {
	if err != nil {
		ginkgo.GinkgoHelper()
		e.errored(fmt.Sprintf("%s: %v", fmt.Sprintf(format, arguments...), err))
	}
}

func (e *Env) errored(message string) {
	ginkgo.GinkgoHelper()
	ginkgo.AddReportEntry(entryErrored, message, ginkgo.ReportEntryVisibilityNever)
	ginkgo.Fail(setUp + message)
}

// setUp begins the message of a failure that makes a spec Errored.
const setUp = "set-up: "

// The names of report entries with which specs give the engine more information than passed or failed.
const (
	entryTolerated   = "crdconform/tolerated"
	entryErrored     = "crdconform/errored"
	entryUnreachable = "crdconform/unreachable"
	entryStopped     = "crdconform/stopped"
	entryImmaterial  = "crdconform/immaterial"
	entryAttachment  = "crdconform/attachment"
	entryFindings    = "crdconform/findings"
)

// Attachment is a file that belongs to a result.
type Attachment struct {
	Name string
	Data []byte
}
