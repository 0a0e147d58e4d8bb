package existing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// defuseTimeout is how long it may take until the objects of a definition have no finalizers.
const defuseTimeout = 20 * time.Second

// defuse makes a definition one that can be deleted with its objects, whatever state a spec that was killed left it in. The
// webhook has gone with the run, so nothing is converted any more; a version that objects are stored at may be missing, or not
// be served; and objects may have finalizers.
func (c *Cleaner) defuse(ctx context.Context, l Leftover) error {
	var defused *apiextensionsv1.CustomResourceDefinition
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := c.definitions.Get(ctx, l.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if crd.UID != l.UID || crd.Labels[cluster.RunLabel] != l.Run {
			return errChanged
		}
		harmless(crd)
		defused, err = c.definitions.Update(ctx, crd, metav1.UpdateOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing its webhook: %w", err)
	}
	if !apihelpers.IsCRDConditionTrue(defused, apiextensionsv1.Established) {
		return nil // so it never had objects
	}
	if err := c.unbind(ctx, defused); err != nil {
		return fmt.Errorf("removing the finalizers of its objects: %w", err)
	}
	return nil
}

// errChanged says that something is another thing by now, or of another run or none.
var errChanged = errors.New("it has changed since it was found and is not touched")

// isOurs reports whether a finalizer is one that specs set. Nobody but the run would have taken it off.
func isOurs(finalizer string) bool { return strings.HasPrefix(finalizer, "crdconform.dev/") }

// release takes the finalizers of a run off something that is no definition. Those of others stay.
func (c *Cleaner) release(ctx context.Context, l Leftover) error {
	resource := c.metadata.Resource(l.Resource).Namespace(l.Namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := resource.Get(ctx, l.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.UID != l.UID || now.Labels[cluster.RunLabel] != l.Run {
			return errChanged
		}
		// What it was when it was read is a condition of the change, and so what it is.
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": now.UID, "resourceVersion": now.ResourceVersion, "finalizers": slices.DeleteFunc(now.Finalizers, isOurs),
		}})
		if err != nil {
			return err
		}
		_, err = resource.Patch(ctx, l.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("removing its finalizers: %w", err)
}

// harmless takes out of a definition what it or its objects could be stuck with.
func harmless(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Finalizers = slices.DeleteFunc(crd.Finalizers, func(f string) bool { return f != apiextensionsv1.CustomResourceCleanupFinalizer })
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	has := func(name string) bool {
		return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	}
	// A version that is in the status and not in the definition would block every change, and those of the documents may
	// be what objects are stored at though nothing says so.
	for _, name := range append(slices.Clone(crd.Status.StoredVersions), "v1alpha1", "v1beta1", "v1") {
		if !has(name) {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name})
		}
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Served, v.SelectableFields = true, nil
		v.Schema = &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
		}
	}
}

// unbind takes the finalizers of all objects of a definition away. It takes the API server some time to go over to a changed
// definition, until when it may fail.
func (c *Cleaner) unbind(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	objects := c.objects.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: kube.StorageVersion(crd), Resource: crd.Spec.Names.Plural})
	within, cancel := context.WithTimeout(ctx, defuseTimeout)
	defer cancel()
	var last error
	err := kube.Until(within, probePoll, func(ctx context.Context) (bool, error) {
		list, err := objects.List(ctx, metav1.ListOptions{})
		last = err
		switch {
		case apierrors.IsForbidden(err):
			last = nil // those without finalizers are deleted anyway, and the definition reports the others
			return true, nil
		case apierrors.IsNotFound(err) && c.isGone(ctx, crd):
			last = nil // it was being deleted, and a finalizer of its own was what it waited for
			return true, nil
		case err != nil:
			return false, nil //nolint:nilerr // it is tried again
		}
		bound := false
		for _, object := range list.Items {
			if len(object.GetFinalizers()) == 0 {
				continue
			}
			bound = true
			_, err := objects.Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				last = err
			}
		}
		return !bound, nil
	})
	if last != nil {
		return last
	}
	return err
}

// isGone reports whether a definition is there no more.
func (c *Cleaner) isGone(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) bool {
	now, err := c.definitions.Get(ctx, crd.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && now.UID != crd.UID
}
