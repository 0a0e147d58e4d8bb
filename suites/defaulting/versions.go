package defaulting

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func severalVersions(env *suites.Env) {
	Describe("several versions", func() {
		withoutConversion(env)
		withWebhook(env)
	})
}

// each gives both versions of a definition a field with a default that names the version.
func each(name string) fixtures.Option {
	return func(crd *definition) {
		for _, version := range []string{"v1beta1", "v1"} {
			fixtures.WithProperty(version, name, text("by-"+version))(crd)
		}
	}
}

// plain gives both versions of a definition a field without a default.
func plain(name string) fixtures.Option {
	return func(crd *definition) {
		for _, version := range []string{"v1beta1", "v1"} {
			fixtures.WithProperty(version, name, properties{Type: "string"})(crd)
		}
	}
}

// shown expects that an object has a value in a field at both versions, when it is read by its name and in a list.
func shown(ctx SpecContext, crd *suites.Resource, name, field, value string) {
	for _, version := range []string{"v1beta1", "v1"} {
		Expect(crd.At(version).Get(ctx, name)).To(have(field, value), version)
		Expect(crd.At(version).List(ctx)).To(ContainElement(And(HaveField("GetName()", name), have(field, value))), "in a list at "+version)
	}
}

func withoutConversion(env *suites.Env) {
	none := env.With(fixtures.None, each("by"), fixtures.WithProperty("v1", "onlyV1", text("by-v1"))).Together()

	none.It(requirement.DefaultingNoneRequestVersion,
		"creates objects at each version and reads them at both", func(ctx SpecContext, crd *suites.Resource) {
			for _, version := range []string{"v1beta1", "v1"} {
				crd.Create(ctx, version, fixtures.CronTab("written-"+version, `{}`))
				shown(ctx, crd, "written-"+version, "by", "by-"+version)
			}
		})

	none.It(requirement.DefaultingNoneUnknownToStorage,
		"creates an object that gets a default which the storage version does not know", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("unknown", `{}`))
			Expect(crd.At("v1").Get(ctx, "unknown")).To(And(have("by", "by-v1"), haveNo("onlyV1")))
		})

	// The object of each spec was there before the defaults.
	before := func(id requirement.ID, text string, body func(ctx SpecContext, crd *suites.Resource)) {
		env.With(fixtures.None, plain("late")).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("before", `host: localhost`))
			body(ctx, crd)
		})
	}

	before(requirement.DefaultingNoneStorageVersionOnRead,
		"reads an object that was created before both versions had a default", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, each("late"))
			shown(ctx, crd, "before", "late", "by-v1beta1")
		})

	before(requirement.DefaultingNoneOtherVersionsOnRead,
		"reads an object at a version that alone has a default", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, fixtures.WithProperty("v1", "late", text("by-v1")))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("after", `{}`))).To(have("late", "by-v1"), "a new object must get it")
			Expect(crd.At("v1").Get(ctx, "before")).To(haveNo("late"))
		})

	before(requirement.DefaultingNoneStoredBefore,
		"reads an object that is stored at a version which is no longer the storage version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, each("late"), fixtures.StoredAt("v1"))
			shown(ctx, crd, "before", "late", "by-v1beta1")
		})

	before(requirement.DefaultingNoneUpdateOtherVersion,
		"puts an object at v1 that was created before both versions had defaults, and removes those", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, each("late"), plain("other"), fixtures.WithProperty("v1", "other", text("by-v1")))
			env.Require(suites.ErrorOf(crd.At("v1").Update(ctx, crd.Get(ctx, "v1", "before"))), "putting the object")
			crd.Change(ctx, plain("late"), plain("other"))
			shown(ctx, crd, "before", "late", "by-v1beta1")
			shown(ctx, crd, "before", "other", "by-v1")
		})
}

func withWebhook(env *suites.Env) {
	converted := env.With(fixtures.Webhook, each("by"), fixtures.WithProperty("v1", "port", text("80")), func(crd *definition) {
		nullable := text("default")
		nullable.Nullable = true
		fixtures.WithProperty("v1", "nullable", nullable)(crd)
		fixtures.WithProperty("v1beta1", "nullable", nullable)(crd)
		fixtures.WithProperty("v1", "plain", properties{Type: "string"})(crd)
	}).Together()

	converted.It(requirement.DefaultingWebhookBeforeConversion,
		"creates an object without a port, and reads the hostPort that the webhook made of it", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("before-conversion", `host: localhost`))
			Expect(crd.At("v1beta1").Get(ctx, "before-conversion")).To(have("hostPort", `localhost:80`))
			Expect(crd.Webhook.Sent("before-conversion")).To(ContainElement(HaveKeyWithValue("port", "80")))
		})

	converted.It(requirement.DefaultingWebhookRequestVersion,
		"creates objects at each version and reads them at both", func(ctx SpecContext, crd *suites.Resource) {
			for version, fields := range map[string]string{"v1beta1": `hostPort: localhost:1234`, "v1": `{host: localhost, port: "1234"}`} {
				crd.Create(ctx, version, fixtures.CronTab("written-"+version, fields))
				shown(ctx, crd, "written-"+version, "by", "by-"+version)
				Expect(crd.Webhook.Sent("written-" + version)).To(ContainElement(HaveKeyWithValue("by", "by-"+version)))
			}
		})

	converted.It(requirement.DefaultingWebhookNull,
		"creates objects with nulls that are kept and that are removed, and without, and looks at what the webhook is sent", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("no-null", `host: localhost`))
			shown(ctx, crd, "no-null", "nullable", "default")
			crd.Create(ctx, "v1", fixtures.CronTab("null", `{host: localhost, nullable: null, plain: null}`))
			shown(ctx, crd, "null", "nullable", "null")
			Expect(crd.Webhook.Sent("null")).To(And(Not(BeEmpty()), HaveEach(And(HaveKeyWithValue("nullable", BeNil()), Not(HaveKey("plain"))))))
		})

	before := func(id requirement.ID, text string, body func(ctx SpecContext, crd *suites.Resource)) {
		env.With(fixtures.Webhook, plain("late")).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("before", `hostPort: localhost:1234`))
			body(ctx, crd)
		})
	}

	before(requirement.DefaultingWebhookStorageVersionOnRead,
		"reads an object that was created before both versions had a default, and looks at what the webhook is sent", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, each("late"))
			shown(ctx, crd, "before", "late", "by-v1beta1")
			Expect(crd.Webhook.Sent("before")).To(ContainElement(HaveKeyWithValue("late", "by-v1beta1")))
		})

	before(requirement.DefaultingWebhookResult,
		"reads an object at a version that alone has a default", func(ctx SpecContext, crd *suites.Resource) {
			crd.Change(ctx, fixtures.WithProperty("v1", "late", text("by-v1")))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("after", `{host: localhost, port: "1"}`))).To(have("late", "by-v1"), "a new object must get it")
			Expect(crd.At("v1").Get(ctx, "before")).To(And(have("host", "localhost"), haveNo("late")))
		})
}
