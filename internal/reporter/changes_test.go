package reporter

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
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
		want        reports.ChangeSort
	}{
		{passed, failed, reports.NewlyFailing},
		{skipped, failed, reports.NewlyFailing},
		{known, failed, reports.NewlyFailing},
		{failed, passed, reports.NewlyPassing},
		{known, passed, reports.NewlyPassing},
		{tolerated, passed, reports.NewlyPassing},
		{skipped, passed, reports.NewlyJudged},
		{errored, tolerated, reports.NewlyJudged},
		{passed, skipped, reports.NoLongerJudged},
		{failed, errored, reports.NoLongerJudged},
		{passed, unknown, reports.NoLongerJudged},
		{passed, tolerated, reports.NewlyTolerated},
		{failed, known, reports.OtherChange},
		{errored, skipped, reports.OtherChange},
		{passed, passed, ""},
		{failed, failed, ""},
	} {
		c, err := Since(judgedAs(test.now), "before", judgedAs(test.before))
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && (len(c.Requirements) > 0 || c.Same != 1) || test.want != "" && (len(c.Requirements) != 1 || c.Requirements[0].Sort != test.want || c.Same != 0) {
			t.Errorf("%s, then %s: %+v, want %s", test.before, test.now, c.Requirements, test.want)
		}
		if Worse(c) != (test.want == reports.NewlyFailing) || (Undecided(c) != "") != (test.want == reports.NoLongerJudged) {
			t.Errorf("%s, then %s: it is worse: %t, it is open: %q", test.before, test.now, Worse(c), Undecided(c))
		}
	}
}

func TestSinceOfOtherSelections(t *testing.T) {
	before, now := judgedAs(requirement.Passed, requirement.Failed, requirement.NotApplicable), judgedAs(requirement.Passed)
	now.Results = append(now.Results, must(requirement.Failed)...)
	now.Tool, now.Cluster.Version = "v2", "v1.38.0"
	Conclude(now)
	c, err := Since(now, "before", before)
	if err != nil {
		t.Fatal(err)
	}
	const gone = "it was not selected, or the run did not reach it"
	want := []reports.Change{
		{ID: "area.topic.rule", Sort: reports.NewlyFailing, Now: "Failed"},
		{ID: "area.topic.b", Sort: reports.NoLongerJudged, Before: "Failed", Reason: gone},
		{ID: "area.topic.c", Sort: reports.OtherChange, Before: "NotApplicable", Reason: gone},
	}
	if diff := cmp.Diff(want, c.Requirements); diff != "" {
		t.Error(diff)
	}
	notes := []string{"crdconform: v1 before, v2 now", "Kubernetes: v1.37.2 (embedded, without a watch cache) before, v1.38.0 (embedded, without a watch cache) now"}
	if diff := cmp.Diff(notes, c.Notes); diff != "" {
		t.Error(diff)
	}
	if got, want := Summary(c), "1 newly failing, 1 no longer judged, 1 changed otherwise, 1 the same"; got != want {
		t.Errorf("it says %q", got)
	}
	if _, err := Since(now, "before", judgedAs()); err == nil || !strings.Contains(err.Error(), "have no requirement in common") {
		t.Errorf("with nothing in common: %v", err)
	}
}

func TestSinceWithStrict(t *testing.T) {
	now := judgedAs(requirement.Tolerated)
	now.Strict = true
	Conclude(now)
	c, err := Since(now, "before", judgedAs(requirement.Tolerated))
	if err != nil || !Worse(c) {
		t.Errorf("tolerated, and now that is strict: %v, %+v", err, c)
	}
}

