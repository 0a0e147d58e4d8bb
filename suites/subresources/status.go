package subresources

import (
	"encoding/json"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) status() {
	Describe("status", func() {
		c.statusServed()
		c.statusWritten()
		c.statusValidated()
		c.statusProtected()
		c.generation()
		c.root()
		c.statusOtherwise()
	})
}

func (c chapter) statusServed() {
	c.documented.It(requirement.SubresourcesStatusExposed, "reads an object at its status", func(ctx SpecContext, crd *suites.Resource) {
		created := scalable(ctx, crd, "exposed")
		Expect(crd.At("v1").Get(ctx, "exposed", "status")).To(Equal(created), "it must be the object")
	})

	c.env.With(fixtures.Stable).It(requirement.SubresourcesStatusOptional, "asks for a status that the definition does not have, and then has", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "optional")
		Expect(c.discovered(ctx, crd, "v1")).To(And(HaveKey("crontabs"), Not(HaveKey("crontabs/status"))), "discovery must not have it")
		Expect(crd.At("v1").Get(ctx, "optional", "status")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must not be found")
		Expect(crd.At("v1").MergePatch(ctx, "optional", "{}", "status")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must not be found")
		crd.Change(ctx, fixtures.WithSubresources())
		Expect(crd.At("v1").Get(ctx, "optional", "status")).Error().NotTo(HaveOccurred(), "it must be found where the definition has it")
	})

	c.documented.It(requirement.SubresourcesStatusDiscovery, "looks the status up in discovery", func(ctx SpecContext, crd *suites.Resource) {
		shown := c.discovered(ctx, crd, "v1")["crontabs/status"]
		Expect(shown.Kind).To(Equal("CronTab"), "it must have the kind")
		Expect(shown.Namespaced).To(BeTrue(), "it must be in namespaces")
		Expect([]string(shown.Verbs)).To(ConsistOf("get", "patch", "update"), "it must have the verbs")
	})

	c.documented.It(requirement.SubresourcesStatusPath, "asks for the path of the status with and without a name", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "path")
		Expect(c.env.Get(ctx, crd.Path("v1", "status")).Status).To(Equal(http.StatusNotFound), "there must be no object of that name")
		Expect(c.env.Get(ctx, crd.Path("v1", "path", "status")).Status).To(Equal(http.StatusOK), "with the name it must be found")
		scalable(ctx, crd, "status")
		answer := c.env.Get(ctx, crd.Path("v1", "status"))
		Expect(answer.Status).To(Equal(http.StatusOK), "there must be an object of that name")
		Expect(answer.Body).To(ContainSubstring(`"name":"status"`), "it must be that object")
	})

	c.documented.It(requirement.SubresourcesStatusVerbs, "posts to a status and deletes it", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "verbs")
		body, err := object.MarshalJSON()
		c.env.Require(err, "encoding the object")
		path := crd.Path("v1", "verbs", "status")
		// Where rights are limited this one is never granted.
		refused := BeElementOf(http.StatusMethodNotAllowed, http.StatusForbidden)
		Expect(c.sends(ctx, http.MethodPost, path, "application/json", body).Status).To(refused, "it must not be created")
		Expect(c.sends(ctx, http.MethodDelete, path, "application/json", nil).Status).To(refused, "it must not be deleted")
		Expect(crd.At("v1").Get(ctx, "verbs")).To(Equal(object), "the object must stay")
	})
}

