package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// newest is the minor that is built in.
var newest = minors.BuiltIn().String()

// knownMinors lists the minors of embedded API servers as errors do.
func knownMinors() string {
	var names []string
	for _, minor := range minors.All() {
		names = append(names, minor.String())
	}
	return strings.Join(append(names, newest), ", ")
}

// TestMatrixKnowsFailures says of what passes that it is known to fail.
func TestMatrixKnowsFailures(t *testing.T) {
	t.Parallel()
	one := func(verdict requirement.Verdict) *reports.Report {
		known, _ := requirement.Lookup(requirement.VersionsScopeCluster)
		return &reports.Report{Results: []reports.Result{{Requirement: known, Verdict: verdict}}}
	}
	const fails, passes, away = requirement.KnownFailing, requirement.Passed, requirement.NotApplicable
	for name, test := range map[string]struct {
		verdicts []requirement.Verdict
		needless bool
	}{
		"fails on one": {[]requirement.Verdict{passes, fails}, false},
		"fails on all": {[]requirement.Verdict{fails, fails}, false},
		"passes":       {[]requirement.Verdict{passes, away}, true},
		"not judged":   {[]requirement.Verdict{away, away}, false},
	} {
		var said bytes.Buffer
		m := &matrix{streams: streams{err: &said}, known: map[requirement.ID]string{requirement.VersionsScopeCluster: "why"}}
		var all []*reports.Report
		for _, verdict := range test.verdicts {
			all = append(all, one(verdict))
		}
		if err := m.needless(all); (err != nil) != test.needless || strings.Contains(said.String(), "versions.scope.cluster passes wherever it was judged") != test.needless {
			t.Errorf("%s: %v, it says %q", name, err, &said)
		}
	}
}
