package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func legacy(env *suites.Env) {
	Describe("what is gone", func() {
		env.It(requirement.LifecycleLegacyV1beta1Endpoint, "asks for apiextensions.k8s.io/v1beta1", func(ctx SpecContext) {
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1").Status).To(Equal(http.StatusOK))
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1").Status).To(Equal(http.StatusNotFound))
			Expect(env.Get(ctx, "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions").Status).To(Equal(http.StatusNotFound))
		})

		env.It(requirement.LifecycleLegacyV1beta1Manifest, "posts a v1beta1 definition to the v1 endpoint", func(ctx SpecContext) {
			for _, literal := range fixtures.Literals() {
				if literal.Name != "v1beta1-none" {
					continue
				}
				answer := env.Do(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", literal.Body(),
					http.Header{"Content-Type": {"application/yaml"}})
				Expect(answer.Status).To(Equal(http.StatusBadRequest), string(answer.Body))
				Expect(string(answer.Body)).To(ContainSubstring("apiextensions.k8s.io/v1beta1"), "it must be rejected for its version")
				return
			}
			Fail("there is no v1beta1 definition among the fixtures")
		})

		storedDefinition(env)
		v1beta1(env)
	})
}

// leave puts a definition into storage as an API server of before 1.22 may have left it: at v1beta1, with one schema above the
// versions, or with none.
func leave(ctx context.Context, env *suites.Env, crd *suites.Resource, schema map[string]any) {
	GinkgoHelper()
	key := cluster.Key{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: crd.Name()}
	stored, err := env.Storage().Stored(ctx, key)
	env.Require(err, "looking for the definition in storage")
	var old map[string]any
	env.Require(json.Unmarshal(stored.Data, &old), "decoding the definition in storage")
	spec, ok := old["spec"].(map[string]any)
	Expect(ok).To(BeTrue(), "the definition in storage must have a spec")
	old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
	// By its generation API servers see that they have to publish another schema.
	env.Require(unstructured.SetNestedField(old, crd.Definition(ctx).Generation+1, "metadata", "generation"), "changing the generation")
	spec["version"], spec["preserveUnknownFields"] = "v1", true
	spec["versions"] = []any{map[string]any{"name": "v1", "served": true, "storage": true}}
	delete(spec, "validation")
	if schema != nil {
		spec["validation"] = map[string]any{"openAPIV3Schema": schema}
	}
	changed, err := json.Marshal(old)
	env.Require(err, "encoding the definition")
	env.Require(env.Storage().Overwrite(ctx, key, changed), "changing the definition in storage")
}

// publishedFields returns the fields that OpenAPI v2 publishes of the objects of a definition.
func publishedFields(ctx SpecContext, env *suites.Env, crd *suites.Resource) []string {
	GinkgoHelper()
	var document struct {
		Definitions map[string]struct {
			Properties map[string]any `json:"properties"`
			Kinds      []struct {
				Group string `json:"group"`
				Kind  string `json:"kind"`
			} `json:"x-kubernetes-group-version-kind"`
		} `json:"definitions"`
	}
	env.Require(json.Unmarshal(env.Get(ctx, "/openapi/v2").Body, &document), "reading the OpenAPI v2 document")
	for _, published := range document.Definitions {
		for _, kind := range published.Kinds {
			if kind.Group == crd.Group() && kind.Kind == "CronTab" {
				return slices.Collect(maps.Keys(published.Properties))
			}
		}
	}
	return nil
}

// unknownField returns a function that creates an object with a field that no schema has, under another name each time, and returns it as
// it was created. Requests are served by a changed definition a moment later.
func unknownField(crd *suites.Resource) func(ctx SpecContext) (map[string]any, error) {
	n := 0
	return func(ctx SpecContext) (map[string]any, error) {
		n++
		object := fixtures.UnknownField.At("v1")
		object.SetName(fmt.Sprint("written-", n))
		created, err := crd.At("v1").Create(ctx, object)
		if err != nil {
			return nil, err
		}
		return created.Object, nil
	}
}

// keepsIt matches what unknownField returns if the field is kept.
func keepsIt() gomegatypes.GomegaMatcher { return HaveKeyWithValue("spec", HaveKey("someRandomField")) }

// storedDefinition is about what an API server of before 1.22 may have left behind.
func storedDefinition(env *suites.Env) {
	env.With(fixtures.Stable).It(requirement.LifecycleLegacyStoredDefinition, "puts a v1beta1 definition into storage", func(ctx SpecContext, crd *suites.Resource) {
		leave(ctx, env, crd, nil)
		Eventually(ctx, func(ctx SpecContext) bool { return crd.Definition(ctx).Spec.PreserveUnknownFields }).Should(BeTrue(), "it must be shown")
		Expect(crd.Definition(ctx).Spec.Versions).To(ConsistOf(And(HaveField("Name", "v1"), HaveField("Schema", BeNil()))), "it must be shown without a schema")
		Eventually(ctx, unknownField(crd)).Should(keepsIt(), "its objects must keep unknown fields")
	})

	env.With(fixtures.Stable).It(requirement.LifecycleLegacyNotStructural, "puts a v1beta1 definition with a schema without types into storage", func(ctx SpecContext, crd *suites.Resource) {
		condition := func(ctx SpecContext) *apiextensionsv1.CustomResourceDefinitionCondition {
			return apihelpers.FindCRDCondition(crd.Definition(ctx), apiextensionsv1.NonStructuralSchema)
		}
		leave(ctx, env, crd, map[string]any{"properties": map[string]any{"spec": map[string]any{}}})
		Eventually(ctx, condition).Should(HaveValue(HaveField("Status", apiextensionsv1.ConditionTrue)), "it must say so")
		env.Require(crd.Update(ctx, func(d *definition) {
			d.Spec.PreserveUnknownFields = false
			d.Spec.Versions = fixtures.Stable.New().Spec.Versions
		}), "giving it a structural schema")
		Eventually(ctx, condition).Should(Or(BeNil(), HaveValue(HaveField("Status", apiextensionsv1.ConditionFalse))), "it must no longer say so")
	})

	env.With(fixtures.Stable).It(requirement.LifecycleLegacyNotPublished, "puts a v1beta1 definition into storage whose schema is not structural", func(ctx SpecContext, crd *suites.Resource) {
		published := func(ctx SpecContext) []string { return publishedFields(ctx, env, crd) }
		Eventually(ctx, published).Should(ContainElement("spec"), "the schema of today must be published")
		leave(ctx, env, crd, map[string]any{"type": "object", "properties": map[string]any{"untyped": map[string]any{}}})
		Eventually(ctx, published).ShouldNot(ContainElement("spec"), "the schema of before must no longer be published")
		Expect(published(ctx)).NotTo(ContainElement("untyped"), "a schema that is not structural must not be published")
		env.Require(crd.Update(ctx, func(d *definition) {
			d.Spec.PreserveUnknownFields = false
			d.Spec.Versions = fixtures.Stable.New().Spec.Versions
		}), "giving it a structural schema")
		Eventually(ctx, published).Should(ContainElement("spec"), "the structural schema must be published")
	})
}
