package lifecycle

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

const (
	finalizer = "stable.example.com/finalizer"
	object    = "my-new-cron-object"
)

// finalized creates the documents' object with a finalizer, and removes it at the end.
func finalized(ctx SpecContext, crd *suites.Resource) *unstructured.Unstructured {
	takeOff(crd, object)
	return crd.Create(ctx, "v1", fixtures.Finalizer.At("v1"))
}

// takeOff makes sure that an object that is about to be created has no finalizers at the end. It is called before the
// creation, because a run may be stopped between the two.
func takeOff(crd *suites.Resource, name string) {
	DeferCleanup(func(ctx SpecContext) error {
		_, err := crd.At("v1").MergePatch(ctx, name, `{"metadata": {"finalizers": null}}`)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func finalizers(env *suites.Env) {
	Describe("finalizers", func() {
		stable := env.With(fixtures.Stable).InTurn()
		marked := func(ctx context.Context, crd *suites.Resource) *unstructured.Unstructured {
			Expect(crd.At("v1").Delete(ctx, object)).To(Succeed())
			kept, err := crd.At("v1").Get(ctx, object)
			Expect(err).NotTo(HaveOccurred(), "the object must still be there")
			Expect(kept.GetDeletionTimestamp()).NotTo(BeNil())
			return kept
		}

		stable.It(requirement.LifecycleFinalizersSupported, "creates an object with a finalizer", func(ctx SpecContext, crd *suites.Resource) {
			Expect(finalized(ctx, crd).GetFinalizers()).To(Equal([]string{finalizer}))
			Expect(crd.At("v1").Get(ctx, object)).To(HaveField("GetFinalizers()", Equal([]string{finalizer})))
		})

		stable.It(requirement.LifecycleFinalizersQualifiedNames, "creates objects with finalizers with and without a domain", func(ctx SpecContext, crd *suites.Resource) {
			create := func(name, finalizer string) []string {
				o := fixtures.MyNewCronObject.At("v1")
				o.SetName(name)
				o.SetFinalizers([]string{finalizer})
				ctx, warnings := suites.CollectWarnings(ctx)
				takeOff(crd, name)
				Expect(crd.At("v1").Create(ctx, o)).Error().NotTo(HaveOccurred())
				return warnings.Texts()
			}
			Expect(create("qualified", finalizer)).To(BeEmpty())
			Expect(create("unqualified", "finalizer")).To(ContainElement(ContainSubstring("metadata.finalizers")))
		})

		stable.It(requirement.LifecycleFinalizersFirstDeleteMarks, "deletes an object with a finalizer", func(ctx SpecContext, crd *suites.Resource) {
			created := finalized(ctx, crd)
			Expect(created.GetDeletionTimestamp()).To(BeNil())
			kept := marked(ctx, crd)
			Expect(kept.GetUID()).To(Equal(created.GetUID()))
			Expect(kept.GetFinalizers()).To(Equal([]string{finalizer}))
			Expect(crd.InStorage(ctx, object)).To(BeTrue())
		})

		stable.It(requirement.LifecycleFinalizersWatched, "watches an object with a finalizer that is deleted, and removes the finalizer", func(ctx SpecContext, crd *suites.Resource) {
			events, err := crd.At("v1").WatchOne(ctx, object)
			env.Require(err, "watching the object")
			defer events.Stop()
			marked := HaveField("Object", HaveField("GetDeletionTimestamp()", Not(BeNil())))
			finalized(ctx, crd)
			Eventually(ctx, events.ResultChan()).Should(Receive(And(HaveField("Type", watch.Added), Not(marked)))) // so that nothing after it is missed
			env.Require(crd.At("v1").Delete(ctx, object), "deleting the object")
			Eventually(ctx, events.ResultChan()).Should(Receive(And(HaveField("Type", watch.Modified), marked)), "the watch must show the deletionTimestamp")
			env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, object, `{"metadata": {"finalizers": null}}`)), "removing the finalizer")
			Eventually(ctx, events.ResultChan()).Should(Receive(HaveField("Type", watch.Deleted)), "the watch must show that the object is gone")
		})

		stable.It(requirement.LifecycleFinalizersOnlyRemoved, "adds and removes finalizers of an object that is being deleted", func(ctx SpecContext, crd *suites.Resource) {
			o := fixtures.Finalizer.At("v1")
			o.SetFinalizers([]string{finalizer, "stable.example.com/second"})
			takeOff(crd, object)
			crd.Create(ctx, "v1", o)
			kept := marked(ctx, crd)
			kept.SetFinalizers(append(kept.GetFinalizers(), "stable.example.com/third"))
			Expect(crd.At("v1").Update(ctx, kept)).Error().To(suites.BeInvalidAt("metadata.finalizers"))
			kept.SetFinalizers([]string{finalizer})
			Expect(crd.At("v1").Update(ctx, kept)).To(HaveField("GetFinalizers()", Equal([]string{finalizer})))
		})

		stable.It(requirement.LifecycleFinalizersNoForce, "deletes an object with a finalizer again, without grace", func(ctx SpecContext, crd *suites.Resource) {
			finalized(ctx, crd)
			marked(ctx, crd)
			immediately := int64(0)
			Expect(crd.Everywhere("v1").Namespace(suites.Namespace).Delete(ctx, object, metav1.DeleteOptions{GracePeriodSeconds: &immediately})).To(Succeed())
			Expect(crd.At("v1").DeleteAll(ctx)).To(Succeed())
			Expect(crd.At("v1").Get(ctx, object)).Error().NotTo(HaveOccurred())
			Expect(crd.InStorage(ctx, object)).To(BeTrue())
		})

		stable.It(requirement.LifecycleFinalizersEmptiedDeletes, "removes the last finalizer", func(ctx SpecContext, crd *suites.Resource) {
			finalized(ctx, crd)
			kept := marked(ctx, crd)
			kept.SetFinalizers(nil)
			Expect(crd.At("v1").Update(ctx, kept)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").Get(ctx, object)).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"))
			Expect(crd.InStorage(ctx, object)).To(BeFalse())
		})
	})
}