func (c chapter) statusWritten() {
	c.documented.It(requirement.SubresourcesStatusPutStores, "puts a status, and removes it", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "put-stores")
		two := map[string]any{"replicas": int64(2), "labelSelector": "app=cron"}
		written, err := crd.At("v1").Update(ctx, put(object, two, "status"), "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Object).To(HaveKeyWithValue("status", two), "the answer must have it")
		for _, sub := range [][]string{nil, {"status"}} {
			Expect(crd.At("v1").Get(ctx, "put-stores", sub...)).To(HaveField("Object", HaveKeyWithValue("status", two)), "a read must have it")
		}
		delete(written.Object, "status")
		Expect(crd.At("v1").Update(ctx, written, "status")).Error().NotTo(HaveOccurred())
		Expect(crd.At("v1").Get(ctx, "put-stores")).To(HaveField("Object", Not(HaveKey("status"))), "it must be removed")
	})

	c.documented.It(requirement.SubresourcesStatusPutIgnoresSpec, "puts another spec with the status", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "put-ignores-spec")
		spec := runtime.DeepCopyJSONValue(object.Object["spec"])
		put(object, map[string]any{"cronSpec": "0 0 * * *", "replicas": int64(7)}, "spec")
		written, err := crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must change")
		Expect(written.Object).To(HaveKeyWithValue("spec", spec), "the answer must have the spec as it was")
		Expect(crd.At("v1").Get(ctx, "put-ignores-spec")).To(HaveField("Object", HaveKeyWithValue("spec", spec)), "a read must have the spec as it was")
	})

	c.documented.It(requirement.SubresourcesStatusPutIgnoresMetadata, "puts other metadata with the status", func(ctx SpecContext, crd *suites.Resource) {
		object := named("put-ignores-metadata")
		object.SetLabels(map[string]string{"kept": "label"})
		object.SetAnnotations(map[string]string{"kept": "annotation"})
		object = crd.Create(ctx, "v1", object)
		object.SetLabels(map[string]string{"other": "label"})
		object.SetAnnotations(map[string]string{"other": "annotation"})
		object.SetFinalizers([]string{"stable.example.com/other"})
		Expect(crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")).Error().NotTo(HaveOccurred())
		read, err := crd.At("v1").Get(ctx, "put-ignores-metadata")
		Expect(err).NotTo(HaveOccurred())
		Expect(read.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must change")
		Expect(read.GetLabels()).To(Equal(map[string]string{"kept": "label"}), "the labels must stay")
		Expect(read.GetAnnotations()).To(Equal(map[string]string{"kept": "annotation"}), "the annotations must stay")
		Expect(read.GetFinalizers()).To(BeEmpty(), "the finalizers must stay")
	})
}

func (c chapter) statusValidated() {
	c.documented.It(requirement.SubresourcesStatusPutValidated, "puts a status that violates the schema, and one that obeys it", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "put-validated")
		Expect(crd.At("v1").Update(ctx, put(object.DeepCopy(), "two", "status", "replicas"), "status")).Error().To(invalidReplicas())
		Expect(crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")).Error().NotTo(HaveOccurred(), "one that obeys it must be accepted")
	})

	c.documented.It(requirement.SubresourcesStatusPutSpecUnvalidated, "puts a spec that violates the schema with the status", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "put-spec-unvalidated")
		Expect(crd.At("v1").Update(ctx, put(object.DeepCopy(), int64(11), "spec", "replicas"))).Error().To(suites.BeInvalidAt("spec.replicas"), "it must violate the schema")
		put(object, int64(11), "spec", "replicas")
		Expect(crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")).Error().NotTo(HaveOccurred(), "the status must be accepted")
		Expect(crd.At("v1").Get(ctx, "put-spec-unvalidated")).To(HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2)))), "it must be stored")
	})

	c.env.With(fixtures.StableSubresources).It(requirement.SubresourcesStatusStoredSpecUnvalidated,
		"puts the status of an object whose spec violates the schema", func(ctx SpecContext, crd *suites.Resource) {
			object := scalable(ctx, crd, "stored-spec-unvalidated")
			crd.Change(ctx, changed(func(root *schema) {
				root.Properties["spec"].Properties["replicas"] = schema{Type: "integer", Maximum: new(2.0)}
			}))
			other := named("other")
			Expect(crd.At("v1").Create(ctx, other)).Error().To(suites.BeInvalidAt("spec.replicas"), "the schema must hold for others")
			replicas := func(n int) OmegaMatcher {
				return HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(n))))
			}
			Expect(crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")).To(replicas(2), "a put must change the status")
			Expect(crd.At("v1").MergePatch(ctx, "stored-spec-unvalidated", `{"status": {"replicas": 3}}`, "status")).To(replicas(3), "a patch must change the status")
		})

	c.env.With(fixtures.StableSubresources, changed(func(root *schema) {
		root.XValidations = apiextensionsv1.ValidationRules{{Rule: "!has(self.status) || self.status.replicas <= self.spec.replicas"}}
		spec, status := root.Properties["spec"], root.Properties["status"]
		spec.Required, status.Required = []string{"replicas"}, []string{"replicas"}
		root.Properties["spec"], root.Properties["status"] = spec, status
		root.Required = []string{"spec"}
	})).It(requirement.SubresourcesStatusRules, "puts a status that violates a rule on the whole object", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "rules")
		Expect(crd.At("v1").Update(ctx, put(object.DeepCopy(), int64(4), "status", "replicas"), "status")).Error().To(suites.BeInvalidAt(), "it violates the rule")
		Expect(crd.At("v1").Update(ctx, put(object, int64(3), "status", "replicas"), "status")).Error().NotTo(HaveOccurred(), "it obeys the rule")
	})
}