// changed is a report with changes of many sorts.
func changed(t *testing.T) *reports.Report {
	t.Helper()
	r := sample(t)
	before := sample(t)
	before.Results[0].Verdict, before.Results[2].Verdict, before.Results[7].Verdict = requirement.Failed, requirement.Passed, requirement.Passed
	before.Results = before.Results[:len(before.Results)-1]
	before.Load.Objectives[0].Measured, before.Load.Objectives[0].Met = 9, true
	Conclude(before)
	var err error
	if r.Changes, err = Since(r, "last-night", before); err != nil {
		t.Fatal(err)
	}
	half := loadgen.Estimate{Value: 0.5, Low: 0.4, High: 0.6}
	AddComparison(r.Changes, loadgen.Comparison{Rows: []loadgen.Row{
		{Stage: "constant", Statistic: "p99", Unit: "ms", Base: &loadgen.Estimate{Value: 4}, Now: &loadgen.Estimate{Value: 2}, Ratio: &half, P: 0.01, Verdict: compare.Faster},
		{Stage: "constant", Statistic: "objects/s", Unit: "1/s", Base: &loadgen.Estimate{Value: 900}, Now: &loadgen.Estimate{Value: 450}, Ratio: &half, P: 0.01, Limit: "10%", Verdict: compare.Regressed},
		{Control: true, Statistic: "p99", Unit: "ms", Verdict: compare.Slower},
	}}, nil)
	return r
}

// TestChangesInEveryForm has readers of every form see what has changed.
func TestChangesInEveryForm(t *testing.T) {
	r := changed(t)
	golden(t, "changes.md", []byte(section(t, string(written(t, r, Markdown)), "\n## Changes", "\n| chapter |")))
	golden(t, "changes.html", []byte(section(t, string(written(t, r, HTML)), "<section>\n<h2 id=\"changes\"", "</section>")))
	golden(t, "changes.txt", []byte(strings.Join(ChangeLines(r.Changes, Columns), "\n")+"\n"))
	if again, err := reports.Read(written(t, r, JSON)); err != nil || cmp.Diff(r.Changes, again.Changes) != "" {
		t.Errorf("read back: %v %s", err, cmp.Diff(r.Changes, again.Changes))
	}
	if !Worse(r.Changes) || len(slower(r.Changes)) != 1 || len(faster(r.Changes)) != 1 {
		t.Errorf("slower: %v, faster: %v", slower(r.Changes), faster(r.Changes))
	}
	suites := parsedSuites(t, r)
	if suite := suites[len(suites)-1]; suite.Name != "changes" || suite.Cases[0].kind() != "failure Failed" || !strings.Contains(suite.SystemOut, "newly failing:\n    conversion.answer.uid") {
		t.Errorf("the last suite is %+v", suite)
	}
	AddComparison(r.Changes, loadgen.Comparison{}, errors.New("they sent other load"))
	r.Changes.Load = nil
	for form, text := range map[string]string{"markdown": string(written(t, r, Markdown)), "html": string(written(t, r, HTML)), "text": strings.Join(ChangeLines(r.Changes, Columns), "\n")} {
		if !strings.Contains(text, "they sent other load") {
			t.Errorf("%s does not say why the load was not compared", form)
		}
	}
}

