package conversion

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func metadata(env *suites.Env, converted suites.Setup) {
	Describe("permissible mutations", func() {
		renaming := func(id requirement.ID, text string, faults ...string) {
			renamingWith(env, converted, id, text, faults...)
		}
		renaming(requirement.ConversionMetadataName, "has the webhook rename objects that are read, listed and written", "renames")
		renaming(requirement.ConversionMetadataNamespace, "has the webhook move objects that are read, listed and written to another namespace", "moves-namespace")
		renaming(requirement.ConversionMetadataUID, "has the webhook change and remove the UID of objects that are read, listed and written", "changes-uid", "removes-uid")

		failing := func(id requirement.ID, text string, faults ...string) { failingWith(converted, id, text, faults...) }
		failing(requirement.ConversionMetadataRequired, "has the webhook return an object without metadata", "no-metadata")
		failing(requirement.ConversionMetadataLabelsValidated, "has the webhook return invalid labels", "invalid-label", "label-not-string", "labels-list")
		failing(requirement.ConversionMetadataAnnotationsValidated, "has the webhook return 300 KiB of annotations", "annotations-too-big")

		otherChanges(env, converted)

		changing := func(id requirement.ID, text string, change func(meta map[string]any), seen types.GomegaMatcher) {
			changingWith(env, converted, id, text, change, seen)
		}
		changing(requirement.ConversionMetadataLabelsMayChange, "has the webhook change one label and add another",
			func(meta map[string]any) { meta["labels"] = map[string]any{"app": "changed", "added": "true"} },
			HaveField("GetLabels()", Equal(map[string]string{"app": "changed", "added": "true"})))
		changing(requirement.ConversionMetadataAnnotationsMayChange, "has the webhook change one annotation and add another",
			func(meta map[string]any) {
				meta["annotations"] = map[string]any{"example.com/owner": "changed", "added": "true"}
			},
			HaveField("GetAnnotations()", Equal(map[string]string{"example.com/owner": "changed", "added": "true"})))
		changing(requirement.ConversionMetadataRemovalHonoured, "has the webhook remove labels and annotations",
			func(meta map[string]any) {
				delete(meta, "labels")
				delete(meta, "annotations")
			},
			And(HaveField("GetLabels()", BeEmpty()), HaveField("GetAnnotations()", BeEmpty())))
	})
}

// renamingWith declares a spec in which a webhook with each of the faults in turn is to fail whatever converts an object.
func renamingWith(env *suites.Env, converted suites.Setup, id requirement.ID, text string, faults ...string) {
	converted.It(id, text, func(ctx SpecContext, crd *suites.Resource) {
		convert(ctx, crd)
		stored := crd.Get(ctx, "v1beta1", "local-crontab")
		object := crd.Get(ctx, "v1", "local-crontab")
		object.Object["port"] = "4321"
		for _, fault := range faults {
			crd.Webhook.Break(fault)
			Expect(crd.At("v1").Get(ctx, "local-crontab")).Error().To(failConversion(), "%s: a read", fault)
			if !env.Cluster.WatchCache() { // which has the object as it was converted before
				Expect(crd.At("v1").List(ctx)).Error().To(failConversion(), "%s: a list", fault)
			}
			Expect(crd.At("v1").Create(ctx, fixtures.RemoteCronTab.At("v1"))).Error().To(failConversion(), "%s: a creation", fault)
			Expect(crd.At("v1").Update(ctx, object)).Error().To(failConversion(), "%s: an update", fault)
			Expect(crd.At("v1beta1").List(ctx)).To(ConsistOf(*stored), "%s: nothing may have been written", fault)
		}
		crd.Webhook.Mend()
		Expect(crd.At("v1").Update(ctx, object)).Error().NotTo(HaveOccurred())
	})
}

// changingWith declares a spec in which a webhook changes labels or annotations in a way that is to be seen in what is read and
// listed, and in what was written.
func changingWith(env *suites.Env, converted suites.Setup, id requirement.ID, text string, change func(meta map[string]any), seen types.GomegaMatcher) {
	converted.It(id, text, func(ctx SpecContext, crd *suites.Resource) {
		create(ctx, crd)
		object := crd.Get(ctx, "v1", "local-crontab")
		object.Object["port"] = "4321"
		crd.Webhook.Serve(changingMetadata(change))
		Expect(crd.At("v1").Get(ctx, "local-crontab")).To(seen, "what is read")
		if !env.Cluster.WatchCache() { // which has the object as it was converted before
			Expect(crd.At("v1").List(ctx)).To(ConsistOf(seen), "what is listed")
		}
		Expect(crd.At("v1").Update(ctx, object)).Error().NotTo(HaveOccurred())
		Expect(crd.At("v1beta1").Get(ctx, "local-crontab")).To(seen, "what was written at v1 and is read where it need not be converted")
	})
}

// otherChanges is about everything in metadata but labels and annotations.
func otherChanges(env *suites.Env, converted suites.Setup) {
	converted.It(requirement.ConversionMetadataOtherChangesIgnored,
		"has the webhook change everything else in metadata", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
			before := crd.Get(ctx, "v1", "local-crontab")
			changed := before.DeepCopy()
			changed.Object["port"] = "4321"
			crd.Webhook.Serve(changingMetadata(func(meta map[string]any) {
				meta["resourceVersion"] = "4711"
				meta["generation"] = 4711
				meta["creationTimestamp"] = nil
				meta["deletionTimestamp"] = "2019-09-04T14:03:02Z"
				meta["finalizers"] = []any{"example.com/finalizer"}
				meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "4711"}}
				meta["managedFields"] = nil
				meta["nobodyKnows"] = "this"
			}))
			Expect(crd.At("v1").Get(ctx, "local-crontab")).To(Equal(before), "what is read")
			if !env.Cluster.WatchCache() { // which has the object as it was converted before
				Expect(crd.At("v1").List(ctx)).To(ConsistOf(*before), "what is listed")
			}
			Expect(crd.At("v1").Update(ctx, changed)).Error().NotTo(HaveOccurred())
			after, err := crd.At("v1beta1").Get(ctx, "local-crontab")
			Expect(err).NotTo(HaveOccurred())
			Expect(after.Object).To(HaveKeyWithValue("hostPort", "localhost:4321"))
			Expect(after.GetGeneration()).To(Equal(before.GetGeneration()+1), "what was written")
			unchanged := func(object *unstructured.Unstructured) any {
				meta, _ := object.DeepCopy().Object["metadata"].(map[string]any)
				for _, field := range []string{"resourceVersion", "generation", "managedFields"} { // which every write changes
					delete(meta, field)
				}
				return meta
			}
			Expect(unchanged(after)).To(Equal(unchanged(before)), "what was written")
		})
}

// create creates an object with a label and an annotation, and makes sure that both are there at v1.
func create(ctx SpecContext, crd *suites.Resource) {
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetLabels(map[string]string{"app": "crontab"})
	object.SetAnnotations(map[string]string{"example.com/owner": "somebody"})
	crd.Create(ctx, "v1beta1", object)
	Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(
		HaveField("GetLabels()", HaveKeyWithValue("app", "crontab")),
		HaveField("GetAnnotations()", HaveKeyWithValue("example.com/owner", "somebody"))))
}

// changingMetadata is a webhook that converts and then changes the metadata of each object.
func changingMetadata(change func(meta map[string]any)) http.Handler {
	return webhook.Changing(func(object map[string]any) {
		if meta, ok := object["metadata"].(map[string]any); ok {
			change(meta)
		}
	})
}
