package rehearsal

import (
	"context"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/kube"
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

// installed returns how an old definition may have been installed before the new one is by some way: as its managed fields say if there are
// any, or else in each way in which users have it.
func (s *side) installed(way Way) []Way {
	if way == Replace {
		return []Way{Replace}
	}
	for _, entry := range s.typed.ManagedFields {
		switch {
		case !owns(entry, "spec", "versions"):
		case entry.Manager == clientSideManager:
			return []Way{Apply}
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			return []Way{way} // a client of server-side apply leaves nothing for that of the other kind
		default:
			return []Way{Replace} // such as Helm, or kubectl create
		}
	}
	switch {
	case (&unstructured.Unstructured{Object: s.given}).GetAnnotations()[kube.LastApplied] != "":
		return []Way{way}
	case way == ServerSide:
		return []Way{ServerSide, Apply, Replace}
	}
	return []Way{way, Replace}
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
