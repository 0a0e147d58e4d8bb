package lifecycle

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/fixtures"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

func legacy(env *suites.Env) {
	Describe("what is gone", func() {
		env.It(requirement.LifecycleLegacyV1beta1Endpoint, "asks for apiextensions.k8s.io/v1beta1", func(ctx SpecContext) {
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1").Status).To(Equal(http.StatusOK))
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1").Status).To(Equal(http.StatusNotFound))
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions").Status).To(Equal(http.StatusNotFound))
		})

		env.It(requirement.LifecycleLegacyV1beta1Manifest, "posts a v1beta1 definition to the v1 endpoint", func(ctx SpecContext) {
			for _, literal := range fixtures.Literals() {
				if literal.Name != "v1beta1-none" {
					continue
				}
				answer := env.Do(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", literal.Body(),
					http.Header{"Content-Type": {"application/yaml"}})
				Expect(answer.Status).To(Equal(http.StatusBadRequest), string(answer.Body))
				return
			}
			Fail("there is no v1beta1 definition among the fixtures")
		})
	})
}
