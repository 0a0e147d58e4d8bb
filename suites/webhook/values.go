package webhook

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// fields has the specs about values that fields have before and after a conversion.
type fields struct {
	env        *suites.Env
	definition *definition
	budget     *budget
	exhibits   *exhibits
	connection *connection
	talk       *conversation
	stock      *stock
	crossings  *crossings
	standard   *standards
	coverage   *coverage
	journeys   *journeys
	losses     *losses
	effort     *effort
	dependence *dependence
	findings   *findings
	trials     *trials
	keeping    *keeping
}

// stylish is how many objects of a style other than plain are tried for each version.
const stylish = 30

// comesBack is about everything that objects have. Those with something large in them, and with much that a webhook keeps in annotations, are
// tried once, here, since each specs' requests would take long.
func (fd *fields) comesBack(ctx SpecContext) {
	fd.standard.sound(ctx)
	fd.effort.came = 0
	what := fd.keeping.kept(fd.stock.each)
	all, _ := fd.trials.against(ctx, what)
	made := map[string]*unstructured.Unstructured{} // by version; large ones take long to make
	for _, pair := range fd.crossings.pairs(ctx) {
		if fd.budget.spent() {
			break
		}
		objects := slices.Concat(fd.stock.singles(ctx, pair.From, corpus.Large), fd.laden(ctx, pair, made))
		for _, f := range what.check(ctx, pair, objects) {
			if !slices.ContainsFunc(all, func(known found) bool { return known.place() == f.place() }) {
				all = append(all, fd.findings.newFound(f, pair, objects[f.object]))
			}
		}
	}
	fd.env.Tried(fd.effort.came)
	fd.trials.report(ctx, what, all)
}

