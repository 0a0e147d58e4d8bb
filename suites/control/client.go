package control

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// client is about kubectl as users have it.
func (c chapter) client() {
	Describe("kubectl", Label(suites.Slow), func() {
		c.writing()
		c.naming()
		c.printing()
		c.subresources()
	})
}

func (c chapter) writing() {
	c.env.With(fixtures.Webhook).It(requirement.ControlKubectlCreate,
		"creates an object from a manifest of each version", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			c.does(ctx, k, manifest(crd.Object(older, fixtures.LocalCronTab.At(older))), "create", "-f", "-")
			c.does(ctx, k, manifest(crd.Object(newer, fixtures.RemoteCronTab.At(newer))), "create", "-f", "-")
			local, err := crd.At(newer).Get(ctx, "local-crontab")
			Expect(err).NotTo(HaveOccurred(), "it must be there")
			Expect(local.Object).To(SatisfyAll(HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234")))
			remote, err := crd.At(older).Get(ctx, "remote-crontab")
			Expect(err).NotTo(HaveOccurred(), "it must be there")
			Expect(remote.Object).To(HaveKeyWithValue("hostPort", "example.com:2345"))
		})

	c.env.With(fixtures.Stable).It(requirement.ControlKubectlValidation,
		"creates an object from a manifest with a field that the schema does not have", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			object := crd.Object(newer, fixtures.MyNewCronObject.At(newer))
			c.env.Require(unstructured.SetNestedField(object.Object, "?", "spec", "misspelt"), "adding a field")
			refused := k.run(ctx, manifest(object), "create", "-f", "-")
			c.env.Require(refused.err, "calling kubectl")
			Expect(refused.failed).To(ContainSubstring("misspelt"), "kubectl must reject it")
			Expect(crd.At(newer).Get(ctx, object.GetName())).Error().To(beGone())
		})

	applies := func(ctx SpecContext, crd *suites.Resource, flags ...string) {
		k := c.kubectl()
		apply := func(version, hostPort string) {
			object := crd.Object(older, fixtures.LocalCronTab.At(older))
			object.Object["hostPort"] = hostPort
			if version == newer {
				object = crd.Object(newer, fixtures.LocalCronTab.At(newer))
				object.Object["host"], object.Object["port"], _ = strings.Cut(hostPort, ":")
			}
			c.does(ctx, k, manifest(object), append([]string{"apply", "-f", "-"}, flags...)...)
		}
		apply(older, "localhost:1")
		Expect(crd.Get(ctx, older, "local-crontab").Object["hostPort"]).To(Equal("localhost:1"), "the object must be created")
		apply(older, "localhost:2")
		changed := crd.Get(ctx, older, "local-crontab")
		Expect(changed.Object["hostPort"]).To(Equal("localhost:2"), "the changes of the manifest must be applied")
		apply(older, "localhost:2")
		Expect(crd.Get(ctx, older, "local-crontab").GetResourceVersion()).To(Equal(changed.GetResourceVersion()), "nothing may change")
		apply(newer, "localhost:3")
		Expect(crd.Get(ctx, older, "local-crontab").Object["hostPort"]).To(Equal("localhost:3"), "the manifest of the newer version must be accepted")
	}
	c.env.With(fixtures.Webhook).It(requirement.ControlKubectlApply,
		"applies a manifest that changes, and then one of the newer version", func(ctx SpecContext, crd *suites.Resource) { applies(ctx, crd) })
	c.env.With(fixtures.Webhook).It(requirement.ControlKubectlServerSideApply,
		"applies them server-side", func(ctx SpecContext, crd *suites.Resource) { applies(ctx, crd, "--server-side") })
}

