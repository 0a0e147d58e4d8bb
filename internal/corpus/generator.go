package corpus

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Style is what is special about the values of generated objects. Each object has one, so that a webhook that breaks one kind
// of value is found with that style and no other.
type Style string

// The styles.
const (
	Plain    Style = "plain"    // what users write: ASCII words, small numbers, nothing empty and no nulls; one in eight is sparse
	Text     Style = "text"     // free strings, and keys of maps, have characters of all kinds
	Integers Style = "integers" // numbers at the extremes that API servers keep
	Zeros    Style = "zeros"    // 0, false, "", and empty lists and maps, wherever they are allowed; in every other object, beside other values
	Nulls    Style = "nulls"    // null wherever it is allowed
	Huge     Style = "huge"     // objects of 300 KiB to 1 MiB, as far as the limits let them grow
	Large    Style = "large"    // one text of more than 64 KiB, or a list of 257 items: of Singles only
)

// Gap is what cannot be generated.
type Gap struct {
	Path   string // as Generalize returns it, with <key> for the entries of maps; empty for whole objects
	Reason string

	style Style // if it is about objects of another style than Plain, which say nothing of what others lack
}

// Generator makes objects that a schema allows. The same seed makes the same objects, in whatever order they are asked
// for; after refuse they are others. It can be used by several goroutines at once.
type Generator struct {
	definition *Definition
	schema     *Schema
	version    string
	seed       int64
	samples    []*unstructured.Unstructured
	byPath     map[string][]*node
	base       []Gap // those of the schema itself
	words      []string
	rulings    map[string]*ruling

	mu     sync.RWMutex // of what refuse changes
	places []place      // by the node's ID
	usual  metadata     // what the metadata of objects is usual in, since the webhook refuses what is special

	gapsMu sync.Mutex
	gaps   map[Gap]bool // found while generating
}

// Generator returns a generator of objects at a version. It uses values of those samples that are valid at this version,
// and ignores others. It panics for versions that the definition does not have.
func (d *Definition) Generator(version string, seed int64, samples []*unstructured.Unstructured) *Generator {
	s := d.Schema(version)
	g := &Generator{
		definition: d, schema: s, version: version, seed: seed,
		words: words(), byPath: map[string][]*node{}, places: make([]place, s.nodes), gaps: map[Gap]bool{}, rulings: s.rulings(),
	}
	g.index(s.root)
	for _, sample := range samples {
		if d.judge(sample) == nil && sample.GroupVersionKind().Version == version {
			g.samples = append(g.samples, sample)
			g.collect(s.root, sample.Object)
		}
	}
	g.fill()
	g.assess(s.root)
	return g
}

// blockSize is how many objects are made before it is looked whether any could be made.
const blockSize = 8

// Objects returns n objects, or fewer where Gaps says why: none when the schema has nothing that the style is about. They
// have the metadata that objects from API servers have, and names that need not be unique.
func (g *Generator) Objects(style Style, n int) []*unstructured.Unstructured {
	if reason := g.missing(style); reason != "" {
		g.addGap(Gap{Reason: reason, style: style})
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.places[g.schema.root.id].broken {
		return nil
	}
	results := make([]result, 0, max(n, 0))
	for start := 0; start < n; start += blockSize * 16 {
		// Blocks grow once objects are known to be possible; the first is small.
		size := blockSize * 16
		if start == 0 {
			first := g.block(style, 0, min(blockSize, n))
			results = append(results, first...)
			if !slices.ContainsFunc(first, func(r result) bool { return r.object != nil }) {
				break
			}
			if n > blockSize {
				results = append(results, g.block(style, blockSize, min(size, n)-blockSize)...)
			}
			continue
		}
		results = append(results, g.block(style, start, min(size, n-start))...)
	}
	return g.kept(results)
}

// result is what came of one object.
type result struct {
	object  *unstructured.Unstructured
	dropped map[Gap]bool // what was left out to make it valid
	failed  Gap          // why there is none
}

// block makes objects from a number on.
func (g *Generator) block(style Style, start, n int) []result {
	results := make([]result, n)
	spread(n, func(i int) { results[i] = g.one(style, start+i) })
	return results
}

// spread does n pieces of work, in as many goroutines as there are processors.
func spread(n int, do func(i int)) {
	var work sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), n)
	for worker := range workers {
		work.Go(func() {
			for i := worker; i < n; i += workers {
				do(i)
			}
		})
	}
	work.Wait()
}

