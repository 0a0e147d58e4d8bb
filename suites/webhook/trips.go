package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// trip is what came of an object on the way to another version and back.
type trip struct {
	there, back outcome
}

// roundTrip takes objects to the second version of a pair and back. Those of each are taken once for all specs.
func (p *prober) roundTrip(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []trip {
	if !p.stock.areKnown(pair.From, objects) {
		return p.travel(ctx, pair, objects)
	}
	if p.trips[pair] == nil {
		each := p.stock.each(ctx, pair.From)
		trips := p.travel(ctx, pair, each)
		if ctx.Err() != nil {
			return trips[:len(objects)]
		}
		p.trips[pair], p.travelled = trips, time.Now()
		p.cover(ctx, pair, each, trips)
	}
	return p.trips[pair][:len(objects)]
}

// forth takes objects to the second version of a pair, which those of each have been taken to for roundTrip.
func (p *prober) forth(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []outcome {
	if !p.stock.areKnown(pair.From, objects) {
		return p.talk.convert(ctx, pair, objects)
	}
	outcomes := make([]outcome, len(objects))
	for i, t := range p.roundTrip(ctx, pair, objects) {
		outcomes[i] = t.there
	}
	return outcomes
}

func (p *prober) travel(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []trip {
	trips := make([]trip, len(objects))
	var onward []*unstructured.Unstructured
	var places []int
	for i, there := range p.talk.convert(ctx, pair, objects) {
		trips[i].there = there
		if there.object != nil {
			onward = append(onward, corpus.Restored(objects[i], there.object))
			places = append(places, i)
		}
	}
	for i, back := range p.talk.convert(ctx, reverse(pair), onward) {
		back.x.before = &trips[places[i]].there.x
		trips[places[i]].back = back
	}
	return trips
}

// reverse is the way back.
func reverse(pair corpus.Pair) corpus.Pair { return corpus.Pair{From: pair.To, To: pair.From} }

// there is the way of a round trip.
func there(pair corpus.Pair) string { return fmt.Sprintf("%s -> %s", pair, pair.From) }

// kept is the property of objects to come back from another version as they were.
func (p *prober) kept(objects func(ctx context.Context, version string) []*unstructured.Unstructured) property {
	return p.keptOf(objects, nil, func(corpus.Loss) bool { return true })
}

// keptOf is the same for losses that count, in places that are not usual. That objects without anything special about them are not
// converted is reported by webhook.failure.avoided.
func (p *prober) keptOf(objects func(ctx context.Context, version string) []*unstructured.Unstructured, usual map[string]bool, counts func(l corpus.Loss) bool) property {
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		way := there(pair)
		trips := p.roundTrip(ctx, pair, objects)
		if len(objects) > 1 && !p.stock.areKnown(pair.From, objects) { // an object alone is one that is made smaller
			p.cover(ctx, pair, objects, trips)
		}
		var findings []finding
		forth := p.forthOnly(pair, objects, usual == nil)
		breaks := sync.OnceValue(func() bool { return p.breaksDown(ctx, reverse(pair)) })
		for i, t := range trips {
			switch {
			case p.definition.oneWay(pair) && t.there.object != nil:
				p.came++
				for _, l := range forth(ctx, i, t) {
					if f := (finding{i, pair.String(), p.definition.schemaOf(pair.From).Place(l.Path), l.String() + p.lacks(pair, l), partOf(l), t.there.x, p.effectBy(pair, l)}); !usual[f.place()] && counts(l) {
						findings = append(findings, f)
					}
				}
			case t.back.object == nil && t.there.object != nil && crashed(&t.back.x) && breaks():
			case t.there.object == nil:
				if f := (finding{i, way, "", fmt.Sprintf("conversion failed: %s", t.there.x.judgement.Rejected()), none, t.there.x, effect{sort: refused}}); usual != nil && crashed(&t.there.x) && !usual[f.place()] {
					findings = append(findings, f)
				}
			case t.back.object == nil:
				if f := (finding{i, way, "", fmt.Sprintf("conversion of its own result failed: %s", t.back.x.judgement.Rejected()), none, t.back.x, effect{sort: refused}}); !usual[f.place()] && (crashed(&t.back.x) || counts(corpus.Loss{})) {
					findings = append(findings, f)
				}
			default:
				p.came++
				for _, l := range p.lost(pair, objects[i].Object, t.back.object) {
					if f := (finding{i, way, p.definition.schemaOf(pair.From).Place(l.Path), l.String() + p.lacks(pair, l), partOf(l), t.back.x, p.effectBy(pair, l)}); !usual[f.place()] && counts(l) {
						findings = append(findings, f)
					}
				}
			}
		}
		return findings
	}}
}

// lost returns what an object lost on the way through the second version of a pair, but for what is declared, and for what API servers put
// back: they fill in the defaults of the version at which objects are stored whenever they read one from storage.
func (p *prober) lost(pair corpus.Pair, before, after map[string]any) []corpus.Loss {
	schema := p.definition.schemaOf(pair.From)
	lost := slices.DeleteFunc(schema.Losses(before, after), func(l corpus.Loss) bool { return p.declared(pair, l.Path) })
	if len(lost) == 0 || !p.definition.isStored(pair.From) {
		return lost
	}
	read := (&unstructured.Unstructured{Object: after}).DeepCopy().Object
	schema.Prepare(read)
	left := schema.Losses(before, read)
	return slices.DeleteFunc(lost, func(l corpus.Loss) bool {
		return l.After == nil && !slices.ContainsFunc(left, func(still corpus.Loss) bool { return still.Path == l.Path })
	})
}

// lacks says that the second version of a pair has no field for a loss, which may be meant then, or has one of another type; empty if it has
// the same. Then it says of what the webhook writes in place of another value whether that is the default.
func (p *prober) lacks(pair corpus.Pair, l corpus.Loss) string {
	schema := p.definition.schemaOf(pair.To)
	if instead := schema.Instead(p.definition.schemaOf(pair.From), l.Path); instead != "" {
		return fmt.Sprintf(" (%s has %s)", pair.To, instead)
	}
	switch {
	case schema == nil:
		return ""
	case !schema.Has(l.Path):
		return fmt.Sprintf(" (%s has no field of that name)", pair.To)
	case p.intoDefault(pair, l):
		return ", the default at " + pair.From
	}
	return ""
}

// intoDefault reports whether a webhook writes the default in place of another value. Where the other version has no field for that, it is lost.
func (p *prober) intoDefault(pair corpus.Pair, l corpus.Loss) bool {
	schema := p.definition.schemaOf(pair.To)
	return l.After != nil && schema != nil && schema.Has(l.Path) && p.definition.schemaOf(pair.From).Effect(l) == "lost"
}

// declared reports whether the user said that a conversion loses what is at a path.
func (p *prober) declared(pair corpus.Pair, path string) bool {
	if p.env.Subject.Lossy == nil {
		return false
	}
	reason, declared := p.env.Subject.Lossy(pair.From, pair.To, path)
	if place := pair.String() + fieldpath.Generalize(path) + CurrentSpecReport().LeafNodeText; declared && !p.declarations[place] {
		p.declarations[place] = true
		fmt.Fprintf(GinkgoWriter, "%s -> %s: %s is declared lossy: %s\n", pair, pair.From, path, reason)
	}
	return declared
}

// usual returns the places in which objects without anything special about them lose something, and the ways on which the webhook breaks
// down over one.
func (p *prober) usual(ctx context.Context) map[string]bool {
	if p.losing != nil {
		return p.losing
	}
	losing := map[string]bool{}
	defer func(came int) { p.came = came }(p.came) // of the spec that asks
	what := p.kept(p.stock.each)
	for _, pair := range p.crossings.pairs(ctx) {
		for _, f := range what.check(ctx, pair, what.objects(ctx, pair.From)) {
			losing[f.place()] = true
		}
	}
	for _, f := range p.failures(ctx) {
		if crashed(&f.x) {
			losing[finding{trip: there(f.pair)}.place()] = true
		}
	}
	if ctx.Err() == nil {
		p.losing = losing
	}
	return losing
}

// breaksDown reports whether the webhook breaks down over an object without anything special about it on the way of a pair, which
// webhook.failure.avoided reports.
func (p *prober) breaksDown(ctx context.Context, pair corpus.Pair) bool {
	return slices.ContainsFunc(p.failures(ctx), func(f found) bool { return f.pair == pair && crashed(&f.x) })
}

// specially is the property of objects of a style to come back as they were, but for what is lost whatever the style: blames
// reports whether a loss has to do with it.
func (p *prober) specially(ctx context.Context, style corpus.Style, blames func(corpus.Loss) bool) property {
	usual := p.usual(ctx)
	what := p.keptOf(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return p.stock.styled(ctx, version, style, stylish)
	}, usual, blames)
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := check(ctx, pair, objects)
		for i := range findings {
			// What a default fills in again is no value that was kept: nothing else comes back from such a field.
			findings[i].effect.kept = findings[i].effect.lacks != "" && p.survivors(ctx, pair)[p.definition.schemaOf(pair.From).Place(findings[i].path)]
		}
		return findings
	}
	return what
}

