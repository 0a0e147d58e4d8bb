package corpus

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// place is what a generator knows of a node beyond what the schema says.
type place struct {
	samples []any    // scalars of the samples, at most maxSamples
	trees   []any    // maps and lists of the samples, at most maxSamples
	full    []any    // values of the enum but 0, false and ""
	empty   []any    // 0, false and "", as far as the enum has them
	pool    []string // strings that patterns and formats allow
	level   int      // which kind of values is used
	wanted  bool     // the webhook wants it to be there
	refused bool     // no sort was good enough, so it is left out
	shown   []any    // what the webhook refused there, or in an object with it
	gap     string   // why there can be no values
	broken  bool     // there can be no values here, so it is left out

	// apart is the field in which the webhook wants the items of a list to differ, without a name for items that are scalars; nil if there is none.
	apart *property
}

// maxSamples is how many values of samples are kept for a place.
const maxSamples = 16

// index files the nodes under their paths, several for one with variants.
func (g *Generator) index(n *node) {
	g.byPath[n.path] = append(g.byPath[n.path], n)
	for _, inner := range n.inner() {
		g.index(inner)
	}
}

// collect notes the values of a sample.
func (g *Generator) collect(n *node, value any) {
	if n == nil || n.shallow {
		return
	}
	for _, one := range g.byPath[n.path] {
		g.places[one.id].note(one, value)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			g.collect(n.child(key), value[key])
		}
	case []any:
		for _, item := range value {
			g.collect(n.item(), item)
		}
	}
}

// note keeps a value that is new and allowed.
func (p *place) note(n *node, value any) {
	switch value.(type) {
	case map[string]any, []any:
		if len(p.trees) < maxSamples {
			p.trees = append(p.trees, value)
		}
	case nil:
	default:
		if len(p.samples) < maxSamples && n.accepts(value) && !slices.Contains(p.samples, value) {
			p.samples = append(p.samples, value)
		}
	}
}

// fill makes the pools of strings, and finds where there can be none.
func (g *Generator) fill() {
	pools := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(g.byPath)) {
		for _, n := range g.byPath[path] {
			p := &g.places[n.id]
			if (n.kind != text && n.kind != intOrString) || n.isFree() || n.enum != nil {
				p.sortEnum(n)
				p.gap = n.impossible()
				continue
			}
			key := n.poolKey()
			if _, known := pools[key]; !known {
				pools[key] = n.strings()
			}
			p.pool = pools[key]
			if len(p.pool) == 0 && len(p.samples) == 0 && n.kind == text {
				p.gap = "no string was found that its pattern, format and length allow; a sample with a value here helps"
			}
		}
	}
	for path, nodes := range g.byPath {
		if reason := g.places[nodes[0].id].gap; reason != "" && !isMeta(path) {
			g.base = append(g.base, Gap{Path: path, Reason: reason})
		}
	}
}

// impossible returns why no value can satisfy the limits.
func (n *node) impossible() string {
	switch {
	case n.enum != nil && !slices.ContainsFunc(n.enum, n.accepts) && !n.allowsNull():
		return "no value of its enum satisfies the other constraints"
	case n.minLength > n.maxLength || n.minItems > n.maxItems || n.minFields > n.maxFields:
		return "its minimum is more than its maximum"
	case n.kind == integer && n.enum == nil && n.hasOddLimit():
		return "API servers reject every integer there, because a limit or multipleOf is not an integer of its format"
	case n.kind == integer && n.enum == nil && len(n.integersFrom(n.anyInteger())) == 0,
		n.kind == number && n.enum == nil && len(n.numbersFrom(n.anyNumber())) == 0:
		return "no number was found within its limits"
	}
	return ""
}

// full returns why there can be nothing in an object or a list.
func (n *node) full() string {
	switch {
	case n.maxFields == 0:
		return "maxProperties is 0 around it"
	case n.maxItems == 0:
		return "maxItems is 0 around it"
	}
	return ""
}

// hasOddLimit reports whether an integer has a limit, or is to be a multiple of something, that API servers cannot cope with.
func (n *node) hasOddLimit() bool {
	limits := slices.Clone(n.multiples)
	for _, limit := range []*float64{n.minimum, n.maximum} {
		if limit != nil {
			limits = append(limits, *limit)
		}
	}
	odd := func(limit float64) bool {
		return limit != math.Trunc(limit) || math.Abs(limit) >= math.MaxInt64 || n.format == "int32" && (limit < math.MinInt32 || limit > math.MaxInt32)
	}
	return slices.ContainsFunc(limits, odd)
}

// poolKey is the same for nodes whose pools are.
func (n *node) poolKey() string {
	parts := []string{n.format, strconv.FormatInt(n.minLength, 10), strconv.FormatInt(n.maxLength, 10)}
	for _, pattern := range n.patterns {
		parts = append(parts, pattern.String())
	}
	return strings.Join(parts, "\x00")
}

