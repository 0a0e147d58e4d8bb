package publishing

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) openAPI() {
	Describe("OpenAPI", func() {
		c.schemas()
		c.converted()
		c.several()
	})
}

func (c chapter) schemas() {
	described := c.env.With(fixtures.StableSubresources, changed(func(root *schema) {
		root.Description = "A job that runs by the clock."
		spec := root.Properties["spec"]
		spec.Description = "What to run, and when."
		root.Properties["spec"] = spec
	})).Together()
	described.It(requirement.PublishingOpenapiSchema, "looks for the schema in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		cronTab := published(ctx, c.v2(crd))
		Expect(cronTab).To(HaveKeyWithValue("description", "A job that runs by the clock."), "it must have the descriptions")
		Expect(field(cronTab, "spec")).To(And(HaveKeyWithValue("type", "object"), HaveKeyWithValue("description", "What to run, and when.")), "it must have the descriptions")
		for name, typ := range map[string]string{"cronSpec": "string", "image": "string", "replicas": "integer"} {
			Expect(field(cronTab, "spec."+name)).To(HaveKeyWithValue("type", typ), "it must have the type of %s", name)
		}
	})

	described.It(requirement.PublishingOpenapiPaths, "looks for the paths in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		one := "/apis/" + crd.APIVersion("v1") + "/namespaces/{namespace}/crontabs"
		soon(ctx, c.paths(crd)).Should(ContainElements(
			"/apis/"+crd.APIVersion("v1")+"/crontabs", one, one+"/{name}", one+"/{name}/status", one+"/{name}/scale",
		), "it must have the paths")
	})

	c.env.With(fixtures.Stable).It(requirement.PublishingOpenapiChanged, "adds a field to the schema", func(ctx SpecContext, crd *suites.Resource) {
		spec := func(names ...string) OmegaMatcher {
			return HaveKeyWithValue("v1 CronTab", WithTransform(func(model map[string]any) []string { return fields(field(model, "spec")) }, Equal(names)))
		}
		soon(ctx, c.v2(crd)).Should(spec("cronSpec", "image", "replicas"), "it must be there as it was first")
		c.env.Require(crd.Update(ctx, changed(func(root *schema) {
			root.Properties["spec"].Properties["suspended"] = schema{Type: "boolean"}
		})), "changing the schema")
		soon(ctx, c.v2(crd)).Should(spec("cronSpec", "image", "replicas", "suspended"), "the change must show")
	})

	c.env.With(fixtures.Stable).It(requirement.PublishingOpenapiWithdrawn, "deletes the definition", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v2(crd)).Should(HaveKey("v1 CronTab"), "it must be there first")
		c.env.Require(c.env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
		soon(ctx, c.v2(crd)).Should(BeEmpty(), "the schema must leave")
		soon(ctx, c.paths(crd)).Should(BeEmpty(), "the paths must leave")
	}, suites.Slow)
}

// converted is about the differences between the definition and what OpenAPI v2 has of it.
func (c chapter) converted() {
	combined := c.env.With(fixtures.Stable, changed(func(root *schema) {
		spec := root.Properties["spec"]
		spec.AllOf = []schema{{Required: []string{"image"}}}
		spec.AnyOf = []schema{{Required: []string{"cronSpec"}}, {Required: []string{"replicas"}}}
		spec.OneOf = []schema{{Required: []string{"cronSpec"}}, {Required: []string{"replicas"}}}
		spec.Not = &schema{Properties: map[string]schema{"image": {Enum: []apiextensionsv1.JSON{{Raw: []byte(`"none"`)}}}}, Required: []string{"image"}}
		root.Properties["spec"] = spec
	}), nullable).Together()
	combinations := []string{"allOf", "anyOf", "oneOf", "not"}

	combined.It(requirement.PublishingOpenapiCombinations, "looks for combinations of schemas in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		spec := field(published(ctx, c.v2(crd)), "spec")
		Expect(fields(spec)).To(ContainElements("cronSpec", "image"), "the rest must be there")
		for _, combination := range combinations {
			Expect(spec).NotTo(HaveKey(combination), "it must be left out")
		}
	}, suites.Slow)

	combined.It(requirement.PublishingOpenapiNullable, "looks for fields that may be null in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		spec := field(published(ctx, c.v2(crd)), "spec")
		for _, name := range []string{"owner", "tags"} {
			Expect(spec).To(HaveKeyWithValue("properties", HaveKey(name)), "the field must be there")
			for _, lost := range []string{"type", "nullable", "x-nullable", "items", "properties"} {
				Expect(field(spec, name)).NotTo(HaveKey(lost), "%s must have no %s", name, lost)
			}
		}
	})

	combined.It(requirement.PublishingOpenapiDefinitionKept, "creates objects that differ only in omitted fields", func(ctx SpecContext, crd *suites.Resource) {
		spec := fixtures.Version(crd.Definition(ctx), "v1").Schema.OpenAPIV3Schema.Properties["spec"]
		Expect([]int{len(spec.AllOf), len(spec.AnyOf), len(spec.OneOf)}).To(Equal([]int{1, 2, 2}), "the definition must stay")
		Expect(spec.Not).NotTo(BeNil(), "the definition must stay")
		Expect(spec.Properties["owner"].Nullable).To(BeTrue(), "the definition must stay")

		object := fixtures.MyNewCronObject.At("v1")
		object.Object["spec"] = map[string]any{"cronSpec": "* * * * */5", "image": "my-awesome-cron-image", "owner": nil}
		Expect(crd.At("v1").Create(ctx, object)).Error().NotTo(HaveOccurred(), "it obeys the schema")
		for _, wrong := range []map[string]any{
			{"cronSpec": "* * * * */5"},
			{"image": "my-awesome-cron-image"},
			{"image": "my-awesome-cron-image", "cronSpec": "* * * * */5", "replicas": int64(1)},
			{"image": "none", "cronSpec": "* * * * */5"},
			{"image": "my-awesome-cron-image", "cronSpec": nil},
		} {
			object.SetName("wrong")
			object.Object["spec"] = wrong
			Expect(crd.At("v1").Create(ctx, object)).Error().To(suites.BeInvalidAt(), "it violates the schema: %v", wrong)
		}
	})

	combined.It(requirement.PublishingOpenapiV3, "looks for everything in the OpenAPI v3 document", func(ctx SpecContext, crd *suites.Resource) {
		spec := field(published(ctx, c.v3(crd, "v1")), "spec")
		for _, combination := range combinations {
			Expect(spec).To(HaveKey(combination), "it must not be left out")
		}
		Expect(field(spec, "owner")).To(And(HaveKeyWithValue("nullable", true), HaveKeyWithValue("type", "object"), HaveKey("properties")), "nullable fields must be unchanged")
		Expect(field(spec, "tags")).To(And(HaveKeyWithValue("nullable", true), HaveKeyWithValue("type", "array"), HaveKey("items")), "nullable fields must be unchanged")
	})

	preserved := c.env.With(fixtures.Stable, changed(func(root *schema) {
		spec := root.Properties["spec"]
		spec.XPreserveUnknownFields = new(true)
		root.Properties["spec"] = spec
	}))
	preserved.It(requirement.PublishingOpenapiPreservedFields, "looks for schemas that keep unknown fields in the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		root := c.env.Install(ctx, requirement.PublishingOpenapiPreservedFields, 0, fixtures.Stable, changed(func(root *schema) { root.XPreserveUnknownFields = new(true) }))
		below := published(ctx, c.v2(crd))
		Expect(below).To(HaveKeyWithValue("properties", HaveKey("spec")), "the field must be there")
		Expect(field(below, "spec")).To(And(Not(HaveKey("type")), Not(HaveKey("items")), Not(HaveKey("properties"))), "a field must be open")
		Expect(published(ctx, c.v2(root))).NotTo(HaveKey("properties"), "the root must be open")
	})
}

