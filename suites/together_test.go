package suites_test

import (
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestTogether has specs that share a definition: it is there until the last of them is done, in the group of the first one that
// is selected.
func TestTogether(t *testing.T) {
	c := apiServer.Cluster(t)
	all := []requirement.ID{requirement.SchemaPruningDocumented, requirement.SchemaPruningStrict, requirement.SchemaPruningWarn}
	for _, test := range []struct {
		selected []requirement.ID
		name     string
	}{
		{all, "crontabs.schema-pruning-documented.example.com"},
		{all[1:], "crontabs.schema-pruning-strict.example.com"},
	} {
		env := suitetest.Env(t, suites.Options{Cluster: c, Seed: 1, Select: func(id requirement.ID) bool { return slices.Contains(test.selected, id) }})
		var names []string
		area := suites.Area{Name: "schema", Register: func(env *suites.Env) {
			shared := env.With(fixtures.Stable).Together()
			for _, id := range all {
				shared.It(id, "notes the name of its definition", func(ctx ginkgo.SpecContext, crd *suites.Resource) {
					names = append(names, crd.Definition(ctx).Name)
				})
			}
		}}
		outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, suitetest.Quiet{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range outcome.Results {
			if r.Verdict != requirement.Passed {
				t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
			}
		}
		if want := slices.Repeat([]string{test.name}, len(test.selected)); !slices.Equal(names, want) {
			t.Errorf("the definitions are %v, want %v", names, want)
		}
		if _, err := env.CRDs.Get(t.Context(), test.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("it is still there after the last spec: %v", err)
		}
	}
}
