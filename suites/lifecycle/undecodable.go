package lifecycle

import (
	"bytes"
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// The objects of unreadable.
const (
	corrupt  = "corrupt"  // its bytes are no JSON; it has a finalizer
	outdated = "outdated" // stored at a version that is not in the definition
)

// unreadable creates two objects and makes storage have of them what cannot be decoded.
func unreadable(ctx SpecContext, crd *suites.Resource) []string {
	GinkgoHelper()
	takeOff(crd, corrupt)
	first := named(fixtures.LocalCronTab.At("v1"), corrupt)
	first.SetFinalizers([]string{finalizer})
	crd.Create(ctx, "v1", first)
	crd.Create(ctx, "v1", named(fixtures.LocalCronTab.At("v1"), outdated))
	stored := crd.Stored(ctx, outdated)
	crd.Overwrite(ctx, corrupt, []byte(`{"apiVersion": `))
	crd.Overwrite(ctx, outdated, bytes.Replace(stored.Data, []byte(stored.APIVersion), []byte(crd.APIVersion("v0")), 1))
	return []string{corrupt, outdated}
}

// ignoring are the options of a deletion that is to take place although the object cannot be read.
func ignoring() metav1.DeleteOptions {
	return metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}
}

// undecodable is about the deletion of objects that cannot be decoded.
func undecodable(env *suites.Env) {
	Describe("deleting what cannot be decoded", func() {
		stored := env.With(fixtures.None)
		remove := func(ctx context.Context, crd *suites.Resource, name string, options metav1.DeleteOptions) error {
			return crd.Everywhere("v1").Namespace(suites.Namespace).Delete(ctx, name, options)
		}

		stored.It(requirement.LifecycleDeletionUndecodable,
			"reads, puts, patches and deletes objects that cannot be decoded", func(ctx SpecContext, crd *suites.Resource) {
				for _, name := range unreadable(ctx, crd) {
					fail := MatchError(apierrors.IsInternalError, "IsInternalError")
					whole := crd.Object("v1", named(fixtures.LocalCronTab.At("v1"), name))
					whole.SetResourceVersion("1")
					Expect(crd.At("v1").Update(ctx, whole)).Error().To(fail)
					Expect(crd.At("v1").Get(ctx, name)).Error().To(fail)
					Expect(crd.At("v1").MergePatch(ctx, name, `{"metadata": {"finalizers": null}, "port": "4321"}`)).Error().To(fail)
					Expect(crd.At("v1").Delete(ctx, name)).To(fail)
					Expect(crd.InStorage(ctx, name)).To(BeTrue())
				}
			})

		stored.It(requirement.LifecycleDeletionUnsafe,
			"deletes objects that cannot be decoded by the option for that", func(ctx SpecContext, crd *suites.Resource) {
				dry := ignoring()
				dry.DryRun = []string{metav1.DryRunAll}
				names := unreadable(ctx, crd)
				crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				for _, name := range names {
					Expect(remove(ctx, crd, name, dry)).To(Succeed())
					Expect(crd.InStorage(ctx, name)).To(BeTrue(), "it was only tried out")
					Expect(remove(ctx, crd, name, ignoring())).To(Succeed())
					Expect(crd.InStorage(ctx, name)).To(BeFalse(), "no finalizer may keep it")
				}
				Eventually(ctx, func() (any, error) { return crd.At("v1").List(ctx) }).Should(ConsistOf(HaveField("GetName()", "local-crontab")))
			})

		stored.It(requirement.LifecycleDeletionUnsafeReadable,
			"deletes an object by the option for those that cannot be decoded", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				Expect(remove(ctx, crd, "local-crontab", ignoring())).To(MatchError(apierrors.IsConflict, "IsConflict"))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("GetDeletionTimestamp()", BeNil()))
			})

		stored.It(requirement.LifecycleDeletionUnsafeAlone,
			"combines the option for objects that cannot be decoded with others", func(ctx SpecContext, crd *suites.Resource) {
				names := unreadable(ctx, crd)
				refused := suites.BeInvalidAt("ignoreStoreReadErrorWithClusterBreakingPotential")
				for _, add := range []func(*metav1.DeleteOptions){
					func(o *metav1.DeleteOptions) { o.GracePeriodSeconds = new(int64(0)) },
					func(o *metav1.DeleteOptions) { o.PropagationPolicy = new(metav1.DeletePropagationBackground) },
					func(o *metav1.DeleteOptions) { o.Preconditions = metav1.NewUIDPreconditions("made-up") },
				} {
					options := ignoring()
					add(&options)
					Expect(remove(ctx, crd, corrupt, options)).To(refused)
				}
				Expect(crd.Everywhere("v1").Namespace(suites.Namespace).DeleteCollection(ctx, ignoring(), metav1.ListOptions{})).To(refused)
				for _, name := range names {
					Expect(crd.InStorage(ctx, name)).To(BeTrue())
				}
			})

		stored.It(requirement.LifecycleDeletionBlockedByUndecodable,
			"deletes a definition with an object that cannot be decoded, and mends the object", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
				restore := crd.Overwrite(ctx, "local-crontab", []byte(`{"apiVersion": `))
				env.Require(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
				Eventually(ctx, func() *apiextensionsv1.CustomResourceDefinitionCondition {
					return apihelpers.FindCRDCondition(crd.Definition(ctx), apiextensionsv1.Terminating)
				}).Should(HaveValue(HaveField("Reason", "InstanceDeletionFailed")))
				Expect(crd.Gone(ctx)).To(BeFalse())
				for _, name := range []string{"local-crontab", "remote-crontab"} {
					Expect(crd.InStorage(ctx, name)).To(BeTrue(), name)
				}
				env.Require(restore(ctx), "mending the object")
				completes(ctx, crd)
			})
	})
}
