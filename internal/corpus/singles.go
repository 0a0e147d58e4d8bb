package corpus

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// mostSingles is how many objects Singles makes at most. Schemas with more fields, which are few, have gaps for the rest.
const mostSingles = 3000

// Single is an object that has, beside what is required, one field and what that needs around it.
type Single struct {
	Path   string // of the field, as in Gap
	About  string // what the field is there for: a value, a member of its enum, a branch of oneOf, or to be empty
	Zero   bool   // whether the value of the field is 0, false or ""
	Object *unstructured.Unstructured
}

// Singles returns one object for each field that can be set: for each leaf one with a value that is neither its default nor
// empty, for each member of an enum, for an integer and a string where both are allowed, for each branch of anyOf and oneOf, and
// one with {} for each part that may be empty. A field of a union has its discriminator with it, and a discriminator is there
// without its field too, as far as the schema allows that. The same seed makes the same objects, at most 3,000. What cannot be made is in Gaps.
func (g *Generator) Singles() []Single {
	g.mu.RLock()
	defer g.mu.RUnlock()
	targets := g.targets()
	if len(targets) > mostSingles {
		for _, t := range targets[mostSingles:] {
			g.addGap(Gap{t.path, fmt.Sprintf("there is no object for %s alone: the schema has %d of these, and %d are made", t.about, len(targets), mostSingles)})
		}
		targets = targets[:mostSingles]
	}
	made := make([]result, len(targets))
	var work sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(targets))
	for worker := range workers {
		work.Go(func() {
			for i := worker; i < len(targets); i += workers {
				made[i] = g.single(targets[i], i)
			}
		})
	}
	work.Wait()
	var singles []Single
	seen := map[string]bool{}
	for i, t := range targets {
		if made[i].object == nil {
			g.addGap(made[i].failed)
			continue
		}
		fields := maps.Clone(made[i].object.Object)
		delete(fields, "metadata")
		if key := encoded(fields); !seen[key] {
			seen[key] = true
			zero := g.schema.anyAt(t.path, made[i].object.Object, isZero)
			singles = append(singles, Single{t.path, t.about, zero, made[i].object})
		}
	}
	return singles
}

// target is what an object of Singles is about.
type target struct {
	path, about string
	rank        int // those of a lower one come first, if there are too many
	ways        []way
}

// way is how to get to a target: through which branches, and with which values.
type way struct {
	target   *target
	node     *node
	with     map[string]bool // the paths that must be there
	branches map[*node]bool  // the variants to take
	fixed    map[string]any  // by path
	detour   bool            // it goes through what the schema forbids in some cases
}

// The ranks of targets.
const (
	rankLeaf = iota
	rankUnion
	rankBranch
	rankEnum
	rankEmpty
)

// targets returns what there is to make objects of, in an order that depends on the schema only.
func (g *Generator) targets() []*target {
	found := targeting{g: g, byKey: map[string]*target{}}
	found.visit(g.schema.root, way{})
	for _, t := range found.all {
		slices.SortStableFunc(t.ways, func(a, b way) int {
			if a.detour == b.detour {
				return 0
			} else if a.detour {
				return 1
			}
			return -1
		})
	}
	slices.SortStableFunc(found.all, func(a, b *target) int { return cmp.Compare(a.rank, b.rank) })
	return found.all
}

type targeting struct {
	g     *Generator
	all   []*target
	byKey map[string]*target
}

// mostWays is how many ways to a target are tried.
const mostWays = 6

// add notes a way to a target.
func (t *targeting) add(rank int, about string, w way) {
	key := w.node.path + "\x00" + about
	known := t.byKey[key]
	if known == nil {
		known = &target{path: w.node.path, about: about, rank: rank}
		t.byKey[key] = known
		t.all = append(t.all, known)
	}
	if len(known.ways) < mostWays {
		known.ways = append(known.ways, w)
	}
}

// to is a way that goes on to what a value consists of.
func (w way) to(n *node) way {
	next := way{node: n, with: maps.Clone(w.with), branches: w.branches, fixed: w.fixed, detour: w.detour}
	if next.with == nil {
		next.with = map[string]bool{}
	}
	next.with[n.path] = true
	return next
}

// fixing is a way on which there is a value at a path.
func (w way) fixing(path string, value any) way {
	w.fixed = maps.Clone(w.fixed)
	if w.fixed == nil {
		w.fixed = map[string]any{}
	}
	w.fixed[path] = value
	return w
}