// path is the property of objects that the way by a third version makes no difference. Those that lose something there are not
// its concern.
func (p *prober) path() property {
	return property{mutual: true, objects: p.stock.all, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		for _, by := range p.env.Subject.Corpus.Mutual() {
			if by != pair.From && by != pair.To && p.routes.isOpen(ctx, corpus.Pair{From: pair.From, To: by}) && p.routes.isOpen(ctx, corpus.Pair{From: by, To: pair.To}) {
				findings = append(findings, p.detour(ctx, pair, by, objects)...)
			}
		}
		return findings
	}}
}

func (p *prober) detour(ctx context.Context, pair corpus.Pair, by string, objects []*unstructured.Unstructured) []finding {
	direct := p.forth(ctx, pair, objects)
	first := corpus.Pair{From: pair.From, To: by}
	trips := p.roundTrip(ctx, first, objects)
	var halfway []*unstructured.Unstructured
	var places []int
	for i, t := range trips {
		if direct[i].object != nil && t.back.object != nil && len(p.lost(first, objects[i].Object, t.back.object)) == 0 {
			halfway = append(halfway, corpus.Restored(objects[i], t.there.object))
			places = append(places, i)
		}
	}
	var findings []finding
	for j, end := range p.talk.convert(ctx, corpus.Pair{From: by, To: pair.To}, halfway) {
		i := places[j]
		end.x.before = &trips[i].there.x
		if end.object == nil {
			continue
		}
		p.came++
		for _, l := range apart(p.definition.schemaOf(pair.To), direct[i].object, end.object) {
			if !p.declared(pair, l.Path) && !p.declared(first, l.Path) {
				way := fmt.Sprintf("%s -> %s, and by %s", pair.From, pair.To, by)
				findings = append(findings, finding{i, way, p.definition.schemaOf(pair.To).Place(l.Path), fmt.Sprintf("%s by %s", l, by), partOf(l), end.x, effect{sort: differs}})
			}
		}
	}
	return findings
}

