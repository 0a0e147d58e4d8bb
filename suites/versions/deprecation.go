package versions

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// customText is the deprecationWarning of the documents' example.
const customText = "example.com/v1alpha1 CronTab is deprecated; see http://example.com/v1alpha1-v1 for instructions to migrate to example.com/v1 CronTab"

func deprecation(env *suites.Env) {
	Describe("deprecation", func() {
		warnedVerbs(env)
		texts(env)
		refusedTexts(env)
	})
}

// warnings makes a request and returns the warnings of its response.
func warnings(ctx context.Context, request func(ctx context.Context) error) []string {
	ctx, collected := suites.CollectWarnings(ctx)
	Expect(request(ctx)).To(Succeed())
	return collected.Texts()
}

// failing is for a request that ought to fail.
func failing(request func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		Expect(request(ctx)).NotTo(Succeed())
		return nil
	}
}

func warnedVerbs(env *suites.Env) {
	deprecated := env.With(fixtures.Deprecation, fixtures.WithSubresources()).InTurn()
	warned := ConsistOf(customText)

	deprecated.It(requirement.VersionsDeprecationReadsWarned,
		"gets, lists and watches at a deprecated version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
			objects := crd.At("v1alpha1")
			Expect(warnings(ctx, func(ctx context.Context) error { return suites.ErrorOf(objects.Get(ctx, "local-crontab")) })).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error { return suites.ErrorOf(objects.List(ctx)) })).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error {
				watch, err := objects.Watch(ctx)
				if err == nil {
					watch.Stop()
				}
				return err
			})).To(Equal([]string{customText, customText}), "one for the list that a watch begins with, one for the watch")
		})

	deprecated.It(requirement.VersionsDeprecationWritesWarned,
		"creates, updates, patches and applies at a deprecated version", func(ctx SpecContext, crd *suites.Resource) {
			objects := crd.At("v1alpha1")
			var object *unstructured.Unstructured
			Expect(warnings(ctx, func(ctx context.Context) (err error) {
				object, err = objects.Create(ctx, fixtures.LocalCronTab.At("v1"))
				return err
			})).To(warned)
			object.Object["port"] = "4321"
			Expect(warnings(ctx, func(ctx context.Context) error { return suites.ErrorOf(objects.Update(ctx, object)) })).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error {
				return suites.ErrorOf(objects.MergePatch(ctx, "local-crontab", `{"port": "1234"}`))
			})).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error {
				return suites.ErrorOf(objects.Apply(ctx, fixtures.RemoteCronTab.At("v1"), "crdconform"))
			})).To(warned)
		})

	deprecated.It(requirement.VersionsDeprecationDeletesWarned,
		"deletes one object and all objects at a deprecated version", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
			crd.Create(ctx, "v1", fixtures.RemoteCronTab.At("v1"))
			objects := crd.At("v1alpha1")
			Expect(warnings(ctx, func(ctx context.Context) error { return objects.Delete(ctx, "local-crontab") })).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error { return objects.DeleteAll(ctx) })).To(warned)
		})

	deprecated.It(requirement.VersionsDeprecationSubresourcesWarned,
		"reads and writes status and scale at a deprecated version", func(ctx SpecContext, crd *suites.Resource) {
			object := fixtures.LocalCronTab.At("v1")
			object.Object["spec"] = map[string]any{"replicas": int64(1)}
			crd.Create(ctx, "v1", object)
			objects := crd.At("v1alpha1")
			for _, subresource := range []string{"status", "scale"} {
				Expect(warnings(ctx, func(ctx context.Context) error {
					return suites.ErrorOf(objects.Get(ctx, "local-crontab", subresource))
				})).To(warned, "get "+subresource)
			}
			Expect(warnings(ctx, func(ctx context.Context) error {
				return suites.ErrorOf(objects.MergePatch(ctx, "local-crontab", `{"status": {"replicas": 1}}`, "status"))
			})).To(warned)
			Expect(warnings(ctx, func(ctx context.Context) error {
				return suites.ErrorOf(objects.MergePatch(ctx, "local-crontab", `{"spec": {"replicas": 2}}`, "scale"))
			})).To(warned)
		})

	deprecated.It(requirement.VersionsDeprecationErrorsWarned,
		"sends requests of every verb that fail at a deprecated version", func(ctx SpecContext, crd *suites.Resource) {
			existing := crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
			existing.SetAPIVersion(crd.APIVersion("v1alpha1"))
			existing.SetResourceVersion("1") // an old one
			invalid := fixtures.RemoteCronTab.At("v1")
			invalid.Object["port"] = int64(1234)
			objects := crd.At("v1alpha1")
			const none = "no-such-crontab"
			for verb, request := range map[string]func(ctx context.Context) error{
				"get":           func(ctx context.Context) error { return suites.ErrorOf(objects.Get(ctx, none)) },
				"create":        func(ctx context.Context) error { return suites.ErrorOf(objects.Create(ctx, invalid)) },
				"update":        func(ctx context.Context) error { return suites.ErrorOf(objects.Update(ctx, existing)) },
				"patch":         func(ctx context.Context) error { return suites.ErrorOf(objects.MergePatch(ctx, none, `{"port": "1"}`)) },
				"apply":         func(ctx context.Context) error { return suites.ErrorOf(objects.Apply(ctx, invalid, "crdconform")) },
				"delete":        func(ctx context.Context) error { return objects.Delete(ctx, none) },
				"get status":    func(ctx context.Context) error { return suites.ErrorOf(objects.Get(ctx, none, "status")) },
				"update status": func(ctx context.Context) error { return suites.ErrorOf(objects.Update(ctx, existing, "status")) },
				"patch scale": func(ctx context.Context) error {
					return suites.ErrorOf(objects.MergePatch(ctx, none, `{"spec": {"replicas": 2}}`, "scale"))
				},
			} {
				Expect(warnings(ctx, failing(request))).To(warned, verb)
			}
		})

	deprecated.It(requirement.VersionsDeprecationSilentOtherwise,
		"sends requests of every verb to the version that is not deprecated", func(ctx SpecContext, crd *suites.Resource) {
			Expect(warnings(ctx, func(ctx context.Context) error { return roundOfVerbs(ctx, crd.At("v1")) })).To(BeEmpty())
			Expect(warnings(ctx, func(ctx context.Context) error { return roundOfVerbs(ctx, crd.At("v1alpha1")) })).NotTo(BeEmpty(),
				"the same requests at the deprecated version must be warned of")
		})
}

