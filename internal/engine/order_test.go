package engine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// judging notes which requirements are judged, and of which definition, in their order.
type judging struct {
	quiet
	definition string
	ids        []requirement.ID
	names      []string
}

func (j *judging) Judging(_, definition string) { j.definition = definition }

func (j *judging) SpecDone(r suites.Result) {
	j.ids, j.names = append(j.ids, r.Requirement), append(j.names, j.definition)
}

// inOrder runs a check as checked does, and returns what was judged in which order.
func inOrder(t *testing.T, d Description) (*reports.Report, *judging) {
	t.Helper()
	d.APIServer, d.Generate = config.None, config.Generate{Objects: 3, Seed: 5}
	plan, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	j := &judging{}
	return plan.Run(t.Context(), j, nil), j
}

// TestFailedFirst judges first what failed the last time, of the definition of which it did. The report is in the usual order.
func TestFailedFirst(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(crontabs)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("crontab", "jobtab", "CronTab", "JobTab").Replace(string(text))
	d := Description{Config: config.Config{CRDs: []string{crontabs, put(t, other)}, Filter: []string{"webhook.metadata", "webhook.response"}}, Handler: webhook.Handler()}
	usual, _ := inOrder(t, d)
	const id = requirement.WebhookResponseUID
	d.First = func(definition string, one requirement.ID) bool {
		return definition == "jobtabs.example.com" && one == id
	}
	report, j := inOrder(t, d)
	if len(report.Results) < 10 || j.ids[0] != id || j.names[0] != "jobtabs.example.com" || j.names[len(j.names)-1] != "crontabs.example.com" {
		t.Errorf("first is %s of %s, and the last are %s, with %q", j.ids[0], j.names[0], j.names[len(j.names)-1], report.Error)
	}
	if got, want := placesOf(report), placesOf(usual); !slices.Equal(got, want) {
		t.Errorf("the report has\n%v, want\n%v", got, want)
	}
}

// TestLikelyFirst judges first, of what has not failed yet, what webhooks with a defect violate most, whatever the seed.
func TestLikelyFirst(t *testing.T) {
	t.Parallel()
	d := Description{Config: config.Config{CRDs: []string{crontabs}, Filter: []string{"webhook.conversion", "webhook.metadata", "webhook.response"}}, Handler: webhook.Handler()}
	_, j := inOrder(t, d)
	if first := j.ids[:len(likely())]; len(j.ids) < 20 || !slices.Contains(first, requirement.WebhookConversionRoundTrip) || !slices.Contains(first, requirement.WebhookConversionZeroValues) {
		t.Errorf("judged first are %v, of %d", first, len(j.ids))
	}
}

// placesOf returns the results of a report, and the definitions that it describes, in their order.
func placesOf(r *reports.Report) []string {
	var places []string
	for _, result := range r.Results {
		places = append(places, result.Subject+" "+string(result.ID))
	}
	for _, kind := range r.Webhook.Kinds {
		places = append(places, kind.Definition)
	}
	return places
}

// TestPriorityOfChapters puts the chapter that needs no API server first, with what is slow at its end, and what failed before all; the specs of an API server are in no
// order.
func TestPriorityOfChapters(t *testing.T) {
	t.Parallel()
	p := &Plan{want: Description{First: func(_ string, id requirement.ID) bool {
		return id == requirement.ResourceReadEveryVersion || id == requirement.WebhookResponseUID
	}}}
	priority := p.priority(corpus.Corpus{})
	want := []requirement.ID{requirement.WebhookResponseUID, requirement.ResourceReadEveryVersion, requirement.WebhookResponseKind, requirement.WebhookConversionPure, requirement.ResourceCreateEveryVersion}
	for i := range want[1:] {
		if priority(want[i]) <= priority(want[i+1]) {
			t.Errorf("%s is not before %s", want[i], want[i+1])
		}
	}
	p.want.JudgesServer = true
	if p.priority(corpus.Corpus{}) != nil {
		t.Error("the specs of an API server are in an order")
	}
}

// TestFailFast stops at the first failure: what is known to fail is none, and what is Tolerated only if it counts as one.
func TestFailFast(t *testing.T) {
	t.Parallel()
	const uid, kind = requirement.WebhookResponseUID, requirement.WebhookResponseContentType
	for name, test := range map[string]struct {
		fault string
		c     config.Config
		last  requirement.ID // that is judged; empty if all are
	}{
		"a failure":        {"wrong-uid", config.Config{}, uid},
		"known to fail":    {"wrong-uid", config.Config{KnownFailing: []config.KnownFailing{{ID: string(uid), Reason: "known"}}}, ""},
		"known and passes": {"content-type-text", config.Config{KnownFailing: []config.KnownFailing{{ID: string(uid), Reason: "known"}}}, uid},
		"tolerated":        {"content-type-text", config.Config{}, ""},
		"strictly":         {"content-type-text", config.Config{Strict: true}, kind},
	} {
		test.c.Filter = []string{"webhook.response"}
		report, j := inOrder(t, Description{Config: test.c, Handler: faulty(t, test.fault), FailFast: true})
		open := report.With(requirement.Unknown)
		if test.last == "" {
			if len(open) > 0 || len(report.Notes) > 1 {
				t.Errorf("%s: %d are not judged; %q", name, len(open), report.Notes)
			}
			continue
		}
		if last := j.ids[len(j.ids)-1]; last != test.last || len(j.ids)+len(open) != len(report.Results) || len(open) == 0 || report.Outcome != reports.NonConformant || report.Error != "" {
			t.Errorf("%s: %d of %d are judged, %s last: %s %q", name, len(j.ids), len(report.Results), last, report.Outcome, report.Error)
		}
		if note := report.Notes[len(report.Notes)-1]; !strings.HasPrefix(note, "the run stopped at the first failure: ") {
			t.Errorf("%s: the note is %q", name, note)
		}
	}
}
