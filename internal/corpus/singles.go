package corpus

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// mostSingles is how many objects Singles makes at most, and mostSpecial how many more of other styles than Plain. Schemas with more fields,
// which are few, have gaps for the rest of the former.
const (
	mostSingles = 3000
	mostSpecial = 1500
	mostUntyped = 500
)

// Single is an object that has, beside what is required, one field and what that needs around it.
type Single struct {
	Path   string // of the field, as in Gap
	About  string // what the field is there for: a value, a member of its enum, a branch of oneOf, or to be empty
	Style  Style  // what is special about the value of the field: Plain, Zeros for 0, false or "", Text or Integers
	Object *unstructured.Unstructured
}

// Singles returns one object for each field that can be set: for each leaf one with a value that is neither its default nor
// empty, for each member of an enum, for an integer and a string where both are allowed, for each branch of anyOf and oneOf, and
// one with {} for each part that may be empty. Each free string has one with text that is often spoilt, and each integer two with the lowest
// and the highest number, at most 1,500 in all. A field without a type has text, a list, numbers and booleans, at most 500 in all. Each list and map has one with up to 130 items, or 17 where there are rules in CEL, and
// each string one with up to 1,100 characters, as far as rules in CEL allow; of the style Large there are one with 257 items and one with more
// than 64 KiB. Text has one with each of the texts that programs take apart, fields of few values have each two of them together, null is
// wherever it is allowed, and values that Kubernetes' own types and fields of that name have are there too. A field of a union has its discriminator with it, and a
// discriminator is there without its field too, as far as the schema allows that. The same seed makes the same objects, at most 3,000.
// What cannot be made is in Gaps.
func (g *Generator) Singles() []Single {
	g.mu.RLock()
	defer g.mu.RUnlock()
	targets := g.mostTelling(g.targets())
	made := make([]result, len(targets))
	spread(len(targets), func(i int) { made[i] = g.single(targets[i], i) })
	var singles []Single
	var texts []edge
	seen, large := map[string]bool{}, 0
	add := func(s Single) {
		fields := maps.Clone(s.Object.Object)
		delete(fields, "metadata")
		if key := encoded(fields); !seen[key] && (s.Style != Large || large+len(key) < mostLarge) {
			seen[key] = true
			singles = append(singles, s)
			if s.Style == Large {
				large += len(key)
			}
		}
	}
	for i, t := range targets {
		if made[i].object == nil {
			if t.rank < rankSpecial { // whether there was something special or large is for coverage to report
				g.addGap(made[i].failed)
			}
			continue
		}
		one := Single{t.path, t.about, t.style, made[i].object}
		if g.schema.anyAt(t.path, made[i].object.Object, IsZero) {
			one.Style = Zeros
		}
		add(one)
		if base, is := g.edgeOf(t, one); is {
			texts = append(texts, base)
		}
	}
	for _, one := range g.edges(texts) {
		add(one)
	}
	return singles
}

// mostTelling returns the first targets, if there are too many.
func (g *Generator) mostTelling(all []*target) []*target {
	most := map[int]int{rankLeaf: mostSingles, rankSpecial: mostSpecial, rankUntyped: mostUntyped, rankTogether: mostCombined}
	counted := map[int]int{}
	var kept []*target
	for _, t := range all {
		rank := t.rank
		if most[rank] == 0 {
			rank = rankLeaf
		}
		if counted[rank]++; counted[rank] <= most[rank] {
			kept = append(kept, t)
		} else if t.rank < rankSpecial {
			g.addGap(Gap{Path: t.path, Reason: fmt.Sprintf("there is no object for %s alone: the schema has %d of these, and %d are made", t.about, len(all), mostSingles)})
		}
	}
	return kept
}

// How much of an object is there when it is tried to make one with a certain field.
const (
	withRequired = iota
	withFew
	withMany
	ofSingles
)

