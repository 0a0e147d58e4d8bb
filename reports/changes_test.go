package reports

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/loadgen/apiserver"
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
	before.Load.Objectives[0].Measured, before.Load.Objectives[0].Met = 9, true
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
	suites := suitesOf(t, r)
	if suite := suites[len(suites)-1]; suite.Name != "changes" || suite.Cases[0].kind() != "failure Failed" || !strings.Contains(suite.SystemOut, "newly failing:\n    conversion.answer.uid") {
		t.Errorf("the last suite is %+v", suite)
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

// TestSinceOfLoads has every way in which a part of a load test can come to something else.
func TestSinceOfLoads(t *testing.T) {
	stage := func(change func(*Stage)) *Load {
		s := Stage{Name: "batch 10", Repeat: 2, Requests: 100, Judged: 100}
		change(&s)
		return one(s)
	}
	good := stage(func(*Stage) {})
	failed := stage(func(s *Stage) { s.Failed, s.Errors = 20, map[string]uint64{"failed": 20} })
	void := stage(func(s *Stage) { s.VoidReason = "busy" })
	stopped := stage(func(s *Stage) { s.Partial = true })
	objective := func(met bool) *Load {
		return with(stage(func(*Stage) {}), Objective{Stage: "batch 10", Name: "p99", Limit: 10, Measured: 12, Unit: "ms", Met: met})
	}
	search := func(met float64, missed bool) *Load {
		return &Load{Stages: good.Stages, Search: &Search{Met: met, Missed: 20, Probes: []Probe{{Rate: 20, Void: !missed}}}}
	}
	regressed := func(v compare.Verdict) *Load {
		return &Load{Stages: good.Stages, Comparison: &Comparison{Comparison: compare.Comparison{Rows: []compare.Row{{Statistic: "p99", Limit: "10%", Verdict: v}}}}}
	}
	served := func(r apiserver.Result) *Load { return &Load{Stages: good.Stages, Server: &r} }
	const responses = "load, batch 10: responses: "
	for name, test := range map[string]struct {
		before, now *Load
		want        string
		sort        ChangeSort
	}{
		"rejected":           {good, failed, responses + "good, now failed: 20 failed (20 failed)", NewlyFailing},
		"rejected, was void": {void, failed, responses + "void, now failed: 20 failed (20 failed)", NewlyFailing},
		"mended":             {failed, good, responses + "failed, now good", NewlyPassing},
		"void":               {good, void, responses + "good, now void: busy", NoLongerJudged},
		"no longer void":     {void, good, responses + "void, now good", NewlyJudged},
		"stopped":            {good, stopped, responses + "good, now stopped", NoLongerJudged},
		"void, then stopped": {void, stopped, responses + "void, now stopped", OtherChange},
		"gone":               {good, nil, responses + "good, now absent", NoLongerJudged},
		"void, then gone":    {void, nil, responses + "void, now absent", OtherChange},
		"new":                {nil, good, responses + "absent, now good", NewlyJudged},
		"new and rejected":   {nil, failed, responses + "absent, now failed: 20 failed (20 failed)", NewlyFailing},
		"missed":             {objective(true), objective(false), "load, batch 10: p99: met, now missed: p99 12 ms (limit 10 ms)", NewlyFailing},
		"met":                {objective(false), objective(true), "load, batch 10: p99: missed, now met", NewlyPassing},
		"asked and missed":   {good, objective(false), "load, batch 10: p99: absent, now missed: p99 12 ms (limit 10 ms)", NewlyFailing},
		"asked no more":      {objective(true), good, "load, batch 10: p99: met, now absent", NoLongerJudged},
		"not reached":        {search(10, false), search(0, true), "load, search: met, now missed: ", NewlyFailing},
		"not confirmed":      {search(10, false), search(0, false), "load, search: met, now void: ", NoLongerJudged},
		"regressed":          {regressed(compare.NoDifference), regressed(compare.Regressed), "load, comparison with its baseline: met, now missed: p99: Regressed", NewlyFailing},
		"incomparable":       {regressed(compare.NoDifference), regressed(compare.Missing), "load, comparison with its baseline: met, now void: p99: Missing", NoLongerJudged},
		"not measured":       {served(apiserver.Result{}), served(apiserver.Result{Ended: "no list"}), "load, through the API server: good, now void: no list", NoLongerJudged},
		"cut short":          {served(apiserver.Result{}), served(apiserver.Result{Partial: true}), "load, through the API server: good, now stopped", NoLongerJudged},
		"the same":           {failed, failed, "", ""},
		"both good":          {objective(true), objective(true), "", ""},
	} {
		before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
		before.Load, now.Load = test.before, test.now
		before.Conclude()
		now.Conclude()
		c, err := now.Since("before", before)
		if err != nil {
			t.Fatal(err)
		}
		if test.want == "" && len(c.LoadChanges) == 0 {
			continue
		}
		if len(c.LoadChanges) != 1 || c.LoadChanges[0].Sort != test.sort || !strings.HasPrefix(c.LoadChanges[0].String(), test.want) {
			t.Errorf("%s: got %+v, want %s as %s", name, c.LoadChanges, test.want, test.sort)
			continue
		}
		if c.Worse() != (test.sort == NewlyFailing) || (c.Open() != "") != (test.sort == NoLongerJudged) || !strings.Contains(c.Summary(), "1 of the load ") {
			t.Errorf("%s: it is worse: %t, it is open: %q; %s", name, c.Worse(), c.Open(), c.Summary())
		}
		if text := strings.Join(c.Lines(Columns), "\n"); !strings.Contains(text, "\n    "+test.want) {
			t.Errorf("%s: the terminal does not tell it:\n%s", name, text)
		}
	}
}

// TestLoadsThatCannotBeCompared says why, for either run.
func TestLoadsThatCannotBeCompared(t *testing.T) {
	good := one(Stage{Requests: 1})
	for want, loads := range map[string][2]*Load{
		"":                                      {good, good},
		"this run: there is no load test in it": {good, nil},
		"last-night: there is no load test in it":              {nil, good},
		"last-night: its load test is void: busy":              {one(Stage{Requests: 1, VoidReason: "busy"}), good},
		"this run: its load test was stopped before its end":   {good, one(Stage{Requests: 1, Partial: true})},
		"last-night: its load test was stopped before its end": {one(Stage{Requests: 1, Partial: true}), good},
	} {
		before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
		before.Load, now.Load = loads[0], loads[1]
		if c, err := now.Since("last-night", before); err != nil || c.LoadNote != want {
			t.Errorf("got %q, %v, want %q", c.LoadNote, err, want)
		}
	}
}

// TestSinceOfNothing has a run that came to nothing be told as that, not as one of something else.
func TestSinceOfNothing(t *testing.T) {
	before, now := judgedAs(requirement.Passed), judgedAs()
	c, err := now.Since("before", before)
	if err != nil || c.Open() != "1 requirement is no longer judged: area.topic.a" {
		t.Errorf("%v, %+v", err, c)
	}
	before = &Report{Load: one(Stage{Name: "x", Requests: 1})}
	if c, err = now.Since("before", before); err != nil || !strings.Contains(c.Open(), "load, x: responses: good, now absent") {
		t.Errorf("%v, %+v", err, c)
	}
	if _, err := now.Since("before", judgedAs()); err == nil {
		t.Error("two runs of nothing are compared")
	}
}

// TestOtherWebhooks notes what was judged, if that is not the same.
func TestOtherWebhooks(t *testing.T) {
	before, now := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
	widgets := Kind{Definition: "widgets.example.com", Group: "example.com", Kind: "Widget", Versions: []string{"v1", "v2"}, Samples: 2}
	more := widgets
	more.Versions, more.Samples = []string{"v1", "v2", "v3"}, 3
	gadgets := Kind{Definition: "gadgets.example.com", Group: "example.com", Kind: "Gadget", Versions: []string{"v1"}}
	before.Webhook = &Webhook{URL: "https://127.0.0.1:4000/convert", Kinds: []Kind{widgets}}
	now.Webhook = &Webhook{URL: "https://127.0.0.1:5000/convert", Kinds: []Kind{widgets}}
	if c, err := now.Since("before", before); err != nil || c.Notes != nil {
		t.Errorf("at another port of this machine: %v, %q", err, c.Notes)
	}
	now.Webhook = &Webhook{URL: "https://widgets.example.com:8443/convert", Kinds: []Kind{more, gadgets}}
	c, err := now.Since("before", before)
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
