package reports

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/loadgen/compare"
	"github.com/crdconform/crdconform/requirement"
)

// TestSince has every way in which a requirement can come to something else.
func TestSince(t *testing.T) {
	const (
		passed, tolerated, skipped, known = requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing
		failed, errored, unknown          = requirement.Failed, requirement.Errored, requirement.Unknown
	)
	for _, test := range []struct {
		before, now requirement.Verdict
		want        ChangeSort
	}{
		{passed, failed, NewlyFailing},
		{skipped, failed, NewlyFailing},
		{known, failed, NewlyFailing},
		{failed, passed, NewlyPassing},
		{known, passed, NewlyPassing},
		{tolerated, passed, NewlyPassing},
		{skipped, passed, NewlyJudged},
		{errored, tolerated, NewlyJudged},
		{passed, skipped, NoLongerJudged},
		{failed, errored, NoLongerJudged},
		{passed, unknown, NoLongerJudged},
		{passed, tolerated, NewlyTolerated},
		{failed, known, OtherChange},
		{errored, skipped, OtherChange},
		{passed, passed, ""},
		{failed, failed, ""},
	} {
		c, err := judgedAs(test.now).Since("before", judgedAs(test.before))
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && (len(c.Requirements) > 0 || c.Same != 1) || test.want != "" && (len(c.Requirements) != 1 || c.Requirements[0].Sort != test.want || c.Same != 0) {
			t.Errorf("%s, then %s: %+v, want %s", test.before, test.now, c.Requirements, test.want)
		}
		if c.Worse() != (test.want == NewlyFailing) || (c.Open() != "") != (test.want == NoLongerJudged) {
			t.Errorf("%s, then %s: it is worse: %t, it is open: %q", test.before, test.now, c.Worse(), c.Open())
		}
	}
}

func TestSinceOfOtherSelections(t *testing.T) {
	before, now := judgedAs(requirement.Passed, requirement.Failed, requirement.NotApplicable), judgedAs(requirement.Passed)
	now.Results = append(now.Results, must(requirement.Failed)...)
	now.Tool, now.Cluster.Version = "v2", "v1.38.0"
	now.Conclude()
	c, err := now.Since("before", before)
	if err != nil {
		t.Fatal(err)
	}
	const gone = "it was not selected, or the run did not get to it"
	want := []Change{
		{ID: "area.topic.rule", Sort: NewlyFailing, Now: "Failed"},
		{ID: "area.topic.b", Sort: NoLongerJudged, Before: "Failed", Reason: gone},
		{ID: "area.topic.c", Sort: OtherChange, Before: "NotApplicable", Reason: gone},
	}
	if diff := cmp.Diff(want, c.Requirements); diff != "" {
		t.Error(diff)
	}
	notes := []string{"crdconform: v1 before, v2 now", "Kubernetes: v1.37.2 (embedded, without a watch cache) before, v1.38.0 (embedded, without a watch cache) now"}
	if diff := cmp.Diff(notes, c.Notes); diff != "" {
		t.Error(diff)
	}
	if got, want := c.Summary(), "1 newly failing, 1 no longer judged, 1 changed otherwise, 1 the same"; got != want {
		t.Errorf("it says %q", got)
	}
	if _, err := now.Since("before", judgedAs()); err == nil || !strings.Contains(err.Error(), "have no requirement in common") {
		t.Errorf("with nothing in common: %v", err)
	}
}

func TestSinceWithStrict(t *testing.T) {
	now := judgedAs(requirement.Tolerated)
	now.Strict = true
	now.Conclude()
	c, err := now.Since("before", judgedAs(requirement.Tolerated))
	if err != nil || !c.Worse() {
		t.Errorf("tolerated, and now that is strict: %v, %+v", err, c)
	}
}

// changed is a report with changes of many sorts.
func changed(t *testing.T) *Report {
	t.Helper()
	r := sample(t)
	before := sample(t)
	before.Results[0].Verdict, before.Results[2].Verdict, before.Results[7].Verdict = requirement.Failed, requirement.Passed, requirement.Passed
	before.Results = before.Results[:len(before.Results)-1]
	before.Conclude()
	var err error
	if r.Changes, err = r.Since("last-night", before); err != nil {
		t.Fatal(err)
	}
	half := compare.Estimate{Value: 0.5, Low: 0.4, High: 0.6}
	r.Changes.Compared(compare.Comparison{Rows: []compare.Row{
		{Stage: "constant", Statistic: "p99", Unit: "ms", Base: &compare.Estimate{Value: 4}, Now: &compare.Estimate{Value: 2}, Ratio: &half, P: 0.01, Verdict: compare.Faster},
		{Stage: "constant", Statistic: "objects/s", Unit: "1/s", Base: &compare.Estimate{Value: 900}, Now: &compare.Estimate{Value: 450}, Ratio: &half, P: 0.01, Limit: "10%", Verdict: compare.Regressed},
		{Control: true, Statistic: "p99", Unit: "ms", Verdict: compare.Slower},
	}}, nil)
	return r
}

// TestChangesInEveryForm has readers of every form see what has changed.
func TestChangesInEveryForm(t *testing.T) {
	r := changed(t)
	golden(t, "changes.md", []byte(section(t, string(written(t, r.Markdown)), "\n## Changes", "\n| chapter |")))
	golden(t, "changes.html", []byte(section(t, string(written(t, r.HTML)), "<section>\n<h2 id=\"changes\"", "</section>")))
	golden(t, "changes.txt", []byte(strings.Join(r.Changes.Lines(Columns), "\n")+"\n"))
	if again, err := Read(written(t, r.JSON)); err != nil || cmp.Diff(r.Changes, again.Changes) != "" {
		t.Errorf("read back: %v %s", err, cmp.Diff(r.Changes, again.Changes))
	}
	if !r.Changes.Worse() || len(r.Changes.Slower()) != 1 || len(r.Changes.Faster()) != 1 {
		t.Errorf("slower: %v, faster: %v", r.Changes.Slower(), r.Changes.Faster())
	}
	r.Changes.Compared(compare.Comparison{}, errors.New("they sent other load"))
	r.Changes.Load = nil
	for form, text := range map[string]string{"markdown": string(written(t, r.Markdown)), "html": string(written(t, r.HTML)), "text": strings.Join(r.Changes.Lines(Columns), "\n")} {
		if !strings.Contains(text, "they sent other load") {
			t.Errorf("%s does not say why the load was not compared", form)
		}
	}
}

// TestSummaryOfLoads tells what differs between two load tests without requirements.
func TestSummaryOfLoads(t *testing.T) {
	same := compare.Comparison{Rows: []compare.Row{{Statistic: "p99", Verdict: compare.NoDifference}}}
	for want, c := range map[string]Changes{
		"no difference of the load proved": {Load: &Comparison{Comparison: same}},
		"1 statistic of the load slower":   {Load: &Comparison{Comparison: compare.Comparison{Rows: []compare.Row{{Statistic: "p99", Verdict: compare.Slower}}}}},
		"nothing could be compared":        {LoadNote: "they sent other load"},
		"1 newly judged":                   {Requirements: []Change{{Sort: NewlyJudged}}, LoadNote: "they sent other load"},
	} {
		if got := c.Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// section is a part of a text.
func section(t *testing.T, text, from, to string) string {
	t.Helper()
	_, after, found1 := strings.Cut(text, from)
	part, _, found2 := strings.Cut(after, to)
	if !found1 || !found2 {
		t.Fatalf("there is no %q, or no %q behind it", from, to)
	}
	return from + part
}