// visit finds the targets at a node and below it. The way leads there.
func (t *targeting) visit(n *node, w way) {
	w.node = n
	if t.g.places[n.id].broken || n.path != "" && isMeta(n.path) {
		return
	}
	if len(n.variants) > 0 {
		for i, variant := range n.variants {
			branch := w
			branch.node, branch.branches = variant, maps.Clone(w.branches)
			if branch.branches == nil {
				branch.branches = map[*node]bool{}
			}
			branch.branches[variant] = true
			if !t.g.places[variant.id].broken {
				t.add(rankBranch, fmt.Sprintf("branch %d of %d", i+1, len(n.variants)), branch)
			}
			t.visit(variant, branch)
		}
		return
	}
	if n.shallow {
		t.add(rankLeaf, "a value", w)
		return
	}
	t.leaf(n, w)
	for _, p := range n.properties {
		if !n.hasMeta(p.name) {
			t.property(n, p, w)
		}
	}
	if n.items != nil {
		t.visit(n.items, w.to(n.items))
	}
	if n.entries != nil {
		t.visit(n.entries, w.to(n.entries))
	}
}

// leaf adds the targets at a node itself.
func (t *targeting) leaf(n *node, w way) {
	switch {
	case n.enum != nil:
		for _, value := range n.enum {
			if value != nil && n.accepts(value) {
				t.add(rankEnum, "the value "+shown(value), w.fixing(n.path, value))
			}
		}
	case n.kind == intOrString:
		t.add(rankLeaf, "an integer", w)
		t.add(rankLeaf, "a string", w)
	case n.kind == object && n.path != "" && (len(n.properties) > 0 || n.entries == nil) && !n.embedded:
		if len(n.required) == 0 && n.minFields == 0 {
			t.add(rankEmpty, "to be empty", w.fixing(n.path, map[string]any{}))
		}
		if n.preserve {
			t.add(rankLeaf, "a value", w)
		}
	case n.items != nil, n.entries != nil, n.path == "":
	default:
		t.add(rankLeaf, "a value", w)
	}
}

// property goes on to a field, with the value of a discriminator that names it.
func (t *targeting) property(n *node, p property, w way) {
	next := w.to(p.node)
	next.detour = next.detour || slices.Contains(n.forbids, p.name)
	for _, other := range n.properties {
		if other.node == p.node || other.kind != text || t.g.places[other.id].broken || slices.Contains(n.forbids, other.name) {
			continue
		}
		for _, value := range other.enum {
			if name, ok := value.(string); !ok || !discriminates(name, p.name) || !other.accepts(value) {
				continue
			}
			next = next.fixing(other.path, value)
			next.with[other.path] = true
			if next.detour {
				continue
			}
			if p.kind == object && len(p.node.required) == 0 && p.minFields == 0 && len(p.variants) == 0 {
				t.add(rankUnion, "to be empty with "+other.name+" "+shown(value), next.at(p.node).fixing(p.path, map[string]any{}))
			}
			t.add(rankUnion, "to be there with "+other.name+" "+shown(value), next.at(p.node))
		}
	}
	t.visit(p.node, next)
}

func (w way) at(n *node) way {
	w.node = n
	return w
}

// discriminates reports whether a value of a discriminator is for a field.
func discriminates(value, field string) bool {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	return value != "" && strings.EqualFold(plain.Replace(value), plain.Replace(field))
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
	const mostTries = 6
	tries := 0
	last := result{failed: Gap{t.path, "there is no object for " + t.about + " alone"}}
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
			if with > withRequired {
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
	return tells(n, value) && (n.kind != intOrString || n.enum != nil || isText == (t.about == "a string"))
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
	}
	return nil
}

// tells reports whether the loss of a value would be seen: it is neither null nor the default and, unless a default would take
// its place, not empty.
func tells(n *node, value any) bool {
	switch {
	case value == nil:
		return false
	case n.def != nil:
		return !reflect.DeepEqual(n.def, value)
	}
	switch value := value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return !isZero(value)
}

// shows reports whether an object has what it is to be about.
func (w *way) shows(s *Schema, object *unstructured.Unstructured) bool {
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
func (w *way) alone(s *Schema, object *unstructured.Unstructured) *unstructured.Unstructured {
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