func (c chapter) statusProtected() {
	two := map[string]any{"replicas": int64(2)}
	// reported creates an object that has a status.
	reported := func(ctx SpecContext, crd *suites.Resource, name string) *unstructured.Unstructured {
		object := scalable(ctx, crd, name)
		written, err := crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")
		c.env.Require(err, "writing a status")
		return written
	}

	c.documented.It(requirement.SubresourcesStatusCreateIgnores, "creates an object with a status, and writes the status", func(ctx SpecContext, crd *suites.Resource) {
		created, err := crd.At("v1").Create(ctx, put(named("create-ignores"), int64(2), "status", "replicas"))
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Object).NotTo(HaveKey("status"), "the answer must have no status")
		Expect(crd.At("v1").Get(ctx, "create-ignores")).To(HaveField("Object", Not(HaveKey("status"))), "a read must have no status")
		Expect(crd.At("v1").MergePatch(ctx, "create-ignores", `{"status": {"replicas": 2}}`, "status")).
			To(HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2)))), "there must be one once it is written")
	})

	c.documented.It(requirement.SubresourcesStatusUpdateIgnores, "puts an object with another status, and without one", func(ctx SpecContext, crd *suites.Resource) {
		object := reported(ctx, crd, "update-ignores")
		written, err := crd.At("v1").Update(ctx, put(put(object, int64(5), "status", "replicas"), int64(5), "spec", "replicas"))
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("replicas", BeEquivalentTo(5))), "the rest must change")
		Expect(written.Object).To(HaveKeyWithValue("status", two), "the status must stay")
		delete(written.Object, "status")
		Expect(crd.At("v1").Update(ctx, written)).To(HaveField("Object", HaveKeyWithValue("status", two)), "the status must stay")
	})

	c.documented.It(requirement.SubresourcesStatusPatchIgnores, "patches an object in three ways with another status", func(ctx SpecContext, crd *suites.Resource) {
		reported(ctx, crd, "patch-ignores")
		after := func(object *unstructured.Unstructured, err error) {
			GinkgoHelper()
			Expect(err).NotTo(HaveOccurred())
			Expect(object.Object).To(HaveKeyWithValue("status", two), "the status must stay")
		}
		after(crd.At("v1").MergePatch(ctx, "patch-ignores", `{"status": {"replicas": 5}}`))
		after(crd.At("v1").MergePatch(ctx, "patch-ignores", `{"status": null}`))
		after(crd.At("v1").JSONPatch(ctx, "patch-ignores", `[{"op": "replace", "path": "/status/replicas", "value": 5}]`))
		after(crd.At("v1").Apply(ctx, put(named("patch-ignores"), int64(5), "status", "replicas"), "crdconform"))
	})
}

