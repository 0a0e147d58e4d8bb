package migration

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// clientRate is how many writes a second clients send that nothing holds.
const clientRate = 200

// clients is about clients that are at work during a migration.
func (c chapter) clients() {
	Describe("clients at work", func() {
		c.env.With(fixtures.Webhook, fixtures.WithSubresources()).It(requirement.MigrationClientsWrites,
			"has clients of both versions write each object between the reading and the writing of the migrator", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 6)
				crd.Change(ctx, fixtures.StoredAt(newer))
				kinds := []history.Kind{history.Patch, history.Update, history.Apply}
				written := map[string]bool{}
				verdict, _ := c.prove(ctx, crd, proof.Options{Writers: proof.Writers{Rate: clientRate}}, job{}, func(p *proof.Proof, r request) *http.Response {
					if r.write && r.name != "" && !written[r.name] {
						n := len(written)
						p.Write(kinds[n/2%len(kinds)], []string{older, newer}[n%2], suites.Namespace, r.name)
						written[r.name] = true
					}
					return nil
				})
				Expect(texts(verdict.Of(requirement.MigrationClientsWrites))).To(BeEmpty())
				Expect(verdict.Writes).To(BeNumerically(">=", len(written)), "the clients must be able to write")
			})

		c.env.With(fixtures.None).It(requirement.MigrationClientsDeletions,
			"has a client delete objects between the reading and the writing of the migrator", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 4)
				crd.Change(ctx, fixtures.StoredAt(newer))
				deleted := map[string]bool{}
				verdict, _ := c.prove(ctx, crd, proof.Options{}, job{}, func(p *proof.Proof, r request) *http.Response {
					if r.write && (r.name == name(1) || r.name == name(3)) && !deleted[r.name] {
						deleted[r.name] = true
						p.Write(history.Delete, newer, suites.Namespace, r.name)
					}
					return nil
				})
				Expect(texts(verdict.Of(requirement.MigrationClientsDeletions))).To(BeEmpty())
			})
	})
}
