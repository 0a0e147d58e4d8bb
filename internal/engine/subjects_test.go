package engine

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// deviations are where a webhook without a bug departs from the contract in ways that API servers put up with: all are
// controller-runtime's, but for the names of ports that are kept in an annotation, however long they are.
var deviations = map[string][]requirement.ID{
	subjects.Kubebuilder: {
		requirement.WebhookRequestUnknownReviewVersion,
		requirement.WebhookResponseContentType,
		requirement.WebhookConversionIdentity,
		requirement.WebhookConversionHuge,
		requirement.WebhookFailureStatus,
	},
}

// canary is a requirement that no bug of a subject breaks.
const canary = requirement.WebhookResponseKind

// TestSubjects judges webhooks that keep their contract, and then the same ones with one bug each: by the requirements that the bug
// breaks, and by one that it does not. The nightly TestSubjectsByAllRequirements judges each by all.
func TestSubjects(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it builds four programs")
	}
	for _, name := range subjects.Names() {
		t.Run(name, func(t *testing.T) {
			program := subjects.Build(t, name)
			t.Run("without bugs", func(t *testing.T) { blameless(t, program, config.None) })
			for _, bug := range program.Bugs(t) {
				selected := []string{string(canary)}
				for _, found := range bugs[program.Name+"/"+bug] {
					// Objects too large to be stored are shrunk for seconds; that is left to the nightly test.
					if _, id, _ := strings.Cut(found, " "); id != string(requirement.WebhookConversionHuge) {
						selected = append(selected, id)
					}
				}
				t.Run(bug, func(t *testing.T) { caught(t, program, bug, selected) })
			}
		})
	}
}

// blameless fails the test when anything is held against a program without a bug.
func blameless(t *testing.T, program *subjects.Program, cluster config.APIServer) {
	t.Helper()
	found := findings(t, program, "", cluster, nil)
	for _, r := range found {
		if r.Verdict != requirement.Tolerated || !slices.Contains(deviations[program.Name], r.ID) {
			t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
		}
	}
	for _, id := range deviations[program.Name] {
		if !slices.ContainsFunc(found, func(r reports.Result) bool { return r.ID == id }) {
			t.Errorf("%s is not Tolerated", id)
		}
	}
}

// caught fails the test unless a bug is found by the requirements that it breaks, and by no others of those selected, with an object
// that has little more than what shows it. Nil selects all requirements.
func caught(t *testing.T, program *subjects.Program, bug string, selected []string) {
	t.Helper()
	var ids []string
	for _, r := range findings(t, program, bug, config.None, selected) {
		if slices.Contains(deviations[program.Name], r.ID) && r.Verdict == requirement.Tolerated {
			continue
		}
		ids = append(ids, r.Verdict.String()+" "+string(r.ID))
		t.Logf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
		for _, f := range r.Files {
			if filepath.Base(f.Path) == "object.yaml" && !large[bug] {
				small(t, f.Data)
			}
		}
	}
	want := slices.DeleteFunc(slices.Clone(bugs[program.Name+"/"+bug]), func(found string) bool {
		_, id, _ := strings.Cut(found, " ")
		return selected != nil && !slices.Contains(selected, id)
	})
	if !slices.Equal(ids, want) {
		t.Errorf("found by\n%s\nwant\n%s", strings.Join(ids, "\n"), strings.Join(want, "\n"))
	}
}

