package versions

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// usage is about how operators see whether clients still use an old version.
func usage(env *suites.Env) {
	Describe("deprecation", func() {
		env.With(fixtures.Deprecation).It(requirement.VersionsDeprecationMetric,
			"lists objects at a deprecated version and at another, and reads the metrics of the API server", func(ctx SpecContext, crd *suites.Resource) {
				for _, version := range []string{"v1", "v1alpha1"} {
					env.Require(suites.ErrorOf(crd.At(version).List(ctx)), "listing at %s", version)
				}
				requested := func(ctx SpecContext) []string {
					answer := env.Get(ctx, "/metrics")
					if answer.Status == http.StatusForbidden || answer.Status == http.StatusUnauthorized {
						env.Inapplicable("needs the right to get /metrics, which the user of this run does not have")
					}
					Expect(answer.Status).To(Equal(http.StatusOK), "reading /metrics: %s", answer.Body[:min(len(answer.Body), 500)])
					return deprecatedVersions(answer.Body, crd.Group())
				}
				// There may be several API servers, each with metrics of its own.
				Eventually(ctx, func(ctx SpecContext) []string {
					env.Require(suites.ErrorOf(crd.At("v1alpha1").List(ctx)), "listing at v1alpha1")
					return requested(ctx)
				}).Should(And(ContainElement("v1alpha1"), Not(ContainElement("v1"))), "the metric must name the deprecated version, and not the other")
			}, suites.Slow)
	})
}

// deprecatedVersions returns the versions of a group of which the metrics say that they are deprecated and were requested.
func deprecatedVersions(metrics []byte, group string) []string {
	var versions []string
	for lines := bufio.NewScanner(bytes.NewReader(metrics)); lines.Scan(); {
		labels, found := strings.CutPrefix(lines.Text(), "apiserver_requested_deprecated_apis{")
		if !found || !strings.Contains(labels, fmt.Sprintf("group=%q", group)) {
			continue
		}
		_, version, _ := strings.Cut(labels, `version="`)
		version, _, _ = strings.Cut(version, `"`)
		versions = append(versions, version)
	}
	return versions
}