// single makes an object with what a target is about.
func (g *Generator) single(t *target, number int) result {
	mostTries := 6
	switch t.rank {
	case rankSpecial, rankUntyped, rankTogether:
		mostTries = 2
	case rankLarge:
		mostTries = 1 // large ones take long
	}
	tries := 0
	last := result{failed: Gap{Path: t.path, Reason: "there is no object for " + t.about + " alone"}}
	for _, w := range t.ways {
		for with := range ofSingles {
			if tries++; tries > mostTries {
				return last
			}
			m := g.maker(Plain, g.numberOf(t), with)
			w.target = t
			m.single, m.minimal, m.sparse = &w, with == withRequired, with == withFew
			made := g.mended(m, number, m.fields())
			if made.object == nil {
				last.failed.Reason = "there is no object for " + t.about + " alone: " + made.failed.Reason
				continue
			}
			if !w.shows(g.schema, made.object) {
				last.failed.Reason = "there is no object for " + t.about + " alone: no value was found but empty ones and its default"
				continue
			}
			if with > withRequired && !w.isMany(w.node) {
				made.object = w.alone(g.schema, made.object)
			}
			return made
		}
	}
	return last
}

// numberOf is a number of a target for random values, which other targets do not change.
func (g *Generator) numberOf(t *target) int {
	hash := fnv.New32a()
	hash.Write([]byte(t.path + "\x00" + t.about))
	return int(hash.Sum32() >> 1)
}

// wants reports whether a value of an object's target is what the object is for.
func (t *target) wants(n *node, value any) bool {
	_, isText := value.(string)
	return noticed(n, value) && (n.kind != intOrString || n.enum != nil || isText == (t.about == "a string"))
}

// telling makes a value for what an object is about, with any of several tries, or the default if there is no other.
func (m *maker) telling(n *node) any {
	free := *m
	free.single, free.minimal = nil, false
	var value any
	for range 12 {
		if value = free.value(n); m.single.target.wants(n, value) {
			return value
		}
	}
	for _, other := range n.others() {
		if n.accepts(other) && m.single.target.wants(n, other) {
			return other
		}
	}
	return value
}

// isLeaf reports whether a value has no parts that the schema describes.
func (n *node) isLeaf() bool {
	return n.items == nil && n.entries == nil && len(n.properties) == 0
}

// others are values to try where the usual ones are the default.
func (n *node) others() []any {
	switch n.kind {
	case boolean:
		return []any{true, false}
	case integer, number, intOrString:
		lowest, highest := n.bounds()
		values := []any{int64(1), int64(2), int64(3), highest, lowest, int64(0)}
		if n.kind == number {
			values = append(values, 0.5, 0.25)
		}
		if n.kind == intOrString {
			values = append(values, "25%", "http", "10", "2")
		}
		return values
	case text:
		return []any{"other", "a", "x1", ""}
	case object, list, anything:
	}
	return nil
}

// noticed reports whether the loss of a value would be seen: it is neither null nor the default and, unless a default would take
// its place or its presence says something, not empty.
func noticed(n *node, value any) bool {
	switch {
	case value == nil:
		return false
	case n.def != nil:
		return !reflect.DeepEqual(n.def, value)
	}
	switch value := value.(type) {
	case map[string]any:
		return len(value) > 0 || n.isMarked(value)
	case []any:
		return len(value) > 0
	}
	return !IsZero(value)
}

// Notices reports whether the loss of a value at a path would be seen, and not be put up with.
func (s *Schema) Notices(path string, value any) bool {
	if n := s.at(fieldpath.Split(path)); n != nil {
		return noticed(n, value)
	}
	return !IsEmpty(value)
}

