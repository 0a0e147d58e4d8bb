package suites

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// FinalVersions returns the versions that the objects of the resource are stored at, by their names. It is the last that a
// spec may want to know of storage.
//
// Where storage cannot be looked into, it is found out by an empty patch: the API server writes an object that it does not
// have to change exactly when it is stored at another version than the storage version, and then its resource version is
// another afterwards. The object is stored at the storage version from there on, which is why this comes last. Nothing is
// known of the bytes, and of versions other than the storage version only where there is just one that it can be.
func (r *Resource) FinalVersions(ctx context.Context) map[string]string {
	versions := map[string]string{}
	if _, ok := r.env.Cluster.(cluster.Storage); ok {
		for _, stored := range r.StoredAll(ctx) {
			versions[stored.Object.GetName()] = schema.FromAPIVersionAndKind(stored.APIVersion, "").Version
		}
		return versions
	}
	definition := r.Definition(ctx)
	at := r.At(r.writable(definition))
	objects, err := at.List(ctx)
	r.env.Require(err, "listing the objects to look for in storage")
	for i := range objects {
		versions[objects[i].GetName()] = r.finalVersion(ctx, definition, at, &objects[i])
	}
	return versions
}

// finalVersion returns the version that an object is stored at.
func (r *Resource) finalVersion(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition, at Objects, object *unstructured.Unstructured) string {
	after, err := at.MergePatch(ctx, object.GetName(), "{}")
	r.env.Require(err, "writing %s without a change", object.GetName())
	storage := kube.StorageVersion(definition)
	if after.GetResourceVersion() == object.GetResourceVersion() {
		return storage
	}
	others := slices.DeleteFunc(slices.Clone(definition.Status.StoredVersions), func(version string) bool { return version == storage })
	if len(others) == 1 {
		return others[0]
	}
	return "not " + storage
}

// writable returns a version to write objects at, the storage version if that is served.
func (r *Resource) writable(definition *apiextensionsv1.CustomResourceDefinition) string {
	written := servedVersion(definition)
	if written == "" {
		ginkgo.Skip(fmt.Sprintf("requires access to etcd, which a cluster of the kind %s does not give, and no version is served to determine it another way", r.env.Cluster.Name()))
	}
	return written
}

// servedVersion returns the storage version if it is served, else another one that is, or none.
func servedVersion(definition *apiextensionsv1.CustomResourceDefinition) string {
	served := ""
	for _, version := range definition.Spec.Versions {
		if version.Served && (served == "" || version.Storage) {
			served = version.Name
		}
	}
	return served
}

// InStorage reports whether there is anything in storage for an object. Where storage cannot be looked into, the API server is
// asked to create an object of that name, without doing it: it looks there for one that is in the way.
func (r *Resource) InStorage(ctx context.Context, name string) bool {
	if _, ok := r.env.Cluster.(cluster.Storage); !ok {
		return r.inTheWay(ctx, name)
	}
	_, err := r.env.Storage().Stored(ctx, r.key(name))
	if err != nil && !errors.Is(err, cluster.ErrNotStored) {
		r.env.Require(err, "looking for %s in storage", name)
	}
	return err == nil
}

// inTheWay reports whether an object keeps another of its name from being created.
func (r *Resource) inTheWay(ctx context.Context, name string) bool {
	version := r.writable(r.Definition(ctx))
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": r.APIVersion(version), "kind": r.kind}}
	object.SetName(name)
	_, err := r.At(version).client.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsAlreadyExists(err) {
		return true
	}
	r.env.Require(err, "testing whether %s could be created", name)
	return false
}
