package versions

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func manifests(env *suites.Env) {
	Describe("manifests", func() {
		env.It(requirement.VersionsManifestsInstallable, "submits every definition of the documents", func(ctx SpecContext) {
			for _, definition := range fixtures.Definitions() {
				Expect(env.Submit(ctx, requirement.VersionsManifestsInstallable, definition)).To(Succeed(), string(definition))
			}
		})

		env.It(requirement.VersionsManifestsLiteralRejected, "submits the definitions that the documents misprint, as printed", func(ctx SpecContext) {
			for _, literal := range fixtures.Literals() {
				answer := env.Do(ctx, http.MethodPost, literal.Endpoint+"?dryRun=All", literal.Body(), http.Header{"Content-Type": {"application/yaml"}})
				Expect(answer.Status).To(Equal(literal.Status), "%s: %s", literal.Name, answer.Body)
				Expect(string(answer.Body)).To(MatchRegexp(literal.Reason), literal.Name)
			}
		})
	})
}