// bugs are the verdicts by which each bug is found.
var bugs = map[string][]string{
	subjects.Kubebuilder + "/loses-field": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Kubebuilder + "/loses-status": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Kubebuilder + "/float64": {
		"Failed webhook.conversion.round-trip",
		"Failed webhook.conversion.integers",
	},
	subjects.Kubebuilder + "/drops-false": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Kubebuilder + "/fills-in": {
		"Failed webhook.conversion.additions",
	},
	subjects.Kubebuilder + "/truncates": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Kubebuilder + "/panics": {
		"Failed webhook.failure.avoided",
	},
	subjects.Kubebuilder + "/shares-state": {
		"Failed webhook.batch.independent",
		"Failed webhook.batch.mixed-versions",
	},
	subjects.Kubebuilder + "/stale-annotation": {
		"Failed webhook.conversion.edits",
	},
	subjects.Kubebuilder + "/map-order": {
		"Failed webhook.conversion.pure",
	},
	subjects.Kubebuilder + "/timestamp": {
		"Failed webhook.conversion.pure",
	},
	subjects.Kubebuilder + "/grows": {
		"Failed webhook.conversion.growth",
	},
	subjects.Example + "/keeps-old-field": {
		"Failed webhook.conversion.schema",
	},
	subjects.Example + "/only-version": {
		"Failed webhook.conversion.round-trip",
		"Failed webhook.conversion.schema",
		"Tolerated webhook.conversion.validation",
	},
	subjects.Example + "/trims-zeros": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Example + "/lower-case": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Example + "/drops-labels": {
		"Failed webhook.conversion.round-trip",
	},
	subjects.Example + "/renames": {
		"Failed webhook.metadata.name",
	},
	subjects.Example + "/reorders": {
		"Failed webhook.response.order",
	},
	subjects.Example + "/at-most-ten": {
		"Failed webhook.batch.sizes",
	},
	subjects.Example + "/first-spec": {
		"Failed webhook.batch.independent",
	},
	subjects.Python + "/float-integers": {
		"Failed webhook.conversion.round-trip",
		"Failed webhook.conversion.schema",
		"Failed webhook.conversion.integers",
		"Tolerated webhook.conversion.validation",
	},
	subjects.Python + "/latin-1": {
		"Failed webhook.conversion.round-trip",
		"Failed webhook.conversion.edits",
		"Failed webhook.conversion.strings",
	},
	subjects.Python + "/loses-unknown": {
		"Failed webhook.conversion.round-trip",
		"Tolerated webhook.conversion.zero-values",
	},
	subjects.Python + "/stale-uid": {
		"Failed webhook.response.uid",
		"Failed webhook.failure.uid",
	},
	subjects.Python + "/drops-falsy": {
		"Tolerated webhook.conversion.round-trip",
		"Tolerated webhook.conversion.zero-values",
	},
	subjects.Python + "/shares-defaults": {
		"Failed webhook.batch.independent",
	},
	subjects.Python + "/no-spec": {
		"Failed webhook.response.http-status",
	},
	subjects.Wide + "/misnames": {
		"Failed webhook.conversion.round-trip",
		"Failed webhook.conversion.schema",
		"Failed webhook.conversion.path",
	},
}

// large are the bugs that no object with one field shows: an item of a list with five required fields, objects that are too
// big, and an order of several entries.
var large = map[string]bool{"loses-status": true, "stale-annotation": true, "map-order": true}

// small fails the test when an object has more than what shows a bug in one field.
func small(t *testing.T, text []byte) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		t.Fatal(err)
	}
	if leaves := corpus.Leaves(object); len(leaves) > 3 {
		t.Errorf("the smallest object has %d leaves: %s", len(leaves), strings.Join(leaves, ", "))
	}
}

// findings returns what neither passed nor was inapplicable of the selected requirements of a program.
func findings(t *testing.T, program *subjects.Program, bug string, cluster config.APIServer, selected []string) []reports.Result {
	t.Helper()
	report := ranWith(t, program, bug, config.Config{APIServer: cluster, Filter: selected, Samples: []string{program.Samples}})
	return slices.DeleteFunc(report.Results, func(r reports.Result) bool {
		return r.Verdict == requirement.Passed || r.Verdict == requirement.NotApplicable
	})
}

// ranWith is the report of a run for a program with a bug. What is to be judged, and how, is given.
func ranWith(t *testing.T, program *subjects.Program, bug string, how config.Config) *reports.Report {
	t.Helper()
	endpoint := program.Start(t, bug)
	how.CRDs, how.Webhook.URL, how.Generate = []string{program.CRD}, endpoint.URL, config.Generate{Objects: 12, Seed: 1}
	plan, err := Description{
		Config: how,
		CA:     endpoint.CA,
	}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Run(t.Context(), quiet{}, nil)
	if report.Error != "" || len(report.Results) == 0 {
		t.Fatalf("%d results, %s", len(report.Results), report.Error)
	}
	return report
}
