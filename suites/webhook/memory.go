package webhook

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// recall inquires whether the webhook answers with what it keeps of another object.
type recall struct {
	material

	known *memory // nil before it is known
	sized *memory // the same of what it knows by their size alone
}

// memory is what a webhook keeps of objects, and answers for others with.
type memory struct {
	by []string // what these others have in common with the first; empty if it is not known to keep anything
	x  exchange // for such another, with that for the first before it
}

// when says under which circumstances objects are converted otherwise than alone; empty if it is not known.
func (m memory) when() string {
	if len(m.by) == 0 {
		return ""
	}
	return "after another object with the same " + strings.Join(m.by, " and ") + " was converted"
}

// unexplained are the circumstances of what no object shows alone, if it is not known what the webhook keeps.
const unexplained = "depending on other objects, requests before, or time"

// memory looks for what a webhook knows objects by, once for all specs: it asks for two objects that have more and more in common.
func (r *recall) memory(ctx context.Context) memory {
	if r.known != nil {
		return *r.known
	}
	m := memory{}
	for _, pair := range r.crossings.pairs(ctx) {
		objects := r.stock.all(ctx, pair.From)
		if m = r.memoryOf(ctx, pair, objects); len(m.by) > 0 {
			break
		}
	}
	if ctx.Err() == nil {
		r.known = &m
	}
	return m
}

// bySize looks for what a webhook knows by its size alone, once for all specs: it makes the same of what is in a member of two objects of one size,
// though of longer texts it makes something else. An object may show the wrong then when it is asked for alone, as one of its size was before.
func (r *recall) bySize(ctx context.Context) memory {
	if r.sized != nil {
		return *r.sized
	}
	m := memory{}
	for _, pair := range r.crossings.pairs(ctx) {
		objects := r.stock.all(ctx, pair.From)
		if len(objects) == 0 || len(m.by) > 0 || r.talk.isLateHere() {
			break
		}
		first := r.talk.anew(largest(objects))
		same, longer := r.otherTexts(pair.From, first)
		var outcomes []outcome
		for _, object := range []*unstructured.Unstructured{longer, first, same} {
			outcomes = append(outcomes, r.talk.convert(ctx, pair, []*unstructured.Unstructured{object})[0])
		}
		if slices.ContainsFunc(outcomes, func(o outcome) bool { return o.object == nil }) {
			continue
		}
		differing := func(o outcome) map[string]bool {
			members := map[string]bool{}
			for _, l := range apart(r.definition.schemaOf(pair.To), outcomes[1].object, o.object) {
				members[fieldpath.Split(l.Path)[0].Key] = true
			}
			return members
		}
		follows := differing(outcomes[0])
		maps.DeleteFunc(follows, func(member string, _ bool) bool { return differing(outcomes[2])[member] })
		if len(follows) > 0 {
			m = memory{by: []string{"size"}, x: outcomes[2].x}
			m.x.before = &outcomes[1].x
		}
	}
	if ctx.Err() == nil {
		r.sized = &m
	}
	return m
}

// otherTexts returns copies of an object with other texts in place of its own: one in which each is as long as it was, and one in which they are longer.
func (r *recall) otherTexts(version string, object *unstructured.Unstructured) (same, longer *unstructured.Unstructured) {
	schema := r.definition.schemaOf(version)
	next := func(c rune) rune {
		if 'a' <= c && c < 'z' {
			return c + 1
		}
		return c
	}
	var paths []string
	for _, path := range corpus.Leaves(object) {
		if _, is := fieldText(object, path); is {
			paths = append(paths, path)
		}
	}
	same, paths = retexted(schema, object, paths, func(text string) string { return strings.Map(next, text) })
	longer, _ = retexted(schema, object, paths, func(text string) string { return text + "more" })
	return same, longer
}

