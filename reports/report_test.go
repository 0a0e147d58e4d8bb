package reports

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

	"github.com/crdconform/crdconform/requirement"
)

// must and should are results with nothing but a verdict.
func must(verdicts ...requirement.Verdict) []Result   { return bare(requirement.Must, verdicts) }
func should(verdicts ...requirement.Verdict) []Result { return bare(requirement.Should, verdicts) }

func bare(level requirement.Level, verdicts []requirement.Verdict) []Result {
	var all []Result
	for _, v := range verdicts {
		all = append(all, Result{Requirement: requirement.Requirement{ID: "area.topic.rule", Level: level}, Verdict: v})
	}
	return all
}

// of are results about a definition, and immaterial ones don't matter to the outcome when they are NotApplicable.
func of(subject string, verdicts ...requirement.Verdict) []Result {
	all := must(verdicts...)
	for i := range all {
		all[i].Subject = subject
	}
	return all
}

// because are results that are not applicable, each with its reason; since is one for a minor of API servers.
func because(reasons ...string) []Result {
	var all []Result
	for _, reason := range reasons {
		one := must(requirement.NotApplicable)
		one[0].Reason = reason
		all = append(all, one...)
	}
	return all
}

func since(minor string) []Result {
	all := because("holds since " + minor)
	all[0].Since, _ = requirement.ParseMinor(minor)
	all[0].Immaterial = true
	return all
}