// laden returns an object that has much of what some other version has no field for, if the webhook keeps anything in annotations on the way to
// the second version of a pair.
func (fd *fields) laden(ctx context.Context, pair corpus.Pair, made map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	if !fd.definition.generates() {
		return nil
	}
	objects := fd.stock.each(ctx, pair.From)
	for i, o := range fd.journeys.forth(ctx, pair, objects) {
		if o.object == nil || annotated(o.object) <= annotated(objects[i].Object) {
			continue
		}
		if _, known := made[pair.From]; !known {
			one := fd.stock.pool(ctx, pair.From)
			generated := fd.env.Spending(suites.SpentGenerating)
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

func (fd *fields) strings(ctx SpecContext) {
	fd.definition.needsGenerated("which fields take any text")
	fd.holdStyle(ctx, corpus.Text, "text", func(l corpus.Loss) bool {
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
func (fd *fields) holdStyle(ctx context.Context, style corpus.Style, what string, blames func(corpus.Loss) bool) {
	GinkgoHelper()
	special := fd.keeping.specially(ctx, style, blames)
	fd.tried(fd.trials.hold(ctx, special), what)
	if fd.effort.came == 0 {
		Skip("the webhook converts no object with such values")
	}
}

// ordinary are the characters of text that nothing happens to.
const ordinary = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-. []'"

// zeroValues is about zeros that are lost for good, that are merely left out, and that another value takes the place of, and about what
// is lost only where there are zeros beside it.
func (fd *fields) zeroValues(ctx SpecContext) {
	fd.definition.needsGenerated("which fields take such values")
	fd.holdStyle(ctx, corpus.Zeros, "empty values", func(l corpus.Loss) bool {
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

// tried skips a spec that had nothing to try, which would hold whatever the webhook does.
func (fd *fields) tried(n int, what string) {
	GinkgoHelper()
	if n == 0 {
		fd.env.Inapplicable("the schemas have no field for " + what)
	}
}

// nulls is about being converted at all: what null means, and whether it stays, is up to the webhook. But it must not become 0, "" or {}, which
// are other values where null is allowed.
func (fd *fields) nulls(ctx SpecContext) {
	fd.definition.needsGenerated("which fields may be null")
	what := fd.converted(func(ctx context.Context, version string) []*unstructured.Unstructured {
		return slices.DeleteFunc(fd.stock.styled(ctx, version, corpus.Nulls, stylish), func(object *unstructured.Unstructured) bool { return !hasNull(object.Object) })
	})
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := slices.DeleteFunc(check(ctx, pair, objects), func(f finding) bool { return !fd.forItsNulls(ctx, pair, objects[f.object]) })
		if fd.definition.oneWay(pair) {
			return findings
		}
		for i, t := range fd.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object != nil {
				findings = append(findings, fd.replacedNulls(pair, i, objects[i].Object, t.back)...)
			}
		}
		return findings
	}
	fd.tried(fd.trials.hold(ctx, what), "null")
}

// replacedNulls returns the nulls of an object that have come back as other values. Those of its lists are other specs' to find.
func (fd *fields) replacedNulls(pair corpus.Pair, at int, before map[string]any, back outcome) []finding {
	var findings []finding
	for _, path := range corpus.Leaves(&unstructured.Unstructured{Object: before}) {
		if value, _ := corpus.Value(before, path); value != nil {
			continue
		}
		if value, _ := corpus.Value(back.object, path); value != nil && !fd.losses.declared(pair, path) {
			l := corpus.Loss{Path: path, After: value}
			findings = append(findings, finding{at, there(pair), fd.definition.schemaOf(pair.From).Place(path), l.String(), none, back.x, fd.losses.effectOf(pair.From, l)})
		}
	}
	return findings
}

// forItsNulls reports whether an object that is not converted is converted without its nulls.
func (fd *fields) forItsNulls(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) bool {
	if !hasNull(object.Object) {
		return false
	}
	without := object.DeepCopy()
	dropNulls(without.Object)
	fd.definition.schemaOf(pair.From).Prepare(without.Object)
	return fd.talk.answers(ctx, pair, []*unstructured.Unstructured{without})[0].raw != nil
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

// additions looks at whole objects, and at the partial ones of server-side apply unless whole ones show enough.
func (fd *fields) additions(ctx SpecContext) {
	fd.definition.needsSchemas("which values are defaults")
	fd.standard.sound(ctx)
	fd.dependence.independently(ctx)
	fd.effort.came = 0
	what := fd.added(fd.stock.each, wholeObjects)
	all, _ := fd.trials.against(ctx, what)
	if len(all) == 0 || !fd.findings.fails(all) && !fd.budget.spent() {
		parts := fd.added(fd.stock.owned, partsOfObjects)
		if more, _ := fd.trials.against(ctx, parts); len(all) == 0 || fd.findings.fails(more) {
			what, all = parts, more
		}
	}
	fd.env.Tried(fd.effort.came)
	fd.trials.report(ctx, what, fewZeros(all))
	fd.trials.someCame(ctx)
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

// added is the property of objects to have nothing after the way there and back that they did not have before, but for
// empty maps and lists, annotations, where webhooks keep what a version has no field for, and defaults, which API servers set too. What API
// servers would have set otherwise is a part of its own, for which partial objects are the smaller example.
func (fd *fields) added(objects func(ctx context.Context, version string) []*unstructured.Unstructured, are extent) property {
	return property{mutual: true, objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := fd.definition.schemaOf(pair.From)
		var findings []finding
		for i, t := range fd.journeys.roundTrip(ctx, pair, objects) {
			if t.back.object == nil {
				continue
			}
			before, defaulted := objects[i].Object, objects[i].DeepCopy().Object
			schema.Prepare(defaulted)
			surplus := schema.Losses(t.back.object, defaulted)
			if are == wholeObjects {
				before = defaulted
			}
			if slices.ContainsFunc(fd.losses.lost(pair, objects[i].Object, t.back.object), func(l corpus.Loss) bool { return !l.Empty }) {
				continue // something else has come back, and was reported
			}
			fd.effort.came++
			for _, l := range schema.Losses(t.back.object, before) {
				isDefault := !slices.ContainsFunc(surplus, func(s corpus.Loss) bool { return strings.HasPrefix(s.Path, l.Path) })
				if l.After == nil && !isDefault && !isFiller(schema, l) && !strings.HasPrefix(l.Path, "metadata.annotations") && !wrong(schema, t.back.object, l.Path) && !fd.losses.declared(pair, l.Path) {
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

// isFiller reports whether it is an empty map where the schema does not say what is there, as encoders of typed objects write.
func isFiller(schema *corpus.Schema, l corpus.Loss) bool {
	fields, isMap := l.Before.(map[string]any)
	return isMap && len(fields) == 0 && l.Empty && !schema.Describes(l.Path)
}

// converted is the property of objects to be converted at all. Where the webhook breaks down over objects without anything special about
// them, it is not held against others.
func (fd *fields) converted(objects func(ctx context.Context, version string) []*unstructured.Unstructured) property {
	met := map[corpus.Pair]bool{} // objects are made smaller later on
	return property{objects: objects, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		outcomes := fd.talk.answers(ctx, pair, objects)
		if !met[pair] {
			met[pair] = true
			fd.coverage.meet(ctx, pair, objects, outcomes)
		}
		for i, o := range outcomes {
			fd.effort.came++
			if o.raw == nil && (!crashed(&o.x) || fd.crossings.isClosed(ctx, pair.From) || !fd.keeping.usual(ctx)[finding{trip: there(pair)}.place()]) {
				findings = append(findings, finding{i, pair.String(), "", fmt.Sprintf("conversion failed: %s", o.x.judgement.Rejected()), none, o.x, effect{sort: refused}})
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
func (fd *fields) valid(sorts ...corpus.ProblemSort) property {
	large := func(ctx context.Context, version string) []*unstructured.Unstructured {
		return slices.Concat(fd.stock.each(ctx, version), fd.stock.singles(ctx, version, corpus.Integers))
	}
	return property{objects: large, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		schema := fd.definition.schemaOf(pair.To)
		var findings []finding
		for i, o := range fd.journeys.forth(ctx, pair, objects) {
			if o.object == nil {
				continue
			}
			fd.effort.came++
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

// partOfProblem returns the part that a problem is in: whether there is a value in an unknown field. Encoders of typed objects write many
// without.
func partOfProblem(object map[string]any, problem corpus.Problem) requirement.PartName {
	value, found := corpus.Value(object, problem.Path)
	if problem.Sort == corpus.Unknown && found && corpus.IsEmpty(value) && !corpus.IsZero(value) {
		return requirement.PartEmptyField
	}
	return none
}
