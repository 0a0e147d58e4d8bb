package reporter

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// must and should are results with nothing but a verdict.
func must(verdicts ...requirement.Verdict) []reports.Result { return bare(requirement.Must, verdicts) }

func should(verdicts ...requirement.Verdict) []reports.Result {
	return bare(requirement.Should, verdicts)
}

func bare(level requirement.Level, verdicts []requirement.Verdict) []reports.Result {
	var all []reports.Result
	for _, v := range verdicts {
		all = append(all, reports.Result{Requirement: requirement.Requirement{ID: "area.topic.rule", Level: level}, Verdict: v})
	}
	return all
}

// of are results about a definition, and immaterial ones don't matter to the outcome when they are NotApplicable.
func of(subject string, verdicts ...requirement.Verdict) []reports.Result {
	all := must(verdicts...)
	for i := range all {
		all[i].Subject = subject
	}
	return all
}

// because are results that are not applicable, each with its reason; since is one for a minor of API servers.
func because(reasons ...string) []reports.Result {
	var all []reports.Result
	for _, reason := range reasons {
		one := must(requirement.NotApplicable)
		one[0].Reason = reason
		all = append(all, one...)
	}
	return all
}

func since(minor string) []reports.Result {
	all := because("holds since " + minor)
	all[0].Since, _ = requirement.ParseMinor(minor)
	all[0].Immaterial = true
	return all
}

func immaterial(verdicts ...requirement.Verdict) []reports.Result {
	all := must(verdicts...)
	for i := range all {
		all[i].Immaterial = true
	}
	return all
}

