package corpus

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Room is how many characters a text at a path may have; 0 where there can be no text of any kind.
func (s *Schema) Room(path string) int64 {
	n := s.at(fieldpath.Split(path))
	if n == nil || n.kind != text || n.enum != nil || !n.isFree() {
		return 0
	}
	return n.maxLength
}

// Lessened returns an object like one given with short texts, and few items and entries; nil if that is not valid.
func (s *Schema) Lessened(object *unstructured.Unstructured) *unstructured.Unstructured {
	less := object.DeepCopy()
	for key, value := range less.Object {
		if !isMeta(key) {
			less.Object[key] = s.root.child(key).lessened(value)
		}
	}
	s.Prepare(less.Object)
	if len(s.Problems(less.Object)) > 0 {
		return nil
	}
	return less
}

func (n *node) lessened(value any) any {
	const longest, most = 64, 3
	switch value := value.(type) {
	case string:
		if n == nil || n.isFree() && n.enum == nil {
			length := max(longest, n.shortest())
			return string([]rune(value)[:min(len([]rune(value)), length)])
		}
	case []any:
		least := most
		if n != nil {
			least = max(most, int(n.minItems))
		}
		value = value[:min(len(value), least)]
		for i := range value {
			value[i] = n.item().lessened(value[i])
		}
		return value
	case map[string]any:
		least := most
		if n != nil {
			least = max(most, int(n.minFields))
		}
		for i, key := range slices.Sorted(maps.Keys(value)) {
			if n == nil || n.byName[key] == nil && i >= least {
				delete(value, key)
				continue
			}
			value[key] = n.child(key).lessened(value[key])
		}
	}
	return value
}

// shortest is how long a text is at least.
func (n *node) shortest() int {
	if n == nil {
		return 0
	}
	return int(n.minLength)
}
