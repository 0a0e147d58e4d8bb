package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
)

// compared is of how many objects the dry run looks at what the write would change, at most.
const compared = 100

// Change is a field that writing an object as it is changes, as the dry run shows.
type Change struct {
	kube.Difference

	Version string `json:"version"` // at which it is read
	Default bool   `json:"default"` // any write stores it
	Objects int    `json:"objects"` // of those that were compared
	Example string `json:"example"` // namespace and name of one of them
}

// String says what changes, and in how many objects.
func (c Change) String() string {
	text := fmt.Sprintf("%s at %s: %s, such as %s", c.Difference, c.Version, visible.Count(c.Objects, "object", ""), c.Example)
	if c.Default {
		return text + "; it is the default of the schema, which any write stores"
	}
	return text
}

// compare notes what writing an object as it is would change, at each version at which it is read: what is written at another version than
// that of storage is converted to it and back. Only the first objects are compared.
func (m *migration) compare(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	m.tally.Lock()
	enough := m.tally.compared >= compared
	m.tally.compared++
	m.tally.Unlock()
	if enough {
		return nil
	}
	change, err := json.Marshal(map[string]preconditions{"metadata": preconditionsOf(&object.ObjectMeta)})
	if err != nil {
		return err
	}
	for _, version := range m.served {
		at := m.path(version, object)
		was, err := decoded(m.rest.Get().AbsPath(at).Do(ctx))
		if err != nil || versionOf(was) != object.ResourceVersion {
			return err
		}
		is, err := decoded(m.rest.Patch(types.MergePatchType).AbsPath(at).Param("fieldManager", manager).Param("dryRun", metav1.DryRunAll).Body(change).Do(ctx))
		if err != nil {
			return err
		}
		if err := m.differs(version, kube.Key(object.Namespace, object.Name), was, is); err != nil {
			return err
		}
	}
	return nil
}

// decoded is an object of an answer.
func decoded(answer rest.Result) (map[string]any, error) {
	raw, err := body(answer)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	return object, kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
}

func versionOf(object map[string]any) string {
	version, _, _ := unstructured.NestedString(object, "metadata", "resourceVersion")
	return version
}

// differs notes how an object at a version differs from what it would be when it is written.
func (m *migration) differs(version, name string, was, is map[string]any) error {
	for _, one := range []map[string]any{was, is} {
		for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(one, "metadata", field)
		}
	}
	all := kube.Differences("", was, is)
	if len(all) == 0 {
		return nil
	}
	fill, err := kube.Defaults(m.crd, version)
	if err != nil {
		return err
	}
	fill(was)
	left := map[string]bool{}
	for _, d := range kube.Differences("", was, is) {
		left[d.Path] = true
	}
	m.tally.Lock()
	defer m.tally.Unlock()
	for _, d := range all {
		m.result.changed(Change{Difference: d, Version: version, Default: d.Added && !left[d.Path], Objects: 1, Example: name})
	}
	return nil
}

// maxChanges is how many changes a Result lists.
const maxChanges = 100

func (r *Result) changed(c Change) {
	if !c.Default {
		r.Harmed++
	}
	for i := range r.Changes {
		if one := &r.Changes[i]; one.Path == c.Path && one.Version == c.Version && one.Default == c.Default && one.Gone == c.Gone && one.Added == c.Added {
			one.Objects++
			return
		}
	}
	if len(r.Changes) < maxChanges {
		r.Changes = append(r.Changes, c)
	}
}
