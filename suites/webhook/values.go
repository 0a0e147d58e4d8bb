package webhook

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// stylish is how many objects of a style other than plain are tried for each version.
const stylish = 30

func (p *prober) strings(ctx SpecContext) {
	p.needsGenerated("which fields take any text")
	p.holdStyle(ctx, corpus.Text, "text", func(l corpus.Loss) bool { return isStrange(l.Path) || isStrange(l.Before) })
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
func (p *prober) holdStyle(ctx context.Context, style corpus.Style, what string, blames func(corpus.Loss) bool) {
	GinkgoHelper()
	special := p.specially(ctx, style, blames)
	p.came = 0
	p.tried(p.hold(ctx, special), what)
	if p.came == 0 {
		Skip("the webhook converts no object with such values")
	}
}

// ordinary are the characters of text that nothing happens to.
const ordinary = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=,+ []'"

// zeroValues is about zeros that are lost for good, that are merely left out, and that another value takes the place of.
func (p *prober) zeroValues(ctx SpecContext) {
	p.needsGenerated("which fields take such values")
	p.holdStyle(ctx, corpus.Zeros, "empty values", func(l corpus.Loss) bool {
		return l.Before == false || l.Before == "" || l.Before == int64(0) || l.Before == float64(0)
	})
}

// tried skips a spec that had nothing to try, which would hold whatever the webhook does.
func (p *prober) tried(n int, what string) {
	GinkgoHelper()
	if n == 0 {
		p.env.Inapplicable("the schemas have no field for " + what)
	}
}

// nulls is about being converted at all: what null means, and whether it stays, is up to the webhook.
func (p *prober) nulls(ctx SpecContext) {
	p.needsGenerated("which fields may be null")
	p.tried(p.hold(ctx, p.converted(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return slices.DeleteFunc(p.styled(ctx, version, corpus.Nulls, stylish), func(object *unstructured.Unstructured) bool { return !hasNull(object.Object) })
	})), "null")
}

// huge is about being converted at all, too. One that says that it can't is put up with: few objects are so big.
func (p *prober) huge(ctx SpecContext) {
	p.needsGenerated("how objects can be made big")
	what := p.converted(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return p.styled(ctx, version, corpus.Huge, 1)
	})
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		for _, f := range check(ctx, pair, objects) {
			if crashed(&f.x) {
				f.part = requirement.PartCrash
			}
			if p.forItsSize(ctx, pair, objects[f.object], &f.x) {
				findings = append(findings, f)
			}
		}
		return findings
	}
	p.tried(p.hold(ctx, what), "so much")
}

// forItsSize reports whether an object is not converted because it is big: a small one like it is.
func (p *prober) forItsSize(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, x *exchange) bool {
	const small = 64 << 10
	if size(object) < small {
		return false
	}
	if isLate(x) {
		return true // a small one was converted in time, or there would be nothing to ask
	}
	least := p.shrink(ctx, pair.From, object, func(ctx context.Context, candidate *unstructured.Unstructured) bool {
		o := p.answers(ctx, pair, []*unstructured.Unstructured{candidate})[0]
		return o.raw == nil && cause(&o.x) == cause(x)
	})
	return size(least) >= small
}

// added is the property of objects to have nothing after the way there and back that they did not have before, but for
// what is empty, annotations, where webhooks keep what a version has no field for, and defaults where API servers set them: not in
// the partial objects of server-side apply.
func (p *prober) added(objects func(ctx context.Context, version string) []*unstructured.Unstructured, defaulted bool) property {
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := p.schemaOf(pair.From)
		var findings []finding
		for i, t := range p.roundTrip(ctx, pair, objects) {
			if t.back.object == nil {
				continue
			}
			before := objects[i].DeepCopy().Object
			if defaulted {
				schema.Prepare(before)
			}
			if slices.ContainsFunc(p.lost(pair, objects[i].Object, t.back.object), func(l corpus.Loss) bool { return !l.Empty }) {
				continue // something else has come back, and was reported
			}
			p.came++
			for _, l := range schema.Losses(t.back.object, before) {
				if l.After == nil && !l.Empty && !strings.HasPrefix(l.Path, "metadata.annotations") && !p.wrong(schema, t.back.object, l.Path) {
					message := corpus.Loss{Path: l.Path, After: l.Before, Added: true}.String()
					findings = append(findings, finding{i, there(pair), schema.Place(l.Path), message, none, t.back.x})
				}
			}
		}
		return findings
	}}
}

// converted is the property of objects to be converted at all.
func (p *prober) converted(objects func(ctx context.Context, version string) []*unstructured.Unstructured) property {
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		for i, o := range p.answers(ctx, pair, objects) {
			if o.raw == nil {
				findings = append(findings, finding{i, pair.String(), "", fmt.Sprintf("conversion failed: %s", o.x.judgement.Rejected()), none, o.x})
			}
		}
		return findings
	}}
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

// valid is the property of converted objects to have none of some kinds of problems. API servers check none of them on reads.
// What is against the limits of a field can be read all the same, and so can null.
func (p *prober) valid(sorts ...corpus.ProblemSort) property {
	return property{objects: p.each, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := p.schemaOf(pair.To)
		var findings []finding
		for i, o := range p.forth(ctx, pair, objects) {
			if o.object == nil {
				continue
			}
			converted := restored(objects[i], o.object).DeepCopy().Object
			whole(converted)
			if !slices.Contains(sorts, corpus.Unknown) {
				schema.Prepare(converted) // a client that writes it back gets the defaults too
			}
			for _, problem := range schema.Problems(converted) {
				if slices.Contains(sorts, problem.Sort) && !harmless(converted, problem) {
					findings = append(findings, finding{i, pair.String(), problem.Path, problem.String(), none, o.x})
				}
			}
		}
		return findings
	}}
}

// wrong reports whether what is at a path is against the schema, which is also reported.
func (p *prober) wrong(schema *corpus.Schema, object map[string]any, path string) bool {
	return slices.ContainsFunc(schema.Problems(object), func(problem corpus.Problem) bool { return problem.Path == path })
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

// harmless reports whether it is about unknown fields without a value in them: nothing is lost when they are dropped, and
// encoders of typed objects write many.
func harmless(object map[string]any, problem corpus.Problem) bool {
	if problem.Sort != corpus.Unknown {
		return false
	}
	value, found := corpus.Value(object, problem.Path)
	if !found {
		return false
	}
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}