// assess finds where there can be no values, for want of what is required inside.
func (g *Generator) assess(n *node) bool {
	p := &g.places[n.id]
	p.broken = p.gap != "" || p.refused
	for _, one := range n.properties {
		if !g.assess(one.node) && one.required && !isMeta(one.path) {
			p.broken = true
		}
	}
	if n.items != nil && !g.assess(n.items) && n.minItems > 0 {
		p.broken = true
	}
	if n.entries != nil && !g.assess(n.entries) && n.minFields > 0 {
		p.broken = true
	}
	some := len(n.variants) == 0
	for _, variant := range n.variants {
		some = g.assess(variant) || some
	}
	p.broken = p.broken || !some
	return !p.broken
}

// walk returns the node at a path and the one around it.
func (g *Generator) walk(path []fieldpath.Step) (n, parent *node) {
	n = g.schema.root
	for _, next := range path {
		parent = n
		switch {
		case n == nil:
			return nil, nil
		case next.List && n.items != nil:
			n = n.items
		case next.List:
			n = n.child(strconv.Itoa(next.At))
		default:
			n = n.child(next.Key)
		}
	}
	return n, parent
}

// refuse says that the webhook would not have what was generated at a path, generalized or not: from now on there are
// values of the next sort, and when there are no more sorts, the path is left out if it is optional. It is false when
// there is nothing more to change; then what is around the path may be refused. Strings go from words to values of
// samples, durations, quantities, times, addresses, URLs, base64, digits and host:port; integers to 32 bits, then to small
// ones. The value that was refused explains later on why a place has none.
func (g *Generator) refuse(path string, value any) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, parent := g.walk(fieldpath.Split(path))
	if n == nil || parent == nil {
		return false
	}
	first := g.places[n.id]
	if first.refused {
		return false
	}
	next := first.level + 1
	if n.hasSampleSort() && next == samplesSort && len(first.samples) == 0 {
		next++
	}
	if next >= n.sorts() && !parent.canLack(n) {
		return false
	}
	for _, one := range g.byPath[n.path] {
		if value != nil {
			g.places[one.id].shown = append(g.places[one.id].shown, value)
		}
		if next >= n.sorts() {
			g.places[one.id].refused = true
		} else {
			g.places[one.id].level = next
		}
	}
	g.assess(g.schema.root)
	return true
}

// keepApart has the items of a list differ in a field from now on.
func (g *Generator) keepApart(list *node, by *property) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.byPath[list.path] {
		g.places[one.id].apart = by
	}
}

// isKeptApart reports whether the items of a list are to differ in some field.
func (g *Generator) isKeptApart(list *node) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.places[list.id].apart != nil
}

// levelOf is which kind of value a place has now.
func (g *Generator) levelOf(n *node) int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if n == nil {
		return 0
	}
	return g.places[n.id].level
}

// ofSort makes a value of a sort for a place. It is false if there is none.
func (g *Generator) ofSort(n *node, sort int) (any, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &g.places[n.id]
	if p.broken || n.hasSampleSort() && sort == samplesSort && len(p.samples) == 0 {
		return nil, false
	}
	level := p.level
	defer func() { p.level = level }()
	p.level = sort
	return g.maker(Plain, sort, 0).value(n), true
}

// besides returns the other values that a place has, if it has but a few known ones.
func (g *Generator) besides(n *node, value any) []any {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := &g.places[n.id]
	return slices.DeleteFunc(slices.Concat(p.full, anyOf(p.pool)), func(other any) bool { return equal(other, value) })
}

// avoid has a place no longer get one of the values that are known for it.
func (g *Generator) avoid(n *node, value any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	is := func(other any) bool { return equal(other, value) }
	for _, one := range g.byPath[n.path] {
		p := &g.places[one.id]
		p.full = slices.DeleteFunc(slices.Clone(p.full), is)
		p.empty = slices.DeleteFunc(slices.Clone(p.empty), is)
		p.samples = slices.DeleteFunc(slices.Clone(p.samples), is)
		p.pool = slices.DeleteFunc(slices.Clone(p.pool), func(text string) bool { return text == value }) // it is that of others, too
	}
}

// rejected says why a place has no values any more: by what it refused there. It may take the same beside other fields, so nothing is said
// of all values.
func (p *place) rejected() string {
	if len(p.shown) == 0 {
		return "the webhook rejected objects that have it"
	}
	var shows []string
	for _, value := range p.shown {
		if text := shown(value); !slices.Contains(shows, text) {
			shows = append(shows, text)
		}
	}
	return "the webhook rejected objects with these values there, after which no others were tried: " + strings.Join(shows, ", ")
}

// canLack reports whether a value of a node can do without a part of it.
func (n *node) canLack(part *node) bool {
	switch part {
	case n.items:
		return n.minItems == 0
	case n.entries:
		return n.minFields == 0
	}
	for _, p := range n.properties {
		if p.node == part {
			return !p.required
		}
	}
	return true
}

// found returns the gaps that generating met. The lock is for reading only, so a copy is made under another.
func (g *Generator) found() map[Gap]bool {
	g.gapsMu.Lock()
	defer g.gapsMu.Unlock()
	return maps.Clone(g.gaps)
}

func (g *Generator) addGap(gap Gap) {
	g.gapsMu.Lock()
	defer g.gapsMu.Unlock()
	g.gaps[gap] = true
}

// encoded is a value as a key.
func encoded(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