// kept returns the objects that could be made, and notes as gaps what none of them has.
func (g *Generator) kept(results []result) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	dropped := map[Gap]bool{}
	for _, r := range results {
		if r.object == nil {
			g.addGap(r.failed)
			continue
		}
		objects = append(objects, r.object)
		for gap := range r.dropped {
			dropped[gap] = true
		}
	}
	for gap := range dropped {
		path := fieldpath.Split(gap.Path)
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return reaches(o.Object, path) }) {
			g.addGap(gap)
		}
	}
	return objects
}

// reaches reports whether a value has something at a path with [*] for any index.
func reaches(value any, path []fieldpath.Step) bool {
	if len(path) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		if path[0].Key == "<key>" {
			for _, inner := range value {
				if reaches(inner, path[1:]) {
					return true
				}
			}
			return false
		}
		inner, ok := value[path[0].Key]
		return ok && reaches(inner, path[1:])
	case []any:
		return path[0].List && slices.ContainsFunc(value, func(inner any) bool { return reaches(inner, path[1:]) })
	}
	return false
}

// missing returns what the schema lacks for a style.
func (g *Generator) missing(style Style) string {
	lacks := map[Style]string{
		Text:     "no string or key accepts arbitrary characters",
		Integers: "no field is an integer or a number",
		Nulls:    "no field is nullable",
	}[style]
	if lacks == "" || g.hasAny(g.schema.root, style) {
		return ""
	}
	return lacks + fmt.Sprintf(" at %s, so no objects of the style %s were generated", g.version, style)
}

// hasAny reports whether there is something under a node that a style is about.
func (g *Generator) hasAny(n *node, style Style) bool {
	switch {
	case style == Nulls && n.nullable,
		style == Text && (n.kind == text && n.isFree() || n.entries != nil || n.preserve),
		style == Integers && (n.kind == integer || n.kind == number || n.kind == intOrString) && n.enum == nil:
		return true
	}
	return slices.ContainsFunc(n.inner(), func(inner *node) bool { return !isMeta(inner.path) && g.hasAny(inner, style) })
}

// inner returns what a value consists of, in variants too.
func (n *node) inner() []*node {
	inner := slices.Clone(n.variants)
	for _, p := range n.properties {
		inner = append(inner, p.node)
	}
	for _, one := range []*node{n.items, n.entries} {
		if one != nil {
			inner = append(inner, one)
		}
	}
	return inner
}

// Minimal returns an object with what is required, and with defaults; nil when that can't be made.
func (g *Generator) Minimal() *unstructured.Unstructured {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.places[g.schema.root.id].broken {
		return nil
	}
	m := g.maker(Plain, 0, 0)
	m.minimal = true
	made := g.mended(m, 0, m.fields())
	if made.object == nil {
		g.addGap(made.failed)
	}
	return made.object
}

// Gaps returns what cannot be generated, as far as it was found out until now, sorted by path and reason.
func (g *Generator) Gaps() []Gap {
	g.mu.RLock()
	defer g.mu.RUnlock()
	gaps := slices.Clone(g.base)
	for gap := range g.found() {
		gaps = append(gaps, gap)
	}
	for path, nodes := range g.byPath {
		if g.places[nodes[0].id].refused {
			gaps = append(gaps, Gap{Path: path, Reason: g.places[nodes[0].id].rejected()})
		}
	}
	slices.SortFunc(gaps, func(a, b Gap) int { return strings.Compare(a.Path+"\x00"+a.Reason, b.Path+"\x00"+b.Reason) })
	return gaps
}

// maker returns what makes the values of an object.
func (g *Generator) maker(style Style, number, attempt int) *maker {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s/%d", g.version, style, attempt)
	source := rand.NewPCG(uint64(g.seed)^hash.Sum64(), uint64(number)) //nolint:gosec // any bits will do for a seed
	return &maker{g: g, rng: rand.New(source), style: style}           //nolint:gosec // the values must be the same each time
}
