package rehearsal

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

// api is the API server of a rehearsal. It reads and writes what is there, and judges nothing.
type api struct {
	cluster cluster.Cluster
	storage Storage
	config  *rest.Config
	objects dynamic.Interface
	rest    rest.Interface
	install *installer
}

// connect returns the API server of a cluster.
func connect(c cluster.Cluster) (*api, error) {
	storage, able := c.(Storage)
	if !able {
		return nil, fmt.Errorf("a cluster of the kind %s gives no access to what it stores, so objects cannot be brought in as they are; use an embedded one, envtest or kind", c.Name())
	}
	a := &api{cluster: c, storage: storage, config: c.Config()}
	a.config.QPS, a.config.WarningHandler = -1, rest.NoWarnings{}
	clients, err := kube.Connect(a.config)
	if err != nil {
		return nil, err
	}
	a.objects, a.rest = clients.Objects, clients.Discovery.RESTClient()
	a.install = &installer{Definitions: clients.Definitions, crds: a.objects.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")), storage: storage}
	return a, nil
}

// resource returns a client for the objects of a definition at a version, in all namespaces.
func (a *api) resource(k *kind, version string) dynamic.NamespaceableResourceInterface {
	return a.objects.Resource(schema.GroupVersionResource{Group: k.group, Version: version, Resource: k.plural})
}

// at returns a client for the objects beside one.
func (a *api) at(k *kind, version, object string) (dynamic.ResourceInterface, string) {
	namespace, name := kube.SplitKey(object)
	if !k.scoped {
		return a.resource(k, version), name
	}
	return a.resource(k, version).Namespace(namespace), name
}

// fresh returns the new definition as the API server keeps it where there is no old one, or why it refuses it.
func (a *api) fresh(ctx context.Context, k *kind) (spec map[string]any, refused, err error) {
	if refused = a.install.put(ctx, Replace, k.new.given); refused != nil {
		if ctx.Err() != nil || !isAbout(refused) {
			return nil, nil, refused
		}
		return nil, refused, nil
	}
	if spec, err = a.specOf(ctx, k); err != nil {
		return nil, nil, err
	}
	return spec, nil, a.install.remove(ctx, k.name)
}

func (a *api) specOf(ctx context.Context, k *kind) (map[string]any, error) {
	there, err := a.install.crds.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(there.Object, "spec")
	return spec, err
}

// manifestOf returns a manifest of a definition, whose objects a webhook converts if one is to; nobody does if it is nil.
func manifestOf(s *side, client *apiextensionsv1.WebhookClientConfig) (map[string]any, error) {
	if !s.converts() {
		return runtime.DeepCopyJSON(s.manifest), nil
	}
	if client == nil { // nobody converts
		url := "https://127.0.0.1:1/nobody-converts"
		client = &apiextensionsv1.WebhookClientConfig{URL: &url}
	}
	return withClient(s.manifest, *client)
}

// put installs a definition over what is there, and waits until it is served.
func (a *api) put(ctx context.Context, k *kind, s *side, client *apiextensionsv1.WebhookClientConfig) error {
	manifest, err := manifestOf(s, client)
	if err != nil {
		return err
	}
	return a.putManifest(ctx, k, s, manifest)
}

// putManifest installs a manifest of a definition, with a column by which it is recognised.
func (a *api) putManifest(ctx context.Context, k *kind, s *side, manifest map[string]any) error {
	column := a.install.column(manifest)
	if err := a.install.put(ctx, k.way, manifest); err != nil {
		return &refusedError{err}
	}
	return a.install.effective(ctx, s, column)
}

// refusedError is what the API server says of a definition.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// isRefusal reports whether the API server refused a definition.
func isRefusal(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && isAbout(err)
}

// apply has a manager apply something, without keeping it.
func (a *api) apply(ctx context.Context, k *kind, version, manager string, part *unstructured.Unstructured) error {
	at, name := a.at(k, version, keyOf(part))
	_, err := at.Apply(ctx, name, part, metav1.ApplyOptions{DryRun: dryRun(), FieldManager: manager, Force: true})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // somebody else wrote to it
	}
	return err
}

// dryRun are the options of a write that is discarded.
func dryRun() []string { return []string{metav1.DryRunAll} }

// fieldManager is that of writes of the rehearsal itself.
const fieldManager = "crdconform-rehearsal"

// collects reports whether the cluster collects garbage.
func (a *api) collects(ctx context.Context) bool {
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	_, err := a.objects.Resource(leases).Namespace(metav1.NamespaceSystem).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
	return err == nil
}

// elsewhere returns how many objects are not stored at the storage version.
func (a *api) elsewhere(ctx context.Context, k *kind) (int, error) {
	n := 0
	err := a.storage.EachStored(ctx, k.group, k.plural, func(stored cluster.Stored) {
		if versionOf(stored.Data) != k.new.storage() {
			n++
		}
	})
	return n, err
}
