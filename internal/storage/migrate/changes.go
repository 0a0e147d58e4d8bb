package migrate

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/kube"
)

// compared is of how many objects the dry run looks at what the write would change, at most.
const compared = 100

// Change is a field that writing an object as it is changes, as the dry run shows.
type Change struct {
	kube.Difference

	Default bool   `json:"default"` // any write stores it
	Objects int    `json:"objects"` // of those that were compared
	Example string `json:"example"` // namespace and name of one of them
}

// String says what changes, and in how many objects.
func (c Change) String() string {
	text := fmt.Sprintf("%s: %s, such as %s", c.Difference, objects(c.Objects), c.Example)
	if c.Default {
		return text + "; it is the default of the schema, which any write stores"
	}
	return text
}

// current reads an object as it is, if it still has the resource version at which it was listed; nil if it does not, or enough were read.
func (m *migration) current(ctx context.Context, object *metav1.PartialObjectMetadata) (map[string]any, error) {
	m.tally.Lock()
	enough := m.tally.compared >= compared
	m.tally.compared++
	m.tally.Unlock()
	if enough {
		return nil, nil
	}
	raw, err := body(m.rest.Get().AbsPath(m.path(m.served[0], object)).Do(ctx))
	if err != nil {
		return nil, err
	}
	var now map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &now); err != nil {
		return nil, err
	}
	meta, _ := now["metadata"].(map[string]any)
	if version, _ := meta["resourceVersion"].(string); version != object.ResourceVersion {
		return nil, nil
	}
	return now, nil
}

// changes notes what a write that was tried would change of an object.
func (m *migration) changes(object *metav1.PartialObjectMetadata, was map[string]any, written []byte) error {
	if was == nil {
		return nil
	}
	var is map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(written, &is); err != nil {
		return fmt.Errorf("what the API server would write for %s: %w", kube.Key(object.Namespace, object.Name), err)
	}
	for _, one := range []map[string]any{was, is} {
		if meta, ok := one["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
			delete(meta, "resourceVersion")
			delete(meta, "generation")
		}
	}
	all := kube.Differences("", was, is)
	if len(all) == 0 {
		return nil
	}
	fill, err := kube.Defaults(m.crd, m.served[0])
	if err != nil {
		return err
	}
	fill(was)
	m.tally.Lock()
	defer m.tally.Unlock()
	left := map[string]bool{}
	for _, d := range kube.Differences("", was, is) {
		left[d.Path] = true
	}
	for _, d := range all {
		m.result.changed(Change{Difference: d, Default: !left[d.Path] && d.Added, Objects: 1, Example: kube.Key(object.Namespace, object.Name)})
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
		if one := &r.Changes[i]; one.Path == c.Path && one.Default == c.Default && one.Gone == c.Gone && one.Added == c.Added {
			one.Objects++
			return
		}
	}
	if len(r.Changes) < maxChanges {
		r.Changes = append(r.Changes, c)
	}
}