func (c chapter) generation() {
	c.documented.It(requirement.SubresourcesStatusGenerationSpec, "changes the spec", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "generation-spec")
		Expect(object.GetGeneration()).To(BeEquivalentTo(1), "it must be 1 at first")
		object, err := crd.At("v1").Update(ctx, put(object, int64(5), "spec", "replicas"))
		Expect(err).NotTo(HaveOccurred())
		Expect(object.GetGeneration()).To(BeEquivalentTo(2), "an update must count")
		Expect(crd.At("v1").MergePatch(ctx, "generation-spec", `{"spec": {"replicas": 6}}`)).To(HaveField("GetGeneration()", BeEquivalentTo(3)), "a patch must count")
		Expect(crd.At("v1").MergePatch(ctx, "generation-spec", `{"spec": {"replicas": 6}}`)).To(HaveField("GetGeneration()", BeEquivalentTo(3)), "writes that change nothing must not count")
	})

	c.documented.It(requirement.SubresourcesStatusGenerationMetadata, "changes labels and annotations", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "generation-metadata")
		changed, err := crd.At("v1").MergePatch(ctx, "generation-metadata", `{"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(changed.GetLabels()).To(HaveKey("a"))
		Expect(changed.GetGeneration()).To(BeEquivalentTo(1), "it must not count")
	})

	c.documented.It(requirement.SubresourcesStatusGenerationStatus, "changes the status", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "generation-status")
		object, err := crd.At("v1").Update(ctx, put(object, int64(2), "status", "replicas"), "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must change")
		Expect(object.GetGeneration()).To(BeEquivalentTo(1), "an update must not count")
		object, err = crd.At("v1").MergePatch(ctx, "generation-status", `{"status": {"replicas": 3}}`, "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(object.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(3))), "the status must change")
		Expect(object.GetGeneration()).To(BeEquivalentTo(1), "a patch must not count")
	})

	c.env.With(fixtures.StableSubresources, func(crd *definition) { crd.Spec.Versions[0].Subresources = nil }).It(requirement.SubresourcesStatusGenerationWithout,
		"changes the status without the subresource", func(ctx SpecContext, crd *suites.Resource) {
			scalable(ctx, crd, "generation-without")
			changed, err := crd.At("v1").MergePatch(ctx, "generation-without", `{"status": {"replicas": 2}}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(changed.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must change")
			Expect(changed.GetGeneration()).To(BeEquivalentTo(2), "it must count")
		})
}

// construct is something that a schema may have.
type construct struct {
	name string
	add  func(root *schema)
}

