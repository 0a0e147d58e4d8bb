package suites_test

import (
	"context"
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
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
		allPass(t, env, area)
		if want := slices.Repeat([]string{test.name}, len(test.selected)); !slices.Equal(names, want) {
			t.Errorf("the definitions are %v, want %v", names, want)
		}
		if _, err := env.CRDs.Get(t.Context(), test.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("it is still there after the last spec: %v", err)
		}
	}
}

// TestInTurn has specs that share a definition in turn. Each finds it as it was in the beginning, and where it cannot be cleared, the next spec gets
// one of its own.
func TestInTurn(t *testing.T) {
	c := apiServer.Cluster(t)
	all := []requirement.ID{requirement.ConversionRequestPost, requirement.ConversionRequestReview, requirement.ConversionRequestTimeout}
	shared := "crontabs.conversion-request-post.example.com"
	for name, test := range map[string]struct {
		spoil bool
		want  []string // the definitions
	}{
		"cleared":     {false, []string{shared, shared, shared}},
		"not cleared": {true, []string{shared, "crontabs.n0-conversion-request-review.example.com", "crontabs.n0-conversion-request-timeout.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			env := suitetest.Env(t, suites.Options{
				Cluster: c, Seed: 1, Select: func(id requirement.ID) bool { return slices.Contains(all, id) },
				Priority: func(id requirement.ID) int { return -slices.Index(all, id) },
			})
			var names []string
			var mend func(context.Context) error
			area := suites.Area{Name: "conversion", Register: func(env *suites.Env) {
				inTurn := env.With(fixtures.Webhook).InTurn()
				for _, id := range all {
					inTurn.It(id, "uses the definition and leaves it used", func(ctx ginkgo.SpecContext, crd *suites.Resource) {
						names = append(names, crd.Name())
						gomega.Expect(crd.At("v1beta1").In("").List(ctx)).To(gomega.BeEmpty())
						gomega.Expect(crd.Webhook.Received()).To(gomega.BeEmpty())
						object := fixtures.LocalCronTab.At("v1beta1")
						if !test.spoil {
							object.SetFinalizers([]string{"example.com/finalizer"})
						}
						crd.Create(ctx, "v1beta1", object)
						gomega.Expect(crd.At("v1").Get(ctx, "local-crontab")).NotTo(gomega.BeNil())
						crd.Webhook.Break("fails-valid-objects")
						if test.spoil && id == all[0] {
							key := cluster.Key{Group: crd.Group(), Resource: "crontabs", Namespace: suites.Namespace, Name: "local-crontab"}
							stored, err := env.Storage().Stored(ctx, key)
							env.Require(err, "looking for an object in storage")
							env.Require(env.Storage().Overwrite(ctx, key, []byte("{")), "spoiling it")
							mend = func(ctx context.Context) error { return env.Storage().Overwrite(ctx, key, stored.Data) }
						}
						if test.spoil && id == all[2] {
							env.Require(mend(ctx), "mending it, so that the definition can be removed")
						}
					})
				}
			}}
			allPass(t, env, area)
			if !slices.Equal(names, test.want) {
				t.Errorf("the definitions are %v, want %v", names, test.want)
			}
		})
	}
}

// allPass runs the specs of an area, which must pass.
func allPass(t *testing.T, env *suites.Env, area suites.Area) {
	t.Helper()
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
