package subresources

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) scale() {
	Describe("scale", func() {
		c.scaleServed()
		c.paths()
		c.pathsRefused()
		c.scaleWritten()
		c.scaleRefused()
		c.scaleManaged()
	})
}

// scaleOf reads the scale of an object at a version.
func (c chapter) scaleOf(ctx context.Context, crd *suites.Resource, version, name string) autoscalingv1.Scale {
	GinkgoHelper()
	object, err := crd.At(version).Get(ctx, name, "scale")
	Expect(err).NotTo(HaveOccurred())
	var scale autoscalingv1.Scale
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &scale, true)).To(Succeed(), "it must be a Scale")
	return scale
}

// scales puts a number of replicas to the scale of an object.
func scales(ctx context.Context, crd *suites.Resource, version, name string, replicas int64) (*unstructured.Unstructured, error) {
	scale, err := crd.At(version).Get(ctx, name, "scale")
	if err != nil {
		return nil, err
	}
	return crd.At(version).Update(ctx, put(scale, replicas, "spec", "replicas"), "scale")
}

// replicas returns the replicas that an object has in its spec, nil if none.
func replicas(object *unstructured.Unstructured) any {
	spec, _ := object.Object["spec"].(map[string]any)
	return spec["replicas"]
}

func (c chapter) scaleServed() {
	c.documented.It(requirement.SubresourcesScaleExposed, "reads the scale of an object", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "scale-exposed")
		_, err := crd.At("v1").MergePatch(ctx, "scale-exposed", `{"status": {"replicas": 2, "labelSelector": "app=cron"}}`, "status")
		c.env.Require(err, "writing the status")
		object := crd.Get(ctx, "v1", "scale-exposed")
		scale := c.scaleOf(ctx, crd, "v1", "scale-exposed")
		Expect(scale.TypeMeta).To(Equal(metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}), "it must be a Scale of autoscaling/v1")
		Expect(scale.ObjectMeta).To(And(
			HaveField("Name", "scale-exposed"), HaveField("Namespace", suites.Namespace), HaveField("UID", object.GetUID()), HaveField("ResourceVersion", object.GetResourceVersion()),
		), "it must be that of the object")
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(3), "it must have the replicas of the spec")
		Expect(scale.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=cron"}), "it must have the replicas of the status and the selector")
	})

	c.env.With(fixtures.StableSubresources, func(crd *definition) { crd.Spec.Versions[0].Subresources.Scale = nil }).It(requirement.SubresourcesScaleOptional,
		"asks for a scale that the definition does not have, and then has", func(ctx SpecContext, crd *suites.Resource) {
			scalable(ctx, crd, "scale-optional")
			Expect(c.discovered(ctx, crd, "v1")).To(And(HaveKey("crontabs/status"), Not(HaveKey("crontabs/scale"))), "discovery must not have it")
			Expect(crd.At("v1").Get(ctx, "scale-optional", "scale")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must not be found")
			Expect(crd.At("v1").Get(ctx, "scale-optional", "status")).Error().NotTo(HaveOccurred(), "the status must be found")
			crd.Change(ctx, fixtures.WithSubresources())
			Expect(c.scaleOf(ctx, crd, "v1", "scale-optional").Spec.Replicas).To(BeEquivalentTo(3), "it must be found where the definition has it")
		})

	c.env.With(fixtures.StableSubresources, func(crd *definition) { crd.Spec.Versions[0].Subresources.Status = nil }).It(requirement.SubresourcesScaleWithoutStatus,
		"scales an object whose definition has no status subresource", func(ctx SpecContext, crd *suites.Resource) {
			scalable(ctx, crd, "scale-without-status")
			Expect(scales(ctx, crd, "v1", "scale-without-status", 5)).Error().NotTo(HaveOccurred())
			Expect(replicas(crd.Get(ctx, "v1", "scale-without-status"))).To(BeEquivalentTo(5), "the replicas must change")
			Expect(crd.At("v1").Get(ctx, "scale-without-status", "status")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "there must be no status subresource")
		})

	c.documented.It(requirement.SubresourcesScaleDiscovery, "looks the scale up in discovery", func(ctx SpecContext, crd *suites.Resource) {
		shown := c.discovered(ctx, crd, "v1")["crontabs/scale"]
		Expect(metav1.GroupVersionKind{Group: shown.Group, Version: shown.Version, Kind: shown.Kind}).
			To(Equal(metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}), "it must be a Scale of autoscaling/v1")
		Expect([]string(shown.Verbs)).To(ConsistOf("get", "patch", "update"), "it must have the verbs")
	})

	c.documented.It(requirement.SubresourcesScalePath, "asks for the path of the scale with and without a name", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "scale-path")
		Expect(c.env.Get(ctx, crd.Path("v1", "scale")).Status).To(Equal(http.StatusNotFound), "there must be no object of that name")
		Expect(c.env.Get(ctx, crd.Path("v1", "scale-path", "scale")).Status).To(Equal(http.StatusOK), "with the name it must be found")
		scalable(ctx, crd, "scale")
		answer := c.env.Get(ctx, crd.Path("v1", "scale"))
		Expect(answer.Status).To(Equal(http.StatusOK), "there must be an object of that name")
		Expect(answer.Body).To(ContainSubstring(`"kind":"CronTab"`), "it must be that object")
	})
}