func (c chapter) root() {
	empty := &apiextensionsv1.JSON{Raw: []byte(`{}`)}
	allowed := []construct{
		{"description", func(root *schema) { root.Description = "a job" }},
		{"example", func(root *schema) { root.Example = empty }},
		{"exclusiveMaximum", func(root *schema) { root.Maximum, root.ExclusiveMaximum = new(10.0), true }},
		{"exclusiveMinimum", func(root *schema) { root.Minimum, root.ExclusiveMinimum = new(1.0), true }},
		{"externalDocs", func(root *schema) {
			root.ExternalDocs = &apiextensionsv1.ExternalDocumentation{URL: "https://example.com"}
		}},
		{"format", func(root *schema) { root.Format = "int32" }},
		{"items", func(root *schema) {
			root.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema{Type: "string"}}
		}},
		{"maximum", func(root *schema) { root.Maximum = new(10.0) }},
		{"maxItems", func(root *schema) { root.MaxItems = new(int64(10)) }},
		{"maxLength", func(root *schema) { root.MaxLength = new(int64(10)) }},
		{"minimum", func(root *schema) { root.Minimum = new(1.0) }},
		{"minItems", func(root *schema) { root.MinItems = new(int64(1)) }},
		{"minLength", func(root *schema) { root.MinLength = new(int64(1)) }},
		{"multipleOf", func(root *schema) { root.MultipleOf = new(2.0) }},
		{"pattern", func(root *schema) { root.Pattern = "a" }},
		{"properties", func(root *schema) { root.Properties["more"] = schema{Type: "string"} }},
		{"required", func(root *schema) { root.Required = []string{"spec"} }},
		{"title", func(root *schema) { root.Title = "Job" }},
		{"type", func(root *schema) { root.Type = "object" }},
	}
	c.env.It(requirement.SubresourcesStatusRootConstructs, "submits a definition with each of the listed constructs, and with each beside one that is not", func(ctx SpecContext) {
		const id = requirement.SubresourcesStatusRootConstructs
		notListed := changed(func(root *schema) { root.MaxProperties = new(int64(10)) })
		for _, one := range allowed {
			Expect(c.env.Submit(ctx, id, fixtures.StableSubresources, changed(one.add))).To(Succeed(), "%s must be accepted", one.name)
			Expect(c.env.Submit(ctx, id, fixtures.StableSubresources, changed(one.add), notListed)).
				To(suites.BeInvalidAt("spec.validation.openAPIV3Schema"), "maxProperties must be refused beside %s", one.name)
		}
	})

	c.env.With(fixtures.StableSubresources, changed(func(root *schema) {
		root.XPreserveUnknownFields = new(true)
		root.XValidations = apiextensionsv1.ValidationRules{{Rule: "!has(self.metadata.name) || self.metadata.name != 'forbidden'"}}
	})).It(requirement.SubresourcesStatusRootExtensions, "creates objects with an unknown field that a rule at the root allows and forbids", func(ctx SpecContext, crd *suites.Resource) {
		Expect(crd.At("v1").Create(ctx, put(named("root-extensions"), "kept", "unknown"))).To(HaveField("Object", HaveKeyWithValue("unknown", "kept")), "unknown fields must be kept")
		Expect(crd.At("v1").Create(ctx, named("forbidden"))).Error().To(MatchError(ContainSubstring("self.metadata.name != 'forbidden'")), "the rule must apply")
		Expect(c.env.Submit(ctx, requirement.SubresourcesStatusRootExtensions, fixtures.StableSubresources, changed(func(root *schema) { root.MaxProperties = new(int64(10)) }))).
			To(suites.BeInvalidAt("spec.validation.openAPIV3Schema"), "the root must be restricted")
	})

	c.env.It(requirement.SubresourcesStatusRootOthers, "submits a definition with each of some other constructs", func(ctx SpecContext) {
		some := []schema{{Required: []string{"spec"}}}
		withoutStatus := func(crd *definition) { crd.Spec.Versions[0].Subresources = nil }
		for _, one := range []construct{
			{"allOf", func(root *schema) { root.AllOf = some }},
			{"anyOf", func(root *schema) { root.AnyOf = some }},
			{"oneOf", func(root *schema) { root.OneOf = some }},
			{"not", func(root *schema) { root.Not = &schema{Required: []string{"none"}} }},
			{"enum", func(root *schema) { root.Enum = []apiextensionsv1.JSON{*empty} }},
			{"maxProperties", func(root *schema) { root.MaxProperties = new(int64(10)) }},
			{"minProperties", func(root *schema) { root.MinProperties = new(int64(1)) }},
		} {
			const id = requirement.SubresourcesStatusRootOthers
			c.env.Require(c.env.Submit(ctx, id, fixtures.StableSubresources, changed(one.add), withoutStatus), "submitting %s without the status subresource", one.name)
			Expect(c.env.Submit(ctx, id, fixtures.StableSubresources, changed(one.add))).To(suites.BeInvalidAt("spec.validation.openAPIV3Schema"), "%s must be refused", one.name)
		}
		Expect(c.env.Submit(ctx, requirement.SubresourcesStatusRootOthers, fixtures.StableSubresources, changed(func(root *schema) { root.Default = empty }))).
			To(suites.BeInvalidAt("spec.validation.openAPIV3Schema"), "default must be refused")
	})
}

