package reporter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// judgedAs is a report of an embedded cluster with a result for each verdict, whose requirements are a, b, c and so on.
func judgedAs(verdicts ...requirement.Verdict) *reports.Report {
	r := &reports.Report{
		Tool: "v1", Command: "crdconform run", Started: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Seconds: 10, Seed: 7,
		Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"},
	}
	for i, v := range verdicts {
		one := must(v)[0]
		one.ID = requirement.ID("area.topic." + string(rune('a'+i)))
		r.Results = append(r.Results, one)
	}
	Conclude(r)
	return r
}

func TestMerge(t *testing.T) {
	const (
		passed, failed, errored, skipped, unknown = requirement.Passed, requirement.Failed, requirement.Errored, requirement.NotApplicable, requirement.Unknown
	)
	a, b := judgedAs(passed, failed, skipped, unknown, errored), judgedAs(failed, passed, passed, skipped, passed)
	b.Seed, b.Started, b.Notes, b.Error = 8, b.Started.Add(-time.Hour), []string{"a note"}, "no load"
	Conclude(b)
	merged, err := Merge([]string{"job-1", "job-2"}, []*reports.Report{a, b})
	if err != nil {
		t.Fatal(err)
	}
	var got []requirement.Verdict
	for _, result := range merged.Results {
		got = append(got, result.Verdict)
	}
	if want := []requirement.Verdict{failed, failed, passed, skipped, errored}; !slices.Equal(got, want) {
		t.Errorf("the verdicts are %v, want %v", got, want)
	}
	if merged.Seconds != 20 || merged.Seed != 0 || !merged.Started.Equal(b.Started) || merged.Error != "job-2: no load" || len(merged.Merged) != 2 || merged.Merged[1].Seed != 8 || merged.Notes[0] != "a note" {
		t.Errorf("it is %+v", merged)
	}
	if merged.Outcome != reports.NonConformant || a.Outcome != reports.NonConformant || len(a.Results) != 5 || a.Seconds != 10 {
		t.Errorf("it has become %s; the first is %+v", merged.Outcome, a)
	}
	if again, err := reports.Read(written(t, merged, JSON)); err != nil || again.Merged[0].Report != "job-1" {
		t.Errorf("read back: %v, %+v", err, again)
	}
}

