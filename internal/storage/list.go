package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/shell"
)

// everything lists all resources of the cluster.
func (i *inspector) everything(ctx context.Context) error {
	var all []schema.GroupVersionResource
	if !i.options.Own {
		var err error
		if all, err = i.resources(); err != nil {
			return err
		}
	}
	own := map[schema.GroupResource]*Definition{}
	for _, d := range i.inventory.Definitions {
		at, served := i.readAt[d]
		switch {
		case i.fromEtcd[d]:
		case !served:
			d.Unseen = true
			d.Gaps = append(d.Gaps, Gap{What: d.Resource(), Why: "no version is served, so the API server does not show its objects; give access to etcd"})
		default:
			all = append(all, at)
		}
		own[schema.GroupResource{Group: d.Group, Resource: d.Plural}] = d
	}
	for _, at := range all {
		if err := i.list(ctx, at, own[at.GroupResource()]); err != nil {
			return err
		}
	}
	if i.options.Own {
		return nil
	}
	return i.helm(ctx)
}

// twins are resources that show what another resource shows, too.
func twins() map[schema.GroupResource]schema.GroupResource {
	return map[schema.GroupResource]schema.GroupResource{
		{Group: "events.k8s.io", Resource: "events"}: {Resource: "events"},
		{Group: "extensions", Resource: "ingresses"}: {Group: "networking.k8s.io", Resource: "ingresses"},
	}
}

// resources returns what can be listed, each once, apart from that of the definitions.
func (i *inspector) resources() ([]schema.GroupVersionResource, error) {
	lists, err := i.discovery.ServerPreferredResources()
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		for version, why := range failed.Groups {
			i.inventory.Gaps = append(i.inventory.Gaps, Gap{What: version.String(), Why: "the API server does not say which resources it has: " + line(why.Error())})
		}
		slices.SortFunc(i.inventory.Gaps, func(a, b Gap) int { return strings.Compare(a.What, b.What) })
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the resources of the cluster: %w", err)
	}
	known := map[schema.GroupResource]bool{}
	for _, d := range i.inventory.Definitions {
		known[schema.GroupResource{Group: d.Group, Resource: d.Plural}] = true
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			at := version.WithResource(r.Name)
			if known[at.GroupResource()] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			known[at.GroupResource()] = true
			all = append(all, at)
		}
	}
	all = slices.DeleteFunc(all, func(at schema.GroupVersionResource) bool {
		twin, has := twins()[at.GroupResource()]
		return has && known[twin]
	})
	return slices.DeleteFunc(all, i.skipped), nil
}

// skipped reports whether the user does not want a resource to be looked at.
func (i *inspector) skipped(at schema.GroupVersionResource) bool {
	if !i.isSkipped(at) {
		return false
	}
	i.inventory.Skipped = append(i.inventory.Skipped, at.GroupResource().String())
	return true
}

func (i *inspector) isSkipped(at schema.GroupVersionResource) bool {
	return slices.Contains(i.options.Skip, at.GroupResource().String())
}

// list lists a resource, that of a definition or of others.
func (i *inspector) list(ctx context.Context, at schema.GroupVersionResource, d *Definition) error {
	resource := at.GroupResource().String()
	if err := i.book.mark(); err != nil {
		return err
	}
	err := i.pages(ctx, at, func(o *stored) error {
		if d != nil && !i.tellers[d].bytes {
			if wrong := i.storedAt(d, o, ""); wrong != nil {
				return wrong
			}
		}
		return i.names(d, resource, o)
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, (apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)) && d == nil: // it has gone, or has no objects
		i.book.keep()
		return nil
	case isInternal(err):
		return err
	}
	gap := Gap{What: resource, Why: "it cannot be listed: " + line(err.Error())}
	if apierrors.IsForbidden(err) {
		gap.Why, gap.Mend = "the user may not list it in all namespaces", i.right("list", resource, err)
	}
	if d != nil {
		d.Unseen = true
		d.Gaps = append(d.Gaps, gap)
	} else {
		i.inventory.Gaps = append(i.inventory.Gaps, gap)
	}
	return i.book.back()
}

// internalError is an error of this machine, such as a full disk, rather than of the cluster.
type internalError struct{ error }

