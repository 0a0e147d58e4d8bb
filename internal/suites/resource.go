package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/kube"
)

// Resource is an installed definition that belongs to one spec, with its objects. Its methods prepare what a spec
// checks: where they fail, the spec is Errored. What is to be checked goes through At.
type Resource struct {
	// Webhook converts its objects. Nil unless the definition has a conversion webhook.
	Webhook *Webhook

	env        *Env
	group      string
	plural     string
	kind       string
	namespaced bool
	hold       kube.Hold // on the first create
	changes    int       // made by Change so far
}

// Name is the name of the definition.
func (r *Resource) Name() string { return r.plural + "." + r.group }

// Group is the API group.
func (r *Resource) Group() string { return r.group }

// APIVersion is the group with a version.
func (r *Resource) APIVersion(version string) string { return r.group + "/" + version }

// Everywhere returns a client for the objects at a version in all namespaces.
func (r *Resource) Everywhere(version string) dynamic.NamespaceableResourceInterface {
	return r.env.Dynamic.Resource(schema.GroupVersionResource{Group: r.group, Version: version, Resource: r.plural})
}

// Path is the REST path of the objects at a version, or of one of them if a name is given.
func (r *Resource) Path(version string, name ...string) string {
	parts := []string{"/apis", r.group, version}
	if r.namespaced {
		parts = append(parts, "namespaces", Namespace)
	}
	return strings.Join(slices.Concat(parts, []string{r.plural}, name), "/")
}

// Object returns a documented object made fit for the resource at a version: that is, with its group, and with the
// version's name but the fields that it has.
func (r *Resource) Object(version string, object *unstructured.Unstructured) *unstructured.Unstructured {
	fit := object.DeepCopy()
	fit.SetAPIVersion(r.APIVersion(version))
	if !r.namespaced {
		fit.SetNamespace("")
	}
	return fit
}

// Create creates an object at a version.
func (r *Resource) Create(ctx context.Context, version string, object *unstructured.Unstructured) *unstructured.Unstructured {
	created, err := r.At(version).Create(ctx, object)
	r.env.Require(err, "creating %s at %s", object.GetName(), version)
	return created
}

// Get reads an object at a version.
func (r *Resource) Get(ctx context.Context, version, name string) *unstructured.Unstructured {
	object, err := r.At(version).Get(ctx, name)
	r.env.Require(err, "reading %s at %s", name, version)
	return object
}

// Definition reads the definition.
func (r *Resource) Definition(ctx context.Context) *apiextensionsv1.CustomResourceDefinition {
	crd, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
	r.env.Require(err, "reading the definition")
	return crd
}

// Update changes the definition and returns what the API server says of it, without waiting for the change to show.
func (r *Resource) Update(ctx context.Context, options ...fixtures.Option) error {
	// Meanwhile the API server writes the status, some of it over and over.
	about4s := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 9}
	return retry.RetryOnConflict(about4s, func() error {
		crd, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, option := range options {
			option(crd)
		}
		_, err = r.env.CRDs.Update(ctx, crd, metav1.UpdateOptions{})
		return err
	})
}

// Change changes the definition and waits until the API server serves it so.
//
// There is no signal when a server has switched to a new definition: the definition has it at once, discovery follows, and
// requests follow on a path of their own, some milliseconds before or after. So each change adds a printer column with a
// unique name, which appears in a table as soon as requests are served by the new definition.
func (r *Resource) Change(ctx context.Context, options ...fixtures.Option) {
	r.changes++
	column := fmt.Sprintf("Change %d", r.changes)
	r.env.Require(r.Update(ctx, append(options, printing(column))...), "changing the definition")
	crd := r.Definition(ctx)
	r.env.Require(r.shows(ctx, crd, column), "waiting for requests to be served by the changed definition")
	r.env.Require(r.served(ctx, crd), "waiting for discovery to show the changed definition")
}

// printing gives every version a printer column, in place of those it had.
func printing(column string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{
				{Name: column, Type: "string", JSONPath: ".metadata.name"},
			}
		}
	}
}

// shows waits until the tables of a served version have a column. The table is that of a namespace without objects, or of an
// object that is not there, so that nothing must be converted for it.
func (r *Resource) shows(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, column string) error {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
	if i < 0 {
		return nil // there is nothing to show it
	}
	path := "/apis/" + r.APIVersion(crd.Spec.Versions[i].Name) + "/"
	if r.namespaced {
		path += "namespaces/crdconform-empty/" + r.plural + "?limit=1"
	} else {
		path += r.plural + "?limit=1&fieldSelector=metadata.name%3Dcrdconform-none"
	}
	return r.env.eventually(ctx, func(ctx context.Context) (bool, error) {
		answer, err := r.env.do(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}})
		if err != nil || answer.Status != http.StatusOK {
			return false, err
		}
		var table metav1.Table
		if err := json.Unmarshal(answer.Body, &table); err != nil {
			return false, err
		}
		return slices.ContainsFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == column }), nil
	})
}

// SetStoredVersions updates status.storedVersions.
func (r *Resource) SetStoredVersions(ctx context.Context, versions ...string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		crd.Status.StoredVersions = versions
		_, err = r.env.CRDs.UpdateStatus(ctx, crd, metav1.UpdateOptions{})
		return err
	})
}

