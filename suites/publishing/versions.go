package publishing

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// versions is about what is published of definitions with several versions.
func (c chapter) versions() {
	Describe("several versions", func() {
		c.versionsInDocuments()
		c.versionsInTables()
	})
}

func (c chapter) versionsInDocuments() {
	older := HaveKeyWithValue("v1beta1 CronTab", WithTransform(fields, Equal([]string{"hostPort"})))
	newer := HaveKeyWithValue("v1 CronTab", WithTransform(fields, Equal([]string{"host", "port"})))

	both := c.env.With(fixtures.Webhook).Together()
	both.It(requirement.PublishingVersionsSchemas, "looks for the schema of each version in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v2(crd)).Should(And(HaveLen(2), older, newer), "each version must have its schema")
	}, suites.Slow)

	both.It(requirement.PublishingVersionsSchemasV3, "looks for the OpenAPI v3 document of each version", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v3(crd, "v1beta1")).Should(And(HaveLen(1), older), "v1beta1 must have its schema")
		soon(ctx, c.v3(crd, "v1")).Should(And(HaveLen(1), newer), "v1 must have its schema")
	})

	c.env.With(fixtures.Webhook).It(requirement.PublishingVersionsRenamed, "gives a version another name", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v2(crd)).Should(And(HaveLen(2), older, newer), "it must be there as it was first")
		c.env.Require(crd.Update(ctx, func(d *definition) { fixtures.Version(d, "v1").Name = "v2" }), "giving v1 the name v2")
		soon(ctx, c.v2(crd)).Should(And(HaveLen(2), older, HaveKeyWithValue("v2 CronTab", WithTransform(fields, Equal([]string{"host", "port"})))),
			"the schema must be there by its new name")
	})

	c.env.With(fixtures.Webhook).It(requirement.PublishingVersionsUnserved, "stops serving a version and serves it again", func(ctx SpecContext, crd *suites.Resource) {
		list := "/apis/" + crd.APIVersion("v1") + "/crontabs"
		soon(ctx, c.v2(crd)).Should(And(HaveLen(2), older, newer), "it must be there first")
		soon(ctx, c.paths(crd)).Should(ContainElement(list), "its paths must be there first")
		c.env.Require(crd.Update(ctx, fixtures.NotServed("v1")), "switching v1 off")
		soon(ctx, c.v2(crd)).Should(And(HaveLen(1), older), "v1 must leave")
		soon(ctx, c.paths(crd)).Should(And(Not(BeEmpty()), Not(ContainElement(ContainSubstring(crd.APIVersion("v1")+"/")))), "its paths must leave")
		c.env.Require(crd.Update(ctx, fixtures.Served("v1")), "switching v1 on")
		soon(ctx, c.v2(crd)).Should(And(HaveLen(2), older, newer), "v1 must be back")
		soon(ctx, c.paths(crd)).Should(ContainElement(list), "its paths must be back")
	})
}

func (c chapter) versionsInTables() {
	converted := c.env.With(fixtures.Webhook, ownColumns)
	rows := func(t table) [][]any {
		all := make([][]any, 0, len(t.Rows))
		for _, row := range t.Rows {
			all = append(all, row.Cells)
		}
		return all
	}

	converted.It(requirement.PublishingVersionsColumns, "reads an object as a table at each version", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		for _, name := range [][]string{{"local-crontab"}, nil} {
			old, now := c.table(ctx, crd, "v1beta1", name...), c.table(ctx, crd, "v1", name...)
			Expect(old.names()).To(Equal([]string{"Name", "Host:Port"}), "v1beta1 must have its columns")
			Expect(rows(old)).To(Equal([][]any{{"local-crontab", "localhost:1234"}}), "v1beta1 must have its values")
			Expect(now.names()).To(Equal([]string{"Name", "Host", "Port"}), "v1 must have its columns")
			Expect(rows(now)).To(Equal([][]any{{"local-crontab", "localhost", "1234"}}), "v1 must have its values")
		}
	})

	c.env.With(fixtures.None, columnsAt("v1", column{Name: "Host", Type: "string", JSONPath: ".host"})).It(requirement.PublishingVersionsColumnsNone,
		"reads an object as a table at a version with columns and at one without", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1"))
			old, now := c.table(ctx, crd, "v1beta1"), c.table(ctx, crd, "v1")
			Expect(old.names()).To(Equal([]string{"Name", "Age"}), "v1beta1 must show the age")
			Expect(now.names()).To(Equal([]string{"Name", "Host"}), "v1 must have its columns")
			Expect(rows(now)).To(Equal([][]any{{"local-crontab", "localhost"}}), "v1 must have its values")
		})

	converted.It(requirement.PublishingVersionsMixedStorage, "lists objects that are stored at two versions", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		crd.Change(ctx, fixtures.StoredAt("v1"))
		crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
		c.env.Require(crd.Update(ctx, ownColumns), "giving the versions their columns again")
		Eventually(ctx, func() []string { return c.table(ctx, crd, "v1").names() }).Should(Equal([]string{"Name", "Host", "Port"}), "v1 must have its columns")
		Expect(rows(c.table(ctx, crd, "v1beta1"))).To(ConsistOf([]any{"local-crontab", "localhost:1234"}, []any{"remote-crontab", "example.com:2345"}), "v1beta1 must have the values of both")
		Expect(rows(c.table(ctx, crd, "v1"))).To(ConsistOf([]any{"local-crontab", "localhost", "1234"}, []any{"remote-crontab", "example.com", "2345"}), "v1 must have the values of both")
	})

	converted.It(requirement.PublishingVersionsFailure, "reads tables while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
		crd.Webhook.Break("status-500")
		Expect(c.ask(ctx, crd, "v1", "local-crontab").Status).To(Equal(http.StatusInternalServerError), "there must be no table")
		Expect(rows(c.table(ctx, crd, "v1beta1", "local-crontab"))).To(Equal([][]any{{"local-crontab", "localhost:1234"}}), "v1beta1 must have its table")
	})
}

// ownColumns gives each version of the documents' definition with a webhook columns for what that version has.
func ownColumns(crd *definition) {
	columnsAt("v1beta1", column{Name: "Host:Port", Type: "string", JSONPath: ".hostPort"})(crd)
	columnsAt("v1", column{Name: "Host", Type: "string", JSONPath: ".host"}, column{Name: "Port", Type: "string", JSONPath: ".port"})(crd)
}