// several is about definitions beside each other.
func (c chapter) several() {
	// beside adds another kind to the group of a definition, and returns what matches the schemas of both.
	beside := func(ctx SpecContext, crd *suites.Resource) OmegaMatcher {
		other := fixtures.Stable.New(fixtures.InGroup(crd.Group()), changed(func(root *schema) {
			root.Properties = map[string]schema{"other": {Type: "string"}}
		}), func(d *definition) {
			names := &d.Spec.Names
			names.Plural, names.Singular, names.Kind, names.ListKind, names.ShortNames = "othertabs", "othertab", "OtherTab", "", nil
			d.Name = names.Plural + "." + d.Spec.Group
			d.Labels = crd.Definition(ctx).Labels
		})
		_, err := c.env.CRDs.Create(ctx, other, metav1.CreateOptions{})
		c.env.Require(err, "creating another definition in the group")
		DeferCleanup(func(ctx SpecContext) error { return c.env.CRDs.Delete(ctx, other.Name, metav1.DeleteOptions{}) })
		return And(
			HaveKeyWithValue("v1 CronTab", WithTransform(fields, Equal([]string{"spec"}))),
			HaveKeyWithValue("v1 OtherTab", WithTransform(fields, Equal([]string{"other"}))),
		)
	}
	c.env.With(fixtures.Stable).It(requirement.PublishingOpenapiKinds, "adds another kind to the group, and looks at the OpenAPI v2 document", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v2(crd)).Should(beside(ctx, crd), "each kind must have its schema")
	})
	c.env.With(fixtures.Stable).It(requirement.PublishingOpenapiKindsV3, "adds another kind to the group, and looks at the OpenAPI v3 document", func(ctx SpecContext, crd *suites.Resource) {
		soon(ctx, c.v3(crd, "v1")).Should(beside(ctx, crd), "each kind must have its schema")
	})

	c.env.With(fixtures.Stable).It(requirement.PublishingOpenapiGroups, "adds another group with the same kind", func(ctx SpecContext, crd *suites.Resource) {
		other := c.env.Install(ctx, requirement.PublishingOpenapiGroups, 0, fixtures.Stable, changed(func(root *schema) {
			root.Properties = map[string]schema{"other": {Type: "string"}}
		}))
		soon(ctx, c.v2(crd)).Should(HaveKeyWithValue("v1 CronTab", WithTransform(fields, Equal([]string{"spec"}))), "each group must have its schema")
		soon(ctx, c.v2(other)).Should(HaveKeyWithValue("v1 CronTab", WithTransform(fields, Equal([]string{"other"}))), "each group must have its schema")
	})
}

// changed changes the schema of every version.
func changed(change func(root *schema)) fixtures.Option {
	return func(crd *definition) {
		for i := range crd.Spec.Versions {
			change(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
	}
}

// nullable adds an object and a list to the spec that may be null.
func nullable(crd *definition) {
	changed(func(root *schema) {
		spec := root.Properties["spec"]
		spec.Properties["owner"] = schema{Type: "object", Nullable: true, Properties: map[string]schema{"name": {Type: "string"}}}
		spec.Properties["tags"] = schema{Type: "array", Nullable: true, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Type: "string"}}}
	})(crd)
}