func immaterial(verdicts ...requirement.Verdict) []Result {
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
	met := Objective{Name: "p95", Limit: 50, Measured: 7, Unit: "ms", Met: true}
	slow := Objective{Name: "p99", Limit: 50, Measured: 50.0004, Unit: "ms"}
	many := Objective{Name: "errors", Limit: 0.01, Measured: 0.02, Unit: "share"}
	good, bad, void := one(Stage{Requests: 100}), one(Stage{Requests: 100, Failed: 3}), one(Stage{Requests: 100, Failed: 3, VoidReason: busy})
	for name, test := range map[string]struct {
		report   Report
		want     Outcome
		headline string
	}{
		"nothing":                  {Report{}, Unjudged, "Could not judge: there was nothing to judge"},
		"passed":                   {Report{Results: must(passed)}, Conformant, "Conforms: 1 requirement passed"},
		"tolerated":                {Report{Results: must(passed, passed, tolerated)}, Conformant, "Conforms: 2 requirements passed, 1 tolerated"},
		"tolerated, strict":        {Report{Strict: true, Results: must(passed, failed, tolerated)}, NonConformant, "Does not conform: 2 of 3 requirements failed"},
		"only tolerated, strict":   {Report{Strict: true, Results: must(tolerated)}, NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"passed, strict":           {Report{Strict: true, Results: must(passed)}, Conformant, "Conforms: 1 requirement passed"},
		"known to fail":            {Report{Results: must(passed, known)}, Conformant, "Conforms: 1 requirement passed, 1 known to fail"},
		"only known to fail":       {Report{Results: must(known)}, Partial, "Conforms as far as it was judged: 0 requirements passed, 1 known to fail"},
		"only a SHOULD skipped":    {Report{Results: should(skipped)}, Unjudged, "Could not judge: the only requirement is not applicable"},
		"all not applicable":       {Report{Results: because("no", "why", "why")}, Unjudged, "Could not judge: none of 3 requirements is applicable, 2 because: why"},
		"for one reason":           {Report{Results: because("why\nthat is", "why\nthat is")}, Unjudged, "Could not judge: none of 2 requirements is applicable: why"},
		"one, with a reason":       {Report{Results: because("why")}, Unjudged, "Could not judge: the only requirement is not applicable: why"},
		"nothing but load":         {Report{Results: because("why"), Load: good}, Partial, "Conforms as far as it was judged: 0 requirements passed, 1 not applicable"},
		"nothing for the minor":    {Report{Cluster: &Cluster{Version: "v1.28.15"}, Results: since("1.31")}, Partial, "Conforms as far as it was judged: 0 requirements passed, 1 not applicable"},
		"for the minor and others": {Report{Cluster: &Cluster{Version: "v1.28.15"}, Results: slices.Concat(since("1.31"), because("why"))}, Unjudged, "Could not judge: none of 2 requirements is applicable, 1 because: holds since 1.31"},
		"no minor is known":        {Report{Results: since("1.31")}, Unjudged, "Could not judge: the only requirement is not applicable: holds since 1.31"},
		"only tolerated":           {Report{Results: must(tolerated)}, Conformant, "Conforms: 0 requirements passed, 1 tolerated"},
		"known to fail, strict":    {Report{Strict: true, Results: must(passed, known)}, Conformant, "Conforms: 1 requirement passed, 1 known to fail"},
		"a SHOULD skipped":         {Report{Results: slices.Concat(must(passed), should(skipped))}, Conformant, "Conforms: 1 requirement passed, 1 not applicable"},
		"a MUST skipped":           {Report{Results: must(passed, skipped)}, Partial, "Conforms as far as it was judged: 1 requirement passed, 1 not applicable"},
		"a MUST skipped, tolerant": {Report{Results: must(skipped, tolerated, known)}, Partial, "Conforms as far as it was judged: 0 requirements passed, 1 tolerated, 1 known to fail, 1 not applicable"},
		"failed":                   {Report{Results: must(passed, failed, skipped)}, NonConformant, "Does not conform: 1 of 3 requirements failed"},
		"a SHOULD failed":          {Report{Results: slices.Concat(must(passed), should(failed))}, NonConformant, "Does not conform: 1 of 2 requirements failed"},
		"errored":                  {Report{Results: must(passed, errored, skipped)}, Unjudged, "Could not judge 1 of 3 requirements"},
		"unknown":                  {Report{Results: must(passed, unknown, errored)}, Unjudged, "Could not judge 2 of 3 requirements"},
		"failed and errored":       {Report{Results: must(failed, errored)}, NonConformant, "Does not conform: 1 of 2 requirements failed"},
		"an error":                 {Report{Error: "no cluster\nbecause", Results: must(passed)}, Unjudged, "Could not judge: no cluster"},
		"an error and nothing":     {Report{Error: "\x1b[31mno cluster"}, Unjudged, "Could not judge: \uFFFD[31mno cluster"},
		"a long error":             {Report{Error: strings.Repeat("x", 999)}, Unjudged, "Could not judge: " + strings.Repeat("x", 999)},
		"an error and a failure":   {Report{Error: "no load", Results: must(failed)}, NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"good load":                {Report{Load: good}, Conformant, "Conforms: all of 100 responses under load are good"},
		"bad load":                 {Report{Load: bad}, NonConformant, "Does not conform: 3 of 100 requests under load failed"},
		"void load":                {Report{Load: void}, Unjudged, "Could not judge the load: the generator was too busy: 90 of 100 requests were sent late"},
		"passed, good load":        {Report{Results: must(passed), Load: good}, Conformant, "Conforms: 1 requirement passed"},
		"passed, bad load":         {Report{Results: must(passed), Load: bad}, NonConformant, "Does not conform: 3 of 100 requests under load failed"},
		"passed, void load":        {Report{Results: must(passed), Load: void}, Unjudged, "Could not judge the load: the generator was too busy: 90 of 100 requests were sent late"},
		"errored, void load":       {Report{Results: must(errored), Load: void}, Unjudged, "Could not judge 1 of 1 requirement"},
		"failed, void load":        {Report{Results: must(failed), Load: void}, NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"immaterial":               {Report{Results: slices.Concat(must(passed), immaterial(skipped))}, Conformant, "Conforms: 1 requirement passed, 1 not applicable"},
		"only immaterial":          {Report{Results: immaterial(skipped)}, Unjudged, "Could not judge: the only requirement is not applicable"},
		"one of two immaterial":    {Report{Results: slices.Concat(must(passed, skipped), immaterial(skipped))}, Partial, "Conforms as far as it was judged: 1 requirement passed, 2 not applicable"},
		"immaterial, but failed":   {Report{Results: immaterial(failed)}, NonConformant, "Does not conform: 1 of 1 requirement failed"},
		"immaterial, but errored":  {Report{Results: immaterial(errored)}, Unjudged, "Could not judge 1 of 1 requirement"},
		"one definition":           {Report{Results: of("a", passed)}, Conformant, "Conforms: 1 requirement passed"},
		"one and the server":       {Report{Results: slices.Concat(must(passed), of("a", passed))}, Conformant, "Conforms: 2 requirements passed"},
		"definitions":              {Report{Results: slices.Concat(of("a", passed, tolerated), of("b", passed))}, Conformant, "Conforms: 2 requirements for 2 definitions passed, 1 tolerated"},
		"definitions, partial":     {Report{Results: slices.Concat(of("a", passed), of("b", skipped))}, Partial, "Conforms as far as it was judged: 1 requirement for 2 definitions passed, 1 not applicable"},
		"definitions, failed":      {Report{Results: slices.Concat(of("a", failed), of("b", passed), of("c", passed))}, NonConformant, "Does not conform: 1 of 3 requirements for 3 definitions failed"},
		"definitions, errored":     {Report{Results: slices.Concat(of("a", errored), of("b", passed))}, Unjudged, "Could not judge 1 of 2 requirements for 2 definitions"},
		"definitions, interrupted": {Report{Interrupted: true, Results: slices.Concat(of("a", passed), of("b", unknown))}, Interrupted, "Interrupted with 1 requirement for 2 definitions judged"},
		"objective met":            {Report{Load: with(one(Stage{Requests: 100}), met)}, Conformant, "Conforms: all of 100 responses under load are good, and every objective is met"},
		"objectives missed":        {Report{Load: with(one(Stage{Requests: 100}), met, slow, many)}, NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms), errors 2 % (limit 1 %)"},
		"passed, objective missed": {Report{Results: must(passed), Load: with(one(Stage{Requests: 100}), slow)}, NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms)"},
		"failed, objective missed": {Report{Results: must(failed), Load: with(one(Stage{Requests: 100}), slow)}, NonConformant, "Does not conform: 1 of 1 requirement failed; under load, p99 50.0004 ms (limit 50 ms)"},
		"bad load, missed":         {Report{Load: with(one(Stage{Requests: 100, Failed: 3}), slow)}, NonConformant, "Does not conform: 3 of 100 requests under load failed; p99 50.0004 ms (limit 50 ms)"},
		"void load, missed":        {Report{Load: with(one(Stage{Requests: 100, VoidReason: busy}), slow)}, Unjudged, "Could not judge the load: " + busy},
		"errored, missed":          {Report{Results: must(errored), Load: with(one(Stage{Requests: 100}), slow)}, NonConformant, "Does not meet its objectives under load: p99 50.0004 ms (limit 50 ms)"},
		"interrupted, missed":      {Report{Interrupted: true, Load: with(one(Stage{Requests: 100}), slow)}, Interrupted, "Interrupted with 100 responses under load judged"},
		"interrupted":              {Report{Interrupted: true, Error: "stopped", Results: must(passed, failed, unknown)}, Interrupted, "Interrupted with 2 requirements judged"},
		"interrupted, bad load":    {Report{Interrupted: true, Load: bad}, Interrupted, "Interrupted with 100 responses under load judged"},
		"interrupted in the load":  {Report{Interrupted: true, Results: must(passed), Load: good}, Interrupted, "Interrupted with 1 requirement and 100 responses under load judged"},
		"interrupted at once":      {Report{Interrupted: true}, Interrupted, "Interrupted with nothing judged"},
		"void load, unanswered":    {Report{Load: one(Stage{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"timeout": 2, "transport": 1}})}, Unjudged, "Could not judge the load: the generator was too busy: 90 of 100 requests were sent late"},
		"void load, bad responses": {Report{Load: one(Stage{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"contract": 3}})}, NonConformant, "Does not conform: 3 of 100 requests under load failed"},
	} {
		r := test.report
		r.Conclude()
		if r.Outcome != test.want || r.Headline() != test.headline {
			t.Errorf("%s: %s, %q\nwant %s, %q", name, r.Outcome, r.Headline(), test.want, test.headline)
		}
		if r.APIVersion != APIVersion || r.Kind != ReportKind {
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
	if got := (&Report{}).Headline(); got != "Not concluded" {
		t.Errorf("before Conclude: %q", got)
	}
}

// TestConcludeSorts has subjects in the order in which they come, and requirements in that of the catalogue.
func TestConcludeSorts(t *testing.T) {
	known := requirement.All()
	r := Report{}
	for _, one := range [][2]string{
		{"b", "x.y.new"}, {"", string(known[2].ID)}, {"b", string(known[1].ID)}, {"a", string(known[0].ID)}, {"b", string(known[0].ID)}, {"b", "x.y.another"}, {"", string(known[1].ID)},
	} {
		r.Results = append(r.Results, Result{Requirement: requirement.Requirement{ID: requirement.ID(one[1])}, Subject: one[0]})
	}
	r.Conclude()
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
	if got, want := r.Subjects(), []string{"b", "", "a"}; !slices.Equal(got, want) {
		t.Errorf("the subjects are %q, want %q", got, want)
	}
}

func TestChapters(t *testing.T) {
	r := sample(t)
	got := map[string]int{}
	var names []string
	for _, chapter := range r.Chapters() {
		names = append(names, chapter.Name)
		for _, v := range r.Verdicts() {
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
	if got := (&Report{}).Chapters(); len(got) != 0 {
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
		results []Result
		want    string
	}{
		"nothing": {nil, "Passed"},
		"failed":  {must(requirement.Failed), "Passed Failed"},
		"all": {
			must(requirement.Unknown, requirement.Errored, requirement.Failed, requirement.KnownFailing, requirement.NotApplicable, requirement.Tolerated, requirement.Passed),
			"Passed Tolerated NotApplicable KnownFailing Failed Errored Unknown",
		},
	} {
		r := Report{Results: test.results}
		r.Conclude()
		var got []string
		for _, v := range r.Verdicts() {
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
		lenient, strict := Report{}, Report{Strict: true}
		if got, want := lenient.Failing(result), v == requirement.Failed; got != want {
			t.Errorf("%s counts against whom it judges: %t", v, got)
		}
		if got, want := strict.Failing(result), v == requirement.Failed || v == requirement.Tolerated; got != want {
			t.Errorf("%s counts against whom it judges when strict: %t", v, got)
		}
	}
}

func TestFacts(t *testing.T) {
	r := Report{Tool: "v0.1.0", Command: "crdconform load", Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.FixedZone("", 3600)), Seconds: 1.25, Seed: 7}
	run := []Fact{{"crdconform", "v0.1.0", nil}, {"command", "crdconform load", nil}, {"started", "2026-11-21T09:00:00Z", nil}}
	want := []Fact{{"took", "1.2 s", nil}}
	if diff := cmp.Diff(slices.Concat(want, run), append(r.Facts(), r.Run()...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Results = must(requirement.Passed)
	if diff := cmp.Diff(append(run, Fact{"seed", "7", nil}), r.Run()); diff != "" {
		t.Errorf("with results (-want +got):\n%s", diff)
	}
	r.Cluster = &Cluster{Name: "embedded", Version: "v1.37.2"}
	r.HarnessSeconds = 0.25
	r.Webhook = &Webhook{URL: "https://localhost/"}
	server := Fact{"API server", "embedded, Kubernetes v1.37.2, without a watch cache", nil}
	webhook := Fact{"webhook", "https://localhost/", nil}
	want[0].Value = "1.2 s; 0.2 s of it were crdconform's own"
	crontabs := Kind{Group: "example.com", Kind: "CronTab", Versions: []string{"v1beta1", "v1"}, Samples: 1}
	widgets := Kind{
		Definition: "widgets.example.com", Group: "example.com", Kind: "Widget", Versions: []string{"v1", "v2"}, Samples: 2, Generated: 50,
		Lossy: []string{"spec.a: gone"}, Gaps: []string{"spec.b: no such string", "spec.c: too deep"},
	}
	lines := []string{"declared to get lost: spec.a: gone", "not generated: spec.b: no such string", "not generated: spec.c: too deep"}
	const about = "widgets.example.com: Widget of example.com at v1, v2; 2 samples, 50 generated for each version"
	for name, test := range map[string]struct {
		kinds []Kind
		want  []Fact
	}{
		"none":     {nil, nil},
		"CronTabs": {[]Kind{crontabs}, []Fact{{"definition", "CronTab of example.com at v1beta1, v1; 1 sample", nil}}},
		"one":      {[]Kind{widgets}, []Fact{{"definition", about, lines}}},
		"several": {[]Kind{crontabs, widgets}, []Fact{{"definitions", "2", []string{
			"CronTab of example.com at v1beta1, v1; 1 sample", about,
			"widgets.example.com, " + lines[0], "widgets.example.com, " + lines[1], "widgets.example.com, " + lines[2],
		}}}},
	} {
		r.Webhook.Kinds = test.kinds
		if diff := cmp.Diff(slices.Concat([]Fact{server, webhook}, test.want, want), r.Facts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStageHeadline(t *testing.T) {
	s := Stage{
		Rate: 200, Phases: []Phase{{0.5, 200, 200}}, Batch: 10, Duration: 0.5, Pairs: []Pair{{"v1beta1", "v1"}}, ReviewVersion: "v1", HTTP: "HTTP/2",
		Requests: 100, Judged: 100, ObjectsPerSecond: 1999.6, LateAfter: 10, Late: 90,
	}
	const begin = "200 requests a second for 0.5 s, 10 objects a request, v1beta1 to v1, ConversionReview v1 over HTTP/2: 100 requests, 2000 objects a second"
	for want, change := range map[string]func(*Stage){
		", none failed": func(*Stage) {},
		", 3 failed (2 rejected, 1 timeout)": func(s *Stage) {
			s.Failed, s.Errors = 3, map[string]uint64{"timeout": 1, "rejected": 2}
		},
		", none failed; stopped before its end":                                func(s *Stage) { s.Partial = true },
		", none failed; void: too busy":                                        func(s *Stage) { s.VoidReason = "too busy" },
		", none failed; stopped before its end, with 7 waiting for a response": func(s *Stage) { s.Partial, s.Unanswered = true, 7 },
	} {
		changed := s
		change(&changed)
		if got := changed.Headline(); got != begin+want {
			t.Errorf("got  %q\nwant %q", got, begin+want)
		}
	}
}

func TestJSON(t *testing.T) {
	r := sample(t)
	text := written(t, r.JSON)
	var got Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	// JSON has no bytes that are no UTF-8; what stands for them may be spelled in two ways.
	text = bytes.ReplaceAll(text, []byte(`\ufffd`), []byte("\uFFFD"))
	if again := written(t, got.JSON); !bytes.Equal(again, text) {
		t.Errorf("written again: %s", difference(again, text))
	}
	for _, file := range r.files() {
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
	r := Report{}
	r.Conclude()
	if text := string(written(t, r.JSON)); !strings.Contains(text, `"results": []`) || !strings.Contains(text, `"outcome": "Unjudged"`) {
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
		var r Report
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
