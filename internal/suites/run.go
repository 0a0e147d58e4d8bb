package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/requirement"
)

// Progress is informed about the progress of a run. The calls come one after another.
type Progress interface {
	// Started is called once, with the number of specs to come.
	Started(total int)

	// SpecStarted is called before each spec.
	SpecStarted(id requirement.ID, text string)

	// SpecDone is called after each spec.
	SpecDone(result Result)
}

// Outcome is the outcome of a run.
type Outcome struct {
	Results     []Result // one for each selected spec, in the order of the catalogue
	Interrupted bool     // it was stopped; specs that did not run have the verdict Unknown
	Enough      bool     // a result was reason to run no more specs, which have the verdict Unknown
}

// one keeps runs apart: Ginkgo's tree of specs is global to the process.
var one sync.Mutex

// Run runs the selected specs of the areas, by priority and otherwise in random order, and returns their results. When the context ends, so
// does the running spec, and what did not run has the verdict Unknown. It fails when it could not run them at all, or when none is
// selected.
func Run(ctx context.Context, env *Env, areas []Area, progress Progress) (Outcome, error) {
	one.Lock()
	defer one.Unlock()
	defer quiet()()
	defer readable()()
	defer ownGomega(env.effect)()

	env.stopped = ctx.Done()
	plant(env, areas)
	defer globals.Reset()
	config := suiteConfig(env.seed)
	env.look(config)
	enough := false
	ginkgo.BeforeEach(func() {
		switch {
		case ctx.Err() != nil:
			ginkgo.AbortSuite("interrupted")
		case enough:
			ginkgo.AbortSuite("enough")
		}
	})
	var report types.Report
	ginkgo.ReportBeforeSuite(func(r types.Report) { progress.Started(r.PreRunStats.SpecsThatWillRun) })
	ginkgo.ReportBeforeEach(func(r types.SpecReport) {
		if id, ok := requirementOf(r); ok {
			progress.SpecStarted(id, r.LeafNodeText)
		}
	})
	results := map[requirement.ID]Result{}
	ginkgo.ReportAfterEach(func(r types.SpecReport) {
		if result, ok := resultOf(r); ok && result.Verdict != requirement.Unknown {
			results[result.Requirement] = result
			progress.SpecDone(result)
			enough = enough || env.enough(result)
		}
	})
	ginkgo.ReportAfterSuite("outcome", func(r types.Report) { report = r })
	ginkgo.RunSpecs(ignoreFailure{}, "crdconform", config, types.NewDefaultReporterConfig())
	env.installer.settle()
	outcome, err := outcomeOf(ctx, report, results)
	switch outcome.Enough = enough; {
	case enough:
		outcome.leave("the run stopped at the first failure")
	case env.absent != nil && ctx.Err() == nil:
		outcome.leave("there is no API server")
		err = env.absent
	}
	return outcome, err
}

// leave gives the reason for which specs did not run.
func (o *Outcome) leave(why string) {
	for i := range o.Results {
		if r := &o.Results[i]; r.Verdict == requirement.Unknown {
			r.Reason = "not judged: " + why
		}
	}
}

// plant puts the specs of the areas into Ginkgo's tree, in place of what was there.
func plant(env *Env, areas []Area) {
	globals.Reset()
	env.installer.forget()
	for _, area := range areas {
		ginkgo.Describe(area.Name, func() { area.Register(env) })
	}
	ginkgo.BeforeSuite(env.installer.start)
}

// look finds out which specs will run, in which order, so that their definitions can be installed ahead of them. The specs are declared
// once more then.
func (e *Env) look(config types.SuiteConfig) {
	e.installer.order = nil
	for _, r := range ginkgo.PreviewSpecs("crdconform", config).SpecReports {
		if id, ok := requirementOf(r); ok && !r.State.Is(types.SpecStateSkipped) {
			e.installer.order = append(e.installer.order, id)
		}
	}
	e.installer.forget()
}

func suiteConfig(seed int64) types.SuiteConfig {
	config := types.NewDefaultSuiteConfig()
	config.RandomSeed = seed
	config.RandomizeAllSpecs = true
	config.FailOnEmpty = true
	config.Timeout = 0 // a webhook may take long for each of many requests
	return config
}

// quiet keeps Ginkgo's own reporter from writing, until the function that it returns is called.
func quiet() func() {
	out := formatter.ColorableStdOut
	formatter.ColorableStdOut = io.Discard
	return func() { formatter.ColorableStdOut = out }
}

