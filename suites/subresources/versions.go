package subresources

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// The versions of the definitions that have two. Objects are stored at the older one.
const (
	older = "v1beta1"
	newer = "v1"
)

// versions is about subresources together with several versions and with conversion.
func (c chapter) versions() {
	Describe("several versions", func() {
		c.ofOne()
		c.ofBoth()
		c.different()
		c.inTime()
	})
}

// replicated creates an object of the documents at the older version under a name, with five replicas.
func replicated(ctx context.Context, crd *suites.Resource, name string, documented *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	documented.SetName(name)
	return crd.Create(ctx, older, put(documented, int64(5), "spec", "replicas"))
}

// ofOne is about subresources that one version has and the other has not.
func (c chapter) ofOne() {
	apart := c.env.With(fixtures.None, fixtures.WithSubresources(), func(crd *definition) {
		fixtures.Version(crd, older).Subresources.Status = nil
		fixtures.Version(crd, newer).Subresources.Scale = nil
	}).Together()

	apart.It(requirement.SubresourcesVersionsStatusOfOne, "writes an object with a status at a version with the subresource and at one without", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "status-of-one", fixtures.LocalCronTab.At("v1"))
		Expect(c.discovered(ctx, crd, older)).NotTo(HaveKey("crontabs/status"), "v1beta1 must not have it")
		Expect(c.discovered(ctx, crd, newer)).To(HaveKey("crontabs/status"), "v1 must have it")
		Expect(crd.At(older).Get(ctx, "status-of-one", "status")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "v1beta1 must not have it")
		Expect(crd.At(newer).Get(ctx, "status-of-one", "status")).Error().NotTo(HaveOccurred(), "v1 must have it")
		const patch = `{"status": {"replicas": 2}}`
		Expect(crd.At(newer).MergePatch(ctx, "status-of-one", patch)).To(HaveField("Object", Not(HaveKey("status"))), "the status must be protected at v1")
		Expect(crd.At(older).MergePatch(ctx, "status-of-one", patch)).To(HaveField("Object", HaveKey("status")), "the status must be a field as others at v1beta1")
	})

	apart.It(requirement.SubresourcesVersionsScaleOfOne, "asks for the scale of an object at a version with the subresource and at one without", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "scale-of-one", fixtures.LocalCronTab.At("v1"))
		Expect(c.discovered(ctx, crd, older)).To(HaveKey("crontabs/scale"), "v1beta1 must have it")
		Expect(c.discovered(ctx, crd, newer)).NotTo(HaveKey("crontabs/scale"), "v1 must not have it")
		Expect(c.scaleOf(ctx, crd, older, "scale-of-one").Spec.Replicas).To(BeEquivalentTo(5), "v1beta1 must have it")
		Expect(crd.At(newer).Get(ctx, "scale-of-one", "scale")).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "v1 must not have it")
	})
}

