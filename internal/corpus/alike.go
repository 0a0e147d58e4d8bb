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

// Equal reports whether two scalars mean the same at a path.
func (s *Schema) Equal(path string, a, b any) bool { return s.at(fieldpath.Split(path)).same(a, b) }
