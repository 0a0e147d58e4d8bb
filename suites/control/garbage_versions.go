package control

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// garbageVersions is about owner references that name versions which are not served, or not there any more.
func (c chapter) garbageVersions() {
	Describe("garbage collection and versions that are gone", Label(suites.Slow), func() {
		const removed = "v1alpha1"
		owning := c.env.With(fixtures.None, fixtures.StoredAt(newer), fixtures.NotServed(older))

		owning.It(requirement.ControlGarbageUnserved,
			"deletes an object that others own by references at versions that are not served", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, controllers, may("create", "", "configmaps"))
				custom := crd.Create(ctx, newer, fixtures.LocalCronTab.At(newer))
				c.awaitCollector(ctx, crd)
				// The longer the collector has tried what cannot succeed, the longer it waits before it tries again.
				served := c.dependent(ctx, crd, owner(custom, crd.APIVersion(newer)))
				left := []string{c.dependent(ctx, crd, owner(custom, crd.APIVersion(older))), c.dependent(ctx, crd, owner(custom, crd.APIVersion(removed)))}
				c.env.Require(crd.At(newer).Delete(ctx, custom.GetName()), "deleting the owner")
				c.soon(ctx, read(c.in("v1", "configmaps"), served)).Should(beGone(), "the dependent of the served version must be deleted")
				// It comes after the others in every queue.
				last := c.dependent(ctx, crd, owner(custom, crd.APIVersion(newer)))
				c.soon(ctx, read(c.in("v1", "configmaps"), last)).Should(beGone(), "the dependent of the served version must be deleted")
				for _, dependent := range left {
					Expect(c.configMapNamed(dependent)(ctx)).To(HaveField("GetDeletionTimestamp()", BeNil()), "the dependents of other versions must stay")
				}
				for _, dependent := range left {
					c.rename(ctx, dependent, crd.APIVersion(newer))
				}
				for _, dependent := range left {
					c.soon(ctx, read(c.in("v1", "configmaps"), dependent)).Should(beGone(), "a dependent must be deleted when its reference names a served version")
				}
			})

		c.env.With(fixtures.None).It(requirement.ControlGarbageRemoved,
			"upgrades an object, removes the version that it was created at, and deletes it", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, controllers, may("create", "", "configmaps"))
				custom := crd.Create(ctx, older, fixtures.LocalCronTab.At(newer)) // whose fields both versions have
				dependent := c.dependent(ctx, crd, owner(custom, crd.APIVersion(older)))
				crd.Change(ctx, fixtures.StoredAt(newer))
				c.env.Require(suites.ErrorOf(crd.At(newer).MergePatch(ctx, custom.GetName(), "{}")), "upgrading the object")
				c.rename(ctx, dependent, crd.APIVersion(newer))
				c.env.Require(crd.SetStoredVersions(ctx, newer), "changing status.storedVersions")
				crd.Change(ctx, fixtures.WithVersions(newer))
				c.awaitCollector(ctx, crd)
				Expect(crd.At(newer).Delete(ctx, custom.GetName())).To(Succeed())
				c.soon(ctx, read(c.in("v1", "configmaps"), dependent)).Should(beGone(), "the object's dependents must be deleted")
			})

		owning.It(requirement.ControlGarbageUnservedBlocks,
			"deletes an object in the foreground that another blocks by a reference at a version that is not served", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, controllers, may("create", "", "configmaps"))
				custom := crd.Create(ctx, newer, fixtures.LocalCronTab.At(newer))
				DeferCleanup(func(ctx SpecContext) error {
					return unfinish(ctx, crd.Everywhere(newer).Namespace(suites.Namespace), custom.GetName())
				})
				blocking := func(version string) string {
					reference := owner(custom, crd.APIVersion(version))
					reference.BlockOwnerDeletion = new(true)
					return c.dependent(ctx, crd, reference)
				}
				served, unserved := blocking(newer), blocking(older)
				c.awaitCollector(ctx, crd)
				c.env.Require(c.deleteBy(ctx, crd, custom.GetName(), metav1.DeletePropagationForeground), "deleting the owner")
				c.soon(ctx, read(c.in("v1", "configmaps"), served)).Should(beGone(), "the dependent of the served version must be deleted")
				Expect(crd.At(newer).Get(ctx, custom.GetName())).To(HaveField("GetFinalizers()", ContainElement(metav1.FinalizerDeleteDependents)), "the owner must wait")
				Expect(c.configMapNamed(unserved)(ctx)).To(HaveField("GetDeletionTimestamp()", BeNil()), "the dependent of the other version must stay")
				c.rename(ctx, unserved, crd.APIVersion(newer))
				c.soon(ctx, func(ctx SpecContext) error { return suites.ErrorOf(crd.At(newer).Get(ctx, custom.GetName())) }).Should(beGone(), "the owner must go after the reference was mended")
			})
	})
}

// rename puts another version into the owner reference of a dependent.
func (c chapter) rename(ctx SpecContext, dependent, apiVersion string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/metadata/ownerReferences/0/apiVersion", "value": %q}]`, apiVersion)
	_, err := c.in("v1", "configmaps").Patch(ctx, dependent, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	c.env.Require(err, "changing an owner reference")
}
