package migration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// removal is about what a migration prepares.
func (c chapter) removal() {
	Describe("the way to the removal of a version", func() {
		c.env.With(fixtures.None).It(requirement.MigrationManagedFieldsServed,
			"migrates objects that were applied at a version which is not served any more", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2)
				crd.Change(ctx, fixtures.StoredAt(newer), fixtures.NotServed(older))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationManagedFieldsServed))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationManagedFieldsKept,
			"migrates an object that two managers own, one of them at a version which is not served any more, and one that the latter alone owns",
			func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2)
				labels := &unstructured.Unstructured{}
				labels.SetKind("CronTab")
				labels.SetName(name(1))
				labels.SetLabels(map[string]string{"team": "a"})
				c.env.Require(suites.ErrorOf(crd.At(newer).Apply(ctx, labels, "labeller")), "labelling %s", name(1))
				crd.Change(ctx, fixtures.StoredAt(newer), fixtures.NotServed(older))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationManagedFieldsKept))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationDefinitionKept,
			"migrates objects and compares the generation of the definition", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationDefinitionKept))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationStoredVersionsExact,
			"migrates objects and reads the status of the definition", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 2)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationStoredVersionsExact))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationStoredVersionsLast,
			"reads all objects as they were when the older version left the status", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Storage()
				c.population(ctx, crd, pageSize+2)
				crd.Change(ctx, fixtures.StoredAt(newer))
				report, _ := c.prove(ctx, crd, proof.Options{}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationStoredVersionsLast))).To(BeEmpty())
			})

		c.env.With(fixtures.None).It(requirement.MigrationRemovalObjects,
			"removes the older version, and reads and deletes each object", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt(newer), fixtures.NotServed(older))
				deletable(crd, fixtures.None)
				report, _ := c.prove(ctx, crd, proof.Options{Drop: true}, proof.Job{}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationRemovalObjects))).To(BeEmpty())
			})

		c.env.With(fixtures.Webhook).It(requirement.MigrationRemovalApplied,
			"removes the older version, which was served until then, and applies each object", func(ctx SpecContext, crd *suites.Resource) {
				c.population(ctx, crd, 3)
				crd.Change(ctx, fixtures.StoredAt(newer))
				deletable(crd, fixtures.Webhook)
				report, _ := c.prove(ctx, crd, proof.Options{Drop: true, Retired: older}, proof.Job{Drop: older}, nil)
				Expect(visible.Strings(report.Of(requirement.MigrationRemovalApplied))).To(BeEmpty())
			})
	})
}

// deletable brings the older version back after the spec if objects are left that cannot be read without it: the API server could not
// delete them with the definition.
func deletable(crd *suites.Resource, definition fixtures.Definition) {
	DeferCleanup(func(ctx SpecContext) {
		if _, err := crd.At(newer).List(ctx); err == nil {
			return
		}
		crd.Change(ctx, func(d *apiextensionsv1.CustomResourceDefinition) {
			if len(d.Spec.Versions) == 1 {
				d.Spec.Versions = append(d.Spec.Versions, *fixtures.Version(definition.New(), older))
				fixtures.StoredAt(newer)(d)
			}
		})
	})
}
