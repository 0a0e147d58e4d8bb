package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// judged is what the specs came to on a cluster.
type judged struct {
	cluster string // its name
	minor   requirement.Minor
	results []suites.Result
}

func (j judged) result(id requirement.ID) (suites.Result, bool) {
	i := slices.IndexFunc(j.results, func(r suites.Result) bool { return r.Requirement == id })
	if i < 0 {
		return suites.Result{}, false
	}
	return j.results[i], true
}

// difference is a requirement whose verdict is one on a cluster and another on another, with the reason for that.
type difference struct {
	requirement requirement.ID
	verdicts    map[string]requirement.Verdict // by cluster
	reason      string
}

// explains reports whether a difference is the one between two results.
func (d difference) explains(a, b judged, id requirement.ID, x, y requirement.Verdict) bool {
	onA, knowsA := d.verdicts[a.cluster]
	onB, knowsB := d.verdicts[b.cluster]
	return d.requirement == id && knowsA && knowsB && onA == x && onB == y
}

// disagreements returns in what two clusters do not agree: verdicts of requirements that hold for the minors of both. Differences
// that are explained do not count, and an explanation of none that there is counts as one.
func disagreements(a, b judged, explained []difference) []string {
	var problems []string
	used := make([]bool, len(explained))
	for _, r := range requirement.All() {
		x, onA := a.result(r.ID)
		y, onB := b.result(r.ID)
		switch {
		case !onA && !onB:
			continue
		case onA != onB:
			problems = append(problems, fmt.Sprintf("%s: has no result on one of them", r.ID))
			continue
		case r.Binds == requirement.Server && (!r.HoldsFor(a.minor) || !r.HoldsFor(b.minor)), x.Verdict == y.Verdict:
			continue
		}
		i := slices.IndexFunc(explained, func(d difference) bool { return d.explains(a, b, r.ID, x.Verdict, y.Verdict) })
		if i >= 0 {
			used[i] = true
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: %s on %s%s, %s on %s%s", r.ID, x.Verdict, a.cluster, reasonOf(x), y.Verdict, b.cluster, reasonOf(y)))
	}
	for i, d := range explained {
		_, knowsA := d.verdicts[a.cluster]
		_, knowsB := d.verdicts[b.cluster]
		if knowsA && knowsB && !used[i] {
			problems = append(problems, fmt.Sprintf("%s: %s and %s do not differ as the table says, so it is out of date", d.requirement, a.cluster, b.cluster))
		}
	}
	return problems
}

func reasonOf(r suites.Result) string {
	if r.Reason == "" {
		return ""
	}
	return " (" + r.Reason + ")"
}

func TestAgreementIsCompared(t *testing.T) {
	t.Parallel()
	const (
		anywhere = requirement.VersionsServingDiscovery
		another  = requirement.VersionsServingKind
		until121 = requirement.LifecycleLegacyReviewVersionsDefault
	)
	on := func(cluster string, minor int, verdicts map[requirement.ID]requirement.Verdict) judged {
		j := judged{cluster: cluster, minor: requirement.Minor{Major: 1, Minor: minor}}
		for id, verdict := range verdicts {
			j.results = append(j.results, suites.Result{Requirement: id, Verdict: verdict, Reason: "because"})
		}
		return j
	}
	type verdicts = map[requirement.ID]requirement.Verdict
	passedFailed := map[string]requirement.Verdict{"one": requirement.Passed, "other": requirement.Failed}
	for name, test := range map[string]struct {
		one, other verdicts
		explained  []difference
		want       []string // a part of each problem
	}{
		"agree": {one: verdicts{anywhere: requirement.Passed}, other: verdicts{anywhere: requirement.Passed}},
		"differ": {
			one: verdicts{anywhere: requirement.Passed}, other: verdicts{anywhere: requirement.Failed},
			want: []string{string(anywhere) + ": Passed on one (because), Failed on other (because)"},
		},
		"one cannot judge": {
			one: verdicts{anywhere: requirement.NotApplicable}, other: verdicts{anywhere: requirement.Passed},
			want: []string{"NotApplicable on one (because), Passed on other"},
		},
		"one has no result": {
			one: verdicts{anywhere: requirement.Passed, another: requirement.Passed}, other: verdicts{anywhere: requirement.Passed},
			want: []string{string(another) + ": has no result on one of them"},
		},
		"does not hold": {one: verdicts{until121: requirement.NotApplicable}, other: verdicts{until121: requirement.Failed}},
		"explained": {
			one: verdicts{anywhere: requirement.Passed}, other: verdicts{anywhere: requirement.Failed},
			explained: []difference{{anywhere, passedFailed, "so it is"}},
		},
		"explained otherwise": {
			one: verdicts{anywhere: requirement.Failed}, other: verdicts{anywhere: requirement.Passed},
			explained: []difference{{anywhere, passedFailed, "so it is"}},
			want:      []string{"Failed on one", "out of date"},
		},
		"out of date": {
			one: verdicts{anywhere: requirement.Passed}, other: verdicts{anywhere: requirement.Passed},
			explained: []difference{{anywhere, passedFailed, "so it was"}},
			want:      []string{"out of date"},
		},
		"about others": {
			one: verdicts{anywhere: requirement.Passed}, other: verdicts{anywhere: requirement.Passed},
			explained: []difference{{anywhere, map[string]requirement.Verdict{"one": requirement.Passed, "third": requirement.Failed}, "so it is"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := disagreements(on("one", 36, test.one), on("other", 37, test.other), test.explained)
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}

// explained are the differences between clusters that have a reason.
var explained []difference

// wantAgreement fails the test for each difference between clusters that is not explained.
func wantAgreement(t *testing.T, all []judged) {
	t.Helper()
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, problem := range disagreements(a, b, explained) {
				t.Error(problem)
			}
		}
	}
}
