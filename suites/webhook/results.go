package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// results has the specs about objects after a conversion: what is there again, what was added, and whether the schemas allow it.
type results struct {
	judging
}

// comesBack is about everything that objects have. Those with something large in them, and with much that a webhook keeps in annotations, are
// tried once, here, since each specs' requests would take long.
func (rt *results) comesBack(ctx SpecContext) {
	rt.standard.sound(ctx)
	rt.effort.tried = 0
	what := rt.keeping.kept(rt.stock.each)
	all, _ := rt.trials.against(ctx, what)
	known := map[string]bool{}
	for _, f := range all {
		known[f.place()] = true
	}
	made := map[string]*unstructured.Unstructured{} // by version; large ones take long to make
	for _, pair := range rt.crossings.pairs(ctx) {
		if rt.budget.spent() {
			break
		}
		objects := slices.Concat(rt.stock.singles(ctx, pair.From, corpus.Large), rt.laden(ctx, pair, made))
		for _, f := range what.piecemeal().check(ctx, pair, objects) {
			if place := f.place(); !known[place] {
				known[place] = true
				all = append(all, rt.findings.newFound(f, pair, objects[f.object]))
			}
		}
	}
	rt.env.Tried(rt.effort.tried)
	rt.trials.report(ctx, what, all)
}

// laden returns an object that has much of what some other version has no field for, if the webhook keeps anything in annotations on the way to
// the second version of a pair.
func (rt *results) laden(ctx context.Context, pair corpus.Pair, made map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	if !rt.definition.generates() {
		return nil
	}
	objects := rt.stock.each(ctx, pair.From)
	for i, o := range rt.journeys.forth(ctx, pair, objects) {
		if o.object == nil || annotated(o.object) <= annotated(objects[i].Object) {
			continue
		}
		if _, known := made[pair.From]; !known {
			one := rt.stock.pool(ctx, pair.From)
			generated := rt.env.Spending(suites.SpentGenerating)
			made[pair.From] = one.generator.Laden()
			generated()
		}
		if object := made[pair.From]; object != nil {
			return []*unstructured.Unstructured{object}
		}
		return nil
	}
	return nil
}

// additions looks at whole objects, and at the partial ones of server-side apply unless whole ones show enough.
func (rt *results) additions(ctx SpecContext) {
	rt.definition.needsSchemas("which values are defaults")
	rt.standard.sound(ctx)
	rt.dependence.independently(ctx)
	rt.effort.tried = 0
	what := rt.added(rt.stock.each, wholeObjects)
	all, _ := rt.trials.against(ctx, what)
	if len(all) == 0 || !rt.findings.fails(all) && !rt.budget.spent() {
		parts := rt.added(rt.stock.owned, partsOfObjects).piecemeal()
		if more, _ := rt.trials.against(ctx, parts); len(all) == 0 || rt.findings.fails(more) {
			what, all = parts, more
		}
	}
	rt.env.Tried(rt.effort.tried)
	rt.trials.report(ctx, what, fewZeros(all))
	rt.trials.someCame()
}

// added is the property of objects to have nothing after the way there and back that they did not have before, but for
// empty maps and lists, annotations, where webhooks keep what a version has no field for, and defaults, which API servers set too. What API
// servers would have set otherwise is a part of its own, for which partial objects are the smaller example.
func (rt *results) added(objects func(ctx context.Context, version string) []*unstructured.Unstructured, are extent) property {
	return property{mutual: true, objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := rt.definition.schemaOf(pair.From)
		var findings []finding
		for i, t := range rt.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object == nil {
				continue
			}
			defaulted := sync.OnceValue(func() map[string]any {
				object := objects[i].DeepCopy().Object
				schema.Prepare(object)
				return object
			})
			before := objects[i].Object
			if are == wholeObjects {
				before = defaulted()
			}
			if slices.ContainsFunc(rt.losses.lost(pair, objects[i].Object, t.back.object), func(l corpus.Loss) bool { return !l.Empty }) {
				continue // something else has come back, and was reported
			}
			rt.effort.tried++
			more := schema.Losses(t.back.object, before)
			if len(more) == 0 {
				continue
			}
			surplus := schema.Losses(t.back.object, defaulted())
			problems := sync.OnceValue(func() []corpus.Problem { return schema.Problems(t.back.object) }) // what is against the schema is also reported
			for _, l := range more {
				isDefault := !slices.ContainsFunc(surplus, func(s corpus.Loss) bool { return strings.HasPrefix(s.Path, l.Path) })
				if l.After == nil && !isDefault && !isFiller(schema, l) && !strings.HasPrefix(l.Path, "metadata.annotations") && !slices.ContainsFunc(problems(), func(p corpus.Problem) bool { return p.Path == l.Path }) && !rt.losses.declared(pair, l.Path) {
					addition := corpus.Loss{Path: l.Path, After: l.Before, Added: true, Default: schema.OtherDefault(t.back.object, l.Path)}
					part := none
					if addition.Default != nil {
						part = requirement.PartOtherDefault
					}
					message := addition.String()
					if are == partsOfObjects {
						message += " (in a part of an object, as server-side apply has them converted)"
					}
					findings = append(findings, finding{i, there(pair), schema.Place(l.Path), message, part, t.back.x, effect{sort: added, dull: l.Empty}})
				}
			}
		}
		return findings
	}}
}

