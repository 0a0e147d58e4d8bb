package reporter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestMoreForms compares the forms with golden files that no run writes by itself.
func TestMoreForms(t *testing.T) {
	r := sample(t)
	implementation, err := ParseImplementation(map[string]string{"project": "widgets", "version": "v1.4.0"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "conformance.yaml", writtenBy(t, Conformance(r, implementation).YAML))
	golden(t, "metrics.prom", written(t, r, Prometheus))
	golden(t, "badge.svg", written(t, r, Badge))
	golden(t, "lossy.yaml", written(t, r, Lossy))
	golden(t, "matrix.html", writtenBy(t, NewMatrix([]string{"a", hostile}, []*reports.Report{sample(t), hostileEverywhere(t)}).HTML))
}

// TestConformance has another reader find what the report says.
func TestConformance(t *testing.T) {
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		var read struct {
			Kind, Outcome, Summary string
			Profiles               []struct {
				Core, Extended *struct{ Statistics map[string]int }
			}
		}
		if err := yaml.Unmarshal(writtenBy(t, Conformance(r, nil).YAML), &read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := 0
		for _, p := range read.Profiles {
			for _, status := range []*struct{ Statistics map[string]int }{p.Core, p.Extended} {
				if status != nil {
					for _, count := range status.Statistics {
						n += count
					}
				}
			}
		}
		if read.Kind != ConformanceKind || read.Outcome != string(r.Outcome) || read.Summary != visible.Text(Headline(r)) || n != len(r.Results) {
			t.Errorf("%s: read back it is %+v, with %d requirements", name, read, n)
		}
	}
	if _, err := ParseImplementation(map[string]string{"name": "x"}); err == nil || !strings.Contains(err.Error(), `unknown key "name" (want organization`) {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestStatusOfProfiles(t *testing.T) {
	for want, verdicts := range map[string][]requirement.Verdict{
		success:  {requirement.Passed, requirement.Tolerated},
		partial:  {requirement.Passed, requirement.NotApplicable},
		unjudged: {requirement.Errored, requirement.NotApplicable},
		failure:  {requirement.Failed, requirement.Errored, requirement.KnownFailing},
	} {
		if got := Conformance(judgedAs(verdicts...), nil).Profiles[0].Core.Result; got != want {
			t.Errorf("%v come to %s, want %s", verdicts, got, want)
		}
	}
	r := judgedAs(requirement.NotApplicable)
	r.Results[0].Immaterial = true
	if got := Conformance(r, nil).Profiles[0].Core.Result; got != success {
		t.Errorf("what does not matter comes to %s", got)
	}
}

// TestPrometheus has Prometheus' own reader and linter take the metrics, whatever is in the labels.
func TestPrometheus(t *testing.T) {
	twice := sample(t)
	twice.Load.Stages = append(twice.Load.Stages, twice.Load.Stages[0])
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t), "stages of one name": twice, "empty": {}} {
		text := written(t, r, Prometheus)
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, family := range families {
			seen := map[string]bool{}
			for _, metric := range family.GetMetric() {
				var labels strings.Builder
				for _, label := range metric.GetLabel() {
					labels.WriteString(label.String())
				}
				if seen[labels.String()] {
					t.Errorf("%s: %s is there twice with %s", name, family.GetName(), labels.String())
				}
				seen[labels.String()] = true
			}
		}
	}
}

// TestBadges are well-formed, and say what the run came to.
func TestBadges(t *testing.T) {
	interrupted, inPart, unjudgedRun, underLoad := judgedAs(requirement.Passed), judgedAs(requirement.Passed, requirement.NotApplicable), judgedAs(requirement.Errored), &reports.Report{Load: one(loadgen.Stage{Requests: 1})}
	interrupted.Interrupted = true
	Conclude(interrupted)
	Conclude(underLoad)
	slow := &reports.Report{Load: with(one(loadgen.Stage{Requests: 1}), loadgen.Objective{Name: "p99", Limit: 1, Measured: 2, Unit: "ms"})}
	Conclude(slow)
	for want, r := range map[string]*reports.Report{
		"2 passed": judgedAs(requirement.Passed, requirement.Passed), "1 passed, in part": inPart, "1 of 2 failed": judgedAs(requirement.Passed, requirement.Failed),
		"not judged": unjudgedRun, "interrupted": interrupted, "good under load": underLoad, "failed under load": slow,
	} {
		text := written(t, r, Badge)
		if !bytes.Contains(text, []byte("<title>crdconform: "+want+"</title>")) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
		decoder := xml.NewDecoder(bytes.NewReader(text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", want, err)
			}
		}
	}
}
