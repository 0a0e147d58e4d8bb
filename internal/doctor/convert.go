package doctor

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// patience is how long one object may take: longer than API servers wait for a webhook.
const patience = 35 * time.Second

// convert has the API server convert one stored object to every served version. Reading an object by its name always reads what is
// stored, whereas a list may come from a cache that was filled before the webhook broke.
func (l *looker) convert(ctx context.Context, d *Definition) {
	switch {
	case d.Webhook == nil:
		return
	case d.DeletionTimestamp != nil:
		d.Unconverted, d.Unconvertible = "the definition is being deleted", true
		return
	}
	first, served := d.readAt()
	if first == "" {
		d.Unconverted, d.Unconvertible = "no version is served", true
		return
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := l.clients.Metadata.Resource(d.resource(first)).List(within, metav1.ListOptions{Limit: 1})
	switch {
	case err != nil:
		d.Conversions = append(d.Conversions, Conversion{first, "the list of its objects", sentence("the list of objects", "list", d.Name, err)})
		return
	case len(all.Items) == 0:
		d.Unconverted, d.Unconvertible = "there is no object to convert", true
		return
	}
	name, namespace := all.Items[0].Name, all.Items[0].Namespace
	object := name
	if namespace != "" {
		object = namespace + "/" + name
	}
	for _, version := range served {
		within, cancel := context.WithTimeout(ctx, patience)
		_, err := l.clients.Objects.Resource(d.resource(version)).Namespace(namespace).Get(within, name, metav1.GetOptions{})
		cancel()
		if err != nil {
			err = sentence(fmt.Sprintf("%s at %s", object, version), "get", d.Name, err)
		}
		d.Conversions = append(d.Conversions, Conversion{version, object, err})
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