// ownGomega gives specs a Gomega with its own defaults, until the function that it returns is called.
func ownGomega(timeout time.Duration) func() {
	before := gomega.Default
	gomega.Default = gomega.NewGomega(ginkgo.Fail)
	gomega.SetDefaultEventuallyTimeout(timeout)
	interval := poll
	if timeout < usualEffect { // in tests with faults, which hide what is waited for
		interval = timeout / 100
	}
	gomega.SetDefaultEventuallyPollingInterval(interval)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	return func() { gomega.Default = before }
}

// readable makes failures show the message of an API server's error, the YAML of an object and a line for a request, where
// Gomega would show their innards, until the function that it returns is called.
func readable() func() {
	key := format.RegisterCustomFormatter(func(value any) (string, bool) {
		switch value := value.(type) {
		case *apierrors.StatusError:
			return fmt.Sprintf("%d %s: %s", value.ErrStatus.Code, value.ErrStatus.Reason, value.ErrStatus.Message), true
		case *unstructured.Unstructured:
			if text, err := yaml.Marshal(value.Object); value != nil && err == nil {
				return string(text), true
			}
		case Received:
			return value.String(), true
		}
		return "", false
	})
	return func() { format.UnregisterCustomFormatter(key) }
}

// ignoreFailure is the testing.T of a run in a program, where the outcome says what failed.
type ignoreFailure struct{}

func (ignoreFailure) Fail() {}

// outcomeOf sums the report of a run up. A result that was reported for a spec is kept, even if an interruption at that moment
// makes Ginkgo report the spec as interrupted.
func outcomeOf(ctx context.Context, report types.Report, results map[requirement.ID]Result) (Outcome, error) {
	outcome := Outcome{Interrupted: ctx.Err() != nil}
	for _, r := range report.SpecReports {
		if result, ok := resultOf(r); ok {
			if before, known := results[result.Requirement]; known && result.Verdict == requirement.Unknown {
				result = before
			}
			outcome.Results = append(outcome.Results, result)
			continue
		}
		if r.State.Is(types.SpecStateFailureStates) && !r.State.Is(types.SpecStateInterrupted|types.SpecStateAborted) {
			return outcome, fmt.Errorf("%s: %s", r.LeafNodeType, r.Failure.Message)
		}
	}
	for _, reason := range report.SpecialSuiteFailureReasons {
		if reason == "Interrupted by User" {
			outcome.Interrupted = true
		}
	}
	if len(outcome.Results) == 0 {
		return outcome, errors.New("no spec is selected")
	}
	order := map[requirement.ID]int{}
	for i, r := range requirement.All() {
		order[r.ID] = i
	}
	slices.SortStableFunc(outcome.Results, func(a, b Result) int { return order[a.Requirement] - order[b.Requirement] })
	return outcome, nil
}

// Spec is a spec that is declared.
type Spec struct {
	Requirement requirement.ID
	Text        string // what it does
	Location    string // file:line, below the root of the module
}

// Preview returns the specs of the areas in the order of their declaration, without running any. With a configuration of Ginkgo, those are
// left out that it does not select.
func Preview(areas []Area, config ...types.SuiteConfig) []Spec {
	one.Lock()
	defer one.Unlock()
	plant(newEnv(Options{}), areas)
	defer globals.Reset()
	var arguments []any
	for _, c := range config {
		arguments = append(arguments, c)
	}
	var specs []Spec
	for _, r := range ginkgo.PreviewSpecs("crdconform", arguments...).SpecReports {
		if id, ok := requirementOf(r); ok && (len(config) == 0 || !r.State.Is(types.SpecStateSkipped)) {
			specs = append(specs, Spec{id, r.LeafNodeText, where(r.LeafNodeLocation)})
		}
	}
	return specs
}

// RunSpecs runs the specs of areas as an ordinary Ginkgo suite of the go command, so that the flags of Ginkgo work, and the ginkgo command
// does. The order of the specs is random, and it is an error when none is selected. It returns the results of those that were.
func RunSpecs(t ginkgo.GinkgoTestingT, env *Env, areas []Area, suite types.SuiteConfig, reporter types.ReporterConfig) []Result {
	one.Lock()
	defer one.Unlock()
	defer readable()()
	defer ownGomega(env.effect)()
	plant(env, areas)
	defer globals.Reset()
	suite.RandomizeAllSpecs, suite.FailOnEmpty = true, !suite.DryRun
	env.look(suite)
	var results []Result
	ginkgo.ReportAfterEach(func(r types.SpecReport) {
		if result, ok := resultOf(r); ok && env.Checks(result.Requirement) {
			results = append(results, result)
		}
	})
	defer env.installer.settle()
	ginkgo.RunSpecs(t, "crdconform", suite, reporter)
	return results
}
