package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
)

// Objects are the objects of a resource as seen at one version. Its methods are what specs check, so they return what
// the API server says. Subresources may be named at the end.
type Objects struct {
	resource *Resource
	version  string
	client   dynamic.ResourceInterface
}

// At returns the objects as seen at a version, in the namespace of the run if they are namespaced.
func (r *Resource) At(version string) Objects {
	all := r.Everywhere(version)
	if r.namespaced {
		return Objects{r, version, all.Namespace(Namespace)}
	}
	return Objects{r, version, all}
}

// In returns the objects of another namespace.
func (o Objects) In(namespace string) Objects {
	return Objects{o.resource, o.version, o.resource.Everywhere(o.version).Namespace(namespace)}
}

// Get reads an object.
func (o Objects) Get(ctx context.Context, name string, subresource ...string) (*unstructured.Unstructured, error) {
	return o.client.Get(ctx, name, metav1.GetOptions{}, subresource...)
}

// List reads all objects.
func (o Objects) List(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := o.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Watch watches all objects from now on. The caller stops the watch.
func (o Objects) Watch(ctx context.Context) (watch.Interface, error) {
	list, err := o.client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	return o.client.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
}

// WatchOne watches the object of a name, which need not be there yet. The caller stops the watch.
func (o Objects) WatchOne(ctx context.Context, name string) (watch.Interface, error) {
	return o.client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
}

// Create creates an object, with the group and the version of o in place of its own.
func (o Objects) Create(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fit := o.resource.Object(o.version, object)
	fit.SetNamespace("")
	return o.client.Create(ctx, fit, metav1.CreateOptions{})
}

// Update puts an object.
func (o Objects) Update(ctx context.Context, object *unstructured.Unstructured, subresource ...string) (*unstructured.Unstructured, error) {
	return o.client.Update(ctx, object, metav1.UpdateOptions{}, subresource...)
}

// MergePatch patches an object by a JSON merge patch.
func (o Objects) MergePatch(ctx context.Context, name, patch string, subresource ...string) (*unstructured.Unstructured, error) {
	return o.client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
}

// JSONPatch patches an object by a JSON patch.
func (o Objects) JSONPatch(ctx context.Context, name, patch string, subresource ...string) (*unstructured.Unstructured, error) {
	return o.client.Patch(ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
}

// Apply applies an object as a field manager, with the group and the version of o in place of its own.
func (o Objects) Apply(ctx context.Context, object *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	fit := o.resource.Object(o.version, object)
	fit.SetNamespace("")
	return o.client.Apply(ctx, object.GetName(), fit, metav1.ApplyOptions{FieldManager: manager, Force: true})
}

// Delete deletes an object.
func (o Objects) Delete(ctx context.Context, name string) error {
	return o.client.Delete(ctx, name, metav1.DeleteOptions{})
}

// Remove deletes an object, and reports whether finalizers keep it: then the answer is the object, which the clients hide.
func (o Objects) Remove(ctx context.Context, name string) (kept bool, err error) {
	answer, err := o.resource.env.do(ctx, http.MethodDelete, o.resource.Path(o.version, name), nil, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return false, err
	}
	if answer.Status >= http.StatusMultipleChoices {
		var failed apierrors.StatusError
		if err = json.Unmarshal(answer.Body, &failed.ErrStatus); err != nil {
			return false, fmt.Errorf("deleting %s: HTTP status %d: %s", name, answer.Status, answer.Body)
		}
		return false, &failed
	}
	var said metav1.TypeMeta
	if err = json.Unmarshal(answer.Body, &said); err != nil {
		return false, fmt.Errorf("deleting %s: %w", name, err)
	}
	return said != metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, nil
}

// DeleteAll deletes all objects by one request.
func (o Objects) DeleteAll(ctx context.Context) error {
	return o.client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// DeleteLabelled deletes all objects with a label by one request. The label has the form name=value.
func (o Objects) DeleteLabelled(ctx context.Context, label string) error {
	return o.client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: label})
}

// Each reads all objects page by page and calls a function for each.
func (o Objects) Each(ctx context.Context, pageSize int64, visit func(*unstructured.Unstructured) error) error {
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return o.client.List(ctx, options)
	}))
	pages.PageSize = pageSize
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		item, ok := object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("a list contains a %T", object)
		}
		return visit(item)
	})
}

// Count is the annotation that CountUp counts in.
const Count = "count"

// CountUp adds one to the annotation Count of an object by reading the object and putting it back. It retries after conflicts
// with other writers; any other error ends it.
func (o Objects) CountUp(ctx context.Context, name string) error {
	for {
		object, err := o.Get(ctx, name)
		if err != nil {
			return err
		}
		annotations := object.GetAnnotations()
		n, err := strconv.Atoi(annotations[Count])
		if err != nil {
			return fmt.Errorf("%s has an invalid count: %w", name, err)
		}
		annotations[Count] = strconv.Itoa(n + 1)
		object.SetAnnotations(annotations)
		if _, err = o.Update(ctx, object); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// ErrorOf drops what a request returns besides its error.
func ErrorOf[T any](_ T, err error) error { return err }
