package schema

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// both gives both versions of a definition properties of every type that pruning has to do with, and each one that the other
// does not have.
func both(crd *definition) {
	embedded := preserved()
	embedded.XEmbeddedResource = true
	for _, version := range []string{"v1beta1", "v1"} {
		fixtures.WithProperty(version, "json", preserved())(crd)
		fixtures.WithProperty(version, "foo", properties{XIntOrString: true})(crd)
		fixtures.WithProperty(version, "embedded", embedded)(crd)
	}
	fixtures.WithProperty("v1beta1", "onlyV1beta1", properties{Type: "string"})(crd)
	fixtures.WithProperty("v1", "onlyV1", properties{Type: "string"})(crd)
}

// have matches an object that has a field with a value, in YAML.
func have(field, value string) types.GomegaMatcher {
	return HaveField("Object", HaveKeyWithValue(field, fixtures.Value(value)))
}

// haveNo matches an object that has none of the fields.
func haveNo(fields ...string) types.GomegaMatcher {
	var none []types.GomegaMatcher
	for _, field := range fields {
		none = append(none, Not(HaveKey(field)))
	}
	return HaveField("Object", And(none...))
}

func severalVersions(env *suites.Env) {
	Describe("several versions", func() {
		withoutConversion(env)
		withStorageChanged(env)
		withWebhook(env)
		withFaultyWebhook(env)
	})
}

func withoutConversion(env *suites.Env) {
	env.It(requirement.SchemaNoneEveryVersion,
		"submits definitions of which one version has a schema that is not structural", func(ctx SpecContext) {
			const id = requirement.SchemaNoneEveryVersion
			env.Require(env.Submit(ctx, id, fixtures.Deprecation), "submitting structural schemas")
			for i, version := range []string{"v1alpha1", "v1beta1", "v1"} {
				for n, serving := range []func(string) fixtures.Option{fixtures.Served, fixtures.NotServed} {
					untyped := fixtures.WithProperty(version, "foo", properties{Pattern: "abc"})
					path := "spec.versions[" + string(rune('0'+i)) + "].schema.openAPIV3Schema.properties[foo].type"
					Expect(env.Submit(ctx, id, fixtures.Deprecation, untyped, serving(version))).To(suites.BeInvalidAt(path), "%s, served: %t", version, n == 0)
				}
			}
		})

	none := env.With(fixtures.None, both).Together()

	none.It(requirement.SchemaNonePrunedAtRequest,
		"creates an object with a field that only the storage version knows", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("at-request", `{host: localhost, onlyV1beta1: x}`))
			Expect(crd.At("v1beta1").Get(ctx, "at-request")).To(And(have("host", "localhost"), haveNo("onlyV1beta1")))
		})

	none.It(requirement.SchemaNonePrunedForStorage,
		"creates an object with a field that the storage version does not know", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("for-storage", `{host: localhost, onlyV1: x}`))
			Expect(crd.At("v1").Get(ctx, "for-storage")).To(And(have("host", "localhost"), haveNo("onlyV1")))
		})

	none.It(requirement.SchemaNoneIntOrString,
		"creates integers and strings at one version and reads them at both", func(ctx SpecContext, crd *suites.Resource) {
			keepsIntOrString(ctx, crd)
		})

	none.It(requirement.SchemaNoneEmbedded,
		"reads an object that holds one of the same group at another version", func(ctx SpecContext, crd *suites.Resource) {
			keepsEmbedded(ctx, crd)
		})

	preservedAtV1 := env.With(fixtures.None, fixtures.StoredAt("v1"), fixtures.WithProperty("v1", "json", preserved()),
		fixtures.WithProperty("v1beta1", "json", properties{Type: "object", Properties: map[string]properties{"a": {Type: "string"}}})).Together()

	preservedAtV1.It(requirement.SchemaNonePreservedAtOne,
		"reads an object at the version that preserves a field and at the one that does not", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("read", `json: {a: x, b: x}`))
			Expect(crd.At("v1beta1").Get(ctx, "read")).To(have("json", `{a: x}`))
			Expect(crd.At("v1").Get(ctx, "read")).To(have("json", `{a: x, b: x}`))
		})

	preservedAtV1.It(requirement.SchemaNonePreservedLostByUpdate,
		"updates an object at the version that does not preserve a field", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("updated", `json: {a: x, b: x}`))
			Expect(crd.At("v1beta1").MergePatch(ctx, "updated", `{"json": {"a": "z"}}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").Get(ctx, "updated")).To(have("json", `{a: z}`))
		})
}

func withStorageChanged(env *suites.Env) {
	env.With(fixtures.None, both).It(requirement.SchemaNoneStorageChanged,
		"reads an old object at both versions after the storage version changed, and again after an update", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("old", `{host: localhost, onlyV1beta1: x}`))
			crd.Change(ctx, fixtures.StoredAt("v1"))
			Expect(crd.At("v1").Get(ctx, "old")).To(And(have("host", "localhost"), haveNo("onlyV1beta1")))
			Expect(crd.At("v1beta1").Get(ctx, "old")).To(have("onlyV1beta1", "x"))
			Expect(crd.At("v1").MergePatch(ctx, "old", `{}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").Get(ctx, "old")).To(And(have("host", "localhost"), haveNo("onlyV1beta1")))
		})
}

