package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