// TestMergeElsewhere distinguishes webhooks of other machines by their ports, and merges what was judged with other definitions.
func TestMergeElsewhere(t *testing.T) {
	at := func(url string, kinds ...reports.Kind) *reports.Report {
		r := judgedAs(requirement.Passed)
		r.Webhook = &reports.Webhook{URL: url, Kinds: kinds}
		return r
	}
	widgets, gadgets := reports.Kind{Definition: "widgets.example.com", Versions: []string{"v1"}}, reports.Kind{Definition: "gadgets.example.com", Versions: []string{"v1"}}
	newer := reports.Kind{Definition: "widgets.example.com", Versions: []string{"v1", "v2"}}
	const url = "https://widgets.example.com:8443/convert"
	if merged, err := Merge([]string{"a", "b"}, []*reports.Report{at(url, widgets), at(url, gadgets)}); err != nil || len(merged.Webhook.Kinds) != 2 {
		t.Errorf("of two definitions: %v", err)
	}
	for name, other := range map[string]*reports.Report{"another port": at("https://widgets.example.com:9443/convert", widgets), "other versions": at(url, newer)} {
		if _, err := Merge([]string{"a", "b"}, []*reports.Report{at(url, widgets), other}); err == nil || !strings.Contains(err.Error(), "they cannot be merged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMergeKeepsEvidence has files of the same name in two reports be two files.
func TestMergeKeepsEvidence(t *testing.T) {
	one := func(text string) *reports.Report {
		r := judgedAs(requirement.Failed)
		const dir = "exchanges/area.topic.a/"
		r.Results[0].ID += requirement.ID(text)
		r.Results[0].Files = []reports.File{{Path: dir + "request.json", Data: []byte(text)}}
		r.Results[0].Curl = "curl --data-binary @" + dir + "request.json https://exchanges/"
		r.Artifacts = []reports.File{{Path: "cluster/server.log", Data: []byte(text)}}
		return r
	}
	merged, err := Merge([]string{"a", "b"}, []*reports.Report{one("1"), one("2")})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := open(t, dir).Write(merged); err != nil {
		t.Fatal(err)
	}
	files := list(t, dir)
	for name, want := range map[string]string{
		"exchanges/run-1/area.topic.a/request.json": "1", "exchanges/run-2/area.topic.a/request.json": "2",
		"cluster/run-1/server.log": "1", "cluster/run-2/server.log": "2",
	} {
		if files[name] != want {
			t.Errorf("%s has %q, want %q; there are %q", name, files[name], want, names(files))
		}
	}
	if got, want := merged.Results[1].Curl, "curl --data-binary @exchanges/run-2/area.topic.a/request.json https://exchanges/"; got != want {
		t.Errorf("the command is %s", got)
	}
	open(t, dir)
	if left := list(t, dir); len(left) > 1 || len(left) == 1 && names(left)[0] != "./" {
		t.Errorf("the next run leaves %q", names(left))
	}
}

func TestMergeRefuses(t *testing.T) {
	a := judgedAs(requirement.Passed)
	a.Webhook = &reports.Webhook{URL: "https://127.0.0.1:4000/convert"}
	newer, cached, elsewhere, loaded, restarted, reversioned := judgedAs(requirement.Passed), judgedAs(requirement.Passed), judgedAs(requirement.Passed), judgedAs(requirement.Passed), judgedAs(requirement.Passed), judgedAs(requirement.Passed)
	a.Webhook.Kinds = []reports.Kind{{Definition: "widgets.example.com", Kind: "Widget", Group: "example.com", Versions: []string{"v1"}}}
	reversioned.Webhook = &reports.Webhook{URL: a.Webhook.URL, Kinds: []reports.Kind{{Definition: "widgets.example.com", Kind: "Widget", Group: "example.com", Versions: []string{"v1", "v2"}}}}
	newer.Cluster.Version, cached.Cluster.WatchCache = "v1.38.0", true
	elsewhere.Webhook = &reports.Webhook{URL: "https://widgets.example.com/convert"}
	restarted.Webhook = &reports.Webhook{URL: "https://127.0.0.1:5000/convert"}
	another, rebuilt := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
	a.Webhook.Program = "./widgets --port={port}"
	started := func(program string) *reports.Webhook {
		return &reports.Webhook{URL: restarted.Webhook.URL, Program: program, Kinds: a.Webhook.Kinds}
	}
	another.Webhook = &reports.Webhook{URL: restarted.Webhook.URL, Kinds: []reports.Kind{{Definition: "gadgets.example.com", Kind: "Gadget", Group: "example.com", Versions: []string{"v1"}}}}
	rebuilt.Webhook = started("./widgets-2")
	same := judgedAs(requirement.Passed)
	same.Webhook = started(a.Webhook.Program)
	argued, unnamed := judgedAs(requirement.Passed), judgedAs(requirement.Passed)
	argued.Webhook, unnamed.Webhook = started("./widgets --port={port} --strict"), started("")
	loaded.Load = one(loadgen.Stage{Requests: 1})
	a.Load = &loadgen.Load{Stages: loaded.Load.Stages, Search: &loadgen.Search{Met: 1}}
	searched := judgedAs(requirement.Passed)
	searched.Load = &loadgen.Load{Search: &loadgen.Search{Met: 2}}
	for name, test := range map[string]struct {
		other *reports.Report
		want  string
	}{
		"another version":  {newer, "a is about Kubernetes v1.37.2 (embedded, without a watch cache), and b about v1.38.0 (embedded, without a watch cache): they cannot be merged"},
		"a watch cache":    {cached, "b about v1.37.2 (embedded, with a watch cache): they cannot be merged; crdconform report --side-by-side shows them next to each other"},
		"another webhook":  {elsewhere, "a is about the webhook at 127.0.0.1/convert, and b about the one at widgets.example.com/convert: they cannot be merged"},
		"other versions":   {reversioned, "a is about widgets.example.com: Widget of example.com at v1, and b about widgets.example.com: Widget of example.com at v1, v2: they cannot"},
		"another program":  {rebuilt, "a is about the program ./widgets --port={port}, and b about ./widgets-2: they cannot be merged"},
		"other arguments":  {argued, "a is about the program ./widgets --port={port}, and b about ./widgets --port={port} --strict: they cannot be merged"},
		"no program":       {unnamed, ""},
		"its definitions":  {another, "a is about widgets.example.com: Widget of example.com at v1, and b about gadgets.example.com: Gadget of example.com at v1: they cannot"},
		"the same program": {same, ""},
		"two load tests":   {loaded, ""},
		"two searches":     {searched, "the load tests of a and b cannot be merged: both searched for a rate"},
		"another port":     {restarted, ""},
		"without clusters": {&reports.Report{}, ""},
	} {
		_, err := Merge([]string{"a", "b"}, []*reports.Report{a, test.other})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