// elsewhere has what a scale shows at other paths than the documents' definition.
func elsewhere(crd *definition) {
	text, whole := schema{Type: "string"}, schema{Type: "integer"}
	changed(func(root *schema) {
		root.Properties = map[string]schema{
			"spec": {Type: "object", Properties: map[string]schema{
				"size": {Type: "object", Properties: map[string]schema{"wanted": whole}}, "pods": text, "replicas": whole,
			}},
			"status": {Type: "object", Properties: map[string]schema{
				"size": {Type: "object", Properties: map[string]schema{"seen": whole}}, "replicas": whole,
			}},
		}
	})(crd)
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
		SpecReplicasPath: ".spec.size.wanted", StatusReplicasPath: ".status.size.seen", LabelSelectorPath: new(".spec.pods"),
	}}
}

func (c chapter) paths() {
	other := c.env.With(fixtures.StableSubresources, elsewhere).Together()
	// sized creates an object with everything, at the paths of the definition and at the documents'.
	sized := func(ctx SpecContext, crd *suites.Resource, name string) {
		object := named(name)
		object.Object["spec"] = map[string]any{"size": map[string]any{"wanted": int64(4)}, "pods": "app=sized", "replicas": int64(9)}
		object.Object["status"] = map[string]any{"size": map[string]any{"seen": int64(3)}, "replicas": int64(8)}
		crd.Create(ctx, "v1", object)
	}
	other.It(requirement.SubresourcesScaleSpecPath, "reads the scale of an object with replicas elsewhere in the spec", func(ctx SpecContext, crd *suites.Resource) {
		sized(ctx, crd, "spec-path")
		Expect(c.scaleOf(ctx, crd, "v1", "spec-path").Spec.Replicas).To(BeEquivalentTo(4), "it must have the replicas at the path")
	})
	other.It(requirement.SubresourcesScaleStatusPath, "reads the scale of an object with replicas elsewhere in the status", func(ctx SpecContext, crd *suites.Resource) {
		sized(ctx, crd, "status-path")
		Expect(c.scaleOf(ctx, crd, "v1", "status-path").Status.Replicas).To(BeEquivalentTo(3), "it must have the replicas at the path")
	})
	other.It(requirement.SubresourcesScaleSelectorPath, "reads the scale of an object with a selector in the spec", func(ctx SpecContext, crd *suites.Resource) {
		sized(ctx, crd, "selector-path")
		Expect(c.scaleOf(ctx, crd, "v1", "selector-path").Status.Selector).To(Equal("app=sized"), "it must have the selector at the path")
	})

	c.documented.It(requirement.SubresourcesScaleStatusDefault, "reads the scale of an object without replicas in the status, and with some", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "status-default")
		Expect(c.scaleOf(ctx, crd, "v1", "status-default").Status.Replicas).To(BeZero(), "there must be none")
		scale, err := crd.At("v1").Get(ctx, "status-default", "scale")
		Expect(err).NotTo(HaveOccurred())
		Expect(scale.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(0))), "it must say so")
		c.env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, "status-default", `{"status": {"replicas": 2}}`, "status")), "writing the status")
		Expect(c.scaleOf(ctx, crd, "v1", "status-default").Status.Replicas).To(BeEquivalentTo(2), "there must be as many as the status says")
	})
	c.documented.It(requirement.SubresourcesScaleSelectorDefault, "reads the scale of an object without a selector, and with one", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "selector-default")
		Expect(c.scaleOf(ctx, crd, "v1", "selector-default").Status.Selector).To(BeEmpty(), "it must be empty")
		c.env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, "selector-default", `{"status": {"labelSelector": "app=web"}}`, "status")), "writing the status")
		Expect(c.scaleOf(ctx, crd, "v1", "selector-default").Status.Selector).To(Equal("app=web"), "it must be the one of the status")
	})
	c.documented.It(requirement.SubresourcesScaleSpecValueRequired, "reads the scale of an object without replicas in the spec, and with some", func(ctx SpecContext, crd *suites.Resource) {
		object := named("spec-value-required")
		unstructured.RemoveNestedField(object.Object, "spec", "replicas")
		crd.Create(ctx, "v1", object)
		Expect(crd.At("v1").Get(ctx, "spec-value-required", "scale")).Error().To(MatchError(apierrors.IsInternalError, "IsInternalError"), "it must be an error")
		c.env.Require(suites.ErrorOf(crd.At("v1").MergePatch(ctx, "spec-value-required", `{"spec": {"replicas": 4}}`)), "giving the object replicas")
		Expect(c.scaleOf(ctx, crd, "v1", "spec-value-required").Spec.Replicas).To(BeEquivalentTo(4), "with replicas there must be a scale")
	})

	c.env.With(fixtures.StableSubresources, func(crd *definition) {
		crd.Spec.Versions[0].Subresources.Scale.LabelSelectorPath = nil
		changed(func(root *schema) {
			root.Properties["status"].Properties["labelSelector"] = schema{Type: "string"}
		})(crd)
	}).It(requirement.SubresourcesScaleSelectorPathOptional, "reads the scale of an object whose definition has no path for selectors, and then has one", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "selector-path-optional")
		_, err := crd.At("v1").MergePatch(ctx, "selector-path-optional", `{"status": {"labelSelector": "app=cron"}}`, "status")
		c.env.Require(err, "writing the status")
		Expect(c.scaleOf(ctx, crd, "v1", "selector-path-optional").Status.Selector).To(BeEmpty(), "it must be empty")
		crd.Change(ctx, func(crd *definition) {
			crd.Spec.Versions[0].Subresources.Scale.LabelSelectorPath = new(".status.labelSelector")
		})
		Expect(c.scaleOf(ctx, crd, "v1", "selector-path-optional").Status.Selector).To(Equal("app=cron"), "with a path it must be the value at that path")
	})

	c.env.With(fixtures.StableSubresources, changed(func(root *schema) {
		root.Properties["status"].Properties["labelSelector"] = schema{
			Type:       "object",
			Properties: map[string]schema{"matchLabels": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &schema{Type: "string"}}}},
		}
	})).It(requirement.SubresourcesScaleSelectorString, "writes a selector that is an object", func(ctx SpecContext, crd *suites.Resource) {
		object := scalable(ctx, crd, "selector-string")
		put(object, map[string]any{"app": "cron"}, "status", "labelSelector", "matchLabels")
		Expect(crd.At("v1").Update(ctx, object, "status")).Error().To(suites.BeInvalidAt(), "an object must be refused")
		Expect(crd.At("v1").MergePatch(ctx, "selector-string", `{"status": {"replicas": 2}}`, "status")).Error().NotTo(HaveOccurred(), "the rest must be accepted")
	})
}

