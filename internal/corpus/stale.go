package corpus

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Stale is an object that an earlier definition allowed, and that is not as a newer one has it. API servers leave such objects in
// storage: they validate what is written, and not what they read.
type Stale struct {
	Path   string // of the field that the definitions differ in, as in Gap
	Change string // what is different, such as: the value "Legacy" is no longer allowed
	Effect StaleEffect

	// Free reports that the earlier definition merely set no such limit, so that nobody ever named such a value.
	Free bool

	// Named reports that the difference is about the name of objects.
	Named bool

	// Creates reports that only new objects are refused: the rule has a say of its own for what is stored.
	Creates bool

	// Stored is the object as an API server stored it under the earlier definition.
	Stored *unstructured.Unstructured

	// Object is the same as an API server reads it from storage under the newer one, which is what it sends to a webhook.
	Object *unstructured.Unstructured
}

// String says what is different where.
func (s Stale) String() string { return (Gap{Path: s.Path, Reason: s.Change}).String() }

// String says what is missing where.
func (g Gap) String() string {
	if g.Path == "" {
		return g.Reason
	}
	return g.Path + ": " + g.Reason
}

// StaleEffect is what becomes of an object of an earlier definition when it is read under a newer one.
type StaleEffect string

// The effects.
const (
	Refused StaleEffect = "refused" // it has a value that the newer definition would refuse in a new object
	Dropped StaleEffect = "dropped" // API servers drop or replace the value when they read it
	Kept    StaleEffect = "kept"    // it has a value that is allowed still, and which was the default
)

// mostStale is how many differences objects are made for at most.
const mostStale = 1000

// Earlier returns objects of the generator's version that an earlier definition of the same kind allowed, and that are not as the
// generator's has them: one for each difference between the schemas of that version. Each has as little else as possible, and as few
// other differences. There are none if the earlier definition lacks the version. The gaps are the differences that no object was found
// for, in place of Generator.Gaps.
//
// Apart from the difference, the values are like those of the generator's objects: what a webhook refuses is avoided.
func (g *Generator) Earlier(old *Definition) ([]Stale, []Gap) {
	before, known := old.schemas[g.version]
	if !known {
		return nil, nil
	}
	all := differences(before, g.schema)
	var gaps []Gap
	if more := len(all) - mostStale; more > 0 {
		gaps = append(gaps, Gap{Path: "", Reason: fmt.Sprintf("%d of the %d differences between the schemas, since there are too many", more, len(all))})
		all = all[:mostStale]
	}
	e := newEarlier(old, g)
	made := make([]*Stale, len(all))
	missed := make([]string, len(all))
	spread(len(all), func(i int) { made[i], missed[i] = e.make(&all[i], i) })
	var stale []Stale
	for i := range all {
		if made[i] != nil {
			stale = append(stale, *made[i])
		} else if missed[i] != "" {
			gaps = append(gaps, Gap{Path: all[i].path, Reason: all[i].change + ": " + missed[i]})
		}
	}
	return stale, gaps
}

