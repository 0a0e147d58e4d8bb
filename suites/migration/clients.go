package migration

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// clientRate is how many writes a second clients send beside those between a reading and a writing: so few that the migrator gets to its
// writes where requests take half a second.
const clientRate = 2

// clientObjects is how many objects clients write.
const clientObjects = 6

// clients is about clients that are at work during a migration.
func (c chapter) clients() {
	Describe("clients at work", func() {
		c.env.With(fixtures.Webhook, fixtures.WithSubresources()).It(requirement.MigrationClientsWrites,
			"has clients of both versions write each object between the reading and the writing of the migrator, three times", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, clientObjects)
				crd.Change(ctx, fixtures.StoredAt(newer))
				writes := &interference{written: map[string]int{}}
				report, _ := c.prove(ctx, crd, proof.Options{Writers: proof.Writers{Rate: clientRate}}, proof.Job{}, writes.between)
				Expect(visible.Strings(report.Of(requirement.MigrationClientsWrites))).To(BeEmpty())
				Expect(report.Writes).To(BeNumerically(">=", writes.count), "the clients must be able to write")
			}, suites.Slow)

		c.env.With(fixtures.None).It(requirement.MigrationClientsDeletions,
			"has a client delete objects between the reading and the writing of the migrator", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 4)
				crd.Change(ctx, fixtures.StoredAt(newer))
				deleted := map[string]bool{}
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, func(p *proof.Proof, r request) *http.Response {
					if r.write && (r.name == name(1) || r.name == name(3)) && !deleted[r.name] {
						deleted[r.name] = true
						p.Write(history.Delete, newer, suites.Namespace, r.name)
					}
					return nil
				})
				Expect(visible.Strings(report.Of(requirement.MigrationClientsDeletions))).To(BeEmpty())
			})
	})
}

// interference is writes of clients between the reading and the writing of a migrator.
type interference struct {
	written map[string]int // by what the migrator writes
	count   int
}

// between has a client write the object that the migrator is about to write, each time another client and in another way. Before
// the migrator reads anything, clients write all objects, and create one whose status they write.
func (i *interference) between(p *proof.Proof, r request) *http.Response {
	const each = 3
	own := p.Own("status")
	if i.count == 0 {
		i.write(p, history.Create, own)
		i.write(p, history.Status, own)
		for n := range clientObjects {
			i.write(p, history.Patch, name(n))
		}
	}
	if !r.write || !strings.HasPrefix(r.name, "crontab-") && r.name != own || i.written[r.URL.Path] == each {
		return nil
	}
	i.written[r.URL.Path]++
	kinds := []history.Kind{history.Patch, history.Update, history.Apply}
	if r.name == own {
		kinds = []history.Kind{history.Status}
	}
	i.write(p, kinds[i.count/2%len(kinds)], r.name)
	return nil
}

func (i *interference) write(p *proof.Proof, kind history.Kind, name string) {
	p.Write(kind, []string{older, newer}[i.count%2], suites.Namespace, name)
	i.count++
}