func (c chapter) pathsRefused() {
	refuses := func(id requirement.ID, text, field string, change func(*apiextensionsv1.CustomResourceSubresourceScale)) {
		c.env.Refuses(id, text, fixtures.StableSubresources, func(crd *definition) { change(crd.Spec.Versions[0].Subresources.Scale) }, "spec.subresources.scale."+field)
	}
	type scale = apiextensionsv1.CustomResourceSubresourceScale
	refuses(requirement.SubresourcesScaleSpecPathRequired, "submits a scale without a path for the replicas of the spec", "specReplicasPath", func(s *scale) { s.SpecReplicasPath = "" })
	refuses(requirement.SubresourcesScaleSpecPathUnder, "submits a scale with a path for the replicas of the spec in the status", "specReplicasPath", func(s *scale) { s.SpecReplicasPath = ".status.replicas" })
	refuses(requirement.SubresourcesScaleStatusPathRequired, "submits a scale without a path for the replicas of the status", "statusReplicasPath", func(s *scale) { s.StatusReplicasPath = "" })
	refuses(requirement.SubresourcesScaleStatusPathUnder, "submits a scale with a path for the replicas of the status in the spec", "statusReplicasPath", func(s *scale) { s.StatusReplicasPath = ".spec.replicas" })
	refuses(requirement.SubresourcesScaleSelectorPathUnder, "submits a scale with a path for the selector in the metadata", "labelSelectorPath", func(s *scale) { s.LabelSelectorPath = new(".metadata.labels") })

	c.env.It(requirement.SubresourcesScalePathDot, "submits a scale with paths that have no dot in front", func(ctx SpecContext) {
		for field, change := range map[string]func(*scale){
			"specReplicasPath":   func(s *scale) { s.SpecReplicasPath = "spec.replicas" },
			"statusReplicasPath": func(s *scale) { s.StatusReplicasPath = "status.replicas" },
			"labelSelectorPath":  func(s *scale) { s.LabelSelectorPath = new("status.labelSelector") },
		} {
			Expect(c.env.Submit(ctx, requirement.SubresourcesScalePathDot, fixtures.StableSubresources, func(crd *definition) { change(crd.Spec.Versions[0].Subresources.Scale) })).
				To(suites.BeInvalidAt("spec.subresources.scale."+field), "%s must be refused", field)
		}
	})
}