// ofBoth is about subresources that both versions have, through both strategies of conversion.
func (c chapter) ofBoth() {
	none := c.env.With(fixtures.None, fixtures.WithSubresources()).Together()
	webhook := c.env.With(fixtures.Webhook, fixtures.WithSubresources()).Together()
	reported := HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2)))

	none.It(requirement.SubresourcesVersionsStatusNone, "writes a status at each version and reads it at the other", func(ctx SpecContext, crd *suites.Resource) {
		for version, other := range map[string]string{older: newer, newer: older} {
			name := "status-none-" + version
			object := replicated(ctx, crd, name, fixtures.LocalCronTab.At("v1"))
			Expect(crd.At(version).MergePatch(ctx, name, `{"status": {"replicas": 2}}`, "status")).Error().NotTo(HaveOccurred())
			read, err := crd.At(other).Get(ctx, name)
			Expect(err).NotTo(HaveOccurred())
			Expect(read.Object).To(reported, "%s must have the status", other)
			Expect(read.Object).To(And(HaveKeyWithValue("spec", object.Object["spec"]), HaveKeyWithValue("host", "localhost")), "the rest must stay")
		}
	})

	webhook.It(requirement.SubresourcesVersionsStatusWebhook, "writes a status at each version and reads it at the other", func(ctx SpecContext, crd *suites.Resource) {
		for version, other := range map[string]string{older: newer, newer: older} {
			name := "status-webhook-" + version
			replicated(ctx, crd, name, fixtures.LocalCronTab.At(older))
			Expect(crd.At(version).MergePatch(ctx, name, `{"status": {"replicas": 2}}`, "status")).Error().NotTo(HaveOccurred())
			Expect(crd.At(other).Get(ctx, name)).To(HaveField("Object", reported), "%s must have the status", other)
			Expect(crd.At(newer).Get(ctx, name)).To(HaveField("Object", And(HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234"), Not(HaveKey("hostPort")))), "the rest must stay")
			Expect(crd.At(older).Get(ctx, name)).To(HaveField("Object", And(HaveKeyWithValue("hostPort", "localhost:1234"), Not(HaveKey("host")))), "the rest must stay")
		}
	})

	webhook.It(requirement.SubresourcesVersionsStatusIgnored, "writes objects with another status at the other version", func(ctx SpecContext, crd *suites.Resource) {
		const name = "status-ignored"
		replicated(ctx, crd, name, fixtures.LocalCronTab.At(older))
		object, err := crd.At(newer).MergePatch(ctx, name, `{"status": {"replicas": 2}}`, "status")
		c.env.Require(err, "writing the status")
		put(put(object, int64(7), "status", "replicas"), "4321", "port")
		written, err := crd.At(newer).Update(ctx, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Object).To(And(reported, HaveKeyWithValue("port", "4321")), "the status must stay and the rest change")
		Expect(crd.At(newer).MergePatch(ctx, name, `{"status": null, "port": "4322"}`)).To(HaveField("Object", And(reported, HaveKeyWithValue("port", "4322"))), "the status must stay and the rest change")
		Expect(crd.At(older).Get(ctx, name)).To(HaveField("Object", And(reported, HaveKeyWithValue("hostPort", "localhost:4322"))), "v1beta1 must have the same")
	})

	none.It(requirement.SubresourcesVersionsScaleNone, "scales an object at each version and reads the scale of the other", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "scale-none", fixtures.LocalCronTab.At("v1"))
		Expect(scales(ctx, crd, newer, "scale-none", 6)).Error().NotTo(HaveOccurred())
		Expect(c.scaleOf(ctx, crd, older, "scale-none").Spec.Replicas).To(BeEquivalentTo(6), "v1beta1 must have the replicas")
		Expect(scales(ctx, crd, older, "scale-none", 7)).Error().NotTo(HaveOccurred())
		Expect(c.scaleOf(ctx, crd, newer, "scale-none").Spec.Replicas).To(BeEquivalentTo(7), "v1 must have the replicas")
	})

	webhook.It(requirement.SubresourcesVersionsScaleWebhook, "scales an object at each version and reads the scale of the other", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "scale-webhook", fixtures.LocalCronTab.At(older))
		Expect(scales(ctx, crd, newer, "scale-webhook", 6)).Error().NotTo(HaveOccurred())
		Expect(c.scaleOf(ctx, crd, older, "scale-webhook").Spec.Replicas).To(BeEquivalentTo(6), "v1beta1 must have the replicas")
		Expect(scales(ctx, crd, older, "scale-webhook", 7)).Error().NotTo(HaveOccurred())
		Expect(c.scaleOf(ctx, crd, newer, "scale-webhook").Spec.Replicas).To(BeEquivalentTo(7), "v1 must have the replicas")
		Expect(crd.At(newer).Get(ctx, "scale-webhook")).To(HaveField("Object", And(HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234"))), "the rest must stay")
	})

	webhook.It(requirement.SubresourcesVersionsGeneration, "changes the status and the spec at the other version", func(ctx SpecContext, crd *suites.Resource) {
		const name = "generation"
		replicated(ctx, crd, name, fixtures.LocalCronTab.At(older))
		Expect(crd.At(newer).MergePatch(ctx, name, `{"status": {"replicas": 2}}`, "status")).To(And(HaveField("Object", reported), HaveField("GetGeneration()", BeEquivalentTo(1))), "the status must change and not count")
		Expect(crd.At(newer).MergePatch(ctx, name, `{"port": "4321"}`)).To(HaveField("GetGeneration()", BeEquivalentTo(2)), "the rest must count once")
		Expect(crd.At(older).Get(ctx, name)).To(HaveField("GetGeneration()", BeEquivalentTo(2)), "v1beta1 must have the same")
	})
}

// different is about versions whose subresources are not alike.
func (c chapter) different() {
	c.env.With(fixtures.None, fixtures.WithSubresources(), func(crd *definition) {
		status := fixtures.Version(crd, newer).Schema.OpenAPIV3Schema.Properties["status"]
		status.Properties["replicas"] = schema{Type: "integer", Maximum: new(10.0)}
	}).It(requirement.SubresourcesVersionsStatusSchema, "writes a status that one version allows", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "status-schema", fixtures.LocalCronTab.At("v1"))
		const patch = `{"status": {"replicas": 11}}`
		Expect(crd.At(newer).MergePatch(ctx, "status-schema", patch, "status")).Error().To(invalidReplicas(), "v1 must refuse it")
		Expect(crd.At(older).MergePatch(ctx, "status-schema", patch, "status")).Error().NotTo(HaveOccurred(), "v1beta1 must accept it")
		Expect(crd.At(newer).Get(ctx, "status-schema")).To(HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(11)))), "v1 must show it")
	})

	c.env.With(fixtures.None, fixtures.WithSubresources(), changed(func(root *schema) {
		root.Properties["spec"].Properties["size"] = schema{Type: "integer"}
		root.Properties["spec"].Properties["pods"] = schema{Type: "string"}
		root.Properties["status"].Properties["size"] = schema{Type: "integer"}
	}), func(crd *definition) {
		scale := fixtures.Version(crd, newer).Subresources.Scale.DeepCopy()
		scale.SpecReplicasPath, scale.StatusReplicasPath, scale.LabelSelectorPath = ".spec.size", ".status.size", new(".spec.pods")
		fixtures.Version(crd, newer).Subresources.Scale = scale
	}).It(requirement.SubresourcesVersionsScalePaths, "scales an object at versions with different paths", func(ctx SpecContext, crd *suites.Resource) {
		object := fixtures.LocalCronTab.At("v1")
		object.SetName("scale-paths")
		object.Object["spec"] = map[string]any{"replicas": int64(5), "size": int64(1), "pods": "app=sized"}
		crd.Create(ctx, older, object)
		_, err := crd.At(older).MergePatch(ctx, "scale-paths", `{"status": {"replicas": 4, "size": 2, "labelSelector": "app=cron"}}`, "status")
		c.env.Require(err, "writing the status")
		old, now := c.scaleOf(ctx, crd, older, "scale-paths"), c.scaleOf(ctx, crd, newer, "scale-paths")
		Expect([]any{old.Spec.Replicas, old.Status.Replicas, old.Status.Selector}).To(HaveExactElements(BeEquivalentTo(5), BeEquivalentTo(4), Equal("app=cron")), "v1beta1 must have the values at its paths")
		Expect([]any{now.Spec.Replicas, now.Status.Replicas, now.Status.Selector}).To(HaveExactElements(BeEquivalentTo(1), BeEquivalentTo(2), Equal("app=sized")), "v1 must have the values at its paths")
		Expect(scales(ctx, crd, newer, "scale-paths", 8)).Error().NotTo(HaveOccurred())
		Expect(crd.Get(ctx, older, "scale-paths").Object["spec"]).To(And(HaveKeyWithValue("size", BeEquivalentTo(8)), HaveKeyWithValue("replicas", BeEquivalentTo(5))), "only the value at the path must change")
	})
}

