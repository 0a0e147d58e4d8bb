package webhook

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
)

// styles has the specs about special values: text, numbers, zeros and nulls.
type styles struct {
	judging
}

// stylish is how many objects of a style other than plain are tried for each version.
const stylish = 30

func (st *styles) strings(ctx SpecContext) {
	st.definition.needsGenerated("which fields take any text")
	st.holdStyle(ctx, corpus.Text, "text", func(l corpus.Loss) bool {
		text, _ := l.Before.(string)
		return isStrange(l.Path) || isStrange(l.Before) || strings.ToLower(text) != text || text != "" && l.After != nil
	})
}

// isStrange reports whether there are characters in a value that text often loses. A value that is known by one, as an entry of a map or
// an item of a list is, may be lost whole.
func isStrange(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Trim(value, ordinary) != ""
	case []any:
		return slices.ContainsFunc(value, isStrange)
	case map[string]any:
		for key, inner := range value {
			if isStrange(key) || isStrange(inner) {
				return true
			}
		}
	}
	return false
}

// holdStyle fails the spec when objects of a style do not come back as they were, for a reason that has to do with the style.
func (st *styles) holdStyle(ctx context.Context, style corpus.Style, what string, blames func(corpus.Loss) bool) {
	GinkgoHelper()
	special := st.keeping.specially(ctx, style, blames)
	st.definition.needsFields(st.trials.hold(ctx, special), what)
	if st.effort.tried == 0 {
		Skip("the webhook converts no object with such values")
	}
}

// ordinary are the characters of text that nothing happens to.
const ordinary = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-. []'"

// zeroValues is about zeros that are lost for good, that are merely left out, and that another value takes the place of, and about what
// is lost only where there are zeros beside it.
func (st *styles) zeroValues(ctx SpecContext) {
	st.definition.needsGenerated("which fields take such values")
	st.holdStyle(ctx, corpus.Zeros, "empty values", func(l corpus.Loss) bool {
		if item, is := l.Before.(map[string]any); is && strings.HasSuffix(l.Path, "]") { // an item may be known by a zero, and lost whole
			return slices.ContainsFunc(slices.Collect(maps.Values(item)), corpus.IsNothing)
		}
		return corpus.IsNothing(l.Before) || isSomething(l.Before)
	})
}

// isSomething reports whether there is anything in a value but zeros and nulls.
func isSomething(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), isSomething)
	case []any:
		return slices.ContainsFunc(value, isSomething)
	}
	return !corpus.IsNothing(value)
}

// nulls is about being converted at all: what null means, and whether it stays, is up to the webhook. But it must not become 0, "" or {}, which
// are other values where null is allowed.
func (st *styles) nulls(ctx SpecContext) {
	st.definition.needsGenerated("which fields may be null")
	what := st.keeping.converted(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return slices.DeleteFunc(st.stock.styled(ctx, version, corpus.Nulls, stylish), func(object *unstructured.Unstructured) bool { return !hasNull(object.Object) })
	})
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := slices.DeleteFunc(check(ctx, pair, objects), func(f finding) bool { return !st.forItsNulls(ctx, pair, objects[f.object]) })
		if st.definition.oneWay(pair) {
			return findings
		}
		for i, t := range st.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object != nil {
				findings = append(findings, st.replacedNulls(pair, i, objects[i].Object, t.back)...)
			}
		}
		return findings
	}
	st.definition.needsFields(st.trials.hold(ctx, what), "null")
}

// replacedNulls returns the nulls of an object that have come back as other values. Those of its lists are other specs' to find.
func (st *styles) replacedNulls(pair corpus.Pair, at int, before map[string]any, back outcome) []finding {
	var findings []finding
	for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: before}) {
		if value, _ := corpus.Value(before, path); value != nil {
			continue
		}
		if value, _ := corpus.Value(back.object, path); value != nil && !st.losses.declared(pair, path) {
			l := corpus.Loss{Path: path, After: value}
			findings = append(findings, finding{at, there(pair), st.definition.schemaOf(pair.From).Place(path), l.String(), none, back.x, st.losses.effectOf(pair.From, l)})
		}
	}
	return findings
}

// forItsNulls reports whether an object that is not converted is converted without its nulls.
func (st *styles) forItsNulls(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) bool {
	if !hasNull(object.Object) {
		return false
	}
	without := object.DeepCopy()
	dropNulls(without.Object)
	st.definition.schemaOf(pair.From).Prepare(without.Object)
	return st.talk.answers(ctx, pair, []*unstructured.Unstructured{without})[0].raw != nil
}

// dropNulls takes away what is null inside a value, and returns the value.
func dropNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if value[key] = dropNulls(inner); inner == nil {
				delete(value, key)
			}
		}
	case []any:
		kept := slices.DeleteFunc(value, func(inner any) bool { return inner == nil })
		for i := range kept {
			kept[i] = dropNulls(kept[i])
		}
		return kept
	}
	return value
}

func hasNull(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range value {
			if hasNull(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasNull)
	}
	return false
}

// whole replaces floating point numbers without a fraction by integers, as they leave an API server.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		if n := int64(value); float64(n) == value && math.Abs(value) < 1<<63 {
			return n
		}
	case map[string]any:
		for key := range value {
			value[key] = whole(value[key])
		}
	case []any:
		for i := range value {
			value[i] = whole(value[i])
		}
	}
	return value
}
