package dump

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// readTimeout is how long reading a definition may take. API servers end requests after a minute.
	readTimeout = 90 * time.Second

	// pageSize is how many objects are in memory at a time.
	pageSize = 250
)

// FromCluster is Read for a cluster, from which it reads lists only, page by page. Objects are read at the storage versions of the
// definitions, which have to be served.
func FromCluster(ctx context.Context, client dynamic.Interface, definitions []apiextensionsv1.CustomResourceDefinition, options Options, visit func(Object) error) (Summary, error) {
	c := newCollector(options, visit)
	for i := range definitions {
		spec := definitions[i].Spec
		c.wants(spec.Group, spec.Names.Kind)
		version, err := storageVersion(definitions[i])
		if err != nil {
			return c.summary, err
		}
		if err := c.list(ctx, client, schema.GroupVersionResource{Group: spec.Group, Version: version, Resource: spec.Names.Plural}); err != nil {
			return c.summary, err
		}
	}
	return c.summary, c.found("the cluster")
}

// DefinitionIn returns a definition of a cluster, or that it is missing there.
func DefinitionIn(ctx context.Context, client dynamic.Interface, name string) (d Definition, missing bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	got, err := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return d, true, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("reading the definition %s of the cluster: %w", name, err)
	}
	raw, err := got.MarshalJSON()
	if err != nil {
		return d, false, fmt.Errorf("the definition %s of the cluster cannot be written as JSON: %w", name, err)
	}
	d, err = definition(Object{Version: "v1", Name: name, JSON: raw, From: "definition " + name + " of the cluster"})
	return d, false, err
}

// storageVersion returns the storage version, which has to be served.
func storageVersion(d apiextensionsv1.CustomResourceDefinition) (string, error) {
	storage := kube.StorageVersion(&d)
	switch {
	case storage == "":
		return "", fmt.Errorf("definition %s has no storage version; set storage to true for one", d.Name)
	case !slices.Contains(kube.ServedVersions(&d), storage):
		return "", fmt.Errorf("the storage version %s of %s is not served, so the API server does not show what is stored; give a snapshot of etcd", storage, d.Name)
	}
	return storage, nil
}

// list takes the objects of a resource.
func (c *collector) list(ctx context.Context, client dynamic.Interface, at schema.GroupVersionResource) error {
	resource := at.GroupResource().String()
	all := kube.Pager[*unstructured.UnstructuredList]{List: client.Resource(at).List, Options: metav1.ListOptions{Limit: pageSize}}
	for {
		page, more, err := all.Next(ctx)
		if err != nil {
			return fmt.Errorf("listing %s at %s in the cluster: %w", resource, at.Version, err)
		}
		if !more {
			return nil
		}
		for i := range page.Items {
			o := &page.Items[i]
			raw, err := o.MarshalJSON()
			if err != nil {
				return fmt.Errorf("%s %s of the cluster cannot be written as JSON: %w", resource, named(o.GetNamespace(), o.GetName()), err)
			}
			if c.left -= int64(len(raw)); c.left < 0 {
				return c.unreadable("the cluster", errTooMuch)
			}
			if err := c.take(raw, place{file: resource + " " + named(o.GetNamespace(), o.GetName()) + " of the cluster"}); err != nil {
				return err
			}
		}
	}
}