// TestSummaryOfLoads expects what differs between two load tests without requirements.
func TestSummaryOfLoads(t *testing.T) {
	same := loadgen.Comparison{Rows: []loadgen.Row{{Statistic: "p99", Verdict: compare.NoDifference}}}
	for want, c := range map[string]reports.Changes{
		"no difference of the load proved": {Load: &same},
		"1 statistic of the load slower":   {Load: &loadgen.Comparison{Rows: []loadgen.Row{{Statistic: "p99", Verdict: compare.Slower}}}},
		"nothing could be compared":        {LoadNote: "they sent other load"},
		"1 newly judged":                   {Requirements: []reports.Change{{Sort: reports.NewlyJudged}}, LoadNote: "they sent other load"},
	} {
		if got := Summary(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSinceOfLoads has every way in which a part of a load test can come to something else.
func TestSinceOfLoads(t *testing.T) {
	stage := func(change func(*loadgen.Stage)) *loadgen.Load {
		s := loadgen.Stage{Name: "batch 10", Repeat: 2, Requests: 100, Judged: 100}
		change(&s)
		return one(s)
	}
	good := stage(func(*loadgen.Stage) {})
	failed := stage(func(s *loadgen.Stage) { s.Failed, s.Errors = 20, map[string]uint64{"failed": 20} })
	void := stage(func(s *loadgen.Stage) { s.VoidReason = "busy" })
	stopped := stage(func(s *loadgen.Stage) { s.Partial = true })
	objective := func(met bool) *loadgen.Load {
		return with(stage(func(*loadgen.Stage) {}), loadgen.Objective{Stage: "batch 10", Name: "p99", Limit: 10, Measured: 12, Unit: "ms", Met: met})
	}
	search := func(met float64, missed bool) *loadgen.Load {
		return &loadgen.Load{Stages: good.Stages, Search: &loadgen.Search{Met: met, Missed: 20, Probes: []loadgen.Probe{{Rate: 20, Void: !missed}, {Rate: met, Met: met > 0}}}}
	}
	regressed := func(v compare.Verdict) *loadgen.Load {
		return &loadgen.Load{Stages: good.Stages, Comparison: &loadgen.Comparison{Rows: []loadgen.Row{{Statistic: "p99", Limit: "10%", Verdict: v}}}}
	}
	served := func(r loadgen.Server) *loadgen.Load { return &loadgen.Load{Stages: good.Stages, Server: &r} }
	const responses = "load, batch 10: responses: "
	for name, test := range map[string]struct {
		before, now *loadgen.Load
		want        string
		sort        reports.ChangeSort
	}{
		"rejected":           {good, failed, responses + "good, now failed: 20 failed (20 failed)", reports.NewlyFailing},
		"rejected, was void": {void, failed, responses + "void, now failed: 20 failed (20 failed)", reports.NewlyFailing},
		"mended":             {failed, good, responses + "failed, now good", reports.NewlyPassing},
		"void":               {good, void, responses + "good, now void: busy", reports.NoLongerJudged},
		"no longer void":     {void, good, responses + "void, now good", reports.NewlyJudged},
		"stopped":            {good, stopped, responses + "good, now stopped", reports.NoLongerJudged},
		"void, then stopped": {void, stopped, responses + "void, now stopped", reports.OtherChange},
		"gone":               {good, nil, responses + "good, now absent", reports.NoLongerJudged},
		"void, then gone":    {void, nil, responses + "void, now absent", reports.OtherChange},
		"new":                {nil, good, responses + "absent, now good", reports.NewlyJudged},
		"new and rejected":   {nil, failed, responses + "absent, now failed: 20 failed (20 failed)", reports.NewlyFailing},
		"missed":             {objective(true), objective(false), "load, batch 10: p99: met, now missed: p99 12 ms (limit 10 ms)", reports.NewlyFailing},
		"met":                {objective(false), objective(true), "load, batch 10: p99: missed, now met", reports.NewlyPassing},
		"asked and missed":   {good, objective(false), "load, batch 10: p99: absent, now missed: p99 12 ms (limit 10 ms)", reports.NewlyFailing},
		"asked no more":      {objective(true), good, "load, batch 10: p99: met, now absent", reports.NoLongerJudged},
		"not reached":        {search(10, false), search(0, true), "load, search: met, now missed: ", reports.NewlyFailing},
		"not confirmed":      {search(10, false), search(0, false), "load, search: met, now void: ", reports.NoLongerJudged},
		"regressed":          {regressed(compare.NoDifference), regressed(compare.Regressed), "load, comparison with its baseline: met, now missed: p99: Regressed", reports.NewlyFailing},
		"incomparable":       {regressed(compare.NoDifference), regressed(compare.Missing), "load, comparison with its baseline: met, now void: p99: Missing", reports.NoLongerJudged},
		"not measured":       {served(loadgen.Server{}), served(loadgen.Server{Ended: "no list"}), "load, through the API server: good, now void: no list", reports.NoLongerJudged},
		"cut short":          {served(loadgen.Server{}), served(loadgen.Server{Partial: true}), "load, through the API server: good, now stopped", reports.NoLongerJudged},
		"the same":           {failed, failed, "", ""},
		"both good":          {objective(true), objective(true), "", ""},
	} {
		before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
		before.Load, now.Load = test.before, test.now
		Conclude(before)
		Conclude(now)
		c, err := Since(now, "before", before)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && len(c.LoadChanges) == 0 {
			continue
		}
		if len(c.LoadChanges) != 1 || c.LoadChanges[0].Sort != test.sort || !strings.HasPrefix(loadChangeText(c.LoadChanges[0]), test.want) {
			t.Errorf("%s: got %+v, want %s as %s", name, c.LoadChanges, test.want, test.sort)
			continue
		}
		if Worse(c) != (test.sort == reports.NewlyFailing) || (Undecided(c) != "") != (test.sort == reports.NoLongerJudged) || !strings.Contains(Summary(c), "1 of the load ") {
			t.Errorf("%s: it is worse: %t, it is open: %q; %s", name, Worse(c), Undecided(c), Summary(c))
		}
		if text := strings.Join(ChangeLines(c, Columns), "\n"); !strings.Contains(text, "\n    "+test.want) {
			t.Errorf("%s: the terminal does not show it:\n%s", name, text)
		}
	}
}

// TestLoadsThatCannotBeCompared says why, for either run.
func TestLoadsThatCannotBeCompared(t *testing.T) {
	good := one(loadgen.Stage{Requests: 1})
	for want, loads := range map[string][2]*loadgen.Load{
		"":                                {good, good},
		"this run: it has no load test":   {good, nil},
		"last-night: it has no load test": {nil, good},
		"last-night: its load test is void: busy":              {one(loadgen.Stage{Requests: 1, VoidReason: "busy"}), good},
		"this run: its load test was stopped before its end":   {good, one(loadgen.Stage{Requests: 1, Partial: true})},
		"last-night: its load test was stopped before its end": {one(loadgen.Stage{Requests: 1, Partial: true}), good},
	} {
		before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
		before.Load, now.Load = loads[0], loads[1]
		if c, err := Since(now, "last-night", before); err != nil || c.LoadNote != want {
			t.Errorf("got %q, %v, want %q", c.LoadNote, err, want)
		}
	}
}

// TestSinceOfNothing expects a run that came to nothing to be described as that, not as one of something else.
func TestSinceOfNothing(t *testing.T) {
	before, now := judgedAs(requirement.Passed), judgedAs()
	c, err := Since(now, "before", before)
	if err != nil || Undecided(c) != "1 requirement is no longer judged: area.topic.a" {
		t.Errorf("%v, %+v", err, c)
	}
	before = &reports.Report{Load: one(loadgen.Stage{Name: "x", Requests: 1})}
	if c, err = Since(now, "before", before); err != nil || !strings.Contains(Undecided(c), "load, x: responses: good, now absent") {
		t.Errorf("%v, %+v", err, c)
	}
	if _, err := Since(now, "before", judgedAs()); err == nil {
		t.Error("two runs of nothing are compared")
	}
}

// TestOtherWebhooks notes what was judged, if that is not the same.
func TestOtherWebhooks(t *testing.T) {
	before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
	widgets := reports.Kind{Definition: "widgets.example.com", Group: "example.com", Kind: "Widget", Versions: []string{"v1", "v2"}, Samples: 2}
	more := widgets
	more.Versions, more.Samples = []string{"v1", "v2", "v3"}, 3
	gadgets := reports.Kind{Definition: "gadgets.example.com", Group: "example.com", Kind: "Gadget", Versions: []string{"v1"}}
	before.Webhook = &reports.Webhook{URL: "https://127.0.0.1:4000/convert", Kinds: []reports.Kind{widgets}}
	now.Webhook = &reports.Webhook{URL: "https://127.0.0.1:5000/convert", Kinds: []reports.Kind{widgets}}
	if c, err := Since(now, "before", before); err != nil || c.Notes != nil {
		t.Errorf("at another port of this machine: %v, %q", err, c.Notes)
	}
	now.Webhook = &reports.Webhook{URL: "https://widgets.example.com:8443/convert", Kinds: []reports.Kind{more, gadgets}}
	c, err := Since(now, "before", before)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"webhook: 127.0.0.1/convert before, widgets.example.com:8443/convert now",
		"widgets.example.com: Widget of example.com at v1, v2; 2 samples before, Widget of example.com at v1, v2, v3; 3 samples now",
		"gadgets.example.com: none before, Gadget of example.com at v1; 0 samples now",
	}
	if diff := cmp.Diff(want, c.Notes); diff != "" {
		t.Error(diff)
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
