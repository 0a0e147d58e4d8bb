package control

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// held is a finalizer that only the spec that set it removes.
const held = "crdconform.dev/held"

func (c chapter) namespaces() {
	Describe("namespaces", Label(suites.Slow), func() {
		c.env.With(fixtures.Stable).It(requirement.ControlNamespacesMissing,
			"creates an object in a namespace that does not exist", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, namespacesEnforced)
				object := fixtures.MyNewCronObject.At(newer)
				Expect(crd.At(newer).In("crdconform-missing").Create(ctx, object)).Error().To(beGone(), "nothing can be created in a namespace that does not exist")
			})

		c.env.With(fixtures.None).It(requirement.ControlNamespacesTerminating,
			"creates objects in a namespace that is being deleted", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, namespacesEnforced, may("create", "", "namespaces"), namespacesEnd)
				namespace := c.namespace(ctx, crd, held)
				before := fixtures.LocalCronTab.At(newer)
				before.SetName("before")
				Expect(crd.At(newer).In(namespace).Create(ctx, before)).Error().NotTo(HaveOccurred())
				c.deleteNamespace(ctx, namespace)
				for _, version := range []string{older, newer} {
					Eventually(ctx, func(ctx context.Context) error {
						return suites.ErrorOf(crd.At(version).In(namespace).Create(ctx, fixtures.LocalCronTab.At(newer)))
					}).Should(MatchError(terminating, "forbidden because the namespace is being deleted"), "nothing can be created at %s while the namespace is being deleted", version)
				}
			})

		c.env.With(fixtures.Webhook).It(requirement.ControlNamespacesObjects,
			"deletes a namespace with objects of two versions", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, controllers, may("create", "", "namespaces"))
				namespace := c.namespace(ctx, crd)
				c.prepared(ctx, crd.At(older).In(namespace), fixtures.LocalCronTab.At(older))
				crd.Change(ctx, fixtures.StoredAt(newer))
				c.prepared(ctx, crd.At(newer).In(namespace), fixtures.RemoteCronTab.At(newer))
				crd.Create(ctx, newer, fixtures.LocalCronTab.At(newer))
				c.deleteNamespace(ctx, namespace)
				c.soon(ctx, read(c.resource("v1", "namespaces"), namespace)).Should(beGone(), "the namespace must be deleted")
				Expect(c.whereabouts(ctx, crd)).To(Equal([]string{suites.Namespace + "/local-crontab"}), "objects of other namespaces must stay, and no others")
			})

		c.env.With(fixtures.Stable).It(requirement.ControlNamespacesFinalizers,
			"deletes a namespace with an object that has a finalizer", func(ctx SpecContext, crd *suites.Resource) {
				c.env.Needs(ctx, controllers, may("create", "", "namespaces"))
				namespace := c.namespace(ctx, crd)
				object := fixtures.MyNewCronObject.At(newer)
				object.SetFinalizers([]string{held})
				c.prepared(ctx, crd.At(newer).In(namespace), object)
				objects := crd.Everywhere(newer).Namespace(namespace)
				DeferCleanup(func(ctx SpecContext) error { return unfinish(ctx, objects, object.GetName()) })
				c.deleteNamespace(ctx, namespace)
				c.soon(ctx, c.namespaceNamed(namespace)).Should(haveCondition(corev1.NamespaceFinalizersRemaining, held), "the namespace must say which finalizer blocks it")
				Expect(crd.At(newer).In(namespace).Get(ctx, object.GetName())).To(HaveField("GetDeletionTimestamp()", Not(BeNil())), "the object must be marked")
				c.env.Require(unfinish(ctx, objects, object.GetName()), "removing the finalizer")
				c.soon(ctx, read(c.resource("v1", "namespaces"), namespace)).Should(beGone(), "the namespace must be deleted")
			})

		c.brokenWebhook()
	})
}