func TestConclude(t *testing.T) {
	const (
		passed, tolerated, skipped, known = requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing
		failed, errored, unknown          = requirement.Failed, requirement.Errored, requirement.Unknown
	)
	const busy = "the generator was too busy: 90 of 100 requests were sent late"
	met := loadgen.Objective{Name: "p95", Limit: 50, Measured: 7, Unit: "ms", Met: true}
	slow := loadgen.Objective{Name: "p99", Limit: 50, Measured: 50.0004, Unit: "ms"}
	many := loadgen.Objective{Name: "errors", Limit: 0.01, Measured: 0.02, Unit: "share"}
	good, bad, void := one(loadgen.Stage{Requests: 100}), one(loadgen.Stage{Requests: 100, Failed: 3}), one(loadgen.Stage{Requests: 100, Failed: 3, VoidReason: busy})
	for name, test := range map[string]struct {
		report   reports.Report
		want     reports.Outcome
		headline string
	}{
		"nothing":                  {reports.Report{}, reports.Unjudged, "Could not judge: there was nothing to judge"},
		"passed":                   {reports.Report{Results: must(passed)}, reports.Conformant, "Conforms: 1 requirement passed"},
		"tolerated":                {reports.Report{Results: must(passed, passed, tolerated)}, reports.Conformant, "Conforms: 2 requirements passed, 1 tolerated"},
		"tolerated, strict":        {reports.Report{Strict: true, Results: must(passed, failed, tolerated)}, reports.NonConformant, "Does not conform: 2 of 3 requirements failed, 1 of them tolerated unless strict"},
		"only tolerated, strict":   {reports.Report{Strict: true, Results: must(tolerated)}, reports.NonConformant, "Does not conform: 1 of 1 requirement failed, 1 of them tolerated unless strict"},
		"passed, strict":           {reports.Report{Strict: true, Results: must(passed)}, reports.Conformant, "Conforms: 1 requirement passed"},
		"known to fail":            {reports.Report{Results: must(passed, known)}, reports.Conformant, "Conforms: 1 requirement passed, 1 known to fail"},
		"only known to fail":       {reports.Report{Results: must(known)}, reports.Partial, "Conforms, not fully judged: 0 requirements passed, 1 known to fail"},
		"only a SHOULD skipped":    {reports.Report{Results: should(skipped)}, reports.Unjudged, "Could not judge: the only requirement is not applicable"},
		"all not applicable":       {reports.Report{Results: because("no", "why", "why")}, reports.Unjudged, "Could not judge: none of 3 requirements is applicable, 2 because: why"},
		"for one reason":           {reports.Report{Results: because("why\nthat is", "why\nthat is")}, reports.Unjudged, "Could not judge: none of 2 requirements is applicable: why"},
		"one, with a reason":       {reports.Report{Results: because("why")}, reports.Unjudged, "Could not judge: the only requirement is not applicable: why"},
		"nothing but load":         {reports.Report{Results: because("why"), Load: good}, reports.Partial, "Conforms, not fully judged (area.topic.rule could not be judged): 0 requirements passed, 1 not applicable"},
		"nothing for the minor":    {reports.Report{Cluster: &reports.Cluster{Version: "v1.28.15"}, Results: since("1.31")}, reports.Partial, "Conforms, not fully judged: 0 requirements passed, 1 not applicable"},
		"for the minor and others": {reports.Report{Cluster: &reports.Cluster{Version: "v1.28.15"}, Results: slices.Concat(since("1.31"), because("why"))}, reports.Unjudged, "Could not judge: none of 2 requirements is applicable, 1 because: holds since 1.31"},
		"no minor is known":        {reports.Report{Results: since("1.31")}, reports.Unjudged, "Could not judge: the only requirement is not applicable: holds since 1.31"},
		"only tolerated":           {reports.Report{Results: must(tolerated)}, reports.Conformant, "Conforms: 0 requirements passed, 1 tolerated"},
		"known to fail, strict":    {reports.Report{Strict: true, Results: must(passed, known)}, reports.Conformant, "Conforms: 1 requirement passed, 1 known to fail"},
		"a SHOULD skipped":         {reports.Report{Results: slices.Concat(must(passed), should(skipped))}, reports.Conformant, "Conforms: 1 requirement passed, 1 not applicable"},
		"a MUST skipped":           {reports.Report{Results: must(passed, skipped)}, reports.Partial, "Conforms, not fully judged (area.topic.rule could not be judged): 1 requirement passed, 1 not applicable"},
		"a MUST skipped, tolerant": {reports.Report{Results: must(skipped, tolerated, known)}, reports.Partial, "Conforms, not fully judged (area.topic.rule could not be judged): 0 requirements passed, 1 tolerated, 1 known to fail, 1 not applicable"},
		"failed":                   {reports.Report{Results: must(passed, failed, skipped)}, reports.NonConformant, "Does not conform: 1 of 3 requirements failed"},
		"a SHOULD failed":          {reports.Report{Results: slices.Concat(must(passed), should(failed))}, reports.NonConformant, "Does not conform: 1 of 2 requirements failed"},
		"errored":                  {reports.Report{Results: must(passed, errored, skipped)}, reports.Unjudged, "Could not judge 1 of 3 requirements"},
		"unknown":                  {reports.Report{Results: must(passed, unknown, errored)}, reports.Unjudged, "Could not judge 2 of 3 requirements"},
		"failed and errored":       {reports.Report{Results: must(failed, errored)}, reports.NonConformant, "Does not conform: 1 of 2 requirements failed"},
		"an error":                 {reports.Report{Error: "no cluster\nbecause", Results: must(passed)}, reports.Unjudged, "Could not judge: no cluster"},
		"an error and nothing":     {reports.Report{Error: "\x1b[31mno cluster"}, reports.Unjudged, "Could not judge: \uFFFD[31mno cluster"},
		"a long error":             {reports.Report{Error: strings.Repeat("x", 999)}, reports.Unjudged, "Could not judge: " + strings.Repeat("x", 999)},
		"an error and a failure":   {reports.Report{Error: "no load", Results: must(failed)}, reports.NonConformant, "Does not conform: 1 of 1 requirement failed. Incomplete: no load"},
		"good load":                {reports.Report{Load: good}, reports.Conformant, "Conforms: all 100 responses under load are correct"},
		"bad load":                 {reports.Report{Load: bad}, reports.NonConformant, "Does not conform: 3 of 100 requests under load failed"},
		"void load":                {reports.Report{Load: void}, reports.Unjudged, "Could not judge the load (3 of 100 requests failed): the generator was too busy: 90 of 100 requests were sent late"},
		"passed, good load":        {reports.Report{Results: must(passed), Load: good}, reports.Conformant, "Conforms: 1 requirement passed"},
		"passed, bad load":         {reports.Report{Results: must(passed), Load: bad}, reports.NonConformant, "Does not conform: 3 of 100 requests under load failed"},
		"passed, void load":        {reports.Report{Results: must(passed), Load: void}, reports.Unjudged, "Could not judge the load (3 of 100 requests failed): the generator was too busy: 90 of 100 requests were sent late"},
		"errored, void load":       {reports.Report{Results: must(errored), Load: void}, reports.Unjudged, "Could not judge 1 of 1 requirement"},
		"failed, void load":        {reports.Report{Results: must(failed), Load: void}, reports.NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"immaterial":               {reports.Report{Results: slices.Concat(must(passed), immaterial(skipped))}, reports.Conformant, "Conforms: 1 requirement passed, 1 not applicable"},
		"only immaterial":          {reports.Report{Results: immaterial(skipped)}, reports.Unjudged, "Could not judge: the only requirement is not applicable"},
		"one of two immaterial":    {reports.Report{Results: slices.Concat(must(passed, skipped), immaterial(skipped))}, reports.Partial, "Conforms, not fully judged (area.topic.rule could not be judged): 1 requirement passed, 2 not applicable"},
		"immaterial, but failed":   {reports.Report{Results: immaterial(failed)}, reports.NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"immaterial, but errored":  {reports.Report{Results: immaterial(errored)}, reports.Unjudged, "Could not judge 1 of 1 requirement"},
		"one definition":           {reports.Report{Results: of("a", passed)}, reports.Conformant, "Conforms: 1 requirement passed"},
		"one and the server":       {reports.Report{Results: slices.Concat(must(passed), of("a", passed))}, reports.Conformant, "Conforms: 2 requirements passed"},
		"upgrades":                 {reports.Report{Upgrade: make([]reports.Leg, 3), Results: slices.Concat(of("a to b: x", passed), of("b to c: x", passed))}, reports.Conformant, "Conforms: 2 requirements of 3 upgrades passed"},
		"definitions":              {reports.Report{Results: slices.Concat(of("a", passed, tolerated), of("b", passed))}, reports.Conformant, "Conforms: 2 requirements for 2 definitions passed, 1 tolerated"},
		"definitions, partial":     {reports.Report{Results: slices.Concat(of("a", passed), of("b", passed, skipped))}, reports.Partial, "Conforms, not fully judged (area.topic.rule could not be judged everywhere): 2 requirements for 2 definitions passed, 1 not applicable"},
		"one not judged at all":    {reports.Report{Results: slices.Concat(of("a", passed), of("b", skipped, skipped))}, reports.Unjudged, "Could not judge: none of 2 requirements for b is applicable"},
		"one not judged, one bad":  {reports.Report{Results: slices.Concat(of("a", failed), of("b", skipped))}, reports.NonConformant, "Does not conform: 1 of 2 requirements for 2 definitions failed"},
		"definitions, failed":      {reports.Report{Results: slices.Concat(of("a", failed), of("b", passed), of("c", passed))}, reports.NonConformant, "Does not conform: 1 of 3 requirements for 3 definitions failed"},
		"definitions, errored":     {reports.Report{Results: slices.Concat(of("a", errored), of("b", passed))}, reports.Unjudged, "Could not judge 1 of 2 requirements for 2 definitions"},
		"definitions, interrupted": {reports.Report{Interrupted: true, Results: slices.Concat(of("a", passed), of("b", unknown))}, reports.Interrupted, "Interrupted with 1 requirement for 2 definitions judged"},
		"objective met":            {reports.Report{Load: with(one(loadgen.Stage{Requests: 100}), met)}, reports.Conformant, "Conforms: all 100 responses under load are correct, and every objective is met"},
		"objectives missed":        {reports.Report{Load: with(one(loadgen.Stage{Requests: 100}), met, slow, many)}, reports.NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms), errors 2 % (limit 1 %)"},
		"passed, objective missed": {reports.Report{Results: must(passed), Load: with(one(loadgen.Stage{Requests: 100}), slow)}, reports.NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms)"},
		"failed, objective missed": {reports.Report{Results: must(failed), Load: with(one(loadgen.Stage{Requests: 100}), slow)}, reports.NonConformant, "Does not conform: 1 of 1 requirement failed; under load, p99 50.0004 ms (limit 50 ms)"},
		"bad load, missed":         {reports.Report{Load: with(one(loadgen.Stage{Requests: 100, Failed: 3}), slow)}, reports.NonConformant, "Does not conform: 3 of 100 requests under load failed; p99 50.0004 ms (limit 50 ms)"},
		"void load, missed":        {reports.Report{Load: with(one(loadgen.Stage{Requests: 100, VoidReason: busy}), slow)}, reports.Unjudged, "Could not judge the load: " + busy},
		"errored, missed":          {reports.Report{Results: must(errored), Load: with(one(loadgen.Stage{Requests: 100}), slow)}, reports.NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms)"},
		"interrupted, missed":      {reports.Report{Interrupted: true, Load: with(one(loadgen.Stage{Requests: 100}), slow)}, reports.Interrupted, "Interrupted with 100 responses under load judged"},
		"interrupted":              {reports.Report{Interrupted: true, Error: "stopped", Results: must(passed, failed, unknown)}, reports.Interrupted, "Interrupted with 2 requirements judged"},
		"interrupted, bad load":    {reports.Report{Interrupted: true, Load: bad}, reports.Interrupted, "Interrupted with 100 responses under load judged"},
		"interrupted in the load":  {reports.Report{Interrupted: true, Results: must(passed), Load: good}, reports.Interrupted, "Interrupted with 1 requirement and 100 responses under load judged"},
		"interrupted at once":      {reports.Report{Interrupted: true}, reports.Interrupted, "Interrupted with nothing judged"},
		"void load, unanswered":    {reports.Report{Load: one(loadgen.Stage{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"timeout": 2, "transport": 1}})}, reports.Unjudged, "Could not judge the load (3 of 100 requests failed): the generator was too busy: 90 of 100 requests were sent late"},
		"void load, bad responses": {reports.Report{Load: one(loadgen.Stage{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"contract": 3}})}, reports.NonConformant, "Does not conform: 3 of 100 requests under load failed"},
	} {
		r := test.report
		Conclude(&r)
		if r.Outcome != test.want || Headline(&r) != test.headline {
			t.Errorf("%s: %s, %q\nwant %s, %q", name, r.Outcome, Headline(&r), test.want, test.headline)
		}
		if r.APIVersion != reports.APIVersion || r.Kind != reports.ReportKind {
			t.Errorf("%s: it is a %s of %s", name, r.Kind, r.APIVersion)
		}
		total := 0
		for v, n := range r.Counts {
			if total += n; n != len(r.With(v)) {
				t.Errorf("%s: %d are counted as %s, of %d", name, n, v, len(r.With(v)))
			}
		}
		if total != len(r.Results) || r.Results == nil {
			t.Errorf("%s: %d counted, of %d", name, total, len(r.Results))
		}
	}
	if got := Headline((&reports.Report{})); got != "Not concluded" {
		t.Errorf("before Conclude: %q", got)
	}
}

