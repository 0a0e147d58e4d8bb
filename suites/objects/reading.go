package objects

import (
	"bytes"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) reading() {
	Describe("reading", func() {
		c.stable.It(requirement.ObjectsReadNamespaces, "lists and watches objects of two namespaces", func(ctx SpecContext, crd *suites.Resource) {
			const other = "kube-system"
			started, err := crd.Everywhere("v1").List(ctx, metav1.ListOptions{})
			c.env.Require(err, "listing the objects")
			all, err := crd.Everywhere("v1").Watch(ctx, metav1.ListOptions{ResourceVersion: started.GetResourceVersion(), FieldSelector: "metadata.name=everywhere"})
			Expect(err).NotTo(HaveOccurred())
			defer all.Stop()
			own, err := crd.Everywhere("v1").Namespace(other).Watch(ctx, metav1.ListOptions{ResourceVersion: started.GetResourceVersion(), FieldSelector: "metadata.name=everywhere"})
			Expect(err).NotTo(HaveOccurred())
			defer own.Stop()
			create(ctx, crd, "everywhere")
			_, err = crd.At("v1").In(other).Create(ctx, named("everywhere"))
			c.env.Require(err, "creating an object in the namespace %s", other)
			var seen []string
			for range 2 {
				var event watch.Event
				Eventually(ctx, all.ResultChan()).Should(Receive(&event), "the watch must report both")
				object, ok := event.Object.(metav1.Object)
				Expect(ok).To(BeTrue(), "the watch must report objects: %v", event)
				seen = append(seen, object.GetNamespace())
			}
			Expect(seen).To(ConsistOf(suites.Namespace, other), "the watch must report both")
			// Of the two objects, that of the other namespace was created last.
			var first watch.Event
			Eventually(ctx, own.ResultChan()).Should(Receive(&first), "the watch of a namespace must report its own")
			Expect(first.Object).To(HaveField("GetNamespace()", other), "the watch of a namespace must report its own only")
			found := func(namespace string) []string {
				list, err := crd.Everywhere("v1").Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=everywhere"})
				Expect(err).NotTo(HaveOccurred())
				var namespaces []string
				for i := range list.Items {
					namespaces = append(namespaces, list.Items[i].GetNamespace())
				}
				return namespaces
			}
			Expect(found("")).To(ConsistOf(suites.Namespace, other), "the list must have both")
			Expect(found(other)).To(ConsistOf(other), "the list of a namespace must have its own")
		})

		c.stable.It(requirement.ObjectsReadWatch, "creates, changes and deletes an object that is watched", func(ctx SpecContext, crd *suites.Resource) {
			events, err := crd.At("v1").WatchOne(ctx, "watched")
			Expect(err).NotTo(HaveOccurred())
			defer events.Stop()
			reports := func(want watch.EventType) {
				GinkgoHelper()
				Eventually(ctx, events.ResultChan()).Should(Receive(HaveField("Type", want)), "it must be reported")
			}
			create(ctx, crd, "watched")
			reports(watch.Added) // a watch from now on may begin after the response to its request
			_, err = crd.At("v1").MergePatch(ctx, "watched", `{"spec": {"image": "other"}}`)
			c.env.Require(err, "changing the object")
			reports(watch.Modified)
			c.env.Require(crd.At("v1").Delete(ctx, "watched"), "deleting the object")
			reports(watch.Deleted)
		})

		c.stable.It(requirement.ObjectsReadInitialEvents, "watches an object from what is there on, and changes it", func(ctx SpecContext, crd *suites.Resource) {
			create(ctx, crd, "initial")
			events, err := crd.Everywhere("v1").Watch(ctx, metav1.ListOptions{
				SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true, FieldSelector: "metadata.name=initial",
			})
			Expect(err).NotTo(HaveOccurred())
			defer events.Stop()
			next := func() (event watch.Event) {
				GinkgoHelper()
				Eventually(ctx, events.ResultChan()).Should(Receive(&event))
				return event
			}
			Expect(next()).To(And(HaveField("Type", watch.Added), HaveField("Object", HaveField("GetName()", "initial"))), "it must begin with what is there")
			Expect(next()).To(And(HaveField("Type", watch.Bookmark), HaveField("Object", HaveField("GetAnnotations()", HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true")))),
				"it must say where that ends")
			_, err = crd.At("v1").MergePatch(ctx, "initial", `{"spec": {"image": "other"}}`)
			c.env.Require(err, "changing the object")
			Eventually(ctx, events.ResultChan()).Should(Receive(HaveField("Type", watch.Modified)), "it must go on with what changes")
		})

		c.stable.It(requirement.ObjectsReadMetadata, "reads and lists an object as its metadata", func(ctx SpecContext, crd *suites.Resource) {
			create(ctx, crd, "metadata-alone")
			read := func(kind, path string, into any) {
				GinkgoHelper()
				answer := c.env.Do(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/json;as=" + kind + ";v=v1;g=meta.k8s.io"}})
				Expect(answer.Status).To(Equal(http.StatusOK), "%s", answer.Body)
				decoder := json.NewDecoder(bytes.NewReader(answer.Body))
				decoder.DisallowUnknownFields()
				Expect(decoder.Decode(into)).To(Succeed(), "there must be nothing but metadata")
			}
			var one metav1.PartialObjectMetadata
			read("PartialObjectMetadata", crd.Path("v1", "metadata-alone"), &one)
			want := crd.Get(ctx, "v1", "metadata-alone")
			Expect(one.TypeMeta).To(Equal(metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}))
			Expect(one.ObjectMeta).To(And(HaveField("UID", want.GetUID()), HaveField("ResourceVersion", want.GetResourceVersion())))
			var list metav1.PartialObjectMetadataList
			read("PartialObjectMetadataList", crd.Path("v1")+"?fieldSelector=metadata.name%3Dmetadata-alone", &list)
			Expect(list.Kind).To(Equal("PartialObjectMetadataList"))
			Expect(list.Items).To(ConsistOf(HaveField("ObjectMeta.UID", want.GetUID())))
		})
	})
}