// roundOfVerbs sends a request of every verb, of which none fails.
func roundOfVerbs(ctx context.Context, objects suites.Objects) error {
	object := fixtures.LocalCronTab.At("v1")
	object.Object["spec"] = map[string]any{"replicas": int64(1)}
	created, err := objects.Create(ctx, object)
	if err != nil {
		return err
	}
	created.Object["port"] = "4321"
	updated, err := objects.Update(ctx, created)
	if err != nil {
		return err
	}
	watching, err := objects.WatchOne(ctx, "local-crontab")
	if err != nil {
		return err
	}
	watching.Stop()
	for _, request := range []func() error{
		func() error { return suites.ErrorOf(objects.Get(ctx, "local-crontab")) },
		func() error { return suites.ErrorOf(objects.List(ctx)) },
		func() error { return suites.ErrorOf(objects.Update(ctx, updated, "status")) },
		func() error { return suites.ErrorOf(objects.Get(ctx, "local-crontab", "status")) },
		func() error { return suites.ErrorOf(objects.Get(ctx, "local-crontab", "scale")) },
		func() error {
			return suites.ErrorOf(objects.MergePatch(ctx, "local-crontab", `{"spec": {"replicas": 2}}`, "scale"))
		},
		func() error { return suites.ErrorOf(objects.MergePatch(ctx, "local-crontab", `{"port": "1"}`)) },
		func() error {
			return suites.ErrorOf(objects.JSONPatch(ctx, "local-crontab", `[{"op": "replace", "path": "/port", "value": "2"}]`))
		},
		func() error {
			return suites.ErrorOf(objects.Apply(ctx, fixtures.LocalCronTab.At("v1"), "crdconform"))
		},
		func() error { return objects.Delete(ctx, "local-crontab") },
		func() error { return objects.DeleteAll(ctx) },
	} {
		if err := request(); err != nil {
			return err
		}
	}
	return nil
}

