package lifecycle

import (
	"context"
	"net/http"
	"time"

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

func deletion(env *suites.Env) {
	Describe("deleting a definition", func() {
		stable := env.With(fixtures.Stable)
		deleted := func(ctx context.Context, crd *suites.Resource) {
			Expect(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{})).To(Succeed())
			Eventually(ctx, func(ctx context.Context) bool { return crd.Gone(ctx) }).Should(BeTrue(), "the definition must be deleted")
		}

		stable.It(requirement.LifecycleDeletionEndpoint, "deletes a definition and asks for its resource", func(ctx SpecContext, crd *suites.Resource) {
			paths := []string{"/apis/" + crd.Group(), "/apis/" + crd.APIVersion("v1"), crd.Path("v1")}
			for _, path := range paths {
				Expect(env.Get(ctx, path).Status).To(Equal(http.StatusOK), path)
			}
			deleted(ctx, crd)
			for _, path := range paths {
				Eventually(ctx, func() int { return env.Get(ctx, path).Status }).Should(Equal(http.StatusNotFound), path)
			}
		})

		stable.It(requirement.LifecycleDeletionObjects, "deletes a definition and looks for its objects in storage", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
			Expect(crd.StoredAll(ctx)).To(HaveLen(1))
			deleted(ctx, crd)
			Expect(crd.StoredAll(ctx)).To(BeEmpty())
		})

		stable.It(requirement.LifecycleDeletionNotFound, "deletes a definition and lists its objects", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
			deleted(ctx, crd)
			Eventually(ctx, func() error { return suites.ErrorOf(crd.At("v1").List(ctx)) }).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
			Expect(crd.At("v1").Get(ctx, "my-new-cron-object")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		})

		stable.It(requirement.LifecycleDeletionRecreatedEmpty, "deletes a definition and creates it again", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
			deleted(ctx, crd)
			again := stable.Add(ctx, requirement.LifecycleDeletionRecreatedEmpty)
			Expect(again.Name()).To(Equal(crd.Name()))
			Eventually(ctx, func() (any, error) { return again.At("v1").List(ctx) }).Should(BeEmpty())
		})

		brokenWebhook(env)
	})
}

// recovery is how long the deletion may take to continue. API servers try again to fill a watch cache after a minute at the most (30 s and
// as much again at random), and to remove the objects when they have, after as long as the webhook was broken. A spec has a minute.
const recovery = 55 * time.Second

// completes waits until a deletion that was blocked is completed. Now and then it reminds the API server of the definition: one whose
// cache lags behind meets its own report of the failure as a conflict, and then does nothing until the definition changes or five minutes
// have passed.
func completes(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	reminded := time.Now()
	Eventually(ctx, func() bool {
		if crd.Gone(ctx) {
			return true
		}
		if time.Since(reminded) > 5*time.Second {
			crd.Remind(ctx)
			reminded = time.Now()
		}
		return false
	}).WithTimeout(recovery).Should(BeTrue(), "the definition must be deleted")
}

func brokenWebhook(env *suites.Env) {
	// mixed leaves objects in storage at two versions, breaks the webhook, and asks for the deletion of the definition.
	mixed := func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		crd.Change(ctx, fixtures.StoredAt("v1"))
		crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
		Expect(crd.StoredVersions(ctx)).To(Equal([]string{"v1", "v1beta1"}))
		crd.Webhook.Break("status-500")
		env.Require(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
		Eventually(ctx, func() *apiextensionsv1.CustomResourceDefinitionCondition {
			return apihelpers.FindCRDCondition(crd.Definition(ctx), apiextensionsv1.Terminating)
		}).Should(HaveValue(HaveField("Reason", "InstanceDeletionFailed")))
	}

	env.With(fixtures.Webhook).It(requirement.LifecycleDeletionBlockedByWebhook,
		"deletes a definition with mixed storage while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
			mixed(ctx, crd)
			Expect(crd.Gone(ctx)).To(BeFalse())
			Expect(crd.InStorage(ctx, "local-crontab")).To(BeTrue())
		})

	env.With(fixtures.Webhook).It(requirement.LifecycleDeletionRecovers,
		"repairs the webhook of a definition whose deletion it blocked", func(ctx SpecContext, crd *suites.Resource) {
			mixed(ctx, crd)
			crd.Webhook.Mend()
			completes(ctx, crd)
			Expect(crd.StoredAll(ctx)).To(BeEmpty())
		})

	env.With(fixtures.Webhook).It(requirement.LifecycleDeletionWithoutWebhook,
		"deletes a definition with objects at the storage version while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			crd.Webhook.Break("status-500")
			env.Require(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
			Eventually(ctx, func() bool { return crd.Gone(ctx) }).Should(BeTrue())
			Expect(crd.StoredAll(ctx)).To(BeEmpty())
		})
}