// served waits until discovery shows exactly the served versions, with the hash of the storage version.
func (r *Resource) served(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	storageHash := ""
	for _, v := range crd.Spec.Versions {
		// Discovery has no hash for a storage version that is not served.
		if v.Storage && v.Served {
			storageHash = kube.StorageVersionHash(r.group, v.Name, r.kind)
		}
	}
	err := r.env.eventually(ctx, func(ctx context.Context) (bool, error) {
		for _, v := range crd.Spec.Versions {
			shown, err := r.discovered(ctx, v.Name)
			if err != nil {
				return false, err
			}
			if v.Served != (shown != nil) || shown != nil && shown.StorageVersionHash != storageHash {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("discovery does not show %s as it is: %w", r.Name(), err)
	}
	return nil
}

// filled waits until the served versions answer with a list: while the API server fills a watch cache they do not.
func (r *Resource) filled(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		answer, err := r.env.do(ctx, http.MethodGet, r.Path(v.Name)+"?limit=1", nil, nil)
		if err == nil && answer.Status != http.StatusOK {
			err = fmt.Errorf("HTTP status %d: %s", answer.Status, answer.Body)
		}
		if err != nil {
			return fmt.Errorf("listing %s at %s: %w", r.Name(), v.Name, err)
		}
	}
	return nil
}

// discovered returns what discovery says of the resource at a version, nil if it says nothing.
func (r *Resource) discovered(ctx context.Context, version string) (*metav1.APIResource, error) {
	answer, err := r.env.do(ctx, http.MethodGet, "/apis/"+r.APIVersion(version), nil, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return nil, err
	}
	if answer.Status == http.StatusNotFound {
		return nil, nil //nolint:nilnil // nothing is an answer here
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		return nil, fmt.Errorf("discovery of %s: %w", r.APIVersion(version), err)
	}
	i := slices.IndexFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == r.plural })
	if i < 0 {
		return nil, nil //nolint:nilnil // nothing is an answer here
	}
	return &list.APIResources[i], nil
}

// Discovered returns what discovery says of the resource at a version, nil if it says nothing.
func (r *Resource) Discovered(ctx context.Context, version string) *metav1.APIResource {
	shown, err := r.discovered(ctx, version)
	r.env.Require(err, "reading discovery")
	return shown
}

// Stored is an object as it is in storage.
type Stored struct {
	APIVersion string
	Object     *unstructured.Unstructured
	Data       []byte
	Revision   int64 // of the storage, at which it was last written
}

// Stored returns an object as it is in storage. It skips the spec where storage cannot be looked into.
func (r *Resource) Stored(ctx context.Context, name string) Stored {
	stored, err := r.env.Storage().Stored(ctx, r.key(name))
	r.env.Require(err, "looking for %s in storage", name)
	return r.decode(stored)
}

// StoredAll returns all objects as they are in storage.
func (r *Resource) StoredAll(ctx context.Context) []Stored {
	all, err := r.env.Storage().StoredAll(ctx, r.group, r.plural)
	r.env.Require(err, "reading storage")
	decoded := make([]Stored, 0, len(all))
	for _, stored := range all {
		decoded = append(decoded, r.decode(stored))
	}
	return decoded
}

// StoredVersions returns the versions of all objects in storage, each once, sorted.
func (r *Resource) StoredVersions(ctx context.Context) []string {
	var versions []string
	for _, stored := range r.StoredAll(ctx) {
		versions = append(versions, schema.FromAPIVersionAndKind(stored.APIVersion, "").Version)
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// Overwrite puts something else into storage for an object, and returns a function that puts back what was there. It is called
// at the end of the spec in any case, since no definition can be deleted with an object that cannot be decoded. It skips the spec
// where storage cannot be looked into.
func (r *Resource) Overwrite(ctx context.Context, name string, data []byte) (restore func(context.Context) error) {
	storage := r.env.Storage()
	before, err := storage.Stored(ctx, r.key(name))
	r.env.Require(err, "looking for %s in storage", name)
	restore = func(ctx context.Context) error {
		err := storage.Overwrite(ctx, r.key(name), before.Data)
		if errors.Is(err, cluster.ErrNotStored) {
			return nil // the spec deleted it
		}
		return err
	}
	ginkgo.DeferCleanup(func(ctx ginkgo.SpecContext) error { return restore(ctx) }) //nolint:contextcheck // Ginkgo gives another context at the end
	r.env.Require(storage.Overwrite(ctx, r.key(name), data), "changing %s in storage", name)
	return restore
}

func (r *Resource) key(name string) cluster.Key {
	key := cluster.Key{Group: r.group, Resource: r.plural, Name: name}
	if r.namespaced {
		key.Namespace = Namespace
	}
	return key
}

func (r *Resource) decode(stored cluster.Stored) Stored {
	object := &unstructured.Unstructured{}
	r.env.Require(object.UnmarshalJSON(stored.Data), "decoding what is in storage")
	return Stored{object.GetAPIVersion(), object, stored.Data, stored.Revision}
}

// Remind makes the API server look again at a definition whose deletion it may have forgotten.
func (r *Resource) Remind(ctx context.Context) {
	now, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	r.env.Require(err, "reading the definition")
	r.env.Require(r.env.definitions().Remind(ctx, now), "changing an annotation of the definition")
}

// Gone reports whether the definition is gone.
func (r *Resource) Gone(ctx context.Context) bool {
	_, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		r.env.Require(err, "reading the definition")
	}
	return err != nil
}