// brokenWebhook is about namespaces whose objects cannot be converted.
func (c chapter) brokenWebhook() {
	// blocked leaves an object at the older version in a namespace, breaks the webhook, and asks for the deletion of the
	// namespace. The namespace controller works at the version that discovery prefers.
	blocked := func(ctx SpecContext, crd *suites.Resource) string {
		c.env.Needs(ctx, controllers, may("create", "", "namespaces"))
		namespace := c.namespace(ctx, crd)
		c.prepared(ctx, crd.At(older).In(namespace), fixtures.LocalCronTab.At(older))
		crd.Webhook.Break("status-500")
		c.deleteNamespace(ctx, namespace)
		return namespace
	}

	c.env.With(fixtures.Webhook).It(requirement.ControlNamespacesBlockedByWebhook,
		"deletes a namespace with an object that the webhook does not convert", func(ctx SpecContext, crd *suites.Resource) {
			namespace := blocked(ctx, crd)
			c.soon(ctx, c.namespaceNamed(namespace)).Should(haveCondition(corev1.NamespaceDeletionContentFailure, "conversion webhook for"), "the namespace must say what blocks it")
			Expect(crd.At(older).In(namespace).Get(ctx, "local-crontab")).Error().NotTo(HaveOccurred(), "the object must still be there")
		})

	c.env.With(fixtures.Webhook).It(requirement.ControlNamespacesRecover,
		"repairs the webhook that blocks the deletion of a namespace", func(ctx SpecContext, crd *suites.Resource) {
			namespace := blocked(ctx, crd)
			c.soon(ctx, c.namespaceNamed(namespace)).Should(haveCondition(corev1.NamespaceDeletionContentFailure, ""), "the namespace must say what blocks it")
			crd.Webhook.Mend()
			c.soon(ctx, read(c.resource("v1", "namespaces"), namespace)).Should(beGone(), "the namespace must be deleted")
			Expect(c.whereabouts(ctx, crd)).To(BeEmpty(), "the objects must be deleted with it")
		})

	c.env.With(fixtures.Webhook, fixtures.StoredAt(newer)).It(requirement.ControlNamespacesPreferredVersion,
		"deletes a namespace with an object stored at the preferred version while the webhook fails", func(ctx SpecContext, crd *suites.Resource) {
			c.env.Needs(ctx, controllers, may("create", "", "namespaces"))
			namespace := c.namespace(ctx, crd)
			c.prepared(ctx, crd.At(newer).In(namespace), fixtures.LocalCronTab.At(newer))
			crd.Webhook.Break("status-500")
			c.deleteNamespace(ctx, namespace)
			c.soon(ctx, read(c.resource("v1", "namespaces"), namespace)).Should(beGone(), "the namespace must be deleted")
			Expect(c.whereabouts(ctx, crd)).To(BeEmpty(), "the objects must be deleted with it")
		})
}

func (c chapter) deleteNamespace(ctx SpecContext, name string) {
	GinkgoHelper()
	c.env.Require(c.resource("v1", "namespaces").Delete(ctx, name, metav1.DeleteOptions{}), "deleting the namespace")
}

// namespaceNamed returns a function that reads a namespace, for Eventually.
func (c chapter) namespaceNamed(name string) func(context.Context) (*unstructured.Unstructured, error) {
	return func(ctx context.Context) (*unstructured.Unstructured, error) {
		return c.resource("v1", "namespaces").Get(ctx, name, metav1.GetOptions{})
	}
}

// whereabouts returns the objects of all namespaces, each as namespace/name.
func (c chapter) whereabouts(ctx SpecContext, crd *suites.Resource) []string {
	list, err := crd.Everywhere(newer).List(ctx, metav1.ListOptions{})
	c.env.Require(err, "listing the objects of all namespaces")
	all := make([]string, 0, len(list.Items))
	for _, object := range list.Items {
		all = append(all, object.GetNamespace()+"/"+object.GetName())
	}
	return all
}

// haveCondition matches a namespace with a condition that is true and whose message has a text.
func haveCondition(condition corev1.NamespaceConditionType, text string) gomegatypes.GomegaMatcher {
	conditions := func(object *unstructured.Unstructured) ([]corev1.NamespaceCondition, error) {
		var namespace corev1.Namespace
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &namespace); err != nil {
			return nil, fmt.Errorf("reading the namespace: %w", err)
		}
		return namespace.Status.Conditions, nil
	}
	return WithTransform(conditions, ContainElement(SatisfyAll(
		HaveField("Type", condition), HaveField("Status", corev1.ConditionTrue), HaveField("Message", ContainSubstring(text)),
	)))
}

// terminating reports whether an error forbids something because the namespace is being deleted.
func terminating(err error) bool {
	return apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
