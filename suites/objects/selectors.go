package objects

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// selectable makes fields of a version selectable.
func selectable(version string, paths ...string) fixtures.Option {
	return func(crd *definition) {
		fields := make([]apiextensionsv1.SelectableField, 0, len(paths))
		for _, path := range paths {
			fields = append(fields, apiextensionsv1.SelectableField{JSONPath: path})
		}
		fixtures.Version(crd, version).SelectableFields = fields
	}
}

// selected returns the names of the objects that a selector finds.
func selected(ctx context.Context, crd *suites.Resource, version, selector string) ([]string, error) {
	list, err := crd.Everywhere(version).Namespace(suites.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names, nil
}

func (c chapter) selectors() {
	Describe("selectable fields", func() {
		images := c.env.With(fixtures.Stable, selectable("v1", ".spec.image", ".spec.replicas")).Together()
		// with creates an object with an image and replicas.
		with := func(ctx context.Context, crd *suites.Resource, name, image string, replicas int64) {
			GinkgoHelper()
			crd.Create(ctx, "v1", put(put(named(name), image, "spec", "image"), replicas, "spec", "replicas"))
		}

		images.It(requirement.ObjectsSelectorsList, "lists objects by a field, and by two", func(ctx SpecContext, crd *suites.Resource) {
			with(ctx, crd, "listed-one", "listed", 1)
			with(ctx, crd, "listed-two", "listed", 2)
			with(ctx, crd, "not-listed", "other", 1)
			Expect(selected(ctx, crd, "v1", "spec.image=listed")).To(ConsistOf("listed-one", "listed-two"), "it must find those with the value")
			Expect(selected(ctx, crd, "v1", "spec.image=listed,spec.replicas=2")).To(ConsistOf("listed-two"), "it must find the one with both values")
		})

		images.It(requirement.ObjectsSelectorsWatch, "watches objects by a field and changes it", func(ctx SpecContext, crd *suites.Resource) {
			events, err := crd.Everywhere("v1").Namespace(suites.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "spec.image=watched"})
			Expect(err).NotTo(HaveOccurred())
			defer events.Stop()
			with(ctx, crd, "not-watched", "other", 1)
			with(ctx, crd, "selected", "watched", 1)
			reports := func(want watch.EventType) {
				GinkgoHelper()
				Eventually(ctx, events.ResultChan()).Should(Receive(And(HaveField("Type", want), HaveField("Object.GetName()", "selected"))), "it must be reported")
			}
			reports(watch.Added) // a watch from now on may begin after the response to its request
			_, err = crd.At("v1").MergePatch(ctx, "selected", `{"spec": {"image": "other"}}`)
			c.env.Require(err, "changing the object")
			reports(watch.Deleted)
		})

		images.It(requirement.ObjectsSelectorsDelete, "deletes objects by a field", func(ctx SpecContext, crd *suites.Resource) {
			with(ctx, crd, "deleted", "deleted", 1)
			with(ctx, crd, "not-deleted", "kept", 1)
			Expect(crd.Everywhere("v1").Namespace(suites.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.image=deleted"})).To(Succeed())
			Eventually(ctx, func() error { return suites.ErrorOf(crd.At("v1").Get(ctx, "deleted")) }).Should(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must go")
			Expect(crd.At("v1").Get(ctx, "not-deleted")).Error().NotTo(HaveOccurred(), "the other must stay")
		})

		images.It(requirement.ObjectsSelectorsUnknown, "lists objects by a field that is not selectable, and by the name, which always is", func(ctx SpecContext, crd *suites.Resource) {
			with(ctx, crd, "known", "known", 1)
			Expect(selected(ctx, crd, "v1", "metadata.name=known")).To(ConsistOf("known"), "what is selectable must be found")
			Expect(selected(ctx, crd, "v1", "spec.cronSpec=never")).Error().To(MatchError(apierrors.IsBadRequest, "IsBadRequest"))
		})

		images.It(requirement.ObjectsSelectorsPublished, "looks for selectable fields in the OpenAPI documents", func(ctx SpecContext, crd *suites.Resource) {
			for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/" + crd.APIVersion("v1")} {
				Eventually(ctx, func() []map[string]string { return publishedFields(c.env.Get(ctx, path).Body, crd.Group()) }).WithPolling(100*time.Millisecond).
					Should(ConsistOf(HaveKeyWithValue("fieldPath", "spec.image"), HaveKeyWithValue("fieldPath", "spec.replicas")), "%s must have them", path)
			}
		}, suites.Slow)

		c.env.With(fixtures.Webhook, selectable("v1beta1", ".hostPort"), selectable("v1", ".host")).It(requirement.ObjectsSelectorsVersions,
			"lists objects by the fields of each version", func(ctx SpecContext, crd *suites.Resource) {
				crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
				crd.Create(ctx, "v1beta1", fixtures.RemoteCronTab.At("v1beta1"))
				Expect(selected(ctx, crd, "v1", "host=localhost")).To(ConsistOf("local-crontab"), "v1 must select by its field")
				Expect(selected(ctx, crd, "v1beta1", "hostPort=example.com:2345")).To(ConsistOf("remote-crontab"), "v1beta1 must select by its field")
				Expect(selected(ctx, crd, "v1beta1", "host=localhost")).Error().To(MatchError(apierrors.IsBadRequest, "IsBadRequest"), "v1beta1 must not have the field of v1")
			})
	})
}

// publishedFields returns the selectable fields that an OpenAPI document has of the kind CronTab of a group.
func publishedFields(body []byte, group string) []map[string]string {
	type models map[string]struct {
		Fields []map[string]string       `json:"x-kubernetes-selectable-fields"`
		Kinds  []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	}
	var document struct {
		Definitions models `json:"definitions"`
		Components  struct {
			Schemas models `json:"schemas"`
		} `json:"components"`
	}
	_ = json.Unmarshal(body, &document) // what is no document has no fields
	for _, all := range []models{document.Definitions, document.Components.Schemas} {
		for _, model := range all {
			if len(model.Kinds) == 1 && model.Kinds[0].Group == group && model.Kinds[0].Kind == "CronTab" {
				return model.Fields
			}
		}
	}
	return nil
}