// valid is the property of converted objects to have none of some kinds of problems. API servers check none of them on reads.
// What is against the limits of a field can be read all the same, and so can null.
func (rt *results) valid(sorts ...corpus.ProblemSort) property {
	large := func(ctx context.Context, version string) []*unstructured.Unstructured {
		return slices.Concat(rt.stock.each(ctx, version), rt.stock.singles(ctx, version, corpus.Integers))
	}
	return property{objects: large, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := rt.definition.schemaOf(pair.To)
		var findings []finding
		for i, o := range rt.journeys.forth(ctx, pair, objects) {
			if o.object == nil {
				continue
			}
			rt.effort.tried++
			converted := corpus.Restored(objects[i], o.object).DeepCopy().Object
			whole(converted)
			if !slices.Contains(sorts, corpus.Unknown) {
				schema.Prepare(converted) // a client that writes it back gets the defaults too
			}
			for _, problem := range schema.Problems(converted) {
				if slices.Contains(sorts, problem.Sort) {
					message := problem.String()
					if problem.Sort == corpus.Invalid || problem.Sort == corpus.Rule {
						message += fmt.Sprintf(" (rejected by %s, valid at %s)", pair.To, pair.From)
					}
					findings = append(findings, finding{i, pair.String(), schema.Place(problem.Path), message, partOfProblem(converted, problem), o.x, effect{sort: invalid}})
				}
			}
		}
		return findings
	}}
}

// mostZeros is how many fields are named that encoders have set to 0, false or "".
const mostZeros = 3

// fewZeros keeps of the zeros that were added those of a few fields, and says how many others there are.
func fewZeros(all []found) []found {
	others := map[string]bool{}
	var kept []found
	var named []string
	last := 0
	for _, f := range all {
		place := fieldpath.Generalize(f.path)
		isNamed := slices.Contains(named, place)
		switch {
		case !f.effect.dull:
		case !isNamed && len(named) == mostZeros:
			others[place] = true
			continue
		case !isNamed:
			named = append(named, place)
			last = len(kept)
		}
		kept = append(kept, f)
	}
	if len(others) > 0 {
		kept[last].message += fmt.Sprintf("; %d more fields get 0, false or \"\"", len(others))
	}
	return kept
}

// extent says how much of objects is sent.
type extent int

const (
	wholeObjects   extent = iota // as clients create them
	partsOfObjects               // some fields, as a manager of server-side apply owns them
)

// isFiller reports whether it is an empty map where the schema does not say what is there, as encoders of typed objects write.
func isFiller(schema *corpus.Schema, l corpus.Loss) bool {
	fields, isMap := l.Before.(map[string]any)
	return isMap && len(fields) == 0 && l.Empty && !schema.Describes(l.Path)
}

// partOfProblem returns the part that a problem is in: whether there is a value in an unknown field. Encoders of typed objects write many
// without.
func partOfProblem(object map[string]any, problem corpus.Problem) requirement.PartName {
	value, found := corpus.Value(object, problem.Path)
	if problem.Sort == corpus.Unknown && found && corpus.IsEmpty(value) && !corpus.IsZero(value) {
		return requirement.PartEmptyField
	}
	return none
}