// shows reports whether an object has what it is to be about.
func (w way) shows(s *Schema, object *unstructured.Unstructured) bool {
	if w.isMany(w.node) {
		return s.anyAt(w.node.path, object.Object, func(value any) bool { return w.node.hasMany(value, w.target.style) })
	}
	if w.target.rank == rankTogether {
		for path, wanted := range w.fixed {
			if !s.anyAt(path, object.Object, func(value any) bool { return reflect.DeepEqual(value, wanted) }) {
				return false
			}
		}
		return true
	}
	wanted, fixed := w.fixed[w.node.path]
	empty, isMap := wanted.(map[string]any)
	return s.anyAt(w.node.path, object.Object, func(value any) bool {
		switch {
		case fixed && isMap && len(empty) == 0, !fixed && !w.node.isLeaf():
			return true // defaults may have come in
		case fixed:
			return reflect.DeepEqual(value, wanted)
		}
		return w.target.wants(w.node, value)
	})
}

// alone takes away what is not needed, as long as the object shows what it is about.
func (w way) alone(s *Schema, object *unstructured.Unstructured) *unstructured.Unstructured {
	kept := maps.Clone(w.fixed)
	if w.node.isLeaf() && w.target.rank == rankLeaf {
		s.anyAt(w.node.path, object.Object, func(value any) bool {
			if w.target.wants(w.node, value) {
				kept = w.fixing(w.node.path, value).fixed
				return true
			}
			return false
		})
	}
	r := newReduction(s, object, func(candidate *unstructured.Unstructured) bool {
		for path, wanted := range kept {
			if !s.anyAt(path, candidate.Object, func(value any) bool { return reflect.DeepEqual(value, wanted) }) {
				return false
			}
		}
		return w.shows(s, candidate)
	})
	r.remove()
	return r.best
}

// anyAt reports whether something is true of a value at a path, which has [*] for items and <key> for the entries of maps.
func (s *Schema) anyAt(path string, value any, is func(any) bool) bool {
	return s.root.anyBelow(fieldpath.Split(path), value, is)
}

func (n *node) anyBelow(way []fieldpath.Step, value any, is func(any) bool) bool {
	if len(way) == 0 {
		return is(value)
	}
	switch value := value.(type) {
	case map[string]any:
		if way[0].Key == "<key>" && n != nil && n.byName["<key>"] == nil {
			for key, inner := range value {
				if n.byName[key] == nil && n.entries.anyBelow(way[1:], inner, is) {
					return true
				}
			}
			return false
		}
		inner, there := value[way[0].Key]
		return there && !way[0].List && n.child(way[0].Key).anyBelow(way[1:], inner, is)
	case []any:
		return way[0].List && slices.ContainsFunc(value, func(inner any) bool { return n.item().anyBelow(way[1:], inner, is) })
	}
	return false
}

// mustHave reports whether there must be a value at a node, for an object that is about one field.
func (m *maker) mustHave(n *node) bool { return m.single != nil && m.single.with[n.path] }

// isMany reports whether a list or map is to have many items.
func (w *way) isMany(n *node) bool {
	return w != nil && w.target.rank == rankLarge && w.node.path == n.path && (n.items != nil || n.entries != nil)
}

// hasMany reports whether a list or map has many items, or as many as it may have.
func (n *node) hasMany(value any, style Style) bool {
	least := int64(someItems)
	if style == Large {
		least = beyondByte
	}
	switch value := value.(type) {
	case []any:
		return int64(len(value)) >= min(n.maxItems, least)
	case map[string]any:
		return int64(len(value)) >= min(n.maxFields, least)
	}
	return false
}

// given is the value that there must be at a node, if there is one.
func (m *maker) given(n *node) (any, bool) {
	if m.single == nil {
		return nil, false
	}
	if value, fixed := m.single.fixed[n.path]; fixed {
		return k8sruntime.DeepCopyJSONValue(value), true
	}
	if w := m.single; w.node.path == n.path && w.target.rank == rankLeaf && n.isLeaf() {
		return m.telling(n), true
	}
	return nil, false
}

// branch is the variant that an object must take at a node, nil if it is free.
func (m *maker) branch(n *node) *node {
	if m.single == nil {
		return nil
	}
	for _, variant := range n.variants {
		if m.single.branches[variant] {
			return variant
		}
	}
	return nil
}