func (c chapter) naming() {
	c.env.With(fixtures.None, called("namedtab", "crdcn")).Needing(rightTo("namedtabs")).It(requirement.ControlKubectlNames,
		"asks for an object by all names of its resource", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			object := of("Namedtab", fixtures.LocalCronTab.At(newer))
			crd.Create(ctx, newer, object)
			for _, name := range []string{
				"namedtabs", "namedtab", "crdcn", "NamedTab", "NAMEDTABS",
				"namedtabs." + crd.Group(), "namedtab." + crd.Group(), "namedtabs." + newer + "." + crd.Group(), "namedtabs." + older + "." + crd.Group(),
			} {
				Expect(c.does(ctx, k, nil, "get", name, "--output", "name")).To(Equal("namedtab."+crd.Group()+"/"+object.GetName()+"\n"), name)
			}
		})

	c.env.With(fixtures.StableCategories, called("categorytab", "crdcc"), inCategory("crdconform-category")).Needing(rightTo("categorytabs")).It(requirement.ControlKubectlCategory,
		"asks for the objects of a category", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			object := of("Categorytab", fixtures.MyNewCronObject.At(newer))
			crd.Create(ctx, newer, object)
			Expect(c.does(ctx, k, nil, "get", "crdconform-category", "--output", "name")).To(Equal("categorytab." + crd.Group() + "/" + object.GetName() + "\n"))
		})

	c.env.With(fixtures.Webhook).It(requirement.ControlKubectlPreferredVersion,
		"prints an object as YAML without and with a version", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			crd.Create(ctx, older, fixtures.LocalCronTab.At(older))
			printed := func(resource string) map[string]any {
				return c.parsed(c.does(ctx, k, nil, "get", resource, "local-crontab", "--output", "yaml"))
			}
			Expect(printed(crd.Name())).To(SatisfyAll(
				HaveKeyWithValue("apiVersion", crd.APIVersion(newer)), HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234"), Not(HaveKey("hostPort")),
			), "it must be printed at the version of the highest priority")
			Expect(printed("crontabs."+older+"."+crd.Group())).To(SatisfyAll(
				HaveKeyWithValue("apiVersion", crd.APIVersion(older)), HaveKeyWithValue("hostPort", "localhost:1234"), Not(HaveKey("host")),
			), "it must be printed at the requested version")
		})

	c.env.With(fixtures.Webhook).It(requirement.ControlKubectlManifestVersion,
		"asks for the object of a manifest of each version", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			crd.Create(ctx, older, fixtures.LocalCronTab.At(older))
			for _, version := range []string{older, newer} {
				named := manifest(crd.Object(version, fixtures.LocalCronTab.At(version)))
				Expect(c.parsed(c.does(ctx, k, named, "get", "-f", "-", "--output", "yaml"))).
					To(HaveKeyWithValue("items", ConsistOf(HaveKeyWithValue("apiVersion", crd.APIVersion(version)))), "it must be printed at the version of the manifest")
			}
		})
}

func (c chapter) printing() {
	c.env.With(fixtures.Webhook, called("explainedtab", "crdce")).Needing(rightTo("explainedtabs")).It(requirement.ControlKubectlExplain,
		"explains a resource without and with a version", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			explained := func(flags ...string) func(context.Context) string {
				return func(ctx context.Context) string {
					r := k.run(ctx, nil, append([]string{"explain", "explainedtabs"}, flags...)...)
					return r.out
				}
			}
			// The documents of the schemas follow discovery after a moment.
			c.soon(ctx, explained()).Should(SatisfyAll(
				MatchRegexp(`KIND: +Explainedtab\n`), MatchRegexp(`VERSION: +(\S+/)?%s\n`, newer), MatchRegexp(`(?m)^ +host\s+<string>`), Not(ContainSubstring("hostPort")),
			), "the fields of the version of the highest priority must be explained")
			c.soon(ctx, explained("--api-version="+crd.APIVersion(older))).Should(SatisfyAll(
				MatchRegexp(`VERSION: +(\S+/)?%s\n`, older), MatchRegexp(`(?m)^ +hostPort\s+<string>`), Not(MatchRegexp(`(?m)^ +(host|port)\s+<string>`)),
			), "the fields of the requested version must be explained, and no others")
		})

	columns := c.env.With(fixtures.StableColumns, wide("Image", ".spec.image"))
	shown := func(ctx SpecContext, crd *suites.Resource, flags ...string) []string {
		k := c.kubectl()
		crd.Create(ctx, newer, fixtures.Scalable.At(newer))
		return table(c.does(ctx, k, nil, append([]string{"get", crd.Name()}, flags...)...))
	}
	columns.It(requirement.ControlKubectlColumns, "lists an object", func(ctx SpecContext, crd *suites.Resource) {
		Expect(shown(ctx, crd)).To(Equal([]string{
			"NAME | SPEC | REPLICAS | AGE",
			"my-new-cron-object | * * * * */5 | 3 | (age)",
		}), "the columns of priority 0 must be shown")
	})
	columns.It(requirement.ControlKubectlWideColumns, "lists an object in the wide form", func(ctx SpecContext, crd *suites.Resource) {
		Expect(shown(ctx, crd, "--output", "wide")).To(Equal([]string{
			"NAME | SPEC | REPLICAS | AGE | IMAGE",
			"my-new-cron-object | * * * * */5 | 3 | (age) | my-awesome-cron-image",
		}), "all columns must be shown")
	})
}

