package suites_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/requirement"
)

// run runs an area of one spec, declared for a requirement that binds webhooks and so needs no cluster.
func run(t *testing.T, options suites.Options, register func(env *suites.Env)) suites.Outcome {
	t.Helper()
	outcome, err := suites.Run(t.Context(), spectest.Env(t, options), []suites.Area{{Name: "test", Register: register}}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// any requirement that needs no cluster will do.
const someID = requirement.WebhookResponseUID

func TestVerdicts(t *testing.T) {
	tests := map[string]struct {
		body    func(env *suites.Env) func(ctx SpecContext)
		verdict requirement.Verdict
		reason  string
	}{
		"nothing wrong": {func(*suites.Env) func(SpecContext) {
			return func(SpecContext) {}
		}, requirement.Passed, ""},
		"an assertion fails": {func(*suites.Env) func(SpecContext) {
			return func(SpecContext) { Expect(1).To(Equal(2), "the numbers") }
		}, requirement.Failed, "the numbers"},
		"an assertion fails after tolerating": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) { env.Violated(requirement.Tolerated, "this"); Fail("that") }
		}, requirement.Failed, "that"},
		"the set-up fails": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) { env.Require(errors.New("broken"), "making %s", "ready") }
		}, requirement.Errored, "making ready: broken"},
		"the spec panics": {func(*suites.Env) func(SpecContext) {
			return func(SpecContext) { panic("oh no") }
		}, requirement.Errored, "oh no"},
		"the clean-up fails": {func(*suites.Env) func(SpecContext) {
			return func(SpecContext) { DeferCleanup(func() { Fail("left something") }) }
		}, requirement.Errored, "left something"},
		"an assertion fails and so does the clean-up": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) {
				DeferCleanup(func() { env.Require(errors.New("broken"), "cleaning up") })
				Fail("that")
			}
		}, requirement.Failed, "that"},
		"the set-up fails in the clean-up": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) { DeferCleanup(func() { env.Require(errors.New("broken"), "cleaning up") }) }
		}, requirement.Errored, "cleaning up: broken"},
		"the spec does not apply": {func(*suites.Env) func(SpecContext) {
			return func(SpecContext) { Skip("not here") }
		}, requirement.NotApplicable, "not here"},
		"a violation is tolerated": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) { env.Violated(requirement.Tolerated, "servers accept it") }
		}, requirement.Tolerated, "servers accept it"},
		"a nil error is required": {func(env *suites.Env) func(SpecContext) {
			return func(SpecContext) { env.Require(nil, "making ready") }
		}, requirement.Passed, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			outcome := run(t, suites.Options{}, func(env *suites.Env) { env.It(someID, "does something", test.body(env)) })
			if len(outcome.Results) != 1 {
				t.Fatalf("%d results", len(outcome.Results))
			}
			result := outcome.Results[0]
			if result.Verdict != test.verdict || !strings.Contains(result.Reason, test.reason) || (test.reason == "") != (result.Reason == "") {
				t.Errorf("got %s: %q, want %s: %q", result.Verdict, result.Reason, test.verdict, test.reason)
			}
			if result.Requirement != someID || result.Text != "does something" || !strings.HasPrefix(result.Location, "internal/suites/engine_test.go:") {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// TestEffectiveTrials has specs about what is the user's own pass only if they report that they tried something.
func TestEffectiveTrials(t *testing.T) {
	for name, test := range map[string]struct {
		id      requirement.ID
		body    func(env *suites.Env)
		verdict requirement.Verdict
		reason  string
	}{
		"forgotten":     {requirement.WebhookConversionEdits, func(*suites.Env) {}, requirement.NotApplicable, "could not be judged: there was nothing to try"},
		"none":          {requirement.WebhookConversionEdits, func(env *suites.Env) { env.Tried(0) }, requirement.NotApplicable, "could not be judged: there was nothing to try"},
		"with a reason": {requirement.WebhookConversionEdits, func(env *suites.Env) { env.Fruitless("it refuses %d", 1); env.Fruitless("and more") }, requirement.NotApplicable, "could not be judged: it refuses 1"},
		"some":          {requirement.WebhookConversionEdits, func(env *suites.Env) { env.Fruitless("it refuses one"); env.Tried(2) }, requirement.Passed, ""},
		"tolerated":     {requirement.WebhookConversionEdits, func(env *suites.Env) { env.Violated(requirement.Tolerated, "servers accept it") }, requirement.Tolerated, "servers accept it"},
		"failed":        {requirement.WebhookConversionEdits, func(*suites.Env) { Fail("that") }, requirement.Failed, "that"},
		"not needed":    {someID, func(*suites.Env) {}, requirement.Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, suites.Options{}, func(env *suites.Env) { env.It(test.id, "tries", func(SpecContext) { test.body(env) }) }).Results[0]
			if result.Verdict != test.verdict || !strings.HasPrefix(result.Reason, test.reason) || (test.reason == "") != (result.Reason == "") {
				t.Errorf("got %s: %q, want %s: %q", result.Verdict, result.Reason, test.verdict, test.reason)
			}
		})
	}
}