// inTime is about subresources that come and go.
func (c chapter) inTime() {
	c.env.With(fixtures.Webhook, fixtures.WithSubresources()).It(requirement.SubresourcesVersionsUnserved, "stops serving a version with subresources", func(ctx SpecContext, crd *suites.Resource) {
		replicated(ctx, crd, "unserved", fixtures.LocalCronTab.At(older))
		for _, sub := range []string{"status", "scale"} {
			Expect(crd.At(older).Get(ctx, "unserved", sub)).Error().NotTo(HaveOccurred(), "%s must be found at v1beta1 first", sub)
		}
		crd.Change(ctx, fixtures.NotServed(older))
		for _, sub := range []string{"status", "scale"} {
			Expect(crd.At(older).Get(ctx, "unserved", sub)).Error().To(MatchError(apierrors.IsNotFound, "IsNotFound"), "%s must not be found at v1beta1", sub)
		}
		Expect(scales(ctx, crd, newer, "unserved", 6)).Error().NotTo(HaveOccurred(), "the scale must work at v1")
		Expect(crd.At(newer).MergePatch(ctx, "unserved", `{"status": {"replicas": 2}}`, "status")).
			To(HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2)))), "the status must work at v1")
	})

	c.env.With(fixtures.None, fixtures.WithSubresources(), func(crd *definition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Subresources = nil
		}
	}).It(requirement.SubresourcesVersionsAdded, "adds the status subresource to a definition", func(ctx SpecContext, crd *suites.Resource) {
		object := fixtures.LocalCronTab.At("v1")
		object.SetName("added")
		created := crd.Create(ctx, older, put(object, int64(2), "status", "replicas"))
		Expect(created.Object).To(HaveKey("status"), "it must be a field as others first")
		crd.Change(ctx, fixtures.WithSubresources())
		for _, version := range []string{older, newer} {
			kept, err := crd.At(version).MergePatch(ctx, "added", `{"status": {"replicas": 7}}`)
			Expect(err).NotTo(HaveOccurred())
			Expect(kept.Object).To(HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(2))), "the status must stay at %s", version)
		}
		Expect(crd.At(newer).MergePatch(ctx, "added", `{"status": {"replicas": 3}}`, "status")).
			To(HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("replicas", BeEquivalentTo(3)))), "it must change by the subresource")
	})
}