// TestConcludeSorts has subjects in the order in which they come, and requirements in that of the catalogue.
func TestConcludeSorts(t *testing.T) {
	known := requirement.All()
	r := reports.Report{}
	for _, one := range [][2]string{
		{"b", "x.y.new"}, {"", string(known[2].ID)}, {"b", string(known[1].ID)}, {"a", string(known[0].ID)}, {"b", string(known[0].ID)}, {"b", "x.y.another"}, {"", string(known[1].ID)},
	} {
		r.Results = append(r.Results, reports.Result{Requirement: requirement.Requirement{ID: requirement.ID(one[1])}, Subject: one[0]})
	}
	Conclude(&r)
	var got []string
	for _, result := range r.Results {
		got = append(got, result.Subject+" "+string(result.ID))
	}
	want := []string{
		"b " + string(known[0].ID), "b " + string(known[1].ID), "b x.y.new", "b x.y.another",
		" " + string(known[1].ID), " " + string(known[2].ID), "a " + string(known[0].ID),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, want := Subjects(&r), []string{"b", "", "a"}; !slices.Equal(got, want) {
		t.Errorf("the subjects are %q, want %q", got, want)
	}
}

func TestChapters(t *testing.T) {
	r := sample(t)
	got := map[string]int{}
	var names []string
	for _, chapter := range Chapters(r) {
		names = append(names, chapter.Name)
		for _, v := range Verdicts(r) {
			if n := chapter.Count(v); n > 0 {
				got[chapter.Name+" "+v.String()] = n
			}
		}
	}
	want := map[string]int{
		"versions Passed": 1, "versions NotApplicable": 1,
		"conversion Passed": 1, "conversion Failed": 1, "conversion Tolerated": 1, "conversion KnownFailing": 1, "conversion Errored": 1,
		"storage Failed": 1, "storage Unknown": 1,
		"conversion, widgets.example.com Failed": 1, "conversion, widgets.example.com Passed": 1,
		"conversion, gadgets.example.com Tolerated": 1, "conversion, gadgets.example.com NotApplicable": 1,
	}
	if !slices.Equal(names, []string{"versions", "conversion", "storage", "conversion, widgets.example.com", "conversion, gadgets.example.com"}) || !maps.Equal(got, want) {
		t.Errorf("%v: %v, want %v", names, got, want)
	}
	if got := Chapters((&reports.Report{})); len(got) != 0 {
		t.Errorf("nothing has the chapters %v", got)
	}
}

func TestWith(t *testing.T) {
	r := sample(t)
	var got []requirement.ID
	for _, result := range r.With(requirement.Unknown, requirement.Failed) {
		got = append(got, result.ID)
	}
	if want := []requirement.ID{"conversion.answer.uid", "storage.rewrite.all", "storage.rewrite.order", "conversion.trip.back"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.With(); len(got) != 0 {
		t.Errorf("no verdict has %d results", len(got))
	}
}

func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		results []reports.Result
		want    string
	}{
		"nothing": {nil, "Passed"},
		"failed":  {must(requirement.Failed), "Passed Failed"},
		"all": {
			must(requirement.Unknown, requirement.Errored, requirement.Failed, requirement.KnownFailing, requirement.NotApplicable, requirement.Tolerated, requirement.Passed),
			"Passed Tolerated NotApplicable KnownFailing Failed Errored Unknown",
		},
	} {
		r := reports.Report{Results: test.results}
		Conclude(&r)
		var got []string
		for _, v := range Verdicts(&r) {
			got = append(got, v.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %v, want %s", name, got, test.want)
		}
	}
}

func TestFailing(t *testing.T) {
	for v := requirement.Unknown; v <= requirement.Errored; v++ {
		result := must(v)[0]
		lenient, strict := reports.Report{}, reports.Report{Strict: true}
		if got, want := lenient.Failing(result), v == requirement.Failed; got != want {
			t.Errorf("%s counts against whom it judges: %t", v, got)
		}
		if got, want := strict.Failing(result), v == requirement.Failed || v == requirement.Tolerated; got != want {
			t.Errorf("%s counts against whom it judges when strict: %t", v, got)
		}
	}
}

func TestFacts(t *testing.T) {
	r := reports.Report{Tool: "v0.1.0", Command: "crdconform load", Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.FixedZone("", 3600)), Seconds: 1.25, Seed: 7}
	run := []Fact{{"crdconform", "v0.1.0", nil}, {"command", "crdconform load", nil}, {"started", "2026-11-21T09:00:00Z", nil}}
	want := []Fact{{"took", "1.2 s", nil}}
	if diff := cmp.Diff(slices.Concat(want, run), append(Facts(&r), runFacts(&r)...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Results = must(requirement.Passed)
	if diff := cmp.Diff(append(run, Fact{"seed", "7", nil}), runFacts(&r)); diff != "" {
		t.Errorf("with results (-want +got):\n%s", diff)
	}
	r.Cluster = &reports.Cluster{Name: "embedded", Version: "v1.37.2"}
	r.HarnessSeconds = 0.25
	r.Webhook = &reports.Webhook{URL: "https://localhost/"}
	server := Fact{"API server", "embedded, Kubernetes v1.37.2, without a watch cache", nil}
	webhook := Fact{"webhook", "https://localhost/", nil}
	want[0].Value = "1.2 s"
	crontabs := reports.Kind{Group: "example.com", Kind: "CronTab", Versions: []string{"v1beta1", "v1"}, Samples: 1}
	widgets := reports.Kind{
		Definition: "widgets.example.com", Group: "example.com", Kind: "Widget", Versions: []string{"v1", "v2"}, Samples: 2, Generated: 50,
		Lossy: []string{"spec.a: gone"}, Gaps: []string{"spec.b: no such string", "spec.c: too deep"},
	}
	lines := []string{"declared lossy: spec.a: gone", "not tried: spec.b: no such string", "not tried: spec.c: too deep"}
	const about = "widgets.example.com: Widget of example.com at v1, v2; 2 samples, 50 generated for each version"
	for name, test := range map[string]struct {
		kinds []reports.Kind
		want  []Fact
	}{
		"none":     {nil, nil},
		"CronTabs": {[]reports.Kind{crontabs}, []Fact{{"definition", "CronTab of example.com at v1beta1, v1; 1 sample", nil}}},
		"one":      {[]reports.Kind{widgets}, []Fact{{"definition", about, lines}}},
		"several": {[]reports.Kind{crontabs, widgets}, []Fact{{"definitions", "2", []string{
			"CronTab of example.com at v1beta1, v1; 1 sample", about,
			"widgets.example.com, " + lines[0], "widgets.example.com, " + lines[1], "widgets.example.com, " + lines[2],
		}}}},
	} {
		r.Webhook.Kinds = test.kinds
		if diff := cmp.Diff(slices.Concat([]Fact{server, webhook}, test.want, want), Facts(&r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStageHeadline(t *testing.T) {
	s := loadgen.Stage{
		Rate: 200, Phases: []loadgen.Phase{{Seconds: 0.5, Rate: 200, To: 200}}, Batch: 10, Duration: 0.5, Pairs: []loadgen.Pair{{From: "v1beta1", To: "v1"}}, ReviewVersion: "v1", HTTP: "HTTP/2",
		Requests: 100, Judged: 100, ObjectsPerSecond: 1999.6, LateAfter: 10, Late: 90,
	}
	const begin = "200 requests a second for 0.5 s, 10 objects a request, v1beta1 to v1, ConversionReview v1 over HTTP/2: 100 requests, 2000 objects a second"
	for want, change := range map[string]func(*loadgen.Stage){
		", none failed": func(*loadgen.Stage) {},
		", 3 failed (2 rejected, 1 timeout)": func(s *loadgen.Stage) {
			s.Failed, s.Errors = 3, map[string]uint64{"timeout": 1, "rejected": 2}
		},
		", none failed; stopped before its end":                                func(s *loadgen.Stage) { s.Partial = true },
		", none failed; void: too busy":                                        func(s *loadgen.Stage) { s.VoidReason = "too busy" },
		", none failed; stopped before its end, with 7 waiting for a response": func(s *loadgen.Stage) { s.Partial, s.Unanswered = true, 7 },
	} {
		changed := s
		change(&changed)
		if got := stageHeadline(changed); got != begin+want {
			t.Errorf("got  %q\nwant %q", got, begin+want)
		}
	}
}

func TestJSON(t *testing.T) {
	r := sample(t)
	text := written(t, r, JSON)
	var got reports.Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	// JSON has no bytes that are no UTF-8; what stands for them may be spelled in two ways.
	text = bytes.ReplaceAll(text, []byte(`\ufffd`), []byte("\uFFFD"))
	if again := written(t, &got, JSON); !bytes.Equal(again, text) {
		t.Errorf("written again: %s", difference(again, text))
	}
	for _, file := range r.Files() {
		file.Data = nil // these are files of their own
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD\uFFFD") }
	if diff := cmp.Diff(*r, got, cmp.Comparer(func(a, b string) bool { return valid(a) == valid(b) })); diff != "" {
		t.Errorf("got back (-want +got):\n%s", diff)
	}
	if got.Results[2].Verdict != requirement.Failed || got.Counts[requirement.Failed] != 3 {
		t.Errorf("got back %s, and counts %v", got.Results[2].Verdict, got.Counts)
	}
}

func TestJSONOfNothing(t *testing.T) {
	r := reports.Report{}
	Conclude(&r)
	if text := string(written(t, &r, JSON)); !strings.Contains(text, `"results": []`) || !strings.Contains(text, `"outcome": "Unjudged"`) {
		t.Errorf("got %s", text)
	}
}

func TestJSONThatMakesNoSense(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"verdict": {`{"results": [{"verdict": "passed"}]}`, `"passed" is not a verdict`},
		"number":  {`{"results": [{"verdict": 2}]}`, "cannot unmarshal number"},
		"count":   {`{"counts": {"Fine": 1}}`, `"Fine" is not a verdict`},
		"source":  {`{"results": [{"source": ["versions-1:x y"]}]}`, "source"},
		"minor":   {`{"results": [{"since": "one"}]}`, "not a Kubernetes version"},
	} {
		var r reports.Report
		if err := json.Unmarshal([]byte(test.text), &r); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
}

// full fails, as a full disk does.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestWriteErrorsAreReturned(t *testing.T) {
	r := sample(t)
	for name, form := range forms(r) {
		if err := form(full{}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want %v", name, err, errFull)
		}
	}
}