func TestAttachmentsAndOutput(t *testing.T) {
	outcome := run(t, suites.Options{}, func(env *suites.Env) {
		env.It(someID, "attaches", func(SpecContext) {
			GinkgoWriter.Println("something to read")
			env.Attach("a.json", []byte("{}"))
			env.Attach("b.json", []byte("[]"))
			Fail("to see what becomes of it")
		})
	})
	result := outcome.Results[0]
	if len(result.Attachments) != 2 || result.Attachments[0].Name != "a.json" || string(result.Attachments[1].Data) != "[]" {
		t.Errorf("got %+v", result.Attachments)
	}
	if !strings.Contains(result.Output, "something to read") {
		t.Errorf("the output is %q", result.Output)
	}
}

func TestUnknownRequirementIsAnError(t *testing.T) {
	defer func() {
		if recovered := recover(); recovered == nil {
			t.Error("a spec of an unknown requirement was declared")
		}
	}()
	env := spectest.Env(t, suites.Options{})
	env.It("no.such.requirement", "does something", func(SpecContext) {})
}

func TestEmptySelectionIsAnError(t *testing.T) {
	env := spectest.Env(t, suites.Options{Select: func(requirement.ID) bool { return false }})
	_, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.It(someID, "does something", func(SpecContext) {})
	}}}, spectest.Quiet{})
	if err == nil {
		t.Error("nothing ran, and that is no error")
	}
}

func TestSelection(t *testing.T) {
	outcome := run(t, suites.Options{Select: func(id requirement.ID) bool { return id == someID }}, func(env *suites.Env) {
		env.It(someID, "is wanted", func(SpecContext) {})
		env.It(requirement.WebhookResponseKind, "is not", func(SpecContext) { Fail("it ran") })
	})
	if len(outcome.Results) != 1 || outcome.Results[0].Requirement != someID {
		t.Errorf("got %+v", outcome.Results)
	}
}

func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := spectest.Env(t, suites.Options{Seed: 1})
	outcome, err := suites.Run(ctx, env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		for _, id := range []requirement.ID{requirement.WebhookResponseUID, requirement.WebhookResponseKind, requirement.WebhookResponseOrder} {
			env.It(id, "is the last", func(SpecContext) { cancel() })
		}
	}}}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[requirement.Verdict]int{}
	for _, result := range outcome.Results {
		counts[result.Verdict]++
	}
	if !outcome.Interrupted || counts[requirement.Passed] != 1 || counts[requirement.Unknown] != 2 {
		t.Errorf("interrupted: %t, verdicts %v, want one Passed and the others Unknown", outcome.Interrupted, counts)
	}
}

// TestStoppedSpec stops the run while a spec waits: the spec ends with it, and what it makes of that says nothing.
func TestStoppedSpec(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := spectest.Env(t, suites.Options{Seed: 1})
	outcome, err := suites.Run(ctx, env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.It(requirement.WebhookResponseUID, "waits for what never comes", func(ctx SpecContext) {
			cancel()
			<-ctx.Done()
			Fail("it never came")
		})
	}}}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome.Results[0]; !outcome.Interrupted || got.Verdict != requirement.Unknown {
		t.Errorf("interrupted: %t, %s: %s, want Unknown", outcome.Interrupted, got.Verdict, got.Reason)
	}
}

// TestInapplicable distinguishes what nobody can have from what merely could not be judged.
func TestInapplicable(t *testing.T) {
	env := spectest.Env(t, suites.Options{Seed: 1})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.It(requirement.WebhookResponseUID, "is about nothing", func(SpecContext) { env.Inapplicable("there is none") })
		env.It(requirement.WebhookResponseKind, "cannot look", func(SpecContext) { Skip("it is dark") })
	}}}, spectest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.Verdict != requirement.NotApplicable || r.Immaterial != (r.Requirement == requirement.WebhookResponseUID) {
			t.Errorf("%s is %s, immaterial: %t", r.Requirement, r.Verdict, r.Immaterial)
		}
	}
}

type recorder struct {
	total   int
	started []requirement.ID
	done    []suites.Result
}

func (r *recorder) Started(total int)                       { r.total = total }
func (r *recorder) SpecStarted(id requirement.ID, _ string) { r.started = append(r.started, id) }
func (r *recorder) SpecDone(result suites.Result)           { r.done = append(r.done, result) }