func (e internalError) Unwrap() error { return e.error }

func isInternal(err error) bool {
	var internal internalError
	return errors.As(err, &internal)
}

// pages lists the metadata of a resource page by page. All of it is of one revision: when the API server has forgotten the rest of a list, what
// was seen of it is not counted.
func (i *inspector) pages(ctx context.Context, at schema.GroupVersionResource, visit func(*stored) error) error {
	seen := int64(0)
	all := kube.Pager[*metav1.PartialObjectMetadataList]{List: i.metadata.Resource(at).List, Options: metav1.ListOptions{Limit: i.options.PageSize}, Ahead: true}
	all.Anew = func() error {
		seen = 0
		if err := i.book.back(); err != nil {
			return internalError{err}
		}
		return nil
	}
	return all.Each(ctx, func(page *metav1.PartialObjectMetadataList) error {
		for n := range page.Items {
			if err := visit(&stored{ObjectMeta: page.Items[n].ObjectMeta}); err != nil {
				return internalError{err}
			}
		}
		seen += int64(len(page.Items))
		i.progress(at.GroupResource().String(), seen)
		return nil
	})
}

// storedAt enters at which version an object of a definition is stored. Without a basis, the teller of the definition says it.
func (i *inspector) storedAt(d *Definition, o *stored, basis Basis) error {
	if basis == "" {
		o.version, basis = i.tellers[d].version(o)
	}
	entered := i.book.pending
	entered.objects[d]++
	if o.version == "" {
		entered.unknown[d]++
		if i.tellers[d].precedes(o) {
			entered.older[d]++
		}
		return nil
	}
	at := place{d, o.version}
	entered.stored[at]++
	entered.based(d, basis, 1)
	return i.book.enter(at, StoredObject, func() Blocker {
		b := Blocker{Kind: StoredObject, Resource: d.Resource(), Namespace: o.Namespace, Name: o.Name}
		if o.version != d.StorageVersion() {
			b.Mend = i.patch(b, "--type=merge -p '{}'")
		}
		return b
	})
}

// names enters which versions an object names. The definition is that of the object, if it is one that is looked at.
func (i *inspector) names(d *Definition, resource string, o *stored) error {
	if d != nil {
		for n, entry := range o.ManagedFields {
			version, is := versionOf(entry.APIVersion, d.Group)
			named := func(m metav1.ManagedFieldsEntry) bool { return m.APIVersion == entry.APIVersion }
			if !is || slices.ContainsFunc(o.ManagedFields[:n], named) {
				continue
			}
			err := i.book.enter(place{d, version}, ManagedFields, func() Blocker { return i.managed(d, o, entry.APIVersion) })
			if err != nil {
				return err
			}
		}
		applied := gjson.Get(o.Annotations[kube.LastApplied], "apiVersion").String()
		if version, is := versionOf(applied, d.Group); is && applied != "" {
			if err := i.book.enter(place{d, version}, LastApplied, func() Blocker { return i.applied(d, o, version) }); err != nil {
				return err
			}
		}
	}
	for n, owner := range o.OwnerReferences {
		group, version := split(owner.APIVersion)
		of := i.owners[schema.GroupKind{Group: group, Kind: owner.Kind}]
		named := func(r metav1.OwnerReference) bool { return r.APIVersion == owner.APIVersion && r.Kind == owner.Kind }
		if of == nil || slices.ContainsFunc(o.OwnerReferences[:n], named) {
			continue
		}
		if err := i.book.enter(place{of, version}, OwnerReference, func() Blocker { return i.owned(of, resource, o, owner.APIVersion) }); err != nil {
			return err
		}
	}
	return nil
}

func split(apiVersion string) (group, version string) {
	gvk := schema.FromAPIVersionAndKind(apiVersion, "")
	return gvk.Group, gvk.Version
}

func versionOf(apiVersion, group string) (string, bool) {
	of, version := split(apiVersion)
	return version, of == group
}