// retexted returns a copy of an object with other texts at as many of some paths as its schema allows together, and these paths. All are tried at
// once, as it takes long to validate a large object; where the schema does not say which are to blame, each half is.
func retexted(schema *corpus.Schema, object *unstructured.Unstructured, paths []string, other func(string) string) (*unstructured.Unstructured, []string) {
	for len(paths) > 0 {
		changed := object.DeepCopy()
		for _, path := range paths {
			text, _ := fieldText(object, path)
			fieldpath.Put(changed.Object, fieldpath.Split(path), other(text))
		}
		problems := schema.Problems(changed.Object)
		if len(problems) == 0 {
			return changed, paths
		}
		blameless := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
			return slices.ContainsFunc(problems, func(p corpus.Problem) bool { return p.Path == path })
		})
		if half := len(paths) / 2; len(blameless) == len(paths) && half > 0 {
			var first, second []string
			object, first = retexted(schema, object, paths[:half], other)
			object, second = retexted(schema, object, paths[half:], other)
			return object, slices.Concat(first, second)
		} else if len(blameless) == len(paths) {
			break
		}
		paths = blameless
	}
	return object, nil
}

// fieldText is the text at a path outside of metadata, if there is one.
func fieldText(object *unstructured.Unstructured, path string) (string, bool) {
	value, _ := corpus.Value(object.Object, path)
	text, is := value.(string)
	return text, is && path != "apiVersion" && path != "kind" && !strings.HasPrefix(path, "metadata")
}

// largest is the object with the most fields.
func largest(objects []*unstructured.Unstructured) *unstructured.Unstructured {
	return slices.MaxFunc(objects, func(a, b *unstructured.Unstructured) int { return len(corpus.Leaves(a)) - len(corpus.Leaves(b)) })
}

// memoryOf is the same on the way of a pair, for the largest object and another one.
func (r *recall) memoryOf(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) memory {
	if len(objects) < 2 {
		return memory{}
	}
	most := largest(objects)
	other := objects[0]
	if other == most {
		other = objects[1]
	}
	known := []string{"metadata.generation", "metadata.name", "metadata.resourceVersion", "metadata.uid"}
	alike := [][]string{known}
	for _, field := range slices.Sorted(maps.Keys(most.Object)) {
		if field != "apiVersion" && field != "kind" && field != "metadata" {
			alike = append(alike, append(slices.Clone(known), field))
		}
	}
	for _, by := range alike {
		x, is := r.recalls(ctx, pair, most, other, by)
		if !is || x.judgement.Rejected() != nil {
			continue
		}
		for _, member := range slices.Clone(by) {
			fewer := slices.DeleteFunc(slices.Clone(by), func(one string) bool { return one == member })
			less, still := r.recalls(ctx, pair, most, other, fewer)
			if still {
				by = fewer
			}
			if still && less.judgement.Rejected() == nil {
				x = less
			}
		}
		return memory{by: by, x: x}
	}
	return memory{}
}

// recalls reports whether an object that has some members in common with one that was asked for before is converted otherwise than one that has
// not, or not at all: what is kept may have the name of the first. It also returns the exchange for it.
func (r *recall) recalls(ctx context.Context, pair corpus.Pair, first, second *unstructured.Unstructured, members []string) (exchange, bool) {
	first = r.talk.anew(first)
	stranger, shared := r.talk.anew(second), r.talk.anew(second)
	for _, member := range members {
		path := strings.Split(member, ".")
		value, found, err := unstructured.NestedFieldNoCopy(first.Object, path...)
		if err != nil || !found {
			return exchange{}, false
		}
		_ = unstructured.SetNestedField(shared.Object, value, path...)
		if path[0] != "metadata" { // the stranger differs in metadata alone
			_ = unstructured.SetNestedField(stranger.Object, value, path...)
		}
		if member == "metadata.name" {
			shared.SetNamespace(first.GetNamespace())
		}
	}
	if len(r.definition.schemaOf(pair.From).Problems(shared.Object)) > 0 {
		return exchange{}, false
	}
	var outcomes []outcome
	for _, object := range []*unstructured.Unstructured{stranger, first, shared} {
		outcomes = append(outcomes, r.talk.convert(ctx, pair, []*unstructured.Unstructured{object})[0])
	}
	own, last := outcomes[0].object, outcomes[2].object
	if own == nil || outcomes[1].object == nil || r.talk.isLateHere() {
		return exchange{}, false
	}
	x := outcomes[2].x
	x.before = &outcomes[1].x
	return x, last == nil || len(apart(r.definition.schemaOf(pair.To), own, last)) > 0
}
