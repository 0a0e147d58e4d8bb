package objects

import (
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
	})
}
