package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/shell"
)

// owns reports whether a manager of an installed definition owns a field of it.
func owns(entry metav1.ManagedFieldsEntry, field ...string) bool {
	set := &fieldpath.Set{}
	if entry.Subresource != "" || entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return false
	}
	path := make([]any, 0, len(field))
	for _, name := range field {
		path = append(path, name)
	}
	return set.Has(fieldpath.MakePathOrDie(path...)) || set.Leaves().Has(fieldpath.MakePathOrDie(path...))
}

// managed reports whether an old definition says who owns which of its fields, as one from a cluster does.
func (s *side) managed() bool {
	return slices.ContainsFunc(s.typed.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "" })
}

// installed returns how an old definition may have been installed before the new one is by some way, if it does not say so itself: in each way
// in which users have it. Helm 3 does what kubectl apply does, with the manifest of the last release in place of the annotation, and Helm 4 applies
// server-side by default, but not what Helm 3 installed: what somebody else changed since is kept if neither release has it.
func (s *side) installed(way Way) []Way {
	switch {
	case way == ServerSide && s.released():
		return nil
	case way == Apply && s.appliedBy() != "":
		return []Way{Apply} // where a client of server-side apply owns it, nobody uses that of the other kind
	case way == Replace, s.managed(), s.released():
		return []Way{Replace}
	case (&unstructured.Unstructured{Object: s.given}).GetAnnotations()[kube.LastApplied] != "":
		return []Way{way}
	case way == ServerSide:
		return []Way{ServerSide, Apply, Replace}
	}
	return []Way{way, Replace}
}

// released reports whether an old definition is of a release of Helm 3, or of Helm 4 in the way of Helm 3.
func (s *side) released() bool {
	annotations := s.typed.Annotations
	return annotations[releaseName] != "" && annotations[kube.LastApplied] == "" && s.appliedBy() == ""
}

// releaseName and releaseNamespace are the annotations by which Helm knows what is of a release.
const releaseName, releaseNamespace = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"

// upgradeOfRelease is the command that upgrades the release that an old definition is of.
func (s *side) upgradeOfRelease() string {
	return fmt.Sprintf("helm upgrade %s CHART -n %s", shell.Quote(s.typed.Annotations[releaseName]), shell.Quote(cmp.Or(s.typed.Annotations[releaseNamespace], metav1.NamespaceDefault)))
}

// manifestOfRelease returns an old definition as its release has it: without the fields that only others own.
func (s *side) manifestOfRelease() map[string]any {
	spec, _, _ := unstructured.NestedMap(s.given, "spec") // what has none is refused
	manifest := map[string]any{"apiVersion": s.given["apiVersion"], "kind": s.given["kind"], "metadata": map[string]any{"name": s.typed.Name}, "spec": spec}
	own := func(entry metav1.ManagedFieldsEntry) bool { return owns(entry, "spec", "versions") }
	for _, entry := range s.typed.ManagedFields {
		set := &fieldpath.Set{}
		if own(entry) || entry.Subresource != "" || entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			continue
		}
		set.Leaves().Iterate(func(path fieldpath.Path) {
			field := namesOf(path)
			if slices.ContainsFunc(s.typed.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return own(e) && owns(e, field...) }) {
				return
			}
			for above := field; len(above) > 0; above = above[:len(above)-1] {
				if rest, is, _ := unstructured.NestedMap(manifest, above...); len(above) < len(field) && (!is || len(rest) > 0) {
					break
				}
				unstructured.RemoveNestedField(manifest, above...)
			}
		})
	}
	return manifest
}

// foundBy returns an old definition as a way of installing finds it: one of a release of Helm with what the release has, in place of what
// kubectl applied.
func (s *side) foundBy(way Way) map[string]any {
	if way != Apply || !s.released() {
		return s.given
	}
	found := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.given)}
	annotations := found.GetAnnotations()
	raw, _ := json.Marshal(s.manifestOfRelease()) // it came from JSON
	annotations[kube.LastApplied] = string(raw)
	found.SetAnnotations(annotations)
	return found.Object
}

// namesOf returns the names of fields that a path has, up to an item of a list.
func namesOf(path fieldpath.Path) []string {
	var names []string
	for _, step := range path {
		if step.FieldName == nil {
			break
		}
		names = append(names, *step.FieldName)
	}
	return names
}

// appliedBy returns who has applied an old definition by server-side apply; it is empty if nobody has.
func (s *side) appliedBy() string {
	for _, entry := range s.typed.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && owns(entry, "spec", "versions") {
			return entry.Manager
		}
	}
	return ""
}

// author returns who applies the new definition by server-side apply over an old one: who has applied that, or else kubectl, which takes the
// fields that somebody created.
func (s *side) author(installed Way) author {
	if manager := s.appliedBy(); manager != "" {
		return author{manager: manager}
	}
	clientSide := slices.ContainsFunc(s.typed.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == clientSideManager && owns(e, "spec", "versions")
	})
	return author{manager: serverSideManager, force: installed == Replace && !clientSide}
}

// restore gives an installed definition the managed fields that it has in its user's cluster.
func (i *installer) restore(ctx context.Context, s *side) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := i.crds.Get(ctx, s.typed.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		there.SetManagedFields(s.typed.ManagedFields)
		_, err = i.crds.Update(ctx, there, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
}

// ownersOf says who owns a field of a definition; it is empty if nobody does, or the field is in a list.
func ownersOf(fields []metav1.ManagedFieldsEntry, path string) string {
	var managers []string
	for _, entry := range fields {
		if owns(entry, strings.Split(path, ".")...) && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	if len(managers) == 0 {
		return ""
	}
	return ", which " + strings.Join(managers, " and ") + " owned"
}

// injectors are what annotations begin with that ask a program to write the caBundle of a definition, and the program as a manager.
func injectors() map[string]string {
	return map[string]string{
		"cert-manager.io/inject-": "cainjector", "certmanager.k8s.io/inject-": "cainjector", "service.beta.openshift.io/inject-cabundle": "service-ca-operator",
	}
}

// injector returns the manager that writes the caBundle of an installed definition: it owns that and not the strategy, or an annotation asks it
// to. It is empty if there is none.
func (s *side) injector() string {
	if !s.converts() {
		return ""
	}
	for _, entry := range s.typed.ManagedFields {
		if owns(entry, "spec", "conversion", "webhook", "clientConfig", "caBundle") && !owns(entry, "spec", "conversion", "strategy") {
			return entry.Manager
		}
	}
	for annotation := range s.typed.Annotations {
		for begin, manager := range injectors() {
			if strings.HasPrefix(annotation, begin) {
				return manager
			}
		}
	}
	return ""
}

// inject writes the caBundle of an installed definition as a manager.
func (i *installer) inject(ctx context.Context, name, manager string) error {
	authority, err := pki.NewAuthority(manager)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": authority.PEM()}}}}})
	if err != nil {
		return err
	}
	_, err = i.crds.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// withoutBundle removes the caBundle from the specification of a definition.
func withoutBundle(spec map[string]any) {
	unstructured.RemoveNestedField(spec, "conversion", "webhook", "clientConfig", "caBundle")
}