func (c chapter) scaleWritten() {
	c.documented.It(requirement.SubresourcesScaleWritten, "puts and patches the scale of an object", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "written")
		Expect(scales(ctx, crd, "v1", "written", 5)).To(HaveField("GetKind()", "Scale"), "the answer must be the scale")
		Expect(replicas(crd.Get(ctx, "v1", "written"))).To(BeEquivalentTo(5), "the replicas must change")
		Expect(crd.At("v1").MergePatch(ctx, "written", `{"spec": {"replicas": 6}}`, "scale")).Error().NotTo(HaveOccurred())
		Expect(replicas(crd.Get(ctx, "v1", "written"))).To(BeEquivalentTo(6), "the replicas must change")
	})

	c.documented.It(requirement.SubresourcesScaleWrittenAlone, "puts a scale that differs in everything", func(ctx SpecContext, crd *suites.Resource) {
		before := scalable(ctx, crd, "written-alone")
		scale, err := crd.At("v1").Get(ctx, "written-alone", "scale")
		Expect(err).NotTo(HaveOccurred())
		scale.SetLabels(map[string]string{"other": "label"})
		scale.Object["status"] = map[string]any{"replicas": int64(9), "selector": "other=pods"}
		Expect(crd.At("v1").Update(ctx, put(scale, int64(5), "spec", "replicas"), "scale")).Error().NotTo(HaveOccurred())
		after, err := crd.At("v1").Get(ctx, "written-alone")
		Expect(err).NotTo(HaveOccurred())
		Expect(after.GetLabels()).To(BeEmpty(), "the labels must stay")
		Expect(after.Object).NotTo(HaveKey("status"), "the status must stay")
		Expect(after.Object["spec"]).To(Equal(put(before, int64(5), "spec", "replicas").Object["spec"]), "nothing but the replicas must change")
	})

	c.documented.It(requirement.SubresourcesScaleCreated, "puts the scale of an object without replicas", func(ctx SpecContext, crd *suites.Resource) {
		object := named("created")
		unstructured.RemoveNestedField(object.Object, "spec", "replicas")
		created := crd.Create(ctx, "v1", object)
		scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(5)}}}
		scale.SetName("created")
		scale.SetNamespace(created.GetNamespace())
		Expect(crd.At("v1").Update(ctx, scale, "scale")).Error().NotTo(HaveOccurred())
		Expect(replicas(crd.Get(ctx, "v1", "created"))).To(BeEquivalentTo(5), "it must have replicas")
	})

	c.documented.It(requirement.SubresourcesScaleGeneration, "scales an object", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "scale-generation")
		Expect(scales(ctx, crd, "v1", "scale-generation", 5)).Error().NotTo(HaveOccurred())
		Expect(crd.Get(ctx, "v1", "scale-generation").GetGeneration()).To(BeEquivalentTo(2), "it must count")
	})
}

