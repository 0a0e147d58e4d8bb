package lifecycle

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

const manager = "crdconform"

// managedFields is about objects whose managed fields name a version that is gone, or no longer served.
func managedFields(env *suites.Env) {
	removed := env.With(fixtures.None)

	removed.It(requirement.LifecycleRemovalApplied,
		"applies and patches an object whose managed fields name a version that was removed", func(ctx SpecContext, crd *suites.Resource) {
			leftBehind(ctx, env, crd)
			Expect(crd.Get(ctx, "v1", "local-crontab").GetManagedFields()).To(ContainElement(namesVersion(crd, "v1beta1")))
			withPort := &unstructured.Unstructured{Object: map[string]any{"kind": "CronTab", "metadata": map[string]any{"name": "local-crontab"}, "port": "1234"}}
			apply := func() (*unstructured.Unstructured, error) { return crd.At("v1").Apply(ctx, withPort, manager) }
			Expect(apply()).Error().To(MatchError(apierrors.IsInternalError, "IsInternalError"), "its managed fields name a version that is not there")
			Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"port": "4321"}`)).To(HaveField("Object", HaveKeyWithValue("port", "4321")))
			Expect(crd.At("v1").MergePatch(ctx, "local-crontab", `{"metadata": {"managedFields": [{}]}}`)).To(HaveField("GetManagedFields()", BeEmpty()))
			Expect(apply()).To(HaveField("Object", And(HaveKeyWithValue("port", "1234"), HaveKeyWithValue("host", "localhost"))),
				"its managed fields name no other version, and no manager owns a field that is no longer applied")
		})

	removed.It(requirement.LifecycleRemovalAppliedRenamed,
		"puts a version that is there into the managed fields of an object, and applies it", func(ctx SpecContext, crd *suites.Resource) {
			leftBehind(ctx, env, crd)
			object := crd.Get(ctx, "v1", "local-crontab")
			renamed := object.GetManagedFields()
			for i := range renamed {
				renamed[i].APIVersion = crd.APIVersion("v1")
			}
			object.SetManagedFields(renamed)
			Expect(crd.At("v1").Update(ctx, object)).To(HaveField("GetManagedFields()", HaveEach(namesVersion(crd, "v1"))))
			Expect(unforced(ctx, crd, "somebody-else")).Error().To(MatchError(apierrors.IsConflict, "IsConflict"), "the port must have its owner")
			Expect(unforced(ctx, crd, manager)).To(HaveField("Object", And(HaveKeyWithValue("port", "4321"), Not(HaveKey("host")))),
				"its owner may change the port, and gives up the host by no longer applying it")
		})

	removed.It(requirement.LifecycleRemovalManagersKept,
		"patches and puts an object whose managed fields name a version that was removed", func(ctx SpecContext, crd *suites.Resource) {
			leftBehind(ctx, env, crd)
			before := crd.Get(ctx, "v1", "local-crontab").GetManagedFields()
			Expect(before).NotTo(BeEmpty())
			patched, err := crd.At("v1").MergePatch(ctx, "local-crontab", `{"port": "4321"}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(patched.GetManagedFields()).To(Equal(before))
			patched.Object["port"] = "5432"
			Expect(crd.At("v1").Update(ctx, patched)).To(And(
				HaveField("Object", HaveKeyWithValue("port", "5432")), HaveField("GetManagedFields()", Equal(before))))
		})

	removed.It(requirement.LifecycleRemovalAppliedUnserved,
		"applies an object whose managed fields name a version that is no longer served", func(ctx SpecContext, crd *suites.Resource) {
			applied(ctx, env, crd)
			crd.Change(ctx, fixtures.StoredAt("v1"), fixtures.NotServed("v1beta1"))
			Expect(unforced(ctx, crd, "somebody-else")).Error().To(MatchError(apierrors.IsConflict, "IsConflict"), "the port must have its owner")
			changed, err := unforced(ctx, crd, manager)
			Expect(err).NotTo(HaveOccurred())
			Expect(changed.Object).To(And(HaveKeyWithValue("port", "4321"), Not(HaveKey("host"))), "it no longer applies the host")
			Expect(changed.GetManagedFields()).To(ContainElement(And(HaveField("Manager", manager), namesVersion(crd, "v1"))))
		})
}

// namesVersion matches what managed fields have of a manager, by the version at which it wrote last.
func namesVersion(crd *suites.Resource, version string) gomegatypes.GomegaMatcher {
	return HaveField("APIVersion", crd.APIVersion(version))
}

// applied applies the documents' object at v1beta1.
func applied(ctx SpecContext, env *suites.Env, crd *suites.Resource) {
	GinkgoHelper()
	env.Require(suites.ErrorOf(crd.At("v1beta1").Apply(ctx, fixtures.LocalCronTab.At("v1"), manager)), "applying the object at v1beta1")
}

// leftBehind applies an object at v1beta1, upgrades it as the documents say, and removes v1beta1.
func leftBehind(ctx SpecContext, env *suites.Env, crd *suites.Resource) {
	GinkgoHelper()
	applied(ctx, env, crd)
	crd.Change(ctx, fixtures.StoredAt("v1"))
	env.Require(rewrite(ctx, crd.At("v1")), "upgrading")
	env.Require(crd.SetStoredVersions(ctx, "v1"), "dropping v1beta1 from the status")
	crd.Change(ctx, fixtures.WithVersions("v1"))
}

// unforced applies another port to the object, and nothing else, as a manager that takes no field from another.
func unforced(ctx context.Context, crd *suites.Resource, as string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crd.APIVersion("v1"), "kind": "CronTab", "metadata": map[string]any{"name": "local-crontab"}, "port": "4321",
	}}
	return crd.Everywhere("v1").Namespace(suites.Namespace).Apply(ctx, "local-crontab", object, metav1.ApplyOptions{FieldManager: as})
}