// Read does to an object what API servers do to one that they read from storage, before a webhook is asked: they drop fields that the
// schema does not have, nulls where it allows none, and metadata of embedded objects that cannot be decoded, and fill in defaults. Nothing
// is validated.
func (s *Schema) Read(object map[string]any) {
	if s == nil {
		return
	}
	pruning.Prune(object, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	_, _ = objectmeta.CoerceWithOptions(nil, object, s.structural, false, objectmeta.CoerceOptions{DropInvalidFields: true}) // what is invalid is dropped
	defaulting.Default(object, s.structural)
}

// Mend returns an object like a given one that the schema allows, nil if none is found.
func (g *Generator) Mend(object *unstructured.Unstructured) *unstructured.Unstructured {
	g.mu.RLock()
	defer g.mu.RUnlock()
	m := g.maker(Plain, 0, 0)
	m.sparse = true
	mended := object.DeepCopy()
	for _, problem := range g.schema.Problems(mended.Object) {
		way := fieldpath.Split(problem.Path)
		n, parent := g.walk(way)
		_, there := fieldpath.Value(mended.Object, way)
		if fields, ok := around(mended.Object, way); ok && !there && n != nil && parent.required[way[len(way)-1].Key] && !g.places[n.id].broken {
			fields[way[len(way)-1].Key] = m.value(n)
		}
	}
	r := &repair{m: m, object: mended.Object, tried: map[string]int{}, dropped: map[Gap]bool{}}
	if _, ok := r.run(); !ok {
		return nil
	}
	return mended
}

// around returns the map around a path.
func around(object map[string]any, way []fieldpath.Step) (map[string]any, bool) {
	if len(way) == 0 {
		return nil, false
	}
	inside, _ := fieldpath.Value(object, way[:len(way)-1])
	fields, ok := inside.(map[string]any)
	return fields, ok
}

// earlier makes objects of an earlier definition.
type earlier struct {
	old, now *Generator
	ways     map[string][]way // to each place of the earlier schema
}

func newEarlier(old *Definition, now *Generator) *earlier {
	now.mu.RLock()
	defer now.mu.RUnlock()
	e := &earlier{old: old.Generator(now.version, now.seed, now.samples), now: now, ways: map[string][]way{}}
	e.old.follow(now)
	found := targeting{g: e.old, byKey: map[string]*target{}, reached: func(n *node, w way) {
		if len(e.ways[n.path]) < mostWays {
			e.ways[n.path] = append(e.ways[n.path], w)
		}
	}}
	found.visit(e.old.schema.root, way{})
	return e
}

// follow has a generator use values as another of the same kind of objects does, which has learned what a webhook refuses.
func (g *Generator) follow(other *Generator) {
	g.usual = other.usual
	for path, nodes := range g.byPath {
		others := other.byPath[path]
		if len(others) == 0 || others[0].sorts() != nodes[0].sorts() || others[0].kind != nodes[0].kind {
			continue
		}
		learned := other.places[others[0].id]
		for _, n := range nodes {
			p := &g.places[n.id]
			p.level, p.wanted, p.refused = learned.level, learned.wanted, learned.refused
		}
	}
	if g.assess(g.schema.root) {
		return
	}
	for i := range g.places { // what is refused was required before
		g.places[i].refused = false
	}
	g.assess(g.schema.root)
}

// make makes an object that shows a difference. It is nil if there is none, with the reason, or without one if there cannot be any.
func (e *earlier) make(d *difference, number int) (*Stale, string) {
	values := d.showing(d.values(e.old.maker(Plain, number, 0), e.now.maker(Plain, number, 0)))
	candidates := e.candidates(d, values, number)
	if len(candidates) == 0 {
		if d.all {
			return nil, ""
		}
		return nil, cmp.Or(d.unmet, "no value was found that was allowed and is not now")
	}
	var best *specimen
	alternatives := 0
	for _, candidate := range candidates {
		one := e.look(d, candidate())
		if one == nil {
			continue
		}
		if one = e.alone(d, one); best == nil || one.others < best.others {
			best = one
		}
		if alternatives++; best.others == 0 || alternatives > mostAlternatives {
			break
		}
	}
	if best == nil {
		return nil, "no object was found that was allowed and is not now"
	}
	return &Stale{Path: d.path, Change: d.change, Effect: best.effect, Free: d.free, Creates: d.creates, Named: d.named || d.at == nil, Stored: best.stored, Object: best.read}, ""
}

// showing returns the values that show a difference, each once.
func (d *difference) showing(values []any) []any {
	tried := map[string]bool{}
	return slices.DeleteFunc(values, func(value any) bool {
		key := encoded(value)
		known := tried[key]
		tried[key] = true
		return known || d.shows != nil && !d.shows(value) || d.all && !d.at.accepts(value)
	})
}

// What is tried for a difference at most: how many objects until one shows it, and how many more once one does but shows others too. Of
// each, so many smaller ones are looked at, or as many as have so many bytes.
const (
	mostEmbedded     = 24
	mostAlternatives = 3
	mostReduced      = 150
	mostReducedBytes = 256 << 10
)

// candidates returns what makes objects with one of some values at the place of a difference.
func (e *earlier) candidates(d *difference, values []any, number int) []func() *unstructured.Unstructured {
	var all []func() *unstructured.Unstructured
	names := values
	if d.at != nil {
		names = nil
	}
	if d.named {
		names = e.old.maker(Plain, number, 0).names()
	}
	for _, name := range names {
		all = append(all, func() *unstructured.Unstructured { return e.called(fmt.Sprint(name)) })
	}
	if d.at == nil {
		return all
	}
	ways := e.ways[d.at.path]
	some := make([][]any, len(ways))
	for i, w := range ways {
		if some[i] = values; w.node != d.at && w.node.enum != nil { // a branch of a choice allows nothing else
			some[i] = d.showing(slices.Clone(w.node.enum))
		}
	}
	for with := range ofSingles {
		for at := range mostEmbedded {
			for i, w := range ways {
				if at < len(some[i]) {
					all = append(all, func() *unstructured.Unstructured {
						return e.embedded(d, w.fixing(d.at.path, some[i][at]), with, number)
					})
				}
			}
		}
	}
	return all[:min(len(all), mostEmbedded)]
}

// called is an object with a name.
func (e *earlier) called(name string) *unstructured.Unstructured {
	object := e.old.Minimal()
	if object != nil {
		object.SetName(name)
	}
	return object
}

// embedded is an object with what a way fixes, nil if none was found.
func (e *earlier) embedded(d *difference, w way, with, number int) *unstructured.Unstructured {
	w.target = &target{path: d.path, about: d.change, rank: rankEnum}
	m := e.old.maker(Plain, e.old.numberOf(w.target), with)
	m.single, m.minimal, m.sparse = &w, with == withRequired, with == withFew
	return e.old.mended(m, number, m.fields()).object
}

// specimen is an object that shows a difference.
type specimen struct {
	stored, read *unstructured.Unstructured
	effect       StaleEffect
	others       int // how many other problems there are
}

// look reports how an object shows a difference, nil if it does not or if the earlier schema does not allow it.
func (e *earlier) look(d *difference, stored *unstructured.Unstructured) *specimen {
	if stored == nil || len(e.old.schema.Problems(stored.Object)) > 0 {
		return nil
	}
	one := &specimen{stored: stored, read: stored.DeepCopy(), effect: d.effect}
	e.now.schema.Read(one.read.Object)
	refused := false
	for _, problem := range e.now.schema.Problems(one.read.Object) {
		if d.is(problem) {
			refused = true
		} else {
			one.others++
		}
	}
	was, is := e.has(d, stored), e.has(d, one.read)
	switch {
	case !was, d.effect == Refused && !refused, d.effect == Dropped && is, d.effect == Kept && !is:
		return nil
	case refused:
		one.effect = Refused
	}
	return one
}

// has reports whether a value in an object shows a difference.
func (e *earlier) has(d *difference, object *unstructured.Unstructured) bool {
	switch {
	case d.shows == nil:
		return true
	case d.at == nil:
		return d.shows(object.GetName())
	}
	return e.old.schema.anyAt(d.at.path, object.Object, d.shows)
}

// is reports whether a problem is what the newer schema says of a difference: at its path, of an item of a list there, or of what every
// resource has.
func (d *difference) is(problem Problem) bool {
	at, place := fieldpath.Split(problem.Path), fieldpath.Split(d.path)
	if d.sign != nil {
		if !d.sign(problem) {
			return false
		}
		at = at[:min(len(at), len(place))] // a rule may name another path
	}
	if len(at) < len(place) || len(at) > len(place) && !at[len(place)].List && !isMeta(at[len(place)].Key) || len(at) > len(place)+1 {
		return false
	}
	for i := range place {
		if at[i].List != place[i].List || !at[i].List && at[i].Key != place[i].Key && place[i].Key != "<key>" {
			return false
		}
	}
	return true
}

// alone makes an object as small as possible that shows a difference, with as few others as possible.
func (e *earlier) alone(d *difference, one *specimen) *specimen {
	for range 2 { // what others need goes when they are gone
		r := newReduction(e.old.schema, one.stored, func(candidate *unstructured.Unstructured) bool {
			smaller := e.look(d, candidate)
			if smaller == nil || smaller.others > one.others {
				return false
			}
			one = smaller
			return true
		})
		r.made, r.bytes = mostCandidates-mostReduced, mostBytes-mostReducedBytes
		r.remove()
		one = cmp.Or(e.look(d, r.best), one)
		if one.others == 0 {
			break
		}
		one = e.settled(d, one)
	}
	return one
}

// settled gives an object values that both schemas allow where it has other problems.
func (e *earlier) settled(d *difference, one *specimen) *specimen {
	const tries, most = 4, 20
	m := e.now.maker(Plain, 0, 0)
	problems := e.now.schema.Problems(one.read.Object)
	for _, problem := range problems[:min(len(problems), most)] {
		way := fieldpath.Split(problem.Path)
		n, _ := e.now.walk(way)
		if d.is(problem) || n == nil || len(way) == 0 || e.now.places[n.id].broken {
			continue
		}
		for range tries {
			changed := one.stored.DeepCopy()
			fields, ok := around(changed.Object, way)
			if ok {
				fields[way[len(way)-1].Key] = m.value(n)
			} else {
				fieldpath.Put(changed.Object, way, m.value(n))
			}
			e.old.defaults(changed.Object)
			if other := e.look(d, changed); other != nil && other.others < one.others {
				one = other
				break
			}
		}
	}
	return one
}
