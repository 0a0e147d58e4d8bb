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

func TestConclude(t *testing.T) {
	const (
		passed, tolerated, skipped, known = requirement.Passed, requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing
		failed, errored, unknown          = requirement.Failed, requirement.Errored, requirement.Unknown
	)
	const busy = "the generator was too busy: 90 of 100 requests were sent late"
	good, bad, void := &Load{Requests: 100}, &Load{Requests: 100, Failed: 3}, &Load{Requests: 100, Failed: 3, VoidReason: busy}
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
		"only a SHOULD skipped":    {Report{Results: should(skipped)}, Partial, "Conforms as far as it was judged: 0 requirements passed, 1 not applicable"},
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
		"interrupted":              {Report{Interrupted: true, Error: "stopped", Results: must(passed, failed, unknown)}, Interrupted, "Interrupted with 2 requirements judged"},
		"interrupted, bad load":    {Report{Interrupted: true, Load: bad}, Interrupted, "Interrupted with 100 responses under load judged"},
		"interrupted in the load":  {Report{Interrupted: true, Results: must(passed), Load: good}, Interrupted, "Interrupted with 1 requirement and 100 responses under load judged"},
		"interrupted at once":      {Report{Interrupted: true}, Interrupted, "Interrupted with 0 requirements judged"},
		"void load, unanswered":    {Report{Load: &Load{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"timeout": 2, "transport": 1}}}, Unjudged, "Could not judge the load: the generator was too busy: 90 of 100 requests were sent late"},
		"void load, bad responses": {Report{Load: &Load{Requests: 100, Failed: 3, VoidReason: busy, Errors: map[string]uint64{"contract": 3}}}, NonConformant, "Does not conform: 3 of 100 requests under load failed"},
	} {
		r := test.report
		r.Conclude()
		if r.Outcome != test.want || r.Headline() != test.headline {
			t.Errorf("%s: %s, %q\nwant %s, %q", name, r.Outcome, r.Headline(), test.want, test.headline)
		}
		if r.APIVersion != APIVersion || r.Kind != Kind {
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
	}
	if !slices.Equal(names, []string{"versions", "conversion", "storage"}) || !maps.Equal(got, want) {
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
	if want := []requirement.ID{"conversion.response.uid", "storage.rewrite.all", "storage.rewrite.order"}; !slices.Equal(got, want) {
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
	want := []Fact{{"crdconform", "v0.1.0"}, {"command", "crdconform load"}, {"started", "2026-11-21T09:00:00Z"}, {"took", "1.2 s"}}
	if got := r.Facts(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	r.Results = must(requirement.Passed)
	r.Cluster = &Cluster{Name: "embedded", Version: "v1.37.2"}
	r.Webhook = &Webhook{URL: "https://localhost/", Group: "example.com", Kind: "CronTab", Versions: []string{"v1beta1", "v1"}}
	want = slices.Concat([]Fact{
		{"API server", "embedded, Kubernetes v1.37.2, without a watch cache"},
		{"webhook", "https://localhost/, CronTab of example.com at v1beta1, v1"},
	}, want, []Fact{{"seed", "7"}})
	if got := r.Facts(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLoadHeadline(t *testing.T) {
	l := Load{
		Rate: 200, Batch: 10, Duration: 0.5, From: "v1beta1", To: "v1", ReviewVersion: "v1", HTTP: "HTTP/2",
		Requests: 100, ObjectsPerSecond: 1999.6, LateAfter: 10, Late: 90,
	}
	const begin = "200 requests a second of 10 objects for 0.5 s, v1beta1 to v1 in ConversionReview v1 over HTTP/2: 100 requests, 2000 objects a second"
	for want, change := range map[string]func(*Load){
		", none failed": func(*Load) {},
		", 3 failed (2 rejected, 1 timeout)": func(l *Load) {
			l.Failed, l.Errors = 3, map[string]uint64{"timeout": 1, "rejected": 2}
		},
		", none failed; stopped before its end":                                func(l *Load) { l.Partial = true },
		", none failed; void: too busy":                                        func(l *Load) { l.VoidReason = "too busy" },
		", none failed; stopped before its end, with 7 waiting for a response": func(l *Load) { l.Partial, l.Unanswered = true, 7 },
	} {
		changed := l
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
	for i := range r.Results {
		for j := range r.Results[i].Files {
			r.Results[i].Files[j].Data = nil // these are files of their own
		}
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD\uFFFD") }
	if diff := cmp.Diff(*r, got, cmp.Comparer(func(a, b string) bool { return valid(a) == valid(b) })); diff != "" {
		t.Errorf("got back (-want +got):\n%s", diff)
	}
	if got.Results[2].Verdict != requirement.Failed || got.Counts[requirement.Failed] != 2 {
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
