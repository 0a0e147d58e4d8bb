package conversion

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func metadata(env *suites.Env) {
	Describe("permissible mutations", func() {
		failing := func(id requirement.ID, text string, faults ...string) { failingWith(env, id, text, faults...) }
		failing(requirement.ConversionMetadataName, "has the webhook rename the object", "renames")
		failing(requirement.ConversionMetadataNamespace, "has the webhook move the object to another namespace", "moves-namespace")
		failing(requirement.ConversionMetadataUID, "has the webhook change the UID, and remove it", "changes-uid", "removes-uid")
		failing(requirement.ConversionMetadataRequired, "has the webhook return an object without metadata", "no-metadata")
		failing(requirement.ConversionMetadataLabelsValidated, "has the webhook return invalid labels", "invalid-label", "label-not-string", "labels-list")
		failing(requirement.ConversionMetadataAnnotationsValidated, "has the webhook return 300 KiB of annotations", "annotations-too-big")

		env.With(fixtures.Webhook).It(requirement.ConversionMetadataOtherChangesIgnored,
			"has the webhook change everything else in metadata", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				before := crd.Get(ctx, "v1", "local-crontab")
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
				after, err := crd.At("v1").Get(ctx, "local-crontab")
				Expect(err).NotTo(HaveOccurred())
				Expect(after).To(Equal(before))
			})

		env.With(fixtures.Webhook).It(requirement.ConversionMetadataLabelsMayChange,
			"has the webhook change one label and add another", func(ctx SpecContext, crd *suites.Resource) {
				create(ctx, crd)
				crd.Webhook.Serve(changingMetadata(func(meta map[string]any) {
					meta["labels"] = map[string]any{"app": "changed", "added": "true"}
				}))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("GetLabels()", Equal(map[string]string{"app": "changed", "added": "true"})))
			})

		env.With(fixtures.Webhook).It(requirement.ConversionMetadataAnnotationsMayChange,
			"has the webhook change one annotation and add another", func(ctx SpecContext, crd *suites.Resource) {
				create(ctx, crd)
				crd.Webhook.Serve(changingMetadata(func(meta map[string]any) {
					meta["annotations"] = map[string]any{"example.com/owner": "changed", "added": "true"}
				}))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(HaveField("GetAnnotations()", Equal(map[string]string{"example.com/owner": "changed", "added": "true"})))
			})

		env.With(fixtures.Webhook).It(requirement.ConversionMetadataRemovalHonoured,
			"has the webhook remove labels and annotations", func(ctx SpecContext, crd *suites.Resource) {
				create(ctx, crd)
				crd.Webhook.Serve(changingMetadata(func(meta map[string]any) {
					delete(meta, "labels")
					delete(meta, "annotations")
				}))
				Expect(crd.At("v1").Get(ctx, "local-crontab")).To(And(
					HaveField("GetLabels()", BeEmpty()), HaveField("GetAnnotations()", BeEmpty())))
			})
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
