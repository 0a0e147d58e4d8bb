package control

import (
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/suites"
)

// resource returns a client for a resource of the control plane.
func (c chapter) resource(groupVersion, resource string) dynamic.NamespaceableResourceInterface {
	gv, err := schema.ParseGroupVersion(groupVersion)
	c.env.Require(err, "naming a resource")
	return c.env.Dynamic.Resource(gv.WithResource(resource))
}

// in returns a client for a resource of the control plane in the namespace of the run.
func (c chapter) in(groupVersion, resource string) dynamic.ResourceInterface {
	return c.resource(groupVersion, resource).Namespace(suites.Namespace)
}

// put creates an object of the control plane for a spec, labelled like the definition of the spec, and deletes it after the
// spec.
func (c chapter) put(ctx SpecContext, crd *suites.Resource, client dynamic.ResourceInterface, object any) *unstructured.Unstructured {
	GinkgoHelper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	c.env.Require(err, "encoding an object")
	wanted := &unstructured.Unstructured{Object: content}
	if run, found := crd.Definition(ctx).Labels[cluster.RunLabel]; found {
		labels := wanted.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[cluster.RunLabel] = run
		wanted.SetLabels(labels)
	}
	created, err := client.Create(ctx, wanted, metav1.CreateOptions{})
	c.env.Require(err, "creating a %s", wanted.GetKind())
	DeferCleanup(func(ctx SpecContext) error {
		return unlessGone(client.Delete(ctx, created.GetName(), metav1.DeleteOptions{}))
	})
	return created
}

// unfinish takes the finalizers off an object that may be gone.
func unfinish(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	_, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	return unlessGone(err)
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// beGone matches the error of a read of what is not there.
func beGone() gomegatypes.GomegaMatcher { return MatchError(apierrors.IsNotFound, "IsNotFound") }

// read returns a function that reads an object, for Eventually.
func read(client dynamic.ResourceInterface, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		return suites.ErrorOf(client.Get(ctx, name, metav1.GetOptions{}))
	}
}

// soon waits as long as controllers may take.
func (c chapter) soon(ctx SpecContext, actual any) AsyncAssertion {
	return Eventually(ctx, actual).WithTimeout(c.catchUp).WithPolling(poll)
}

// prepared creates a custom object somewhere else than crd.Create does.
func (c chapter) prepared(ctx SpecContext, objects suites.Objects, object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	created, err := objects.Create(ctx, object)
	c.env.Require(err, "creating %s", object.GetName())
	return created
}

// owner refers to an object as the owner of others.
func owner(object *unstructured.Unstructured, apiVersion string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID()}
}

// namespace creates a namespace for a spec and deletes it after the spec, without waiting for it to be empty.
func (c chapter) namespace(ctx SpecContext, crd *suites.Resource, finalizers ...string) string {
	GinkgoHelper()
	namespaces := c.resource("v1", "namespaces")
	name := c.put(ctx, crd, namespaces, &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-", Finalizers: finalizers},
	}).GetName()
	// Clean-ups run last to first: this one deletes the namespace before the one of put finds it gone or on its way.
	DeferCleanup(func(ctx SpecContext) error {
		if crd.Webhook != nil {
			crd.Webhook.Mend()
		}
		if err := unlessGone(namespaces.Delete(ctx, name, metav1.DeleteOptions{})); err != nil {
			return err
		}
		if err := unfinish(ctx, namespaces, name); err != nil {
			return err
		}
		if controllers(ctx, c.env) != "" {
			return c.finish(ctx, name)
		}
		return nil
	})
	return name
}

// finish does for a namespace that is being deleted what the namespace controller does at the end, if there is none.
func (c chapter) finish(ctx SpecContext, name string) error {
	namespaces := c.resource("v1", "namespaces")
	ending, err := namespaces.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return unlessGone(err)
	}
	unstructured.RemoveNestedField(ending.Object, "spec", "finalizers")
	body, err := json.Marshal(ending)
	if err != nil {
		return err
	}
	answer := c.env.Do(ctx, http.MethodPut, "/api/v1/namespaces/"+name+"/finalize", body, http.Header{"Content-Type": {"application/json"}})
	if answer.Status == http.StatusNotFound {
		return nil
	}
	return decode(answer, &corev1.Namespace{})
}
