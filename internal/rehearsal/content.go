package rehearsal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/corpus"
)

// schema returns the schema of a version, or nil if nothing is known of it.
func (s *side) schema(version string) *corpus.Schema {
	if s == nil || s.definition == nil || !s.has(version) {
		return nil
	}
	return s.definition.Schema(version)
}

// content is what clients see of an object, without what the API server keeps account of.
func content(object map[string]any) map[string]any {
	seen := make(map[string]any, len(object))
	for field, value := range object {
		if field != "metadata" {
			seen[field] = value
		}
	}
	meta, _ := object["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if value, found := meta[field]; found {
			kept[field] = value
		}
	}
	seen["metadata"] = kept
	return seen
}

// encode returns the content of an object as JSON, the same for the same content, and a hash of it.
func encode(object map[string]any) ([]byte, uint64, error) {
	raw, err := json.Marshal(content(object)) // keys are sorted
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.Sum256(raw)
	return raw, binary.BigEndian.Uint64(sum[:8]), nil
}

// change is what differs in an object from what a version of it showed before.
type change struct {
	corpus.Loss

	lacking bool   // the new schema does not have the field
	effect  string // lost, changed or added
}

// changes compares the content of an object at a version before and after something was done, by the schemas of the version then. What
// means the same is equal. It is no change that a default fills in what was not there, nor that encoders add or leave out what is empty.
func changes(before, after map[string]any, then, now *corpus.Schema) []change {
	var all []change
	for _, l := range now.Losses(before, after) {
		if l.Empty && l.Default == nil {
			continue
		}
		c := change{Loss: l, lacking: now != nil && now.Lacks(l.Path) != "", effect: "changed"}
		if l.After == nil {
			c.effect = "lost"
		}
		all = append(all, c)
	}
	for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: before}) { // where null was kept, it was a value
		was, _ := corpus.Value(before, path)
		if is, _ := corpus.Value(after, path); was == nil && !isEmpty(is) {
			all = append(all, change{Loss: corpus.Loss{Path: path, After: is}, effect: "changed"})
		}
	}
	for _, l := range now.Losses(after, before) {
		if l.After != nil || !isAddition(l, before, then, now) {
			continue // it is among the losses, or no client can have missed it
		}
		all = append(all, change{Loss: corpus.Loss{Path: l.Path, After: l.Before, Added: true}, effect: "added"})
	}
	return all
}

// isAddition reports whether something that was not there changes what an object means: the version had the field before, and its value
// is neither empty nor the default.
func isAddition(l corpus.Loss, before map[string]any, then, now *corpus.Schema) bool {
	if l.Empty || l.Before == nil || strings.HasPrefix(l.Path, "metadata") || isEmpty(l.Before) {
		return false
	}
	if then != nil && then.Lacks(l.Path) != "" {
		return false
	}
	if _, found := corpus.Value(before, l.Path); found {
		return false
	}
	if now == nil {
		return true
	}
	filled := runtime.DeepCopyJSON(before)
	now.Prepare(filled)
	value, found := corpus.Value(filled, l.Path)
	return !found || !reflect.DeepEqual(value, l.Before)
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range value {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return reflect.ValueOf(value).IsZero()
}

// invalid returns what makes an object invalid by the schema of a version, and did not before by the schema that the version had then.
func invalid(object map[string]any, then, now *corpus.Schema) []corpus.Problem {
	problems := func(s *corpus.Schema) []corpus.Problem {
		return slices.DeleteFunc(s.Problems(object), func(p corpus.Problem) bool { return p.Sort == corpus.Unknown })
	}
	found := problems(now)
	if len(found) == 0 || then == nil {
		return found
	}
	known := problems(then)
	return slices.DeleteFunc(found, func(p corpus.Problem) bool { return slices.Contains(known, p) })
}
