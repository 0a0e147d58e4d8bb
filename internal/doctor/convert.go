package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/kube"
)

// patience is how long one object may take: longer than API servers wait for a webhook.
const patience = 35 * time.Second

const (
	// listed is how many objects of a definition are listed, and sampled how many of these are read.
	listed  = 500
	sampled = 10
)

// convert has the API server convert some stored objects to every served version. Reading an object by its name always reads what is
// stored, whereas a list may come from a cache that was filled before the webhook broke.
func (l *looker) convert(ctx context.Context, d *Definition) {
	first, served := d.readAt()
	switch {
	case d.DeletionTimestamp != nil:
		d.Unconverted, d.Unconvertible, d.Unsampled = "the definition is being deleted", true, "the definition is being deleted"
		return
	case first == "":
		d.Unconverted, d.Unconvertible, d.Unsampled = "no version is served", true, "no version is served"
		return
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := l.clients.Metadata.Resource(d.resource(first)).List(within, metav1.ListOptions{Limit: listed})
	if err != nil {
		err = sentence("the list of objects", "list", d.Name, err)
		d.Unsampled = err.Error()
		d.Conversions = append(d.Conversions, Conversion{first, "one of its objects", err})
		return
	}
	d.foreign(all.Items)
	if d.Webhook == nil {
		return
	}
	if len(all.Items) == 0 {
		d.Unconverted, d.Unconvertible = "there is no object to convert", true
		return
	}
	for _, o := range sample(all.Items) {
		if !l.read(ctx, d, o, served) {
			return
		}
	}
}

// read reads an object at versions, and reports whether that was answered in time.
func (l *looker) read(ctx context.Context, d *Definition, o metav1.PartialObjectMetadata, versions []string) bool {
	object := kube.Key(o.Namespace, o.Name)
	for _, version := range versions {
		within, cancel := context.WithTimeout(ctx, patience)
		_, err := l.clients.Objects.Resource(d.resource(version)).Namespace(o.Namespace).Get(within, o.Name, metav1.GetOptions{})
		late := within.Err() != nil
		cancel()
		if apierrors.IsNotFound(err) && len(d.Conversions) > 0 {
			continue // somebody deleted it
		}
		if err != nil {
			err = sentence(fmt.Sprintf("%s at %s", object, version), "get", d.Name, err)
		}
		d.Conversions = append(d.Conversions, Conversion{version, object, err})
		if late || missing(err) {
			return false // the others would take as long, or be refused as well
		}
	}
	return true
}

// sample chooses some of the objects of a list: one for each set of versions that managed fields name, since these were stored by different
// releases, and others from all over the list.
func sample(all []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
	var chosen []int
	known := map[string]bool{}
	for i, o := range all {
		var versions []string
		for _, entry := range o.ManagedFields {
			versions = append(versions, entry.APIVersion)
		}
		slices.Sort(versions)
		if kind := strings.Join(slices.Compact(versions), " "); !known[kind] && len(chosen) < sampled {
			known[kind], chosen = true, append(chosen, i)
		}
	}
	for n := range sampled {
		i := n * max(len(all)-1, 0) / (sampled - 1)
		if len(chosen) < sampled && !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	var objects []metav1.PartialObjectMetadata
	for _, i := range chosen {
		objects = append(objects, all[i])
	}
	return objects
}

// foreign counts the objects whose managed fields name a version that the definition does not have.
func (d *Definition) foreign(all []metav1.PartialObjectMetadata) {
	d.Foreign = map[string]int{}
	for _, o := range all {
		counted := map[string]bool{}
		for _, entry := range o.ManagedFields {
			gv, err := schema.ParseGroupVersion(entry.APIVersion)
			has := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == gv.Version }
			if err != nil || gv.Group != d.Spec.Group || slices.ContainsFunc(d.Spec.Versions, has) || counted[gv.Version] {
				continue
			}
			counted[gv.Version] = true
			d.Foreign[gv.Version]++
		}
	}
}

// readAt returns the versions to read an object at, and the one to look for it at: the storage version if possible, as nothing is
// converted then. Those that are deprecated are left out while there are others: API servers count who asks for them, and users who
// want to remove one look at that.
func (d *Definition) readAt() (first string, all []string) {
	for _, deprecated := range []bool{false, true} {
		for _, v := range d.Spec.Versions {
			if !v.Served || v.Deprecated != deprecated {
				continue
			}
			all = append(all, v.Name)
			if first == "" || v.Storage {
				first = v.Name
			}
		}
		if len(all) > 0 {
			break
		}
	}
	return first, all
}

func (d *Definition) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: d.Spec.Group, Version: version, Resource: d.Spec.Names.Plural}
}