// managed is an object whose managed fields name a version.
func (i *inspector) managed(d *Definition, o *stored, apiVersion string) Blocker {
	b := Blocker{Kind: ManagedFields, Resource: d.Resource(), Namespace: o.Namespace, Name: o.Name}
	var by []string
	var operations []operation
	for n, entry := range o.ManagedFields {
		if entry.APIVersion != apiVersion {
			continue
		}
		by = append(by, entry.Manager)
		at := fmt.Sprintf("/metadata/managedFields/%d/apiVersion", n)
		operations = append(operations, operation{"test", at, apiVersion}, operation{"replace", at, d.Group + "/" + d.StorageVersion()})
	}
	b.By = strings.Join(by, ", ")
	switch to := d.Group + "/" + d.StorageVersion(); {
	case apiVersion == to:
	case hasTwin(o.ManagedFields, apiVersion, to):
		version, _ := versionOf(apiVersion, d.Group)
		b.Mend = migration(d, d.Version(version), i.options.Flags, "managed-fields") // which joins them
	default:
		b.Mend = i.patch(b, jsonPatch(operations))
	}
	return b
}

// applied is an object that kubectl apply was last given at a version.
func (i *inspector) applied(d *Definition, o *stored, version string) Blocker {
	b := Blocker{Kind: LastApplied, Resource: d.Resource(), Namespace: o.Namespace, Name: o.Name, By: "kubectl apply"}
	b.Mend = strings.TrimSpace(kubectl(i.options.Flags)+" apply set-last-applied -f MANIFEST") + " # its manifest, rewritten to " + d.successor(version) + " with all that it had"
	return b
}

// hasTwin reports whether a manager has entries at both versions. Of two for the same version API servers keep one, so that the fields
// of the other would lose their owner.
func hasTwin(entries []metav1.ManagedFieldsEntry, from, to string) bool {
	return slices.ContainsFunc(entries, func(a metav1.ManagedFieldsEntry) bool {
		return a.APIVersion == from && slices.ContainsFunc(entries, func(b metav1.ManagedFieldsEntry) bool {
			return b.APIVersion == to && a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
		})
	})
}

// owned is an object with owner references that name a version.
func (i *inspector) owned(d *Definition, resource string, o *stored, apiVersion string) Blocker {
	b := Blocker{Kind: OwnerReference, Resource: resource, Namespace: o.Namespace, Name: o.Name}
	var by []string
	var operations []operation
	for n, owner := range o.OwnerReferences {
		if owner.APIVersion != apiVersion || owner.Kind != d.Kind {
			continue
		}
		by = append(by, owner.Kind+" "+owner.Name)
		at := fmt.Sprintf("/metadata/ownerReferences/%d", n)
		operations = append(operations, operation{"test", at + "/uid", string(owner.UID)}, operation{"replace", at + "/apiVersion", d.Group + "/" + d.StorageVersion()})
	}
	b.By = strings.Join(by, ", ")
	if apiVersion != d.Group+"/"+d.StorageVersion() {
		b.Mend = i.patch(b, jsonPatch(operations))
	}
	return b
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

func jsonPatch(operations []operation) string {
	text, err := json.Marshal(operations)
	if err != nil {
		return "" // strings can be written
	}
	return "--type=json -p " + shell.Quote(string(text))
}

// patch is the command that patches an object.
func (i *inspector) patch(b Blocker, how string) string {
	namespace := ""
	if b.Namespace != "" {
		namespace = " -n " + b.Namespace
	}
	return fmt.Sprintf("%s patch %s %s%s %s", kubectl(i.options.Flags), b.Resource, shell.Quote(b.Name), namespace, how)
}

// right is the command that gives the user of an error a right to a resource. It names no context, since that of the user would not do.
func (i *inspector) right(verb, resource string, err error) string {
	user := "USER"
	if said := regexp.MustCompile(`User "([^"]+)"`).FindStringSubmatch(err.Error()); said != nil {
		user = said[1]
	}
	name := "crdconform-" + verb + "-" + strings.ReplaceAll(resource, ".", "-")
	return fmt.Sprintf("kubectl create clusterrole %s --verb=%s --resource=%s && kubectl create clusterrolebinding %s --clusterrole=%s %s",
		name, verb, resource, name, name, "--user="+shell.Quote(user))
}

// kubectl is the command for the cluster of some flags.
func kubectl(flags string) string { return strings.TrimSpace("kubectl " + flags) }

func line(text string) string { return strings.Join(strings.Fields(text), " ") }
