package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// target is what an object of Singles is about.
type target struct {
	path, about string
	rank        int // those of a lower one come first, if there are too many
	style       Style
	ways        []way
}

// way is how to get to a target: through which branches, and with which values.
type way struct { //nolint:recvcheck // a value, but there may be none to ask
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
	rankSpecial  // a value of another style than Plain
	rankUntyped  // a value of another type, where the schema names none
	rankTogether // fields whose values may matter together
	rankLarge
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

	reached func(*node, way) // is given each place; may be nil

	beyond string // a text of more than 64 KiB, which all objects share: those of thousands of fields would take more memory than all else
}

// mostWays is how many ways to a target are tried.
const mostWays = 6

// add notes a way to a target.
func (t *targeting) add(rank int, about string, w way) *target {
	key := w.node.path + "\x00" + about
	known := t.byKey[key]
	if known == nil {
		known = &target{path: w.node.path, about: about, rank: rank, style: Plain}
		t.byKey[key] = known
		t.all = append(t.all, known)
	}
	if len(known.ways) < mostWays {
		known.ways = append(known.ways, w)
	}
	return known
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
	if t.reached != nil {
		t.reached(n, w)
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
	t.together(n, w)
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
	if t.g.places[n.id].level == 0 {
		for _, value := range n.named {
			t.add(rankEnum, "the value "+shown(value), w.fixing(n.path, value))
		}
	}
	t.usual(n, w)
	t.special(n, w)
	t.large(n, w)
}

// special adds the targets for text that is often spoilt, and for the lowest and the highest number. Objects of the styles Text and Integers
// have such values in many fields at once, and too seldom in one that is deep inside.
func (t *targeting) special(n *node, w way) {
	place := &t.g.places[n.id]
	switch {
	case n.enum != nil:
	case place.isDuration(n) && n.acceptsText(noTime):
		t.add(rankSpecial, "no time", w.fixing(n.path, noTime)).style = Zeros
	case place.level > 0 || len(n.hints) > 0:
	case n.kind == anything && len(t.g.knownAt(n)) > 0:
	case n.kind == anything:
		t.untyped(n, w)
	case n.kind == text && n.isFree():
		if text := spoilable(n.maxLength); n.acceptsText(text) {
			t.add(rankSpecial, "text", w.fixing(n.path, text)).style = Text
		}
	case n.kind == integer:
		lowest, highest := n.bounds()
		for _, value := range []int64{up(lowest, n.step()), down(highest, n.step())} {
			if isExtreme(value) && n.accepts(value) {
				t.add(rankSpecial, fmt.Sprint("the number ", value), w.fixing(n.path, value)).style = Integers
			}
		}
	}
}

// untyped adds the targets for values of each type where the schema names none. Programs that expect an object there fail for others.
func (t *targeting) untyped(n *node, w way) {
	for _, sort := range []struct {
		style Style
		value any
	}{
		{Text, spoilable(n.maxLength)},
		{Plain, []any{"a", int64(2), map[string]any{"b": true}}},
		{Integers, int64(1<<53 + 1)},
		{Plain, 0.5},
		{Plain, true},
		{Zeros, false},
		{Zeros, ""},
		{Zeros, []any{}},
	} {
		if n.accepts(sort.value) {
			t.add(rankUntyped, "the value "+shown(sort.value), w.fixing(n.path, sort.value)).style = sort.style
		}
	}
}

// isDuration reports whether the strings of a place are durations: those that its hints or patterns lead to, or those that the webhook takes.
// Patterns for durations may allow units that Go does not have.
func (p *place) isDuration(n *node) bool {
	values := n.hints
	switch sort := p.level - samplesSort - 1; {
	case sort >= 0 && sort < len(sortsOfText()):
		values = sortsOfText()[sort]
	case !n.isFree():
		return n.kind == text && n.acceptsText("10s") && !slices.ContainsFunc([]string{"10x", "alpha"}, n.acceptsText)
	}
	return n.kind == text && len(values) > 0 && !slices.ContainsFunc(values, func(s string) bool {
		_, err := time.ParseDuration(s)
		return err != nil
	})
}

// usualNumber is a number that the style Plain does not exceed.
const usualNumber = 100

// isExtreme reports whether objects of the style Plain do not have such a number, unless the limits leave no other.
func isExtreme(n int64) bool { return n < 0 || n > usualNumber }

// How large lists, maps and strings are in objects that are there for that. Programs that cut them do so at rounder numbers.
const (
	manyItems  = 130
	longLength = 1100

	// usualItems is how many items lists and maps have otherwise, at most, and someItems how many are enough for a large one.
	usualItems = 3
	someItems  = 17

	// Some programs count in a byte, or in 16 bits.
	beyondByte = 257
	beyondText = 1<<16 + 1
)

// large adds the targets for a list or a map with many items, and for a long string. Where the webhook refuses words, only it knows which
// strings it takes. Where there are rules in CEL, one object is tried.
func (t *targeting) large(n *node, w way) {
	switch place := &t.g.places[n.id]; {
	case n.enum != nil || n.path == "":
	case n.items != nil && n.maxItems > usualItems && !t.g.places[n.items.id].broken && !n.isFew(),
		n.entries != nil && n.maxFields > usualItems && !t.g.places[n.entries.id].broken:
		t.add(rankLarge, "many items", w)
		if n.items != nil && n.maxItems >= beyondByte && !n.ruled() {
			t.add(rankLarge, "more items than a byte counts", w).style = Large
		}
	case n.kind == text && place.level == 0 && len(n.hints) == 0:
		if long := n.longest(t.g.words, place.pool); long != "" {
			t.add(rankLarge, "a long value", w.fixing(n.path, long))
		}
		if n.isFree() && n.maxLength >= beyondText && !n.ruled() {
			if t.beyond == "" {
				t.beyond = strings.Repeat("longer than 64 KiB ", beyondText/19+1)
			}
			t.add(rankLarge, "a text of more than 64 KiB", w.fixing(n.path, t.beyond)).style = Large
		}
	}
}

// ruled reports whether there are rules in CEL at a place or inside.
func (n *node) ruled() bool { return len(n.rules) > 0 || slices.ContainsFunc(n.inner(), (*node).ruled) }

// isFew reports whether the items of a list must be distinct, and there are not many values for them.
func (n *node) isFew() bool {
	keys := []*node{n.items}
	switch {
	case n.listType == "map":
		keys = nil
		for _, key := range n.listKeys {
			keys = append(keys, n.items.child(key))
		}
	case n.listType == "" && !n.unique:
		return false
	}
	return !slices.ContainsFunc(keys, func(key *node) bool { return key != nil && key.enum == nil && key.kind != boolean })
}

// longest returns a string of longLength characters, or of the most that are allowed; empty if that is no more than in a label's value, or
// if none was found that the patterns allow.
func (n *node) longest(words, pool []string) string {
	length := min(n.maxLength, longLength)
	if length <= longestLabel || n.validated {
		return ""
	}
	if n.isFree() {
		return fitted(strings.Join(words, " ")+strings.Repeat(" long", longLength/5), length, length)
	}
	for ; length > longestLabel; length = shorter(length) {
		for _, short := range pool {
			if long := fitted(short, length, length); n.acceptsText(long) {
				return long
			}
		}
	}
	return ""
}

// shorter is the next length that patterns may allow.
func shorter(length int64) int64 {
	for _, usual := range []int64{longestName, longestLabel + 1} {
		if length > usual {
			return usual
		}
	}
	return 0
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
	plain := func(text string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("-_ ", r) {
				return -1
			}
			return r
		}, text)
	}
	return value != "" && strings.EqualFold(plain(value), plain(field))
}
