package reports

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

func TestMatrix(t *testing.T) {
	t.Parallel()
	report := func(version string, verdicts ...requirement.Verdict) *Report {
		r := &Report{Cluster: &Cluster{Name: "envtest", Version: version}}
		ids := []requirement.ID{requirement.ConversionResponseKind, requirement.ConversionResponseHTTPStatus, requirement.ConversionRequestUIDUnique}
		for i, v := range verdicts {
			one, _ := requirement.Lookup(ids[i])
			r.Results = append(r.Results, Result{Requirement: one, Verdict: v, Reason: "a | reason"})
		}
		r.Conclude()
		return r
	}
	broken := &Report{Error: "there is no API server"}
	broken.Conclude()
	m := NewMatrix([]string{"new", "old", "none"}, []*Report{
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
	if m.Headline() != "0 of 3 requirements came to the same on 3 API servers." {
		t.Error(m.Headline())
	}
	for name, text := range map[string]string{"text": m.Text(), "markdown": m.Markdown()} {
		for _, want := range []string{string(requirement.ConversionResponseHTTPStatus), "not run", "Failed", "v1.9.4 envtest", m.Headline()} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in the %s:\n%s", want, name, text)
			}
		}
	}
	if text := m.Markdown(); !strings.Contains(text, `Failed: a \| reason`) || !strings.Contains(text, "there is no API server") {
		t.Error(text)
	}
	same := NewMatrix([]string{"a", "b"}, []*Report{report("v1.36.0", requirement.Passed), report("v1.36.1", requirement.Passed)})
	if text := same.Text(); strings.Contains(text, string(requirement.ConversionResponseKind)) || !strings.Contains(text, "1 of 1 requirements") {
		t.Errorf("what is the same is shown:\n%s", text)
	}
}
