package validation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

func withoutConversion(env *suites.Env) {
	// v1 is the storage version.
	ten, one := 10.0, 1.0
	limited := func(crd *definition) {
		fixtures.StoredAt("v1")(crd)
		for _, version := range []string{"v1beta1", "v1"} {
			for _, name := range []string{"count", "size", "label"} {
				fixtures.WithProperty(version, name, integer())(crd)
			}
		}
		fixtures.WithProperty("v1", "count", properties{Type: "integer", Maximum: &ten})(crd)
		fixtures.WithProperty("v1beta1", "size", properties{Type: "integer", Minimum: &one})(crd)
	}
	none := env.With(fixtures.None, limited).Together()

	none.It(requirement.ValidationNoneWrittenVersion,
		"creates objects that one version forbids, at each", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("written-v1", `count: 20`))).Error().To(suites.BeInvalidAt("count"))
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("written-v1", `count: 20`))).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("written-v1beta1", `size: 0`))).Error().To(suites.BeInvalidAt("size"))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("written-v1beta1", `size: 0`))).Error().NotTo(HaveOccurred())
		})

	none.It(requirement.ValidationNoneOtherVersions,
		"reads an object at the storage version, which forbids it", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("other", `count: 20`))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("other-at-v1", `count: 20`))).Error().To(suites.BeInvalidAt("count"), "v1 must forbid it")
			Expect(crd.At("v1").Get(ctx, "other")).To(HaveField("Object", HaveKeyWithValue("count", int64(20))))
		})

	none.It(requirement.ValidationNoneUpdate,
		"updates an object that was created at the other version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("updated", `count: 20`))
			Expect(crd.At("v1").MergePatch(ctx, "updated", `{"count": 21}`)).Error().To(suites.BeInvalidAt("count"))
			Expect(crd.At("v1beta1").MergePatch(ctx, "updated", `{"count": 21}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").MergePatch(ctx, "updated", `{"count": 9}`)).Error().NotTo(HaveOccurred())
		})

	none.It(requirement.ValidationNoneRatcheting,
		"updates another field of an object that was created at the other version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("ratcheting", `count: 20`))
			Expect(crd.At("v1").MergePatch(ctx, "ratcheting", `{"count": 21}`)).Error().To(suites.BeInvalidAt("count"), "v1 must forbid a change to what it forbids")
			Expect(crd.At("v1").MergePatch(ctx, "ratcheting", `{"size": 1}`)).To(HaveField("Object", HaveKeyWithValue("count", int64(20))))
		})

	onlyV1 := env.With(fixtures.None, limited, fixtures.WithProperty("v1", "label", ruled(integer(), "self != 3", "self >= oldSelf"))).Together()

	onlyV1.It(requirement.ValidationNoneRules,
		"creates an object that a rule of v1 forbids, at both versions", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("ruled", `label: 3`))).Error().To(suites.BeInvalidAt("label"))
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("ruled", `label: 3`))).Error().NotTo(HaveOccurred())
		})

	onlyV1.It(requirement.ValidationNoneTransition,
		"updates an object in a way that a transition rule of v1 forbids, at both versions", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("transition", `label: 5`))
			Expect(crd.At("v1").MergePatch(ctx, "transition", `{"label": 4}`)).Error().To(suites.BeInvalidAt("label"))
			Expect(crd.At("v1beta1").MergePatch(ctx, "transition", `{"label": 4}`)).Error().NotTo(HaveOccurred())
		})

	env.It(requirement.ValidationNoneCompiled,
		"submits definitions of which one version has a rule that does not compile", func(ctx SpecContext) {
			const id = requirement.ValidationNoneCompiled
			env.Require(env.Submit(ctx, id, fixtures.Deprecation, fixtures.WithProperty("v1", "foo", ruled(integer(), "self == 1"))), "submitting a rule that compiles")
			for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
				for n, serving := range []func(string) fixtures.Option{fixtures.Served, fixtures.NotServed} {
					wrong := fixtures.WithProperty(version, "foo", ruled(integer(), "self == 'wrong'"))
					Expect(env.Submit(ctx, id, fixtures.Deprecation, wrong, serving(version))).To(MatchError(apierrors.IsInvalid, "IsInvalid"), "%s, served: %t", version, n == 0)
				}
			}
		})
}

func withWebhook(env *suites.Env) {
	digits, splits := properties{Type: "string", Pattern: "^[0-9]+$"}, properties{Type: "string", Pattern: "^[a-z]+:[a-z0-9]+$"}
	// v1beta1 is the storage version.
	limited := func(crd *definition) {
		fixtures.WithProperty("v1", "port", digits)(crd)
		fixtures.WithProperty("v1beta1", "hostPort", splits)(crd)
		for _, version := range []string{"v1beta1", "v1"} {
			fixtures.WithProperty(version, "label", integer())(crd)
		}
	}
	converted := env.With(fixtures.Webhook, limited).Together()

	converted.It(requirement.ValidationWebhookWrittenVersion,
		"creates objects that one version forbids, at each", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("written-v1", `{host: localhost, port: http}`))).Error().To(suites.BeInvalidAt("port"))
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("written-v1", `{hostPort: "localhost:http"}`))).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").Get(ctx, "written-v1")).To(HaveField("Object", HaveKeyWithValue("port", "http")), "it must be what v1 forbids")
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("written-v1beta1", `{hostPort: "LOCALHOST:1234"}`))).Error().To(suites.BeInvalidAt("hostPort"))
		})

	converted.It(requirement.ValidationWebhookStored,
		"creates an object at v1 that v1beta1 forbids, and reads it there", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("stored-at-v1beta1", `{hostPort: "LOCALHOST:1234"}`))).Error().To(suites.BeInvalidAt("hostPort"), "v1beta1 must forbid it")
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("stored", `{host: LOCALHOST, port: "1234"}`))).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").Get(ctx, "stored")).To(HaveField("Object", HaveKeyWithValue("hostPort", "LOCALHOST:1234")))
		})

	converted.It(requirement.ValidationWebhookUpdate,
		"updates an object that was created at the other version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("updated", `{hostPort: "localhost:http"}`))
			Expect(crd.At("v1").MergePatch(ctx, "updated", `{"port": "https"}`)).Error().To(suites.BeInvalidAt("port"))
			Expect(crd.At("v1").MergePatch(ctx, "updated", `{"port": "443"}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1beta1").Get(ctx, "updated")).To(HaveField("Object", HaveKeyWithValue("hostPort", "localhost:443")))
		})

	converted.It(requirement.ValidationWebhookRatcheting,
		"updates another field of an object that was created at the other version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("ratcheting", `{hostPort: "localhost:http"}`))
			Expect(crd.At("v1").MergePatch(ctx, "ratcheting", `{"port": "https"}`)).Error().To(suites.BeInvalidAt("port"), "v1 must forbid a change to what it forbids")
			Expect(crd.At("v1").MergePatch(ctx, "ratcheting", `{"label": 1}`)).To(HaveField("Object", HaveKeyWithValue("port", "http")))
		})

	rules := env.With(fixtures.Webhook, func(crd *definition) {
		atV1, atV1beta1 := fixtures.Version(crd, "v1").Schema, fixtures.Version(crd, "v1beta1").Schema
		*atV1.OpenAPIV3Schema = ruled(*atV1.OpenAPIV3Schema, "!has(self.host) || self.host != 'forbidden'", "has(self.host) == has(oldSelf.host) && (!has(self.host) || self.host == oldSelf.host)")
		*atV1beta1.OpenAPIV3Schema = ruled(*atV1beta1.OpenAPIV3Schema, "!has(self.hostPort) || self.hostPort != 'localhost:1'")
	}).Together()

	rules.It(requirement.ValidationWebhookRules,
		"creates objects that a rule of one version forbids, at each", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("ruled-v1", `{host: forbidden, port: "2"}`))).Error().To(MatchError(ContainSubstring("self.host != 'forbidden'")))
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("ruled-v1", `{hostPort: "forbidden:2"}`))).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").Get(ctx, "ruled-v1")).To(HaveField("Object", HaveKeyWithValue("host", "forbidden")), "it must be what v1 forbids")
			Expect(crd.At("v1beta1").Create(ctx, fixtures.CronTab("ruled-v1beta1", `{hostPort: "localhost:1"}`))).Error().To(MatchError(ContainSubstring("self.hostPort != 'localhost:1'")))
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab("ruled-v1beta1", `{host: localhost, port: "1"}`))).Error().NotTo(HaveOccurred())
		})

	rules.It(requirement.ValidationWebhookOldSelf,
		"changes the port and the host of an object where a rule of v1 forbids changes of the host", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("old-self", `{hostPort: "localhost:2"}`))
			Expect(crd.At("v1").MergePatch(ctx, "old-self", `{"port": "3"}`)).To(HaveField("Object", HaveKeyWithValue("host", "localhost")))
			Expect(crd.At("v1").MergePatch(ctx, "old-self", `{"host": "other"}`)).Error().To(MatchError(ContainSubstring("self.host == oldSelf.host")))
		})

	rules.It(requirement.ValidationWebhookTransition,
		"changes the host of an object at v1beta1 where a rule of v1 forbids that", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.CronTab("transition", `{hostPort: "localhost:2"}`))
			Expect(crd.At("v1").MergePatch(ctx, "transition", `{"host": "other"}`)).Error().To(MatchError(ContainSubstring("self.host == oldSelf.host")), "v1 must forbid it")
			Expect(crd.At("v1beta1").MergePatch(ctx, "transition", `{"hostPort": "other:2"}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").Get(ctx, "transition")).To(HaveField("Object", HaveKeyWithValue("host", "other")))
		})
}