func (c chapter) subresources() {
	c.env.With(fixtures.StableSubresources).It(requirement.ControlKubectlScale,
		"scales an object", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			crd.Create(ctx, newer, fixtures.Scalable.At(newer))
			c.does(ctx, k, nil, "scale", "--replicas=5", crd.Name()+"/my-new-cron-object")
			scaled := crd.Get(ctx, newer, "my-new-cron-object")
			Expect(scaled.Object["spec"]).To(SatisfyAll(
				HaveKeyWithValue("replicas", BeEquivalentTo(5)), HaveKeyWithValue("image", "my-awesome-cron-image"),
			), "the replicas must change and the rest stay")
		})

	c.env.With(fixtures.StableSubresources).It(requirement.ControlKubectlPatchSubresource,
		"patches the status", func(ctx SpecContext, crd *suites.Resource) {
			k := c.kubectl()
			crd.Create(ctx, newer, fixtures.Scalable.At(newer))
			c.does(ctx, k, nil, "patch", crd.Name(), "my-new-cron-object", "--subresource", "status", "--type", "merge", "--patch", `{"spec": {"replicas": 7}, "status": {"replicas": 2}}`)
			patched := crd.Get(ctx, newer, "my-new-cron-object")
			Expect(patched.Object["status"]).To(HaveKeyWithValue("replicas", BeEquivalentTo(2)), "the status must change")
			Expect(patched.Object["spec"]).To(HaveKeyWithValue("replicas", BeEquivalentTo(3)), "the spec must stay")
		})
}

// called gives a definition names that no other definition has, so that they can be used without the group.
func called(singular, short string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		names := &crd.Spec.Names
		names.Singular, names.Plural, names.ShortNames = singular, singular+"s", []string{short}
		names.Kind = strings.ToUpper(singular[:1]) + singular[1:]
		names.ListKind = names.Kind + "List"
		crd.Name = names.Plural + "." + crd.Spec.Group
	}
}

// of gives an object another kind.
func of(kind string, object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetKind(kind)
	return object
}

// inCategory puts a definition into a category, and no other.
func inCategory(category string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.Categories = []string{category} }
}

// wide adds a printer column for the wide form.
func wide(name, path string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			columns := &crd.Spec.Versions[i].AdditionalPrinterColumns
			*columns = append(*columns, apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: "string", JSONPath: path, Priority: 1})
		}
	}
}

// manifest is an object as users write it.
func manifest(object *unstructured.Unstructured) []byte {
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		panic("control: " + err.Error()) // it came from YAML
	}
	return text
}

// parsed reads YAML that kubectl printed.
func (chapter) parsed(text string) map[string]any {
	GinkgoHelper()
	var object map[string]any
	Expect(yaml.Unmarshal([]byte(text), &object)).To(Succeed())
	return object
}
