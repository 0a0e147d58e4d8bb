package migration

import (
	"errors"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// refused is about migrations that cannot be completed.
func (c chapter) refused() {
	Describe("what stands in the way", func() {
		c.env.With(fixtures.None).It(requirement.MigrationRefusedReported,
			"refuses each write of one object, as admission does", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt(newer))
				_, err := c.prove(ctx, crd, proof.Options{Untrimmed: true}, proof.Job{}, func(_ *proof.Proof, r request) *http.Response {
					if r.tries && r.name == name(1) {
						return answer(r.Request, http.StatusForbidden, metav1.StatusReasonForbidden, "admission denied the request")
					}
					return nil
				})
				Expect(err).To(MatchError(ContainSubstring(name(1))), "the migration must not be called successful, and name the object")
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{older, newer}))
			})

		c.env.With(fixtures.None).It(requirement.MigrationDefinitionFlipped,
			"makes the older version the storage version before the second write, and the newer one before the third", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 4)
				crd.Change(ctx, fixtures.StoredAt(newer))
				writes, flipped := 0, error(nil)
				_, err := c.prove(ctx, crd, proof.Options{Untrimmed: true}, proof.Job{}, func(_ *proof.Proof, r request) *http.Response {
					if !r.write {
						return nil
					}
					switch writes++; writes {
					case 2:
						flipped = crd.Update(ctx, fixtures.StoredAt(older))
					case 3:
						flipped = errors.Join(flipped, crd.Update(ctx, fixtures.StoredAt(newer)))
					}
					return nil
				})
				c.env.Require(flipped, "changing the storage version")
				Expect(err).To(HaveOccurred(), "the migration must not be called successful")
				Expect(crd.Definition(ctx).Status.StoredVersions).To(ConsistOf(older, newer))
			})
	})
}