// apart returns the differences between two objects, outside of metadata: a conversion may keep in annotations what it likes.
func apart(schema *corpus.Schema, a, b map[string]any) []corpus.Loss {
	bare := func(object map[string]any) map[string]any {
		fields := maps.Clone(object)
		delete(fields, "metadata")
		return fields
	}
	return schema.Differences(bare(a), bare(b))
}

// identity is the property of objects to lose nothing when they are asked for at their own version, but for what they lose
// on every way. API servers of today never ask for that.
func (p *prober) identity(ctx context.Context) property {
	usual := p.usual(ctx)
	return property{mutual: true, objects: p.stock.all, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		same := corpus.Pair{From: pair.From, To: pair.From}
		var findings []finding
		for i, o := range p.talk.convert(ctx, same, objects) {
			p.came++
			if o.object == nil {
				findings = append(findings, finding{i, same.String(), "", fmt.Sprintf("expected the object as it is, got %s", o.x.judgement.Rejected()), none, o.x, effect{sort: refused}})
				continue
			}
			for _, l := range p.definition.schemaOf(pair.From).Losses(objects[i].Object, o.object) {
				if f := (finding{i, there(pair), p.definition.schemaOf(pair.From).Place(l.Path), l.String(), none, o.x, p.effectOf(pair.From, l)}); !usual[f.place()] && !p.declared(pair, l.Path) {
					f.trip = same.String()
					findings = append(findings, f)
				}
			}
		}
		return findings
	}}
}

const (
	// rounds is how often objects go there and back to see whether they grow.
	rounds = 20

	// settled is how many rounds are left out: the first may add what the other version has no field for.
	settled = 2

	// fewest is how many rounds an object must survive to be judged: one after those that are left out, one at the end, and one between.
	fewest = settled + 3

	// mostStored is how large an object may be in etcd, in bytes: what one request to it may have (--max-request-bytes).
	mostStored = 1536 << 10
)