func TestProgress(t *testing.T) {
	r := &recorder{}
	env := spectest.Env(t, suites.Options{})
	_, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.It(requirement.WebhookResponseUID, "passes", func(SpecContext) {})
		env.It(requirement.WebhookResponseKind, "fails", func(SpecContext) { Fail("so") })
	}}}, r)
	if err != nil {
		t.Fatal(err)
	}
	if r.total != 2 || len(r.started) != 2 || len(r.done) != 2 {
		t.Fatalf("got %+v", r)
	}
	i := slices.IndexFunc(r.done, func(result suites.Result) bool { return result.Requirement == requirement.WebhookResponseKind })
	if r.done[i].Verdict != requirement.Failed || r.done[i].Reason != "so" {
		t.Errorf("got %+v", r.done[i])
	}
}

func TestRandomChoicesRepeat(t *testing.T) {
	draw := func(seed int64, id requirement.ID) uint64 {
		return spectest.Env(t, suites.Options{Seed: seed}).Rand(id).Uint64()
	}
	first := draw(1, someID)
	if again := draw(1, someID); first != again {
		t.Error("the same seed gave different choices")
	}
	if first == draw(2, someID) || first == draw(1, requirement.WebhookResponseKind) {
		t.Error("other seeds or requirements gave the same choices")
	}
}

// TestOrder has the same seed lead to the same order of the specs, and another one to another.
func TestOrder(t *testing.T) {
	order := func(seed int64) []requirement.ID {
		r := &recorder{}
		_, err := suites.Run(t.Context(), spectest.Env(t, suites.Options{Seed: seed}), []suites.Area{{Name: "test", Register: func(env *suites.Env) {
			for _, one := range requirement.All()[:20] {
				env.It(one.ID, "passes", func(SpecContext) {})
			}
		}}}, r)
		if err != nil || len(r.started) != 20 {
			t.Fatalf("%d specs, %v", len(r.started), err)
		}
		return r.started
	}
	first := order(7)
	if !slices.Equal(first, order(7)) {
		t.Errorf("the order is not repeated: %v", first)
	}
	if slices.Equal(first, order(8)) {
		t.Errorf("two seeds lead to one order: %v", first)
	}
}

// TestPriority has specs of a higher priority come first, and those that are alike in an order that the seed decides.
func TestPriority(t *testing.T) {
	last, first := requirement.All()[3].ID, requirement.All()[17].ID
	priorities := map[requirement.ID]int{first: 1, last: -1}
	priority := func(id requirement.ID) int { return priorities[id] }
	for seed := range int64(5) {
		r := &recorder{}
		env := spectest.Env(t, suites.Options{Seed: seed, Priority: priority})
		_, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
			for _, one := range requirement.All()[:20] {
				env.It(one.ID, "passes", func(SpecContext) {})
			}
		}}}, r)
		if err != nil || len(r.started) != 20 {
			t.Fatalf("%d specs, %v", len(r.started), err)
		}
		if r.started[0] != first || r.started[19] != last {
			t.Errorf("seed %d: the first is %s and the last %s, want %s and %s", seed, r.started[0], r.started[19], first, last)
		}
	}
}

// TestEnough has no spec run after the result that was enough, and none that did not run pass.
func TestEnough(t *testing.T) {
	const id = requirement.WebhookResponseKind
	ids := []requirement.ID{requirement.WebhookResponseUID, id, requirement.WebhookResponseOrder}
	for seed := range int64(5) {
		r := &recorder{}
		env := spectest.Env(t, suites.Options{Seed: seed, Enough: func(result suites.Result) bool { return result.Verdict == requirement.Failed }})
		outcome, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
			for _, one := range ids {
				env.It(one, "fails if it is the one", func(SpecContext) { Expect(one).NotTo(Equal(id)) })
			}
		}}}, r)
		if err != nil || outcome.Interrupted || !outcome.Enough || len(outcome.Results) != len(ids) {
			t.Fatalf("seed %d: got %+v, %v", seed, outcome, err)
		}
		if last := r.done[len(r.done)-1].Requirement; last != id {
			t.Errorf("seed %d: %s was judged last", seed, last)
		}
		for _, result := range outcome.Results {
			judged := slices.ContainsFunc(r.done, func(done suites.Result) bool { return done.Requirement == result.Requirement })
			if judged != (result.Verdict != requirement.Unknown) || !judged && result.Reason != "not judged: the run stopped at the first failure" {
				t.Errorf("seed %d: %s is %s: %s", seed, result.Requirement, result.Verdict, result.Reason)
			}
		}
	}
	if outcome := run(t, suites.Options{Enough: func(suites.Result) bool { return false }}, func(env *suites.Env) { env.It(id, "fails", func(SpecContext) { Fail("so") }) }); outcome.Enough {
		t.Error("a result was enough that is not")
	}
}
