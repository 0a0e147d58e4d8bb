package migration

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// objects is about the objects that are migrated.
func (c chapter) objects() {
	Describe("objects", func() {
		c.env.With(fixtures.None).It(requirement.MigrationObjectsKept,
			"migrates objects and looks for each by its UID", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationObjectsKept))).To(BeEmpty())
				Expect(report.Objects).To(Equal(3))
			})

		c.env.With(fixtures.Webhook, fixtures.WithSubresources(), commented).It(requirement.MigrationObjectsContent,
			"migrates objects of all sorts that a webhook converts, and compares them at both versions", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 1)
				c.rich(ctx, crd)
				c.dying(ctx, crd)
				crd.Change(ctx, fixtures.StoredAt(newer))
				c.recent(ctx, crd)
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationObjectsContent))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationObjectsStored,
			"migrates three pages of objects, one of which is being deleted, and looks into etcd", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2*pageSize)
				c.dying(ctx, crd)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, err := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(err).NotTo(HaveOccurred(), "nothing is in the way of the migration")
				expectStored(report)
			})

		c.env.With(fixtures.None).It(requirement.MigrationObjectsNamespaces,
			"migrates objects of two namespaces", func(ctx SpecContext, crd *suites.Resource) {
				const other = metav1.NamespaceSystem
				c.population(ctx, crd, 1)
				second := fixtures.LocalCronTab.At(newer)
				c.env.Require(suites.ErrorOf(crd.At(older).In(other).Create(ctx, second)), "creating an object in the namespace %s", other)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				expectStored(report)
			})

		c.env.With(fixtures.None, in(apiextensionsv1.ClusterScoped)).It(requirement.MigrationObjectsClusterScoped,
			"migrates objects that have no namespace", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				expectStored(report)
			})

		c.env.With(fixtures.None).It(requirement.MigrationObjectsExpired,
			"refuses the second page of a list as expired, once", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, pageSize+2)
				crd.Change(ctx, fixtures.StoredAt(newer))
				expired := false
				report, err := c.prove(ctx, crd, proof.Options{}, proof.Job{}, func(_ *proof.Proof, r request) *http.Response {
					if expired || r.URL.Query().Get("continue") == "" {
						return nil
					}
					expired = true
					return answer(r.Request, http.StatusGone, metav1.StatusReasonExpired, "The provided continue parameter is too old to display a consistent list result.")
				})
				if err == nil {
					expectStored(report)
				}
				if !expired {
					Skip("no list expired: the migrator never asked for a second page")
				}
			})
	})
}

// expectStored expects that all objects are stored at the storage version.
func expectStored(report proof.Report) {
	GinkgoHelper()
	Expect(visible.Strings(report.Of(requirement.MigrationObjectsStored))).To(BeEmpty())
	Expect(report.Undecided).To(BeZero(), "every object must have been written since the storage version changed")
}
