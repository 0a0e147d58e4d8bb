package reporter

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// parsedSuites reads junit.xml back.
func parsedSuites(t *testing.T, r *reports.Report) []testsuite {
	t.Helper()
	var all testsuites
	if err := xml.Unmarshal(written(t, r, JUnit), &all); err != nil {
		t.Fatal(err)
	}
	return all.Suites
}

// kind says what is in a case besides its name.
func (c testcase) kind() string {
	var kinds []string
	for kind, p := range map[string]*problem{"skipped": c.Skipped, "error": c.Error, "failure": c.Failure} {
		if p != nil {
			kinds = append(kinds, kind+" "+p.Type)
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}

func TestJUnit(t *testing.T) {
	r := sample(t)
	suites := parsedSuites(t, r)
	var got []string
	for i, suite := range suites {
		got = append(got, fmt.Sprintf("%s: %d tests, %d failures, %d errors, %d skipped, %s s", suite.Name, suite.Tests, suite.Failures, suite.Errors, suite.Skipped, suite.Time))
		if suite.ID != i || suite.Package != "crdconform" || suite.Hostname != "localhost" || suite.Timestamp != "2026-11-21T09:31:05" {
			t.Errorf("suite %d is %d %s, of %s at %s", i, suite.ID, suite.Package, suite.Hostname, suite.Timestamp)
		}
	}
	want := []string{
		"versions: 2 tests, 0 failures, 0 errors, 1 skipped, 0.025 s",
		"conversion: 5 tests, 1 failures, 1 errors, 1 skipped, 0.062 s",
		"storage: 2 tests, 1 failures, 1 errors, 0 skipped, 0.025 s",
		"conversion, widgets.example.com: 2 tests, 1 failures, 0 errors, 0 skipped, 0.000 s",
		"conversion, gadgets.example.com: 2 tests, 0 failures, 0 errors, 1 skipped, 0.000 s",
		"load: 3 tests, 1 failures, 0 errors, 0 skipped, 30.021 s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var cases []testcase
	for _, suite := range suites {
		cases = append(cases, suite.Cases...)
	}
	if root := regexp.MustCompile(`<testsuites [^>]*>`).FindString(string(written(t, r, JUnit))); root != `<testsuites name="crdconform" tests="16" failures="4" errors="2" skipped="3" time="83.250">` {
		t.Errorf("the totals are %s", root)
	}
	names := map[string]bool{}
	for i, c := range cases {
		if name := c.Classname + " " + c.Name; names[name] {
			t.Errorf("there are two of %s", name)
		} else {
			names[name] = true
		}
		if i >= len(r.Results) {
			continue
		}
		if result := r.Results[i]; c.Name != string(result.ID) || c.Classname != strings.ReplaceAll(joined(result.ID.Area(), ", ", result.Subject), ".", "_") || c.Time != seconds(result.Seconds) {
			t.Errorf("%s: got %s in %s after %s s", result.ID, c.Name, c.Classname, c.Time)
		}
	}
	if want := len(r.Results) + 3; len(cases) != want {
		t.Errorf("%d cases, want %d", len(cases), want)
	}
}

// TestJUnitText expects failures to say everything in the order in which it is read.
func TestJUnitText(t *testing.T) {
	r := sample(t)
	r.Strict = true
	Conclude(r)
	for _, suite := range parsedSuites(t, r) {
		for _, c := range suite.Cases {
			for _, result := range r.Results {
				if c.Name != string(result.ID) || suite.Name != joined(result.ID.Area(), ", ", result.Subject) || c.Failure == nil {
					continue
				}
				text := strings.ReplaceAll(c.Failure.Text, "\n  ", "\n")
				for _, want := range wanted(result) {
					_, after, found := strings.Cut(text, visible.Text(want))
					if !found {
						t.Errorf("%s: %q lacks %q, or has it too early", result.ID, c.Failure.Text, want)
						break
					}
					text = after
				}
				for _, file := range result.Files {
					if !strings.Contains(c.Failure.Text, file.Path) {
						t.Errorf("%s: %q lacks %s", result.ID, c.Failure.Text, file.Path)
					}
				}
			}
		}
	}
}

func TestJUnitCases(t *testing.T) {
	for v, want := range map[requirement.Verdict]string{
		requirement.Passed:        "",
		requirement.Tolerated:     "",
		requirement.NotApplicable: "skipped ",
		requirement.KnownFailing:  "skipped ",
		requirement.Failed:        "failure Failed",
		requirement.Errored:       "error Errored",
		requirement.Unknown:       "error Unknown",
	} {
		for _, strict := range []bool{false, true} {
			if strict && v == requirement.Tolerated {
				want = "failure Tolerated"
			}
			r := reports.Report{Strict: strict, Results: must(v)}
			r.Results[0].Reason = "a\nb"
			Conclude(&r)
			suites := parsedSuites(t, &r)
			if v == requirement.NotApplicable { // which is all that there is, so that the run did not judge anything
				suites = slices.DeleteFunc(suites, func(s testsuite) bool { return s.Name == "run" })
			}
			if len(suites) != 1 || len(suites[0].Cases) != 1 || suites[0].Cases[0].kind() != want {
				t.Errorf("%s, strict %t: got %+v, want a case with %q", v, strict, suites, want)
				continue
			}
			for _, p := range []*problem{suites[0].Cases[0].Skipped, suites[0].Cases[0].Error, suites[0].Cases[0].Failure} {
				if p != nil && (p.Message != "a" || !strings.Contains(p.Text, ":\n  a\n  b\n")) {
					t.Errorf("%s, strict %t: got the message %q and the text %q", v, strict, p.Message, p.Text)
				}
			}
			if got, want := suites[0].SystemOut, "area.topic.rule is tolerated: a\n"; strings.HasPrefix(got, want) != (v == requirement.Tolerated) {
				t.Errorf("%s, strict %t: got the output %q", v, strict, got)
			}
		}
	}
}

func TestJUnitProperties(t *testing.T) {
	suites := parsedSuites(t, sample(t))
	got := map[string]string{}
	for _, suite := range suites {
		for _, p := range suite.Properties {
			got[suite.Name+" "+p.Name] = p.Value
		}
	}
	for name, want := range map[string]string{
		"versions crdconform":          "v0.1.0",
		"conversion seed":              "7",
		"storage cluster":              "embedded",
		"load kubernetes":              "v1.37.2",
		"conversion outcome":           "NonConformant",
		"load load.requests":           "6000",
		"load load.constant.rate":      "200",
		"load load.constant.objects/s": "1997.600",
		"load load.constant.p50":       "3.879 ms",
		"load load.constant.p99":       "12.135 ms",
		"load load.constant.p99.99":    "22.143 ms",
		"load load.constant.max":       "23.391 ms",
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s: got %q, want %q", name, value, want)
		}
	}
	for name := range got {
		if strings.Contains(name, "conversion.answer.uid") {
			t.Errorf("there is a property of a case: %s", name)
		}
	}
	for _, c := range suites[1].Cases {
		if c.Name == "conversion.answer.uid" && (c.Failure == nil || !strings.Contains(c.Failure.Text, "(MUST): The response has the uid of the request | it answers, as `request.uid` says.") || !strings.Contains(c.Failure.Text, "versions-1:412 Response; server")) {
			t.Errorf("the failure lacks what the requirement says: %+v", c.Failure)
		}
	}
}

func TestJUnitOfTroubles(t *testing.T) {
	for name, test := range map[string]struct {
		report  reports.Report
		want    string // the last suite, its case, what is in it and the message
		content string
	}{
		"nothing":           {reports.Report{}, "run could judge: error Errored, Could not judge: there was nothing to judge", "Could not judge: there was nothing to judge"},
		"not applicable":    {reports.Report{Results: because("why")}, "run could judge: error Errored, Could not judge: the only requirement is not applicable: why", "Could not judge: the only requirement is not applicable: why"},
		"an error":          {reports.Report{Error: "no cluster\nbecause", Results: must(requirement.Passed)}, "run could judge: error Errored, no cluster", "no cluster\nbecause"},
		"an error and load": {reports.Report{Error: "late", Load: one(loadgen.Stage{Requests: 9})}, "run could judge: error Errored, late", "late"},
		"interrupted":       {reports.Report{Interrupted: true, Results: must(requirement.Passed)}, "run could judge: error Errored, Interrupted with 1 requirement judged", "Interrupted with 1 requirement judged"},
		"missed objective":  {reports.Report{Load: with(one(loadgen.Stage{Requests: 9}), loadgen.Objective{Name: "p99", Limit: 50, Measured: 83.125, Unit: "ms"})}, "load load: p99: failure Failed, p99 83.125 ms (limit 50 ms), 66.3 % over", ""},
		"void objective":    {reports.Report{Load: with(one(loadgen.Stage{Requests: 9, VoidReason: "too busy"}), loadgen.Objective{Name: "p99", Limit: 50, Measured: 83.125, Unit: "ms"})}, "load load: p99: error Errored, too busy", ""},
		"met objective":     {reports.Report{Load: with(one(loadgen.Stage{Requests: 9}), loadgen.Objective{Name: "errors", Limit: 0.1, Unit: "share", Met: true})}, "load load: errors: ", ""},
		"good load":         {reports.Report{Load: one(loadgen.Stage{Requests: 9})}, "load load: responses: ", ""},
		"failed load":       {reports.Report{Load: one(loadgen.Stage{Requests: 9, Failed: 3, Findings: []loadgen.Finding{{Request: 7, Requirement: "a.b.c", Text: "d", Files: []reports.File{{Path: "load/x"}}}}})}, "load load: responses: failure Failed, 3 of 9 requests failed", "\nrequest 7: a.b.c: d\n  load/x"},
		"void load":         {reports.Report{Load: one(loadgen.Stage{Requests: 9, Failed: 3, VoidReason: "the generator was too busy: 8 of 9 requests were sent late"})}, "load load: responses: error Errored, the generator was too busy: 8 of 9 requests were sent late", ""},
	} {
		r := test.report
		Conclude(&r)
		suites := parsedSuites(t, &r)
		last := suites[len(suites)-1]
		c := last.Cases[len(last.Cases)-1]
		got, content := last.Name+" "+c.Name+": "+c.kind(), ""
		for _, p := range []*problem{c.Error, c.Failure} {
			if p != nil {
				got, content = got+", "+p.Message, p.Text
			}
		}
		if r.Load != nil && last.Name == "load" && content != "" {
			test.content = stageHeadline(r.Load.Stages[0]) + test.content
		}
		if last.Tests != len(last.Cases) || got != test.want || content != test.content {
			t.Errorf("%s: got  %q with %q\nwant %q with %q", name, got, content, test.want, test.content)
		}
	}
}

// TestJUnitOfStages has a case for each stage and objective of each run, each with a name of its own.
func TestJUnitOfStages(t *testing.T) {
	suites := parsedSuites(t, grid(t))
	if len(suites) != 1 || suites[0].Tests != 15+15+3+1+1 || suites[0].Failures != 6 || suites[0].Errors != 2 || suites[0].Time != "45.060" {
		t.Fatalf("got %+v", suites)
	}
	cases := map[string]testcase{}
	for _, c := range suites[0].Cases {
		if _, twice := cases[c.Name]; twice || c.Classname != "load" {
			t.Errorf("there are two of %s, or it is in %s", c.Name, c.Classname)
		}
		cases[c.Name] = c
	}
	for name, want := range map[string]string{
		"batch 1: responses": "", "batch 500, repeat 2: responses": "failure Failed", "batch 1500, repeat 2: responses": "error Errored", "batch 1500, repeat 3: responses": "",
		"batch 1: p99": "", `batch 1: p99, KEP "CRDs to GA"`: "", `batch 1, repeat 3: p99, KEP "CRDs to GA"`: "", "batch 500, repeat 3: p99": "failure Failed",
		"batch 1500, repeat 2: p99": "error Errored", "batch 1500: objects/s": "", "search": "",
	} {
		if c, there := cases[name]; !there || c.kind() != want {
			t.Errorf("%s: got %q, want %q", name, c.kind(), want)
		}
	}
	if c := cases["batch 500, repeat 2: responses"]; c.Failure == nil || c.Failure.Message != "2 of 60 requests failed" ||
		!strings.Contains(c.Failure.Text, "\nrequest 20: conversion.answer.order: object 0: expected \"a\", got \"b\"\n  load/9-20-request.json\n") {
		t.Errorf("the case of a stage that failed is %+v", c.Failure)
	}
	if c := cases["batch 500: p99"]; c.Failure == nil || c.Failure.Message != "batch 500: p99 43.839 ms (limit 20 ms), 119 % over" {
		t.Errorf("the case of an objective that is missed is %+v", c.Failure)
	}
	if got, want := suites[0].SystemOut, strings.Join(LoadLines(grid(t).Load, Columns), "\n"); got != want {
		t.Errorf("the output is %q, want %q", got, want)
	}
}

// TestJUnitOfSameNames expects objectives that nothing distinguishes to become distinct cases.
func TestJUnitOfSameNames(t *testing.T) {
	same := loadgen.Objective{Stage: "x", Name: "p99", Limit: 1, Unit: "ms", Met: true}
	r := &reports.Report{Load: with(&loadgen.Load{Stages: []loadgen.Stage{{Name: "x"}, {Name: "x"}}}, same, same)}
	Conclude(r)
	var names []string
	for _, c := range parsedSuites(t, r)[0].Cases {
		names = append(names, c.Name)
	}
	if want := []string{"x: responses", "x (2): responses", "x: p99", "x: p99 (2)"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestJUnitOfASearch(t *testing.T) {
	missed := []loadgen.Probe{{Rate: 20, Measured: "9 of 40 over the limit"}}
	met := loadgen.Search{Met: 20, Probes: []loadgen.Probe{{Rate: 20, Met: true}, {Rate: 20, Met: true}}}
	busy := loadgen.Search{Met: 20, Probes: []loadgen.Probe{{Rate: 20, Met: true}, {Rate: 20, Void: true}}}
	for name, test := range map[string]struct {
		search loadgen.Search
		stages []loadgen.Stage // the confirmation
		want   string
	}{
		"found": {met, []loadgen.Stage{{Requests: 9}}, ""}, "not confirmed": {busy, nil, "error Errored"}, "not confirmed, beside others": {busy, []loadgen.Stage{{Requests: 9}}, "error Errored"}, "not found": {loadgen.Search{Missed: 20, Probes: missed}, nil, "failure Failed"},
		"undecided": {loadgen.Search{Missed: 20, Probes: []loadgen.Probe{{Rate: 20, Void: true}}}, nil, "error Errored"}, "stopped": {loadgen.Search{Missed: 20, Probes: missed, Partial: true}, nil, "error Errored"},
	} {
		r := &reports.Report{Load: &loadgen.Load{Search: &test.search, Stages: test.stages}}
		Conclude(r)
		suite := parsedSuites(t, r)[0]
		c := suite.Cases[len(suite.Cases)-1]
		sure := test.want != "error Errored"
		if shown := slices.ContainsFunc(suite.Properties, func(p property) bool { return p.Name == "load.search.met" }); shown != sure {
			t.Errorf("%s: the rate is shown: %t", name, shown)
		}
		if sure != (r.Outcome != reports.Unjudged) {
			t.Errorf("%s: it comes to %s", name, r.Outcome)
		}
		if c.Name != "search" || c.kind() != test.want {
			t.Errorf("%s: got %s with %q, want %q", name, c.Name, c.kind(), test.want)
		}
		if name == "not found" && !strings.Contains(c.Failure.Text, "\n20/s missed: 9 of 40 over the limit") {
			t.Errorf("the text is %q", c.Failure.Text)
		}
	}
}

func TestJUnitKeepsText(t *testing.T) {
	for _, suite := range parsedSuites(t, sample(t)) {
		for _, c := range suite.Cases {
			if c.Name != "conversion.answer.uid" {
				continue
			}
			if !strings.Contains(strings.ReplaceAll(c.Failure.Text, "\n  ", "\n"), visible.Text(hostile)) {
				t.Errorf("got %q, want something with %q", c.Failure.Text, visible.Text(hostile))
			}
			return
		}
	}
	t.Error("the case is missing")
}

// TestJUnitIsVisible has nothing in it that a terminal would obey, and nothing that turns the direction of reading.
func TestJUnitIsVisible(t *testing.T) {
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		text := written(t, r, JUnit)
		if err := xml.Unmarshal(text, new(testsuites)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if control := regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}\x{202e}]|&#x[B-D];`).Find(text); control != nil {
			t.Errorf("%s: there is %q", name, control)
		}
	}
}

// validate validates a document against the schema.
func validate(t *testing.T, document []byte) error {
	t.Helper()
	lint := exec.CommandContext(t.Context(), tool(t, "xmllint"), "--noout", "--nonet", "--schema", "testdata/junit.xsd", "-")
	lint.Stdin = bytes.NewReader(document)
	if output, err := lint.CombinedOutput(); err != nil {
		return fmt.Errorf("%w:\n%s", err, output)
	}
	return nil
}

func TestJUnitIsValid(t *testing.T) {
	reports := map[string]*reports.Report{
		"sample":      sample(t),
		"nothing":     {},
		"an error":    {Error: hostile},
		"interrupted": {Interrupted: true, Results: must(requirement.Unknown)},
		"void load":   {Load: one(loadgen.Stage{VoidReason: "too busy"})},
		"grid":        grid(t),
		"hostile":     hostileEverywhere(t),
		"strict":      {Strict: true, Results: must(requirement.Tolerated, requirement.KnownFailing)},
	}
	for name, r := range reports {
		Conclude(r)
		if err := validate(t, written(t, r, JUnit)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestJUnitSchemaRefuses proves that the schema can find something.
func TestJUnitSchemaRefuses(t *testing.T) {
	good := string(written(t, sample(t), JUnit))
	for name, replace := range map[string][2]string{
		"no hostname":             {` hostname="localhost"`, ``},
		"no number":               {`tests="5"`, `tests="five"`},
		"a number below 0":        {`errors="1"`, `errors="-1"`},
		"a zone":                  {`T09:31:05"`, `T09:31:05Z"`},
		"no date":                 {`2026-11-21T`, `2026-13-21T`},
		"no name":                 {`testcase name="versions.served.read"`, `testcase name=" "`},
		"the same suite twice":    {`id="1"`, `id="0"`},
		"no time":                 {` time="0.013"`, ``},
		"not a time":              {` time="0.013"`, ` time="NaN"`},
		"no type of failure":      {` type="Failed"`, ``},
		"a type of skipped":       {`<skipped message`, `<skipped type="Skipped" message`},
		"two problems":            {`</failure>`, `</failure><skipped></skipped>`},
		"a property of a case":    {`</testcase>`, `<properties></properties></testcase>`},
		"no properties":           {regexp.MustCompile(`(?s)<properties>.*?</properties>`).FindString(good), ``},
		"no output":               {`<system-out></system-out>`, ``},
		"an element from outside": {`<system-err></system-err>`, `<system-err></system-err><script></script>`},
	} {
		bad := strings.Replace(good, replace[0], replace[1], 1)
		if bad == good {
			t.Errorf("%s: there is no %s", name, replace[0])
		}
		err := validate(t, []byte(bad))
		if err == nil || !strings.Contains(err.Error(), "Schemas validity error") {
			t.Errorf("%s: got %v, want that the schema refuses it", name, err)
		}
	}
}
