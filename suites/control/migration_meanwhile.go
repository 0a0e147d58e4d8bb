package control

import (
	"bytes"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// meanwhile is about migrations while which something happens, or that meet objects which cannot be written.
func (c chapter) meanwhile() {
	Describe("storage migration and what comes in between", Label(suites.Slow), func() {
		upgraded := c.env.With(fixtures.Webhook)
		storedVersions := func(ctx SpecContext, crd *suites.Resource) func() []string {
			return func() []string { return crd.Definition(ctx).Status.StoredVersions }
		}

		upgraded.It(requirement.ControlMigrationMeanwhile,
			"deletes, changes and replaces objects while they are migrated", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				held := fixtures.LocalCronTab.At(older)
				held.SetName("held")
				held.SetFinalizers([]string{"crdconform.example.com/held"})
				crd.Create(ctx, older, held)
				objects := crd.Everywhere(newer).Namespace(suites.Namespace)
				DeferCleanup(func(ctx SpecContext) error { return unfinish(ctx, objects, "held") })
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				c.env.Require(crd.At(newer).Delete(ctx, "held"), "deleting an object that has a finalizer")
				migrated := c.begin(ctx, crd, version)
				deleted, changed, replaced := names()[0], names()[1], names()[2]
				c.env.Require(crd.At(newer).Delete(ctx, deleted), "deleting %s", deleted)
				c.env.Require(suites.ErrorOf(crd.At(older).MergePatch(ctx, changed, `{"hostPort": "localhost:4321"}`)), "changing %s", changed)
				c.env.Require(crd.At(newer).Delete(ctx, replaced), "deleting %s", replaced)
				again := fixtures.RemoteCronTab.At(newer)
				again.SetName(replaced)
				crd.Create(ctx, newer, again)
				c.proceed(ctx, crd)
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				c.soon(ctx, storedVersions(ctx, crd)).Should(Equal([]string{newer}))
				Expect(crd.FinalVersions(ctx)).To(And(HaveLen(4), HaveEach(newer)), "what is there must be stored at %s, and what was deleted must be gone", newer)
				Expect(crd.Get(ctx, newer, changed).Object).To(HaveKeyWithValue("port", "4321"))
				Expect(crd.Get(ctx, newer, replaced).Object).To(HaveKeyWithValue("host", "example.com"))
			})

		upgraded.It(requirement.ControlMigrationGeneration,
			"changes the definition while its objects are migrated", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				migrated := c.begin(ctx, crd, version)
				migrating := func(is apiextensionsv1.ConditionStatus) gomegatypes.GomegaMatcher {
					return ContainElement(And(HaveField("Type", apiextensionsv1.StorageMigrating), HaveField("Status", is)))
				}
				c.soon(ctx, c.conditions(crd.Name())).Should(migrating(apiextensionsv1.ConditionTrue), "the definition must say that it is being migrated")
				crd.Change(ctx)
				c.proceed(ctx, crd)
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				c.soon(ctx, c.conditions(crd.Name())).Should(migrating(apiextensionsv1.ConditionFalse))
				Expect(storedVersions(ctx, crd)()).To(Equal([]string{older, newer}), "the versions must be kept, since the definition changed")
				Expect(crd.FinalVersions(ctx)).To(And(HaveLen(len(names())+1), HaveEach(newer)))
			})

		upgraded.It(requirement.ControlMigrationUnconverted,
			"breaks the webhook while objects are migrated, and mends it", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				c.env.Require(suites.ErrorOf(crd.At(newer).List(ctx)), "listing the objects, so that no cache needs the webhook")
				migrated := c.begin(ctx, crd, version)
				crd.Webhook.Forget()
				crd.Webhook.Break("status-500")
				c.proceed(ctx, crd)
				c.soon(ctx, func() bool {
					return slices.ContainsFunc(crd.Webhook.Received(), func(r suites.Received) bool {
						return slices.ContainsFunc(names(), func(name string) bool { return bytes.Contains(r.Body, []byte(name)) })
					})
				}).Should(BeTrue(), "the migration must try to convert the objects")
				c.undecided(ctx, crd, migrated)
				crd.Webhook.Mend()
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				c.soon(ctx, storedVersions(ctx, crd)).Should(Equal([]string{newer}))
			})

		upgraded.It(requirement.ControlMigrationReason,
			"migrates objects that must not be written, and asks for the reason", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.needsPolicies(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				c.forbidUpdates(ctx, crd)
				migrated := c.migrate(ctx, crd, version)
				c.soon(ctx, migrated).Should(haveFailed(), "the migration must fail")
				Expect(migrated(ctx)).To(HaveField("Conditions", ContainElement(And(
					isTrue(storagemigrationv1.MigrationFailed), HaveField("Message", ContainSubstring("nothing may be written"))))), "it must say why")
			})

		// Together they are more than the 1.5 MiB that etcd takes by default.
		const size, more = 1_500_000, 100_000
		grows := func(property apiextensionsv1.JSONSchemaProps) fixtures.Option {
			return func(definition *apiextensionsv1.CustomResourceDefinition) {
				for _, version := range []string{older, newer} {
					fixtures.WithProperty(version, "more", property)(definition)
				}
			}
		}
		text := apiextensionsv1.JSONSchemaProps{Type: "string"}
		c.env.With(fixtures.None, grows(text)).It(requirement.ControlMigrationTooLarge,
			"migrates an object that is too large with a default that was added, and makes it smaller", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				large := fixtures.LocalCronTab.At(newer)
				large.Object["host"] = strings.Repeat("h", size)
				c.env.Require(suites.ErrorOf(crd.At(older).Create(ctx, large)), "creating a large object")
				defaulted := text
				defaulted.Default = &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("m", more) + `"`)}
				crd.Change(ctx, fixtures.StoredAt(newer), grows(defaulted))
				migrated := c.begin(ctx, crd, version)
				c.proceed(ctx, crd)
				c.soon(ctx, func(ctx SpecContext) bool { return c.failedToApply(ctx, crd) }).Should(BeTrue(), "the migration must try to write the object")
				c.undecided(ctx, crd, migrated)
				c.env.Require(suites.ErrorOf(crd.At(newer).MergePatch(ctx, large.GetName(), `{"host": "localhost"}`)), "making the object smaller")
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				c.soon(ctx, storedVersions(ctx, crd)).Should(Equal([]string{newer}))
			})
	})
}

// undecided checks that a migration goes on, and that until it has ended both versions are kept.
func (chapter) undecided(ctx SpecContext, crd *suites.Resource, migrated status) {
	GinkgoHelper()
	Expect(migrated(ctx)).To(HaveField("Conditions", And(
		ContainElement(isTrue(storagemigrationv1.MigrationRunning)),
		Not(ContainElement(isTrue(storagemigrationv1.MigrationSucceeded))), Not(ContainElement(isTrue(storagemigrationv1.MigrationFailed))))), "the migration must continue")
	Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{older, newer}), "both versions must be kept while it continues")
}

// failedToApply reports whether the metrics of the API server have an apply of an object of a definition that failed.
func (c chapter) failedToApply(ctx SpecContext, crd *suites.Resource) bool {
	GinkgoHelper()
	for line := range bytes.Lines(c.env.Get(ctx, "/metrics").Body) {
		if bytes.HasPrefix(line, []byte("apiserver_request_total{")) && bytes.Contains(line, []byte(`code="500"`)) &&
			bytes.Contains(line, []byte(`group="`+crd.Group()+`"`)) && bytes.Contains(line, []byte(`verb="APPLY"`)) {
			return true
		}
	}
	return false
}
