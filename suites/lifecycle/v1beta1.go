package lifecycle

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// v1beta1Definitions is where definitions of apiextensions.k8s.io/v1beta1 were.
const v1beta1Definitions = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"

// v1beta1 is about what held until 1.21, as long as there was apiextensions.k8s.io/v1beta1.
func v1beta1(env *suites.Env) {
	// try sends a definition that is not kept, and returns the status and the spec of the answer.
	try := func(ctx SpecContext, definition map[string]any) (int, map[string]any) {
		GinkgoHelper()
		body, err := json.Marshal(definition)
		env.Require(err, "encoding a definition")
		answer := env.Do(ctx, http.MethodPost, v1beta1Definitions+"?dryRun=All", body, http.Header{"Content-Type": {"application/json"}})
		var answered struct {
			Spec map[string]any `json:"spec"`
		}
		if answer.Status < http.StatusMultipleChoices {
			Expect(json.Unmarshal(answer.Body, &answered)).To(Succeed(), string(answer.Body))
		}
		return answer.Status, answered.Spec
	}

	env.It(requirement.LifecycleLegacyV1beta1Tabs, "tries the v1beta1 definitions of the documents", func(ctx SpecContext) {
		tabs := 0
		for _, literal := range fixtures.Literals() {
			if !strings.HasPrefix(literal.Name, "v1beta1-") {
				continue
			}
			tabs++
			if literal.Gap != "" {
				answer := env.Do(ctx, http.MethodPost, v1beta1Definitions+"?dryRun=All", literal.Body(), http.Header{"Content-Type": {"application/yaml"}})
				Expect(answer.Status).To(Equal(http.StatusBadRequest), "%s, as it is printed: %s", literal.Name, answer.Body)
				Expect(string(answer.Body)).To(ContainSubstring(literal.Gap), "%s, as it is printed", literal.Name)
			}
			var definition map[string]any
			env.Require(yaml.Unmarshal(literal.Body(), &definition), "reading %s", literal.Name)
			complete(env, definition)
			status, spec := try(ctx, definition)
			Expect(status).To(Equal(http.StatusCreated), "%s (%s)", literal.Name, literal.Source)
			Expect(spec).To(HaveKeyWithValue("versions", HaveLen(len(versionsOf(env, definition)))), literal.Name)
		}
		Expect(tabs).To(Equal(4), "the documents have four")
	})

	env.It(requirement.LifecycleLegacyVersionField, "tries a definition with the first version, with another, and with one that does not exist", func(ctx SpecContext) {
		for version, want := range map[string]int{"v1beta1": http.StatusCreated, "v1": http.StatusUnprocessableEntity, "v2": http.StatusUnprocessableEntity} {
			status, _ := try(ctx, old(func(spec map[string]any) { spec["version"] = version }))
			Expect(status).To(Equal(want), "spec.version: %s", version)
		}
	})

	env.It(requirement.LifecycleLegacyVersionPrepopulates, "tries a definition that has a version but no list of versions", func(ctx SpecContext) {
		status, spec := try(ctx, old(func(spec map[string]any) {
			spec["version"] = "v1"
			delete(spec, "versions")
		}))
		Expect(status).To(Equal(http.StatusCreated))
		Expect(spec).To(HaveKeyWithValue("versions", ConsistOf(And(HaveKeyWithValue("name", "v1"), HaveKeyWithValue("served", true), HaveKeyWithValue("storage", true)))))
	})

	env.It(requirement.LifecycleLegacyReviewVersionsDefault, "tries a definition that does not list the review versions of its webhook", func(ctx SpecContext) {
		status, spec := try(ctx, old(func(spec map[string]any) {
			spec["preserveUnknownFields"] = false
			spec["validation"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
			spec["conversion"] = map[string]any{"strategy": "Webhook", "webhookClientConfig": map[string]any{"url": "https://localhost:1/crdconvert"}}
		}))
		Expect(status).To(Equal(http.StatusCreated))
		Expect(spec).To(HaveKeyWithValue("conversion", HaveKeyWithValue("conversionReviewVersions", ConsistOf("v1beta1"))))
	})

	env.It(requirement.LifecycleLegacyScopeDefault, "tries a definition without a scope", func(ctx SpecContext) {
		status, spec := try(ctx, old(func(map[string]any) {}))
		Expect(status).To(Equal(http.StatusCreated))
		Expect(spec).To(HaveKeyWithValue("scope", "Namespaced"))
	})

	env.It(requirement.LifecycleLegacySchemaOnce, "tries definitions with a schema above the versions, in each version, and in both places", func(ctx SpecContext) {
		schema := map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
		above := func(spec map[string]any) { spec["validation"] = schema }
		inside := func(spec map[string]any) {
			spec["versions"] = []any{
				map[string]any{"name": "v1beta1", "served": true, "storage": true, "schema": schema},
				// What is the same in all versions has to be above them.
				map[string]any{"name": "v1", "served": true, "storage": false, "schema": map[string]any{
					"openAPIV3Schema": map[string]any{"type": "object", "description": "another"},
				}},
			}
		}
		for where, want := range map[string]struct {
			changes []func(map[string]any)
			status  int
		}{
			"above the versions": {[]func(map[string]any){above}, http.StatusCreated},
			"in each version":    {[]func(map[string]any){inside}, http.StatusCreated},
			"in both places":     {[]func(map[string]any){above, inside}, http.StatusUnprocessableEntity},
		} {
			status, _ := try(ctx, old(func(spec map[string]any) {
				for _, change := range want.changes {
					change(spec)
				}
			}))
			Expect(status).To(Equal(want.status), where)
		}
	})

	env.It(requirement.LifecycleLegacyWebhookRequired, "tries a definition with the Webhook strategy, with and without webhookClientConfig", func(ctx SpecContext) {
		for want, conversion := range map[int]map[string]any{
			http.StatusCreated:             {"strategy": "Webhook", "webhookClientConfig": map[string]any{"url": "https://localhost:1/crdconvert"}},
			http.StatusUnprocessableEntity: {"strategy": "Webhook"},
		} {
			status, _ := try(ctx, old(func(spec map[string]any) {
				spec["preserveUnknownFields"] = false
				spec["validation"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
				spec["conversion"] = conversion
			}))
			Expect(status).To(Equal(want), "conversion: %v", conversion)
		}
	})

	env.It(requirement.LifecycleLegacyWarned, "tries a definition", func(ctx SpecContext) {
		body, err := json.Marshal(old(func(map[string]any) {}))
		env.Require(err, "encoding a definition")
		answer := env.Do(ctx, http.MethodPost, v1beta1Definitions+"?dryRun=All", body, http.Header{"Content-Type": {"application/json"}})
		Expect(answer.Header.Values("Warning")).To(ContainElement(And(
			ContainSubstring("apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16"), ContainSubstring("use apiextensions.k8s.io/v1"))))
	})

	// rewrite changes a definition at v1beta1, and returns the status of the answer.
	rewrite := func(ctx SpecContext, crd *suites.Resource, change func(definition map[string]any)) int {
		GinkgoHelper()
		answer := env.Get(ctx, v1beta1Definitions+"/"+crd.Name())
		Expect(answer.Status).To(Equal(http.StatusOK))
		var definition map[string]any
		env.Require(json.Unmarshal(answer.Body, &definition), "decoding the definition")
		change(definition)
		body, err := json.Marshal(definition)
		env.Require(err, "encoding the definition")
		return env.Do(ctx, http.MethodPut, v1beta1Definitions+"/"+crd.Name(), body, http.Header{"Content-Type": {"application/json"}}).Status
	}

	env.With(fixtures.None).It(requirement.LifecycleLegacyVersionMutable, "moves another version to the front, with and without spec.version", func(ctx SpecContext, crd *suites.Resource) {
		turned := func(definition map[string]any) {
			versions := versionsOf(env, definition)
			slices.Reverse(versions)
			set(env, definition, versions, "spec", "versions")
		}
		Expect(rewrite(ctx, crd, func(definition map[string]any) {
			turned(definition)
			set(env, definition, "v1", "spec", "version")
		})).To(Equal(http.StatusOK), "spec.version must follow")
		Expect(rewrite(ctx, crd, turned)).To(Equal(http.StatusUnprocessableEntity), "spec.version must not stay behind")
	})

	env.With(fixtures.Stable).It(requirement.LifecycleLegacyPruned, "switches pruning off and on, at v1beta1", func(ctx SpecContext, crd *suites.Resource) {
		written := unknownField(crd)
		for _, preserve := range []bool{true, false} {
			want := keepsIt()
			if !preserve {
				want = Not(want)
			}
			Expect(rewrite(ctx, crd, func(definition map[string]any) { set(env, definition, preserve, "spec", "preserveUnknownFields") })).To(Equal(http.StatusOK))
			Eventually(ctx, written).Should(want, "preserveUnknownFields: %t", preserve)
		}
	})

	env.With(fixtures.Stable).It(requirement.LifecycleLegacyOptionalSchema, "removes the schemas of a definition, at v1beta1", func(ctx SpecContext, crd *suites.Resource) {
		answer := env.Get(ctx, v1beta1Definitions+"/"+crd.Name())
		Expect(answer.Status).To(Equal(http.StatusOK))
		var definition map[string]any
		env.Require(json.Unmarshal(answer.Body, &definition), "decoding the definition")
		versions := versionsOf(env, definition)
		for _, version := range versions {
			if v, ok := version.(map[string]any); ok {
				delete(v, "schema")
			}
		}
		set(env, definition, versions, "spec", "versions")
		set(env, definition, true, "spec", "preserveUnknownFields")
		unstructured.RemoveNestedField(definition, "spec", "validation")
		body, err := json.Marshal(definition)
		env.Require(err, "encoding the definition")
		answer = env.Do(ctx, http.MethodPut, v1beta1Definitions+"/"+crd.Name(), body, http.Header{"Content-Type": {"application/json"}})
		Expect(answer.Status).To(Equal(http.StatusOK), string(answer.Body))
		Eventually(ctx, unknownField(crd)).Should(keepsIt(), "its objects must keep unknown fields")
	})
}

// old is a definition of v1beta1 with two versions, changed.
func old(change func(spec map[string]any)) map[string]any {
	spec := map[string]any{
		"group": "legacy.example.com",
		"names": map[string]any{"plural": "crontabs", "kind": "CronTab"},
		"versions": []any{
			map[string]any{"name": "v1beta1", "served": true, "storage": true},
			map[string]any{"name": "v1", "served": true, "storage": false},
		},
	}
	change(spec)
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "crontabs.legacy.example.com"}, "spec": spec,
	}
}

// complete fills in what the documents leave to the reader: dots for a schema, the name, and a bundle of certificates.
func complete(env *suites.Env, definition map[string]any) {
	set(env, definition, "legacy.example.com", "spec", "group")
	set(env, definition, "crontabs.legacy.example.com", "metadata", "name")
	if dots, _, err := unstructured.NestedString(definition, "spec", "validation"); err == nil && dots == "..." {
		set(env, definition, map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}, "spec", "validation")
	}
	unstructured.RemoveNestedField(definition, "spec", "conversion", "webhookClientConfig", "caBundle")
}

func set(env *suites.Env, definition map[string]any, value any, path ...string) {
	env.Require(unstructured.SetNestedField(definition, value, path...), "changing a definition")
}

func versionsOf(env *suites.Env, definition map[string]any) []any {
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	env.Require(err, "reading the versions of a definition")
	return versions
}
