package control

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// definitions is about definitions that kubectl writes, and about what it says of their objects.
func (c chapter) definitions() {
	Describe("kubectl and definitions", Label(suites.Slow), func() {
		c.env.With(fixtures.None).It(requirement.ControlKubectlDefinitions,
			"creates and applies definitions, and applies one with another storage version", func(ctx SpecContext, crd *suites.Resource) {
				k := c.kubectl()
				for _, command := range []string{"create", "apply"} {
					definition := c.another(ctx, crd, command+"dtab")
					c.does(ctx, k, c.written(definition), command, "-f", "-")
					c.soon(ctx, c.conditions(definition.Name)).Should(ContainElement(
						And(HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))), "kubectl %s must create it", command)
					if command == "create" {
						continue
					}
					for i := range definition.Spec.Versions {
						definition.Spec.Versions[i].Storage = definition.Spec.Versions[i].Name == newer
					}
					c.does(ctx, k, c.written(definition), command, "-f", "-")
					c.soon(ctx, func(ctx SpecContext) ([]string, error) {
						changed, err := c.env.CRDs.Get(ctx, definition.Name, metav1.GetOptions{})
						if err != nil {
							return nil, err
						}
						return changed.Status.StoredVersions, nil
					}).Should(Equal([]string{older, newer}), "status.storedVersions must have both versions")
				}
			})

		c.env.With(fixtures.Stable).It(requirement.ControlKubectlPruned,
			"creates an object with an unknown field without validation, and prints it", func(ctx SpecContext, crd *suites.Resource) {
				k := c.kubectl()
				object := crd.Object(newer, fixtures.UnknownField.At(newer))
				Expect(object.Object["spec"]).To(HaveKey("someRandomField"), "the documents' object must have the field")
				printed := c.parsed(c.does(ctx, k, manifest(object), "create", "--validate=false", "-f", "-", "--output", "yaml"))
				Expect(printed["spec"]).To(Equal(fixtures.MyNewCronObject.At(newer).Object["spec"]), "what kubectl prints must be pruned, and otherwise as it was")
			})

		c.env.With(fixtures.Stable).It(requirement.ControlKubectlRemovedDefinition,
			"deletes a definition, and asks for its objects", func(ctx SpecContext, crd *suites.Resource) {
				k := c.kubectl()
				crd.Create(ctx, newer, fixtures.MyNewCronObject.At(newer))
				Expect(c.does(ctx, k, nil, "get", crd.Name(), "--output", "name")).To(HaveSuffix("/my-new-cron-object\n"), "the object must be there")
				c.does(ctx, k, nil, "delete", "customresourcedefinition", crd.Name(), "--wait=false")
				c.soon(ctx, func(ctx SpecContext) string {
					r := k.run(ctx, nil, "get", crd.Name())
					c.env.Require(r.err, "calling kubectl")
					return r.failed
				}).Should(Or(ContainSubstring("NotFound"), ContainSubstring("doesn't have a resource type")), "kubectl must say that there is no such resource")
			})
	})
}

// another is a definition like that of a spec, in the same group and under other names. It is deleted after the spec.
func (c chapter) another(ctx SpecContext, crd *suites.Resource, singular string) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	like := crd.Definition(ctx)
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Labels: like.Labels},
		Spec:       like.Spec,
	}
	called(singular, strings.TrimSuffix(singular, "tab"))(definition)
	DeferCleanup(func(ctx SpecContext) error {
		return unlessGone(c.env.CRDs.Delete(ctx, definition.Name, metav1.DeleteOptions{}))
	})
	return definition
}

// written is a definition as users write it.
func (c chapter) written(definition *apiextensionsv1.CustomResourceDefinition) []byte {
	GinkgoHelper()
	text, err := yaml.Marshal(definition)
	c.env.Require(err, "encoding a definition")
	return text
}

// conditions returns a function that reads the conditions of a definition.
func (c chapter) conditions(name string) func(SpecContext) ([]apiextensionsv1.CustomResourceDefinitionCondition, error) {
	return func(ctx SpecContext) ([]apiextensionsv1.CustomResourceDefinitionCondition, error) {
		definition, err := c.env.CRDs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return definition.Status.Conditions, nil
	}
}
