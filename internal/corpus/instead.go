package corpus

import (
	"slices"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Instead says what a schema has in place of what another one has at a path, if on the way there is a field that is of another type, such as
// "spec.config as a string". It is empty if all have the same type, or the first that has not is missing.
func (s *Schema) Instead(of *Schema, path string) string {
	if s == nil || of == nil {
		return ""
	}
	here, there := s.root, of.root
	steps := fieldpath.Split(path)
	for i, next := range steps {
		if i == 0 && isMeta(next.Key) {
			return ""
		}
		if next.List {
			here, there = here.item(), there.item()
		} else {
			here, there = here.child(next.Key), there.child(next.Key)
		}
		if here == nil || there == nil {
			return ""
		}
		if is, was := here.form(), there.form(); is != was && is != "" && was != "" {
			return of.Pattern(fieldpath.Join(slices.Clone(steps[:i+1]))) + " as " + is
		}
	}
	return ""
}

// form is what a value is, in words; empty if that is not known.
func (n *node) form() string {
	switch {
	case n.preserve || n.shallow:
		return ""
	case n.isMap():
		if inner := n.entries.form(); inner != "" {
			return "a map, each value of which is " + inner
		}
		return "a map"
	}
	return map[kind]string{
		object: "an object", list: "a list", text: "a string", integer: "a number", number: "a number", boolean: "a boolean",
		intOrString: "a number or string",
	}[n.kind]
}
