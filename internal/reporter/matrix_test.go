package reporter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

func TestMatrix(t *testing.T) {
	t.Parallel()
	report := func(version string, verdicts ...requirement.Verdict) *reports.Report {
		r := &reports.Report{Cluster: &reports.Cluster{Name: "envtest", Version: version}}
		ids := []requirement.ID{requirement.ConversionResponseKind, requirement.ConversionResponseHTTPStatus, requirement.ConversionRequestUIDUnique}
		for i, v := range verdicts {
			one, _ := requirement.Lookup(ids[i])
			r.Results = append(r.Results, reports.Result{Requirement: one, Verdict: v, Reason: "a | reason"})
		}
		Conclude(r)
		return r
	}
	broken := &reports.Report{Error: "there is no API server"}
	Conclude(broken)
	m := NewMatrix([]string{"new", "old", "none"}, []*reports.Report{
		report("v1.37.2", requirement.Passed, requirement.Failed, requirement.Passed),
		report("v1.9.4", requirement.Passed, requirement.Passed),
		broken,
	})
	var titles []string
	for _, c := range m.Columns {
		titles = append(titles, c.Title()+" in "+c.Report)
	}
	if want := []string{"none in none", "v1.9.4 envtest in old", "v1.37.2 envtest in new"}; !slices.Equal(titles, want) {
		t.Errorf("the columns are %q, want %q", titles, want)
	}
	if m.Headline() != "0 of 3 requirements gave the same result on all 3 API servers." {
		t.Error(m.Headline())
	}
	for name, text := range map[string]string{"text": string(written(t, m, (*Matrix).Text)), "markdown": string(written(t, m, (*Matrix).Markdown))} {
		for _, want := range []string{string(requirement.ConversionResponseHTTPStatus), "not run", "Failed", "v1.9.4 envtest", m.Headline()} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in the %s:\n%s", want, name, text)
			}
		}
	}
	if text := string(written(t, m, (*Matrix).Markdown)); !strings.Contains(text, `Failed: a \| reason`) || !strings.Contains(text, "there is no API server") {
		t.Error(text)
	}
	same := NewMatrix([]string{"a", "b"}, []*reports.Report{report("v1.36.0", requirement.Passed), report("v1.36.1", requirement.Passed)})
	if text := string(written(t, same, (*Matrix).Text)); strings.Contains(text, string(requirement.ConversionResponseKind)) || !strings.Contains(text, "1 of 1 requirements") {
		t.Errorf("what is the same is shown:\n%s", text)
	}
}

// TestMatrixOverMinors has a requirement that does not hold for all, and two whose minors in the catalogue would be wrong.
func TestMatrixOverMinors(t *testing.T) {
	t.Parallel()
	bounded, _ := requirement.Lookup(requirement.ConversionClientCABundleInvalidCreate)
	early, _ := requirement.Lookup(requirement.ConversionResponseKind)
	late, _ := requirement.Lookup(requirement.VersionsScopeCluster)
	gone := requirement.Requirement{ID: "gone", Since: requirement.Minor{Major: 1, Minor: 16}, Until: requirement.Minor{Major: 1, Minor: 21}}
	column := func(version string, verdicts ...requirement.Verdict) *reports.Report {
		r := &reports.Report{Cluster: &reports.Cluster{Name: "embedded", Version: version}}
		for i, one := range []requirement.Requirement{bounded, early, late, gone} {
			r.Results = append(r.Results, reports.Result{Requirement: one, Verdict: verdicts[i], Reason: "a reason"})
		}
		Conclude(r)
		return r
	}
	const na, passed, failed = requirement.NotApplicable, requirement.Passed, requirement.Failed
	m := NewMatrix([]string{"a", "b", "c"}, []*reports.Report{
		column("v1.21.14", na, failed, passed, passed),
		column("v1.31.14", passed, passed, passed, na),
		column("v1.37.2", na, passed, failed, na),
	})
	wants := map[requirement.ID]string{
		bounded.ID: "since 1.31 Passed NotApplicable [v1.31.14 v1.37.2] ",
		early.ID:   "Failed Passed Passed [v1.31.14] fails before v1.31.14: the catalogue may say since too early",
		late.ID:    "Passed Passed Failed [v1.37.2] fails from v1.37.2 on: the catalogue may say until too late, or that release is broken",
		gone.ID:    "Passed until 1.21 until 1.21 [v1.31.14] ",
	}
	for _, row := range m.Rows {
		if got := fmt.Sprintf("%s %s %s %v %s", row.Cells[0].word(), row.Cells[1].word(), row.Cells[2].word(), row.Changed, row.Note); got != wants[row.ID] {
			t.Errorf("%s: got %s, want %s", row.ID, got, wants[row.ID])
		}
	}
	for name, text := range map[string]string{"text": string(written(t, m, (*Matrix).Text)), "markdown": string(written(t, m, (*Matrix).Markdown))} {
		for _, want := range []string{"since 1.31", "until 1.21", "v1.31.14, v1.37.2", "the catalogue may say since too early", "0 of 4 requirements"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in the %s:\n%s", want, name, text)
			}
		}
	}
	if m.Partial() {
		t.Error("nothing is missing")
	}
	m.Missing = []string{"4-kind", "5-kind"}
	if got := m.Headline(); got != "Interrupted, so this is incomplete. 0 of 4 requirements gave the same result on all 3 API servers. Not checked: 4-kind, 5-kind." {
		t.Error(got)
	}
	m.Missing, m.Columns[2].Outcome = nil, reports.Interrupted
	if got := m.Headline(); !strings.HasPrefix(got, "Interrupted, so") {
		t.Error(got)
	}
}