// statusOtherwise is about other ways to write the status than by PUT.
func (c chapter) statusOtherwise() {
	c.documented.It(requirement.SubresourcesStatusPatched, "patches the status in two ways", func(ctx SpecContext, crd *suites.Resource) {
		before := scalable(ctx, crd, "patched")
		merged, err := crd.At("v1").MergePatch(ctx, "patched", `{"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 7}, "status": {"replicas": 2}}`, "status")
		Expect(err).NotTo(HaveOccurred())
		patched, err := crd.At("v1").JSONPatch(ctx, "patched",
			`[{"op": "replace", "path": "/spec/replicas", "value": 8}, {"op": "replace", "path": "/status/replicas", "value": 3}]`, "status")
		Expect(err).NotTo(HaveOccurred())
		for n, object := range []*unstructured.Unstructured{merged, patched} {
			Expect(object.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(n+2))), "the status must change")
			Expect(object.Object).To(HaveKeyWithValue("spec", before.Object["spec"]), "the spec must stay")
			Expect(object.GetLabels()).To(BeEmpty(), "the labels must stay")
		}
	})

	c.documented.It(requirement.SubresourcesStatusApplied, "applies an object to its status", func(ctx SpecContext, crd *suites.Resource) {
		before := scalable(ctx, crd, "applied")
		object := crd.Object("v1", put(put(named("applied"), int64(7), "spec", "replicas"), int64(2), "status", "replicas"))
		applied, err := crd.Everywhere("v1").Namespace(suites.Namespace).ApplyStatus(ctx, "applied", object, metav1.ApplyOptions{FieldManager: "controller", Force: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must change")
		Expect(applied.Object).To(HaveKeyWithValue("spec", before.Object["spec"]), "the spec must stay")
		i := slices.IndexFunc(applied.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "controller" })
		Expect(i).NotTo(Equal(-1), "the manager must be recorded")
		Expect(applied.GetManagedFields()[i]).To(And(HaveField("Subresource", "status"), HaveField("Operation", metav1.ManagedFieldsOperationApply)), "it must be recorded for the status")
	})

	c.documented.It(requirement.SubresourcesStatusConflict, "puts a status by an old resource version", func(ctx SpecContext, crd *suites.Resource) {
		old := scalable(ctx, crd, "conflict-of-status")
		_, err := crd.At("v1").MergePatch(ctx, "conflict-of-status", `{"spec": {"replicas": 4}}`)
		c.env.Require(err, "changing the object")
		Expect(crd.At("v1").Update(ctx, put(old, int64(2), "status", "replicas"), "status")).Error().To(MatchError(apierrors.IsConflict, "IsConflict"))
	})

	c.documented.It(requirement.SubresourcesStatusYaml, "reads and writes both subresources as YAML", func(ctx SpecContext, crd *suites.Resource) {
		const form = "application/yaml"
		scalable(ctx, crd, "yaml")
		for sub, change := range map[string][]string{"status": {"status", "replicas"}, "scale": {"spec", "replicas"}} {
			path := crd.Path("v1", "yaml", sub)
			read := c.sends(ctx, http.MethodGet, path, form, nil)
			Expect(read.Status).To(Equal(http.StatusOK), "%s must be read", sub)
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(read.Body, &object.Object)).To(Succeed())
			Expect(json.Valid(read.Body)).To(BeFalse(), "%s must be YAML", sub)
			body, err := yaml.Marshal(put(object, int64(4), change...).Object)
			c.env.Require(err, "encoding the object")
			written := c.sends(ctx, http.MethodPut, path, form, body)
			Expect(written.Status).To(Equal(http.StatusOK), "%s must be written: %s", sub, written.Body)
		}
		read := crd.Get(ctx, "v1", "yaml")
		Expect(read.Object).To(And(
			HaveKeyWithValue("spec", HaveKeyWithValue("replicas", BeEquivalentTo(4))), HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(4))),
		), "both must have been written")
	})
}

// invalidReplicas matches the refusal of an invalid status. From 1.28 to 1.30 the name of the field lacks its beginning.
func invalidReplicas() types.GomegaMatcher {
	return SatisfyAny(suites.BeInvalidAt("status.replicas"), suites.BeInvalidAt("replicas"))
}
