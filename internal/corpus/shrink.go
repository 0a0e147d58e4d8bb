package corpus

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// How often Shrink asks at most whether a candidate fails, and how many candidates it looks at, also in bytes: large ones take long to
// validate. These are counts, so that the same object comes out on any machine.
const (
	mostAsked      = 400
	mostCandidates = 6000
	mostBytes      = 32 << 20
)

// Shrink returns the smallest object like the given one that still fails. Every candidate is valid and as an API server
// would store it; it is asked at most 400 times whether one fails. The object itself is returned, as a copy, when nothing
// smaller fails, and the smallest so far when the context ends.
func (s *Schema) Shrink(ctx context.Context, object *unstructured.Unstructured, fails func(context.Context, *unstructured.Unstructured) bool) *unstructured.Unstructured {
	r := &reduction{ctx: ctx, schema: s, fails: fails, best: object.DeepCopy(), seen: map[string]bool{}}
	r.bestText = r.weighed(r.best)
	for {
		before := r.bestText
		r.remove()
		r.simplify()
		if r.bestText == before || r.over() {
			return r.best
		}
	}
}

// newReduction is one that stays within the process, so that it needs no context.
func newReduction(s *Schema, object *unstructured.Unstructured, fails func(*unstructured.Unstructured) bool) *reduction {
	r := &reduction{ctx: context.Background(), schema: s, best: object.DeepCopy(), seen: map[string]bool{}}
	r.fails = func(_ context.Context, candidate *unstructured.Unstructured) bool { return fails(candidate) }
	r.bestText = r.weighed(r.best)
	return r
}

// reduction makes an object smaller step by step.
type reduction struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the call of Shrink
	schema   *Schema
	fails    func(context.Context, *unstructured.Unstructured) bool
	best     *unstructured.Unstructured
	bestText string
	seen     map[string]bool

	asked, made, bytes int
}

func (r *reduction) over() bool {
	return r.asked >= mostAsked || r.made >= mostCandidates || r.bytes >= mostBytes || r.ctx.Err() != nil
}

// try takes a change over if the object is smaller then, valid, and fails.
func (r *reduction) try(change func(map[string]any)) bool {
	if r.over() {
		return false
	}
	r.made++
	candidate := r.best.DeepCopy()
	change(candidate.Object)
	r.schema.Prepare(candidate.Object)
	text, whole := r.weighed(candidate), encoded(candidate.Object)
	r.bytes += len(whole)
	if !simpler(text, r.bestText) || r.seen[whole] {
		return false
	}
	r.seen[whole] = true
	if len(r.schema.problems(r.ctx, candidate.Object)) > 0 {
		return false
	}
	r.asked++
	if !r.fails(r.ctx, candidate.DeepCopy()) || r.ctx.Err() != nil {
		return false
	}
	r.best, r.bestText = candidate, text
	return true
}

// weighed is an object as text, without the defaults that it has anyway.
func (r *reduction) weighed(object *unstructured.Unstructured) string {
	if r.schema == nil {
		return encoded(object.Object)
	}
	bare := object.DeepCopy()
	r.schema.root.withoutDefaults(bare.Object)
	return encoded(bare.Object)
}

// withoutDefaults takes away what is as the default has it.
func (n *node) withoutDefaults(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			below := n.child(key)
			if below != nil && below.def != nil && reflect.DeepEqual(inner, below.def) {
				delete(value, key)
				continue
			}
			below.withoutDefaults(inner)
		}
	case []any:
		for _, inner := range value {
			n.item().withoutDefaults(inner)
		}
	}
}

// simpler is an order without endless descent, so that shrinking ends.
func simpler(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// remove takes entries of maps and lists away, from the outside to the inside.
func (r *reduction) remove() {
	for queue := []([]fieldpath.Step){nil}; len(queue) > 0 && !r.over(); queue = queue[1:] {
		path := queue[0]
		r.thin(path)
		inside, _ := fieldpath.Value(r.best.Object, path)
		for _, next := range parts(inside) {
			inner := append(slices.Clone(path), next)
			if len(inner) > 1 || next.Key != "apiVersion" && next.Key != "kind" {
				queue = append(queue, inner)
			}
		}
	}
}

// parts are the steps from a value to what it consists of.
func parts(value any) []fieldpath.Step {
	var found []fieldpath.Step
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = append(found, fieldpath.Step{Key: key})
		}
	case []any:
		for i := range value {
			found = append(found, fieldpath.Step{List: true, At: i})
		}
	}
	return found
}