func texts(env *suites.Env) {
	listed := func(ctx SpecContext, crd *suites.Resource, version string) []string {
		return warnings(ctx, func(ctx context.Context) error { return suites.ErrorOf(crd.At(version).List(ctx)) })
	}
	only := func(text ...string) types.GomegaMatcher { return ConsistOf(strings.Join(text, "")) }
	documented := env.With(fixtures.Deprecation).InTurn()

	documented.It(requirement.VersionsDeprecationCustomText,
		"lists at a version that has a text of its own", func(ctx SpecContext, crd *suites.Resource) {
			Expect(listed(ctx, crd, "v1alpha1")).To(only(customText))
		})

	documented.It(requirement.VersionsDeprecationDefaultText,
		"lists at a version that has no text of its own", func(ctx SpecContext, crd *suites.Resource) {
			Expect(listed(ctx, crd, "v1beta1")).To(only(crd.APIVersion("v1beta1"), " CronTab is deprecated; use ", crd.APIVersion("v1"), " CronTab"))
		})

	env.With(fixtures.Deprecation, fixtures.NotServed("v1")).It(requirement.VersionsDeprecationDefaultTextWithoutReplacement,
		"lists at a deprecated version while no other is served", func(ctx SpecContext, crd *suites.Resource) {
			Expect(listed(ctx, crd, "v1beta1")).To(only(crd.APIVersion("v1beta1"), " CronTab is deprecated"))
		})

	env.With(fixtures.Priority, named("v1alpha1", "v1beta1", "v1beta2", "v1", "v2", "v1alpha0"), func(crd *definitionType) {
		fixtures.Version(crd, "v1alpha1").Deprecated = true
		fixtures.Version(crd, "v2").Deprecated = true
		fixtures.Version(crd, "v1").Served = false
	}).It(requirement.VersionsDeprecationReplacement,
		"lists at a deprecated version among deprecated, unserved, lower and two better ones", func(ctx SpecContext, crd *suites.Resource) {
			Expect(listed(ctx, crd, "v1alpha1")).To(only(crd.APIVersion("v1alpha1"), " CronTab is deprecated; use ", crd.APIVersion("v1beta2"), " CronTab"))
			Expect(listed(ctx, crd, "v2")).To(only(crd.APIVersion("v2"), " CronTab is deprecated"))
		})
}

func refusedTexts(env *suites.Env) {
	const at = "spec.versions[1].deprecationWarning"
	text := func(version, text string) fixtures.Option {
		return func(crd *definitionType) { fixtures.Version(crd, version).DeprecationWarning = &text }
	}
	env.Refuses(requirement.VersionsDeprecationTextNeedsDeprecated,
		"submits a text for a version that is not deprecated", fixtures.Deprecation, text("v1", "deprecated"), "spec.versions[2].deprecationWarning")
	env.Refuses(requirement.VersionsDeprecationTextNotEmpty,
		"submits an empty text", fixtures.Deprecation, text("v1beta1", ""), at)
	env.It(requirement.VersionsDeprecationTextPrintable,
		"submits texts with line breaks, tabs and other characters without a shape, and one in another script", func(ctx SpecContext) {
			submit := func(content string) error {
				return env.Submit(ctx, requirement.VersionsDeprecationTextPrintable, fixtures.Deprecation, text("v1beta1", content))
			}
			env.Require(submit("veraltet: siehe „v1“, 非推奨"), "submitting a text that can be printed")
			for _, content := range []string{"line\nbreak", "carriage\rreturn", "a\ttab", "a bell\a", "deleted\x7f", "a zero\u200bwidth space", "\u202egnirw"} {
				Expect(submit(content)).To(suites.BeInvalidAt(at), "%q", content)
			}
		})
	env.It(requirement.VersionsDeprecationTextLength,
		"submits texts of 256 and 257 bytes", func(ctx SpecContext) {
			submit := func(n int) error {
				return env.Submit(ctx, requirement.VersionsDeprecationTextLength, fixtures.Deprecation, text("v1beta1", strings.Repeat("x", n)))
			}
			Expect(submit(256)).To(Succeed())
			Expect(submit(257)).To(suites.BeInvalidAt(at))
		})
}