// life is what becomes of an object that goes there and back again and again.
type life struct {
	current, early *unstructured.Unstructured // as it is now, and as it was after the rounds that are left out
	sizes          []int                      // in bytes, after each round
	x              exchange                   // the last
	refused        string                     // what was wrong with the conversion that ended it; empty if it went through all rounds
}

// growth is the property of objects to stay as big as they are on the way there and back, again and again. That the webhook refuses
// one is for other specs to report; the rounds before count.
func (p *prober) growth() property {
	return property{mutual: true, objects: p.stock.some, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		lives := make([]life, len(objects))
		for i, object := range objects {
			lives[i].current = object
		}
		for range rounds {
			p.oneRound(ctx, pair, lives)
			if findings := p.outgrown(pair, objects, lives); len(findings) > 0 {
				return findings // it would take ever more memory
			}
		}
		var findings []finding
		for i := range lives {
			of := &lives[i]
			last := len(of.sizes)
			if last < fewest {
				continue
			}
			p.came++
			half := (last + settled) / 2
			least, middle, most := of.sizes[settled-1], of.sizes[half], of.sizes[last-1]
			if least < middle && middle < most {
				place := grown(of.early, of.current)
				message := fmt.Sprintf("%s: expected the object to keep its size of %d bytes, got %d bytes after %d rounds and %d after %d", place, least, middle, half+1, most, last)
				if of.refused != "" {
					message += ", and then conversion failed: " + of.refused
				}
				way := fmt.Sprintf("%s -> %s, %d times", pair, pair.From, last)
				findings = append(findings, finding{i, way, p.definition.schemaOf(pair.From).Place(place), message, none, of.x, effect{sort: grows}})
			}
		}
		return findings
	}}
}

// oneRound takes the objects that came back from each round there and back once more.
func (p *prober) oneRound(ctx context.Context, pair corpus.Pair, lives []life) {
	var current []*unstructured.Unstructured
	var places []int
	for i := range lives {
		if lives[i].refused == "" {
			current = append(current, lives[i].current)
			places = append(places, i)
		}
	}
	if len(current) == 0 {
		return
	}
	for j, t := range p.roundTrip(ctx, pair, current) {
		of := &lives[places[j]]
		switch {
		case t.there.object == nil:
			of.refused = fmt.Sprint(t.there.x.judgement.Rejected())
		case t.back.object == nil:
			of.refused = fmt.Sprint(t.back.x.judgement.Rejected())
		default:
			of.current = corpus.Restored(of.current, t.back.object)
			of.sizes, of.x = append(of.sizes, size(of.current)), t.back.x
			if len(of.sizes) == settled {
				of.early = of.current
			}
		}
	}
}

// outgrown returns the objects that have become too large for etcd.
func (p *prober) outgrown(pair corpus.Pair, before []*unstructured.Unstructured, lives []life) []finding {
	var findings []finding
	for i, of := range lives {
		was, is := size(before[i]), size(of.current)
		if is <= mostStored || is < 2*was {
			continue
		}
		place := grown(before[i], of.current)
		way := fmt.Sprintf("%s -> %s, %d times", pair, pair.From, len(of.sizes))
		message := fmt.Sprintf("%s: expected the object to keep its size of %d bytes, got %d bytes, more than etcd takes", place, was, is)
		findings = append(findings, finding{i, way, p.definition.schemaOf(pair.From).Place(place), message, none, of.x, effect{sort: grows}})
	}
	return findings
}

// grown returns the place in an object that has grown most.
func grown(before, after *unstructured.Unstructured) string {
	place, most := "", 0
	length := func(object *unstructured.Unstructured, path string) int {
		value, _ := corpus.Value(object.Object, path)
		return len(fmt.Sprint(value))
	}
	paths := corpus.Leaves(after)
	for _, field := range []string{"labels", "annotations"} {
		values, _, _ := unstructured.NestedStringMap(after.Object, "metadata", field)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			paths = append(paths, fieldpath.Child("metadata."+field, key))
		}
	}
	for _, path := range paths {
		if n := length(after, path) - length(before, path); n > most {
			place, most = path, n
		}
	}
	return place
}

func size(object *unstructured.Unstructured) int { return len(corpus.JSON(object)[0]) }
