package defaulting

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func defaults(env *suites.Env) {
	const at = "spec.validation.openAPIV3Schema.properties[foo].default"

	Describe("what a default can be", func() {
		// refuses submits a schema with a default that is right, and with some that are wrong.
		refuses := func(id requirement.ID, text string, schema properties, right string, wrong ...string) {
			env.It(id, text, func(ctx SpecContext) {
				submit := func(value string) error {
					return env.Submit(ctx, id, fixtures.Stable, fixtures.WithProperty("v1", "foo", defaulted(*schema.DeepCopy(), value)))
				}
				env.Require(submit(right), "submitting the default %s", right)
				for _, value := range wrong {
					Expect(submit(value)).To(Or(suites.BeInvalidAt(at), suites.BeInvalidAt(at+".name")), value)
				}
			})
		}
		named := properties{Type: "object", Properties: map[string]properties{"name": {Type: "string", Pattern: "^a"}}}

		refuses(requirement.DefaultingValuesPruned, "submits defaults with fields that the schema has and does not have", named, `{"name": "a"}`, `{"unknown": "a"}`)
		refuses(requirement.DefaultingValuesValid, "submits defaults that the schema allows and forbids", named, `{"name": "a"}`, `{"name": "b"}`, `{"name": 5}`, `"a"`, `[]`)
		ruled := properties{Type: "integer", XValidations: []apiextensionsv1.ValidationRule{{Rule: "self > 0"}}}
		refuses(requirement.DefaultingValuesRules, "submits defaults that keep and break a rule", ruled, `1`, `0`)

		preserve := true
		embedded := properties{Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: &preserve}
		env.With(fixtures.Stable, fixtures.WithProperty("v1", "foo", defaulted(embedded, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "my-pod", "unknown": "x"}}`))).It(
			requirement.DefaultingValuesMetadata,
			"creates an object that gets an embedded one with unknown metadata by default", func(ctx SpecContext, crd *suites.Resource) {
				Expect(crd.At("v1").Create(ctx, fixtures.CronTab("embedded", `{}`))).To(have("foo", `{apiVersion: v1, kind: Pod, metadata: {name: my-pod}}`))
			})
	})
}