func (c chapter) scaleRefused() {
	c.documented.It(requirement.SubresourcesScaleValidated, "puts more replicas than the schema allows", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "validated")
		Expect(scales(ctx, crd, "v1", "validated", 11)).Error().To(suites.BeInvalidAt("spec.replicas"))
		Expect(replicas(crd.Get(ctx, "v1", "validated"))).To(BeEquivalentTo(3), "they must stay")
	})

	c.env.With(fixtures.StableSubresources).It(requirement.SubresourcesScaleNegative, "puts a negative number of replicas", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "negative")
		Expect(crd.At("v1").MergePatch(ctx, "negative", `{"spec": {"replicas": -1}}`)).Error().To(suites.BeInvalidAt(), "not by the object either")
		Expect(scales(ctx, crd, "v1", "negative", -1)).Error().To(suites.BeInvalidAt())
	})

	c.env.With(fixtures.StableSubresources).It(requirement.SubresourcesScaleBounds, "writes as many replicas as a scale can have, and one more", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "bounds")
		patch := func(in, replicas string, sub ...string) error {
			return suites.ErrorOf(crd.At("v1").MergePatch(ctx, "bounds", `{"`+in+`": {"replicas": `+replicas+`}}`, sub...))
		}
		const most, more = "2147483647", "2147483648"
		Expect(patch("spec", more)).To(suites.BeInvalidAt(".spec.replicas"), "one more must be refused in the spec")
		Expect(patch("status", more, "status")).To(suites.BeInvalidAt(".status.replicas"), "one more must be refused in the status")
		Expect(patch("spec", most)).To(Succeed(), "as many must be accepted in the spec")
		Expect(patch("status", most, "status")).To(Succeed(), "as many must be accepted in the status")
		scale := c.scaleOf(ctx, crd, "v1", "bounds")
		Expect([]int32{scale.Spec.Replicas, scale.Status.Replicas}).To(HaveEach(BeEquivalentTo(2147483647)), "the scale must have them")
	})

	c.documented.It(requirement.SubresourcesScaleConflict, "puts a scale by an old resource version", func(ctx SpecContext, crd *suites.Resource) {
		scalable(ctx, crd, "conflict-of-scale")
		old, err := crd.At("v1").Get(ctx, "conflict-of-scale", "scale")
		c.env.Require(err, "reading the scale")
		_, err = crd.At("v1").MergePatch(ctx, "conflict-of-scale", `{"spec": {"replicas": 4}}`)
		c.env.Require(err, "changing the object")
		Expect(crd.At("v1").Update(ctx, put(old, int64(5), "spec", "replicas"), "scale")).Error().To(MatchError(apierrors.IsConflict, "IsConflict"))
		Expect(replicas(crd.Get(ctx, "v1", "conflict-of-scale"))).To(BeEquivalentTo(4), "they must stay")
	})
}

func (c chapter) scaleManaged() {
	c.documented.It(requirement.SubresourcesScaleApplied, "applies other replicas than those that were set by the scale", func(ctx SpecContext, crd *suites.Resource) {
		objects := crd.Everywhere("v1").Namespace(suites.Namespace)
		apply := func(replicas int64) error {
			object := crd.Object("v1", put(named("scale-applied"), replicas, "spec", "replicas"))
			object.SetNamespace("")
			_, err := objects.Apply(ctx, "scale-applied", object, metav1.ApplyOptions{FieldManager: "author"})
			return err
		}
		c.env.Require(apply(3), "applying the object")
		_, err := objects.Patch(ctx, "scale-applied", types.MergePatchType, []byte(`{"spec": {"replicas": 5}}`), metav1.PatchOptions{FieldManager: "scaler"}, "scale")
		c.env.Require(err, "scaling the object")
		Expect(replicas(crd.Get(ctx, "v1", "scale-applied"))).To(BeEquivalentTo(5), "the replicas must change")
		Expect(apply(4)).To(MatchError(apierrors.IsConflict, "IsConflict"), "the replicas must be the scaler's")
	})
}