func withWebhook(env *suites.Env) {
	converted := env.With(fixtures.Webhook, both).Together()

	converted.It(requirement.SchemaWebhookPrunedBeforeConversion,
		"creates an object with unknown fields, and looks at what the webhook is sent", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("before-conversion", `{host: localhost, port: "1234", onlyV1beta1: x, unknown: x}`))
			Expect(crd.Webhook.Sent("before-conversion")).To(And(
				ContainElement(HaveKeyWithValue("port", "1234")), HaveEach(Not(Or(HaveKey("onlyV1beta1"), HaveKey("unknown"))))))
		})

	converted.It(requirement.SchemaWebhookPreserved,
		"creates an object with a preserved field, looks at what the webhook is sent and reads it at both versions", func(ctx SpecContext, crd *suites.Resource) {
			const json = `{a: {b: [1, "2", {c: true}]}, apiVersion: x, kind: y}`
			crd.Create(ctx, "v1", fixtures.CronTab("preserved", `{host: localhost, port: "1234", json: `+json+`}`))
			for _, version := range []string{"v1beta1", "v1"} {
				Expect(crd.At(version).Get(ctx, "preserved")).To(have("json", json))
			}
			Expect(crd.Webhook.Sent("preserved")).To(ContainElement(HaveKeyWithValue("json", fixtures.Value(json))))
		})

	converted.It(requirement.SchemaWebhookIntOrString,
		"creates integers and strings at one version and reads them at both", func(ctx SpecContext, crd *suites.Resource) {
			keepsIntOrString(ctx, crd)
			Expect(crd.Webhook.Sent("integer")).To(And(Not(BeEmpty()), HaveEach(HaveKeyWithValue("foo", BeEquivalentTo(42)))))
			Expect(crd.Webhook.Sent("digits")).To(And(Not(BeEmpty()), HaveEach(HaveKeyWithValue("foo", "42"))))
		})

	converted.It(requirement.SchemaWebhookEmbedded,
		"reads an object that holds one of the same group at another version", func(ctx SpecContext, crd *suites.Resource) {
			keepsEmbedded(ctx, crd)
			Expect(crd.Webhook.Sent("holder")).NotTo(BeEmpty())
			Expect(crd.Webhook.Sent("held")).To(BeEmpty())
		})

	converted.It(requirement.SchemaWebhookStrict,
		"creates objects with a field of one version at both versions, strictly", func(ctx SpecContext, crd *suites.Resource) {
			object := fixtures.CronTab("strict", `hostPort: localhost:1234`)
			Expect(post(ctx, env, crd, "v1", "Strict", object)).To(And(HaveField("Status", http.StatusBadRequest), HaveField("Body", ContainSubstring("hostPort"))))
			Expect(post(ctx, env, crd, "v1beta1", "Strict", object)).To(HaveField("Status", http.StatusCreated))
			Expect(crd.At("v1").Get(ctx, "strict")).To(have("host", "localhost"), "it must be converted")
		})
}

func withFaultyWebhook(env *suites.Env) {
	env.With(fixtures.Webhook).It(requirement.SchemaWebhookResultPruned,
		"reads an object at v1 while the webhook leaves hostPort in it", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			leaving := webhook.LeavesHostPort()
			crd.Webhook.Serve(leaving)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(have("host", "localhost"), haveNo("hostPort")))
			Expect(leaving.Left()).To(ContainElement("localhost:1234"), "the webhook must have left it in its answer")
		})

	env.With(fixtures.Webhook, fixtures.StoredAt("v1")).It(requirement.SchemaWebhookResultPrunedForStorage,
		"creates an object while the webhook leaves hostPort in it, and makes v1 know hostPort", func(ctx SpecContext, crd *suites.Resource) {
			leaving := webhook.LeavesHostPort()
			crd.Webhook.Serve(leaving)
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			Expect(leaving.Left()).To(ContainElement("localhost:1234"), "the webhook must have left it in its answer")
			crd.Change(ctx, fixtures.WithProperty("v1", "hostPort", properties{Type: "string"}))
			crd.Create(ctx, "v1beta1", fixtures.RemoteCronTab.At("v1beta1"))
			crd.Webhook.Mend()
			Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(have("host", "localhost"), haveNo("hostPort")))
			Expect(crd.At("v1").Get(ctx, "remote-crontab")).To(have("hostPort", "example.com:2345"), "now the field is known")
		})
}

// keepsIntOrString creates an integer and a string of digits, and reads both at both versions.
func keepsIntOrString(ctx SpecContext, crd *suites.Resource) {
	for name, foo := range map[string]string{"integer": `42`, "digits": `"42"`} {
		crd.Create(ctx, "v1", fixtures.CronTab(name, `{host: localhost, port: "1234", foo: `+foo+`}`))
		for _, version := range []string{"v1beta1", "v1"} {
			Expect(crd.At(version).Get(ctx, name)).To(have("foo", foo), version)
		}
	}
}

// keepsEmbedded creates an object that holds one of its own group at v1, and reads it at both versions.
func keepsEmbedded(ctx SpecContext, crd *suites.Resource) {
	held := crd.Object("v1", fixtures.CronTab("held", `{host: localhost, port: "1234"}`)).Object
	object := fixtures.CronTab("holder", `{host: localhost, port: "1234"}`)
	object.Object["embedded"] = held
	crd.Create(ctx, "v1", object)
	for _, version := range []string{"v1beta1", "v1"} {
		Expect(crd.At(version).Get(ctx, "holder")).To(And(
			HaveField("GetAPIVersion()", crd.APIVersion(version)), HaveField("Object", HaveKeyWithValue("embedded", held))), version)
	}
}
