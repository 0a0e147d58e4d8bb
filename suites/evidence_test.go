package suites_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// TestWhatFailedIsKept has specs fail that got a definition by every way to get one, and one pass.
func TestWhatFailedIsKept(t *testing.T) {
	const many, webhook, installed, added, fine = requirement.StorageWriteInitialVersion, requirement.ConversionRequestPost,
		requirement.ConversionRequestReview, requirement.ConversionRequestTimeout, requirement.StorageWriteStorageVersion
	fill := func(ctx SpecContext, crd *suites.Resource, number int) {
		for i := range number {
			object := fixtures.LocalCronTab.At("v1")
			object.SetName(fmt.Sprintf("tab-%02d", i))
			object.SetAnnotations(map[string]string{"note": "token: hidden-value"})
			crd.Create(ctx, "v1", object)
		}
	}
	outcome := runSpecs(t, suites.Options{Cluster: apiServer.Cluster(t)}, func(env *suites.Env) {
		env.With(fixtures.None).It(many, "fails with many objects", func(ctx SpecContext, crd *suites.Resource) {
			fill(ctx, crd, 21)
			Fail("so")
		})
		env.With(fixtures.Webhook).It(webhook, "fails with a few", func(ctx SpecContext, crd *suites.Resource) {
			fill(ctx, crd, 2)
			Fail("so")
		})
		env.It(installed, "fails with several definitions", func(ctx SpecContext) {
			env.Install(ctx, installed, 1, fixtures.None)
			env.Install(ctx, installed, 2, fixtures.None)
			Fail("so")
		})
		env.It(added, "fails without one", func(ctx SpecContext) {
			crd := env.With(fixtures.None).Add(ctx, added)
			env.Require(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting it")
			Eventually(ctx, func() bool { return crd.Gone(ctx) }).Should(BeTrue())
			Fail("so")
		})
		env.With(fixtures.None).It(fine, "passes", func(ctx SpecContext, crd *suites.Resource) { fill(ctx, crd, 1) })
	})
	want := map[requirement.ID]string{
		many:      "crontabs.storage-write-initial-version.example.com.yaml: a definition, 20 objects, more",
		webhook:   "crontabs.conversion-request-post.example.com.yaml: a definition, 2 objects",
		installed: "crontabs.n1-conversion-request-review.example.com.yaml: a definition, 0 objects; crontabs.n2-conversion-request-review.example.com.yaml: a definition, 0 objects",
		added:     "crontabs.conversion-request-timeout.example.com.yaml: 0 objects, cannot be read",
		fine:      "",
	}
	for _, result := range outcome.Results {
		var got []string
		for _, kept := range result.Attachments {
			got = append(got, kept.Name+": "+described(t, string(kept.Data)))
		}
		slices.Sort(got)
		if got := strings.Join(got, "; "); got != want[result.Requirement] {
			t.Errorf("%s is %s with %q, want %q", result.Requirement, result.Verdict, got, want[result.Requirement])
		}
	}
}

// described says what was kept of a definition.
func described(t *testing.T, text string) string {
	t.Helper()
	var words []string
	objects := 0
	for part := range strings.SplitSeq(text, "---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(part), &u.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		switch {
		case u.GetKind() == "CustomResourceDefinition" && u.GetAPIVersion() == "apiextensions.k8s.io/v1":
			words = append(words, "a definition")
		case u.GetKind() == "CronTab" && u.GetAnnotations()["note"] == "token: [redacted]":
			objects++
		case len(u.Object) > 0:
			t.Errorf("got:\n%s", part)
		}
	}
	words = append(words, fmt.Sprintf("%d objects", objects))
	for _, remark := range []string{"more", "cannot be read"} {
		if _, said, _ := strings.Cut(text, "# "); strings.Contains(said, remark) {
			words = append(words, remark)
		}
	}
	return strings.Join(words, ", ")
}
