package corpus

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// metadata is a set of what can be special about the metadata of an object.
type metadata uint8

const (
	bare   metadata = 1 << iota // there are no labels, or no annotations
	placed                      // the name or the namespace is as long as may be, or the name has dots, or was generated
)

func (m metadata) has(one metadata) bool { return m&one != 0 }

const (
	longestName  = 253 // of objects
	longestLabel = 63  // of namespaces, and of names that are to fit into a label's value

	manyLabels, moreLabels = 20, 130

	noteKey = "example.com/note"
)

// longestNamespace is a namespace whose name is as long as may be.
func longestNamespace() string {
	return fitted("a-namespace-whose-name-is-as-long-as-can-be-", longestLabel, longestLabel)
}

// vary gives a plain object the metadata that is due with its number. A quarter of the objects have neither labels nor
// annotations, as most objects have in clusters, and a quarter have much.
func (g *Generator) vary(object *unstructured.Unstructured, number int) {
	if !g.usual.has(placed) {
		g.place(object, number)
	}
	describe(object)
	if number%4 == 1 {
		busy(object, number/4)
		g.ownVersions(object)
	}
	if g.usual.has(bare) {
		return
	}
	switch number % 8 {
	case 2, 6:
		object.SetLabels(nil)
		object.SetAnnotations(nil)
	case 3:
		object.SetAnnotations(nil)
	case 7:
		object.SetLabels(nil)
	}
}

// place gives an object a name or a namespace that is special, if the schema allows it.
func (g *Generator) place(object *unstructured.Unstructured, number int) {
	name := object.GetName()
	switch number % 16 {
	case 3:
		name = fitted(name+"-", longestLabel, longestLabel)
	case 4:
		name = fitted(name+strings.Repeat(".with-dots-between-its-parts", 9)+".", longestName, longestName)
	case 6:
		object.SetGenerateName(name + "-")
		name += "-x7k2p" // API servers add five such characters
	case 10:
		name += ".v1.example.com"
	case 12:
		if object.GetNamespace() != "" {
			object.SetNamespace(longestNamespace())
		}
	}
	if limits := g.schema.root.byName["metadata"].child("name"); limits == nil || limits.accepts(name) {
		object.SetName(name)
	} else {
		object.SetGenerateName("")
	}
}

// describe gives an object a label and an annotation.
func describe(object *unstructured.Unstructured) {
	object.SetLabels(map[string]string{"app": strings.ToLower(object.GetKind())})
	object.SetAnnotations(map[string]string{noteKey: "made by crdconform"})
}

// busy gives an object the metadata that objects have which people, clients and controllers work with. The number says which of what
// there is in several forms: every other has a large generation, several owners, and many labels and annotations, and every third is being
// deleted.
func busy(object *unstructured.Unstructured, number int) {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	labels["example.com/pinned"] = "" // selectors ask for the key
	labels["app.kubernetes.io/part-of"] = "Team_A.Billing"
	labels["acme.dev/Team-A"], annotations["acme.dev/Team-A"] = "Billing", "Billing"
	labels["app.kubernetes.io/managed-by"] = "Helm"
	annotations["meta.helm.sh/release-name"] = "web"
	annotations["example.com/empty"] = ""
	annotations["owner"] = "Ada Lovelace <ada@example.com>"
	annotations["example.com/runbook"] = strings.Repeat("Look at the logs first. ", 50)
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"annotations":{},"name":%q}}`+"\n",
		object.GetAPIVersion(), object.GetKind(), object.GetName())
	object.SetFinalizers([]string{"example.com/held"})
	owners := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "5b1f9c0e-5f0c-4b64-9a52-9d1a3a1f0c11", BlockOwnerDeletion: new(bool)},
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "controller", UID: "0d6a1c9b-7a2e-4a53-8a0b-6b0f8a4c2e52", Controller: new(true), BlockOwnerDeletion: new(true)},
		{APIVersion: "v1", Kind: "Secret", Name: "third", UID: "c9e4d2f0-3f7b-4a0e-9a41-2d5b7e6f1a93", Controller: new(bool)},
	}
	object.SetGeneration(3)
	object.SetOwnerReferences(owners[:1])
	if number%2 == 1 {
		object.SetGeneration(1<<53 - 1) // as a 32-bit integer or a float32 it is another number
		object.SetOwnerReferences(owners)
		object.SetFinalizers([]string{"example.com/held", "foregroundDeletion", "example.com/archived"})
		many := manyLabels
		if number == 1 {
			many = moreLabels
		}
		for i := range many {
			labels[fmt.Sprintf("example.com/label-%d", i)], annotations[fmt.Sprintf("example.com/annotation-%d", i)] = "yes", "yes"
		}
	}
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	if number%3 == 2 {
		object.SetDeletionTimestamp(&metav1.Time{Time: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)})
		_ = unstructured.SetNestedField(object.Object, int64(0), "metadata", "deletionGracePeriodSeconds")
	}
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl-client-side-apply", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: object.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:owner":{}}}}`),
	}, {
		Manager: "controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: object.GetAPIVersion(), Subresource: "status",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`),
	}})
}

// rename gives an object a usual name and namespace. It is false if it has them.
func (g *Generator) rename(object *unstructured.Unstructured) bool {
	name, namespace := g.name(Plain, 0), object.GetNamespace()
	long := namespace == longestNamespace()
	if !long && len(object.GetName()) <= len(name)+3 && object.GetGenerateName() == "" {
		return false
	}
	object.SetName(name)
	object.SetGenerateName("")
	if long {
		object.SetNamespace("default")
	}
	return true
}

// makeUsual takes from the metadata of an object what is special. It is false if there is nothing.
func (g *Generator) makeUsual(object *unstructured.Unstructured, special metadata) bool {
	changed := special.has(placed) && g.rename(object)
	if special.has(bare) {
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		described := object.DeepCopy()
		describe(described)
		if len(labels) == 0 {
			object.SetLabels(described.GetLabels())
		}
		if len(annotations) == 0 {
			object.SetAnnotations(described.GetAnnotations())
		}
		changed = changed || len(labels) == 0 || len(annotations) == 0
	}
	return changed
}

// refusedMetadata is what the webhook is known to refuse in metadata.
func (g *Generator) refusedMetadata() metadata {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.usual
}

// blameMetadata finds out whether an object is refused for what is special about its metadata. Then there is no more of that.
func (g *Generator) blameMetadata(ctx context.Context, object *unstructured.Unstructured, refused func(context.Context, []*unstructured.Unstructured) []string) bool {
	for _, special := range []metadata{bare, placed} {
		candidate := object.DeepCopy()
		if !g.makeUsual(candidate, special) || len(g.schema.Problems(candidate.Object)) > 0 || refused(ctx, []*unstructured.Unstructured{candidate})[0] != "" {
			continue
		}
		g.mu.Lock()
		g.usual |= special
		g.mu.Unlock()
		return true
	}
	return false
}
