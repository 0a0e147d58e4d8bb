package corpus

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Likeness is how much a field of one version has in common with the field at the same path of another.
type Likeness struct {
	Shared bool // both have it, as a scalar of the same type
	Same   bool // they say the same of it, too: its description and those of what it is in, its format, enum but for case, pattern, limits and default
	Closed bool // both have an enum, with the same members
}

// Alike compares the fields that two versions have at a path.
func (s *Schema) Alike(other *Schema, path string) Likeness {
	if s == nil || other == nil {
		return Likeness{}
	}
	a, b, described := s.structural, other.structural, true
	for _, step := range fieldpath.Split(path) {
		a, b = into(a, step), into(b, step)
		if a == nil || b == nil || kindOf(a) != kindOf(b) {
			return Likeness{}
		}
		described = described && wording(a.Description) == wording(b.Description)
	}
	if k := kindOf(a); k == anything || k == object || k == list {
		return Likeness{}
	}
	members, others := enumOf(a), enumOf(b)
	closed := len(members) > 0 && slices.Equal(members, others)
	same := described && strings.EqualFold(strings.Join(members, "\n"), strings.Join(others, "\n")) && reflect.DeepEqual(a.Default, b.Default) && reflect.DeepEqual(withoutEnum(a), withoutEnum(b))
	return Likeness{Shared: true, Same: same, Closed: closed}
}

// into is the place that a step leads to; nil if there is none, or nothing is known of it.
func into(s *structuralschema.Structural, step fieldpath.Step) *structuralschema.Structural {
	if step.List {
		return s.Items
	}
	if field, found := s.Properties[step.Key]; found {
		return &field
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// wording is a description in lower case, without what editors change: capitals, and everything between the words.
func wording(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", r) }), " ")
}

func enumOf(s *structuralschema.Structural) []string {
	if s.ValueValidation == nil {
		return nil
	}
	members := map[string]bool{}
	for _, member := range s.ValueValidation.Enum {
		members[encoded(member.Object)] = true
	}
	return slices.Sorted(maps.Keys(members))
}

func withoutEnum(s *structuralschema.Structural) structuralschema.ValueValidation {
	if s.ValueValidation == nil {
		return structuralschema.ValueValidation{}
	}
	rest := *s.ValueValidation
	rest.Enum = nil
	return rest
}

// Spelled returns the member of the enum at a path that a value is, or that a text is but for its case, and whether there is one. Without an
// enum it is the value itself.
func (s *Schema) Spelled(path string, value any) (any, bool) {
	n := s.at(fieldpath.Split(path))
	if n == nil || len(n.enum) == 0 || slices.Contains(n.enum, value) {
		return value, true
	}
	text, isText := value.(string)
	var like []any
	for _, member := range n.enum {
		if other, is := member.(string); is && isText && strings.EqualFold(text, other) {
			like = append(like, member)
		}
	}
	if len(like) != 1 {
		return value, false
	}
	return like[0], true
}

// Ordered reports whether the order of the items of a list means something at both versions.
func (s *Schema) Ordered(other *Schema, path string) bool {
	way := fieldpath.Split(path)
	a, b := s.at(way), other.at(way)
	return a != nil && b != nil && a.kind == list && b.kind == list && a.listType == "" && b.listType == ""
}

// Identity returns the path of the value that the item at a path is known by: in a set the item itself, in a list map its first key. It is empty
// for everything else.
func (s *Schema) Identity(path string) string {
	steps := fieldpath.Split(path)
	if !steps[len(steps)-1].List {
		return ""
	}
	switch list := s.at(steps[:len(steps)-1]); {
	case list == nil:
		return ""
	case list.listType == "set":
		return path
	case list.listType == "map" && len(list.listKeys) > 0:
		return fieldpath.Child(path, list.listKeys[0])
	}
	return ""
}

// Equal reports whether two scalars mean the same at a path.
func (s *Schema) Equal(path string, a, b any) bool { return s.at(fieldpath.Split(path)).same(a, b) }

// Aligned returns what came of an object, with the items of lists whose order says nothing in the order that they had: those that the schema
// says are sets, or are known by keys.
func (s *Schema) Aligned(before, after map[string]any) map[string]any {
	if s == nil || after == nil {
		return after
	}
	fields, _ := s.root.aligned(before, after).(map[string]any)
	return fields
}

func (n *node) aligned(before, after any) any {
	switch after := after.(type) {
	case map[string]any:
		fields, is := before.(map[string]any)
		if !is || n == nil {
			return after
		}
		made := maps.Clone(after)
		for key, inner := range after {
			if other, has := fields[key]; has {
				made[key] = n.kept(key).aligned(other, inner)
			}
		}
		return made
	case []any:
		items, is := before.([]any)
		if !is || n == nil {
			return after
		}
		if ordered, is := n.ordered(items, after); is {
			after = ordered
		}
		made := slices.Clone(after)
		for i := range min(len(items), len(made)) {
			made[i] = n.keptItem().aligned(items[i], made[i])
		}
		return made
	}
	return after
}

// ordered returns the items of a list in the order of another. It is false if that says something, or items cannot be distinguished.
func (n *node) ordered(before, after []any) ([]any, bool) {
	if n.listType == "" {
		return nil, false
	}
	positions, distinct := n.positions(after)
	if !distinct {
		return nil, false
	}
	made, taken := make([]any, len(before), max(len(before), len(after))), make([]bool, len(after))
	var open []int // places of items that are not among the others
	for i, item := range before {
		key, _ := n.identity(item)
		if at, found := positions[key]; found && !taken[at] {
			made[i], taken[at] = after[at], true
		} else {
			open = append(open, i)
		}
	}
	for i, item := range after {
		switch {
		case taken[i]:
		case len(open) > 0:
			made[open[0]], open = item, open[1:]
		default:
			made = append(made, item)
		}
	}
	for _, i := range slices.Backward(open) { // nothing is there any more
		made = slices.Delete(made, i, i+1)
	}
	return made, true
}