// thin takes entries of one map or list away: all, then halves, and so on until single ones.
func (r *reduction) thin(path []fieldpath.Step) {
	inside, _ := fieldpath.Value(r.best.Object, path)
	rest := removable(path, parts(inside))
	for chunk := len(rest); chunk > 0; chunk /= 2 {
		for start := 0; start < len(rest) && !r.over(); {
			gone := rest[start:min(start+chunk, len(rest))]
			if !r.try(func(object map[string]any) { without(object, path, gone) }) {
				start += chunk
				continue
			}
			inside, _ = fieldpath.Value(r.best.Object, path)
			rest = removable(path, parts(inside))
		}
	}
}

// removable leaves out what an object must keep: of its metadata, only labels, annotations and finalizers may go.
func removable(path, entries []fieldpath.Step) []fieldpath.Step {
	return slices.DeleteFunc(entries, func(entry fieldpath.Step) bool {
		switch {
		case len(path) == 0:
			return isMeta(entry.Key)
		case path[0].Key == "metadata" && len(path) == 1:
			return !isLoose(entry.Key)
		case path[0].Key == "metadata":
			return !isLoose(path[1].Key)
		}
		return false
	})
}

// isLoose reports whether it is metadata that an object can do without.
func isLoose(field string) bool {
	return field == "labels" || field == "annotations" || field == "finalizers"
}

// without takes entries of a map or list away.
func without(object map[string]any, path, gone []fieldpath.Step) {
	inside, _ := fieldpath.Value(object, path)
	switch inside := inside.(type) {
	case map[string]any:
		for _, entry := range gone {
			delete(inside, entry.Key)
		}
	case []any:
		var kept []any
		for i, item := range inside {
			if !slices.ContainsFunc(gone, func(entry fieldpath.Step) bool { return entry.At == i }) {
				kept = append(kept, item)
			}
		}
		if kept == nil {
			kept = []any{}
		}
		fieldpath.Put(object, path, kept)
	}
}

// simplify makes scalars, and the keys of labels and the like stay as they are.
func (r *reduction) simplify() {
	for _, leaf := range Leaves(r.best) {
		path := fieldpath.Split(leaf)
		value, found := fieldpath.Value(r.best.Object, path)
		if !found {
			continue
		}
		n := r.node(path)
		for _, other := range n.simpler(value) {
			if r.over() || r.try(func(object map[string]any) { fieldpath.Put(object, path, other) }) {
				break
			}
		}
		if text, ok := value.(string); ok && len(text) > 1 {
			r.shorten(path)
		}
	}
}

// node is the node at a path, if anything is known of it.
func (r *reduction) node(path []fieldpath.Step) *node {
	return r.schema.at(path)
}

// at is the node at a path, nil if nothing is known of it.
func (s *Schema) at(path []fieldpath.Step) *node {
	if s == nil {
		return nil
	}
	return s.root.at(path)
}

// at is the node at a path below another.
func (n *node) at(path []fieldpath.Step) *node {
	for _, next := range path {
		if next.List {
			n = n.item()
		} else {
			n = n.child(next.Key)
		}
	}
	return n
}

// simpler returns values that are simpler, the simplest first.
func (n *node) simpler(value any) []any {
	var values []any
	if n != nil && n.enum != nil {
		return n.enum
	}
	switch value.(type) {
	case bool:
		values = []any{false, true}
	case int64, float64:
		values = []any{int64(0), int64(1), int64(2)}
		if n != nil {
			lowest, highest := n.bounds()
			values = append(values, lowest, highest)
		}
	case string:
		values = []any{"", "a", "0"}
	}
	return values
}

// shorten cuts a string to a half, as long as that fails, and then takes single characters away.
func (r *reduction) shorten(path []fieldpath.Step) {
	for {
		value, _ := fieldpath.Value(r.best.Object, path)
		text, ok := value.(string)
		if !ok || utf8.RuneCountInString(text) < 2 || r.over() {
			return
		}
		runes := []rune(text)
		middle := len(runes) / 2
		cuts := []string{string(runes[:middle]), string(runes[middle:])}
		if len(runes) <= 32 {
			for i := range runes {
				cuts = append(cuts, string(runes[:i])+string(runes[i+1:]))
			}
		} else {
			cuts = append(cuts, string(runes[:len(runes)*3/4]), string(runes[len(runes)/4:]), strings.ToLower(text))
		}
		if !slices.ContainsFunc(cuts, func(cut string) bool { return r.try(func(object map[string]any) { fieldpath.Put(object, path, cut) }) }) {
			return
		}
	}
}