// TestMatrixOfOneVersion has two API servers of the same version that differ, which says nothing about versions.
func TestMatrixOfOneVersion(t *testing.T) {
	t.Parallel()
	one, _ := requirement.Lookup(requirement.VersionsScopeCluster)
	column := func(name, version string, verdict requirement.Verdict) *reports.Report {
		r := &reports.Report{Cluster: &reports.Cluster{Name: name, Version: version}, Results: []reports.Result{{Requirement: one, Verdict: verdict}}}
		Conclude(r)
		return r
	}
	m := NewMatrix([]string{"a", "b", "c"}, []*reports.Report{
		column("embedded", "v1.36.6", requirement.Failed), column("kind", "v1.36.6", requirement.Passed), column("embedded", "v1.37.2", requirement.Passed),
	})
	if row := m.Rows[0]; !row.Differs() || row.Changed != nil || row.Note != "" {
		t.Errorf("got %+v", row)
	}
}

// TestMatrixOfRuns has runs on one API server, such as those of several webhooks: their columns are distinguished, and each of their
// definitions has rows of its own.
func TestMatrixOfRuns(t *testing.T) {
	t.Parallel()
	run := func(verdicts ...requirement.Verdict) *reports.Report {
		r := &reports.Report{Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"}}
		for i, v := range verdicts {
			r.Results = append(r.Results, reports.Result{Requirement: requirement.Requirement{ID: "area.topic.rule"}, Subject: fmt.Sprintf("kind%d.example.com", i), Verdict: v})
		}
		Conclude(r)
		return r
	}
	m := NewMatrix([]string{"last-night", "tonight"}, []*reports.Report{run(requirement.Passed, requirement.Failed), run(requirement.Passed, requirement.Passed)})
	if got := m.Headline(); got != "1 of 2 requirements gave the same result in all 2 runs." {
		t.Error(got)
	}
	for name, form := range map[string]func(*Matrix, io.Writer) error{"text": (*Matrix).Text, "markdown": (*Matrix).Markdown, "html": (*Matrix).HTML} {
		text := string(written(t, m, form))
		for _, want := range []string{"v1.37.2 embedded, last-night", "v1.37.2 embedded, tonight", "kind1.example.com"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in the %s:\n%s", want, name, text)
			}
		}
		if strings.Contains(text, "API server") {
			t.Errorf("the %s speaks of API servers:\n%s", name, text)
		}
	}
}

// TestMatrixOfSeveralKinds has kinds of clusters of which one lacks what a requirement needs. That is no change of a version.
func TestMatrixOfSeveralKinds(t *testing.T) {
	t.Parallel()
	const na, passed, failed = requirement.NotApplicable, requirement.Passed, requirement.Failed
	bounded := requirement.Requirement{ID: "bounded", Since: requirement.Minor{Major: 1, Minor: 35}}
	free := requirement.Requirement{ID: "free"}
	for name, test := range map[string]struct {
		one      requirement.Requirement
		verdicts []requirement.Verdict // on embedded 1.34, kind 1.35, embedded 1.36, kind 1.37
		want     []string
	}{
		"only kind has it":    {free, []requirement.Verdict{na, passed, na, passed}, nil},
		"it breaks on kind":   {free, []requirement.Verdict{na, passed, na, failed}, []string{"v1.37.0"}},
		"it breaks on both":   {free, []requirement.Verdict{passed, passed, failed, failed}, []string{"v1.36.0"}},
		"a bound":             {bounded, []requirement.Verdict{na, passed, passed, passed}, []string{"v1.35.0"}},
		"a bound, and a lack": {bounded, []requirement.Verdict{na, passed, na, passed}, []string{"v1.35.0"}},
	} {
		var all []*reports.Report
		for i, verdict := range test.verdicts {
			r := &reports.Report{Cluster: &reports.Cluster{Name: []string{"embedded", "kind"}[i%2], Version: fmt.Sprintf("v1.%d.0", 34+i)}}
			r.Results = []reports.Result{{Requirement: test.one, Verdict: verdict, Reason: "a reason"}}
			Conclude(r)
			all = append(all, r)
		}
		if got := NewMatrix([]string{"a", "b", "c", "d"}, all).Rows[0].Changed; !slices.Equal(got, test.want) {
			t.Errorf("%s: it changed in %v, want %v", name, got, test.want)
		}
	}
}

// TestPassing has a requirement pass on all API servers that judge it.
func TestPassing(t *testing.T) {
	const fails, passes, away = requirement.KnownFailing, requirement.Passed, requirement.NotApplicable
	for name, test := range map[string]struct {
		verdicts []requirement.Verdict
		want     bool
	}{
		"fails on one": {[]requirement.Verdict{passes, fails}, false},
		"fails on all": {[]requirement.Verdict{fails, fails}, false},
		"passes":       {[]requirement.Verdict{passes, away}, true},
		"not judged":   {[]requirement.Verdict{away, away}, false},
	} {
		var all []*reports.Report
		for _, verdict := range test.verdicts {
			r := reports.Result{Verdict: verdict}
			r.ID = requirement.VersionsScopeCluster
			all = append(all, &reports.Report{Results: []reports.Result{r}})
		}
		if got := Passing(all); got[requirement.VersionsScopeCluster] != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
