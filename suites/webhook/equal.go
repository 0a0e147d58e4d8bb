package webhook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/requirement"
)

// comparison has the spec that compares the fields that two versions have in common.
type comparison struct {
	judging
}

const (
	// mostSuspects is how many objects are tried for a field whose value is not the same after a conversion.
	mostSuspects = 3

	// mostValues is how many other values the field gets in each of these.
	mostValues = 5
)

// equalFields compares the fields that two versions have in common. What does not survive the way there and back is left to other specs.
func (cp *comparison) equalFields(ctx SpecContext) {
	cp.definition.needsGenerated("which fields two versions have in common")
	cp.standard.sound(ctx)
	cp.dependence.independently(ctx)
	e := &equality{p: cp, known: map[corpus.Pair]*common{}}
	cp.trials.hold(ctx, property{mutual: true, objects: cp.stock.each, check: e.check})
	cp.trials.someCame()
}

// equality is the law that a field which two versions have has the same value at both.
type equality struct {
	p     *comparison
	known map[corpus.Pair]*common // of all objects of a version
}

// common is what is known of the fields that two versions have in common, by their places.
type common struct {
	alike  map[string]corpus.Likeness
	equal  map[string]bool   // some object shows that the value stays where it is
	values map[string][]any  // that objects have
	whole  map[string]string // the widest field around one whose parts all move in the same way
	swaps  map[way]bool
}

// way is from a field of one version to one of the other.
type way struct{ path, into string }

// trial is what comes of a field if it has a certain value and all others stay as they are.
type trial struct {
	value     any
	converted map[string]any
}

// suspect is a field of an object that has another value after the conversion, or might have it from elsewhere.
type suspect struct {
	object int
	path   string
	sure   bool // it has another value
}

// check returns the fields whose values are not the same after a conversion, and come back from there. An object alone is judged by what is
// known of all.
func (e *equality) check(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
	trips := e.p.journeys.roundTrip(ctx, pair, objects)
	c, known := e.known[pair]
	if !known {
		c = &common{map[string]corpus.Likeness{}, map[string]bool{}, map[string][]any{}, map[string]string{}, map[way]bool{}}
	}
	suspects := e.suspects(pair, c, objects, trips)
	open := slices.Sorted(maps.Keys(suspects))
	moves := map[string]move{}
	var findings []finding
	for round := range mostSuspects {
		var trying []suspect
		var variants []*unstructured.Unstructured
		var ends []int // of the variants of each
		for _, place := range open {
			if round < len(suspects[place]) {
				s := suspects[place][round]
				made := e.variants(pair, c, objects[s.object], e.converted(pair, objects[s.object], trips[s.object]), s.path)
				trying, variants = append(trying, s), append(variants, made...)
				ends = append(ends, len(variants))
			}
		}
		tried := e.p.journeys.roundTrip(ctx, pair, variants)
		done, begin := map[string]bool{}, 0
		for i, s := range trying {
			place := e.p.definition.schemaOf(pair.From).Place(s.path)
			trials := e.trials(pair, s.path, append([]*unstructured.Unstructured{objects[s.object]}, variants[begin:ends[i]]...), append([]trip{trips[s.object]}, tried[begin:ends[i]]...))
			begin = ends[i]
			of := e.judge(pair, c, s.path, trials)
			if of == nil {
				continue
			}
			done[place] = true
			of.object, of.x = s.object, trips[s.object].there.x
			if of.into == "" {
				findings = append(findings, of.finding)
			} else {
				moves[place] = *of
			}
		}
		open = slices.DeleteFunc(open, func(place string) bool { return done[place] })
	}
	if !known && len(objects) > 1 && ctx.Err() == nil {
		e.known[pair] = c
		c.widen(moves)
	}
	return append(findings, e.moved(pair, c, moves)...)
}

// suspects returns the fields that may not have the same value after a conversion, by place, those of small objects first. It notes the
// others.
func (e *equality) suspects(pair corpus.Pair, c *common, objects []*unstructured.Unstructured, trips []trip) map[string][]suspect {
	from, to := e.p.definition.schemaOf(pair.From), e.p.definition.schemaOf(pair.To)
	found := map[string][]suspect{}
	order := make([]int, 0, len(objects))
	sizes := make([]int, len(objects))
	for i, t := range trips {
		if t.back.object != nil {
			order = append(order, i)
			sizes[i] = len(t.there.raw)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	e.p.effort.tried += len(order)
	for _, i := range order {
		converted := e.converted(pair, objects[i], trips[i])
		lost := from.Losses(objects[i].Object, trips[i].back.object)
		leaves := corpus.Leaves(objects[i])
		times := map[any]int{} // how many fields have a value
		for _, path := range leaves {
			if value, _ := corpus.Value(objects[i].Object, path); isScalar(value) {
				times[value]++
			}
		}
		for _, path := range leaves {
			place := from.Place(path)
			if _, known := c.alike[place]; !known {
				c.alike[place] = from.Alike(to, place)
			}
			before, _ := corpus.Value(objects[i].Object, path)
			if !c.alike[place].Shared || !isScalar(before) || isLostAt(lost, path) {
				continue
			}
			if values := c.values[place]; len(values) < 2*mostValues && !slices.Contains(values, before) {
				c.values[place] = append(values, before)
			}
			after, there := corpus.Value(converted, path)
			spelled, _ := to.Spelled(path, before)
			isEqual := to.Equal(path, spelled, after)
			switch {
			case isEqual && times[before] == 1:
				c.equal[place] = true
			case !isEqual && !there && corpus.IsNothing(before): // encoders leave zeros out
			default:
				found[place] = append(found[place], suspect{i, path, !isEqual})
			}
		}
	}
	for place, all := range found {
		slices.SortStableFunc(all, func(a, b suspect) int { return rankOf(a) - rankOf(b) })
		if c.equal[place] {
			all = slices.DeleteFunc(all, func(s suspect) bool { return !s.sure })
		}
		found[place] = all[:min(len(all), mostSuspects)]
	}
	return found
}

// converted is what an object became at the second version of a pair. The items of lists whose order says nothing at one of both are in the order
// of the object's.
func (e *equality) converted(pair corpus.Pair, object *unstructured.Unstructured, t trip) map[string]any {
	from, to := e.p.definition.schemaOf(pair.From), e.p.definition.schemaOf(pair.To)
	return to.Aligned(object.Object, from.Aligned(object.Object, t.there.object))
}

func rankOf(s suspect) int {
	if s.sure {
		return 0
	}
	return 1
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}

// isLostAt reports whether a value does not come back as it was. Zeros that encoders leave out mean the same.
func isLostAt(lost []corpus.Loss, path string) bool {
	return slices.ContainsFunc(lost, func(l corpus.Loss) bool {
		return !l.Empty && (fieldpath.Within(path, l.Path) || fieldpath.Within(l.Path, path))
	})
}

// variants returns an object with other values in one field: first the one that the field has after the conversion, which shows whether that
// is the only one that it can have then.
func (e *equality) variants(pair corpus.Pair, c *common, object *unstructured.Unstructured, converted map[string]any, path string) []*unstructured.Unstructured {
	schema := e.p.definition.schemaOf(pair.From)
	before, _ := corpus.Value(object.Object, path)
	var variants []*unstructured.Unstructured
	tried := []any{before}
	add := func(variant *unstructured.Unstructured) {
		value, _ := corpus.Value(variant.Object, path)
		if !isScalar(value) || slices.Contains(tried, value) || len(variants) == mostValues {
			return
		}
		tried = append(tried, value)
		if len(schema.Problems(variant.Object)) == 0 {
			variants = append(variants, variant)
		}
	}
	if after, _ := corpus.Value(converted, path); isScalar(after) {
		add(corpus.With(object, path, after))
	}
	if before, is := before.(bool); is {
		add(corpus.With(object, path, !before))
	}
	for _, value := range c.values[schema.Place(path)] {
		add(corpus.With(object, path, value))
	}
	for _, variant := range schema.Altered(object, path) {
		add(variant)
	}
	return variants
}

// trials are what came of an object and of those that differ from it in one field, as far as the field came back.
func (e *equality) trials(pair corpus.Pair, path string, objects []*unstructured.Unstructured, trips []trip) []trial {
	var all []trial
	for i, t := range trips {
		if t.back.object == nil || isLostAt(e.p.losses.lost(pair, objects[i].Object, t.back.object), path) {
			continue
		}
		value, _ := corpus.Value(objects[i].Object, path)
		all = append(all, trial{value, e.converted(pair, objects[i], t)})
	}
	return all
}

// move is a finding about a value that is in another field after a conversion.
type move struct {
	finding

	into string // the place of the other field
}

// judge says what becomes of a field, nil if nothing is wrong, or it is not certain. Where two values become the same, the field is what the
// webhook derives from others.
func (e *equality) judge(pair corpus.Pair, c *common, path string, trials []trial) *move {
	to := e.p.definition.schemaOf(pair.To)
	if len(trials) < 2 {
		return nil
	}
	var before, after []any
	distinct, stays, equal, respelled := true, true, true, false
	for _, t := range trials {
		value, _ := corpus.Value(t.converted, path)
		for i := range after {
			same := to.Equal(path, after[i], value)
			distinct, stays = distinct && !same, stays && same
		}
		spelled, _ := to.Spelled(path, t.value)
		equal, respelled = equal && to.Equal(path, spelled, value), respelled || spelled != t.value
		before, after = append(before, spelled), append(after, value)
	}
	place := e.p.definition.schemaOf(pair.From).Place(path)
	of := &move{finding: finding{trip: pair.String(), path: place, effect: effect{sort: "changed"}}}
	switch {
	case equal:
		return nil
	case stays:
		return e.elsewhere(pair, c, path, trials, of)
	case !distinct || to.Equal(path, before[0], after[0]) || e.isMeant(pair, path, ""):
		return nil
	}
	at := example(to, path, before, after, respelled)
	if at < 0 {
		return nil
	}
	of.message = corpus.Loss{Path: path, Before: before[at], After: after[at]}.String()
	what, certain := becomes(before, after, c.alike[place])
	if respelled {
		what, certain = "both versions allow the same value, but for its case", true
	}
	if of.message += "; " + what; !certain || !c.alike[place].Same {
		of.part = requirement.PartRedefined
		of.message += fmt.Sprintf(", which may be meant: then declare %s under renamedValues", place)
	}
	return of
}

// example is the first trial that shows a change; -1 if there is none. A value that is missing afterwards shows nothing: that is the matter of
// other requirements, and encoders leave zeros out. Where an enum has members that differ from values only in case, only values that
// have such a member show what is wrong.
func example(to *corpus.Schema, path string, before, after []any, respelled bool) int {
	for i := range before {
		if _, known := to.Spelled(path, before[i]); after[i] != nil && !to.Equal(path, before[i], after[i]) && (known || !respelled) {
			return i
		}
	}
	return -1
}

// becomes says what happens to the values of a field, and whether it cannot be meant unless the versions describe the field differently.
func becomes(before, after []any, like corpus.Likeness) (string, bool) {
	if _, isBool := before[0].(bool); isBool {
		return "true and false change places", true
	}
	if one, other, are := asNumbers(before, after); are {
		switch {
		case all(one, other, func(a, b float64) bool { return b == -a }):
			return "every number changes its sign", true
		case all(one, other, func(a, b float64) bool { return b-a == other[0]-one[0] }):
			return fmt.Sprintf("every number changes by %+g", other[0]-one[0]), true
		case all(one, other, func(a, b float64) bool { return math.Abs(a*other[0]-b*one[0]) <= 1e-9*math.Abs(a*other[0]) }):
			return "every number changes by the same factor, as with another unit", false
		}
		return "different numbers stay different", true
	}
	if like.Closed {
		return "both versions allow the same values", true
	}
	return "different values stay different", false
}

// asNumbers returns values as numbers, if they are; what is left out is 0.
func asNumbers(before, after []any) (one, other []float64, are bool) {
	for i := range before {
		a, isNumber := numberOf(before[i])
		b, isOther := numberOf(after[i])
		if !isNumber || !isOther && after[i] != nil {
			return nil, nil, false
		}
		one, other = append(one, a), append(other, b)
	}
	return one, other, true
}

func numberOf(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

func all(one, other []float64, is func(a, b float64) bool) bool {
	for i := range one {
		if !is(one[i], other[i]) {
			return false
		}
	}
	return true
}

// elsewhere looks for another field that has the value of the first, whatever that is.
func (e *equality) elsewhere(pair corpus.Pair, c *common, path string, trials []trial, of *move) *move {
	from, to := e.p.definition.schemaOf(pair.From), e.p.definition.schemaOf(pair.To)
	into, like := "", corpus.Likeness{}
	for _, leaf := range leavesOfAll(trials) {
		if leaf == path || !follows(to, leaf, trials) {
			continue
		}
		if at := from.Alike(to, to.Place(leaf)); into == "" || at.Shared && !like.Shared {
			into, like = leaf, at
		}
	}
	switch {
	case into == "" || e.isMeant(pair, path, into):
		return nil
	case to.Place(into) == of.path:
		return e.reordered(pair, path, into, trials[0], of)
	case !like.Shared && !c.alike[of.path].Same:
		return nil // the field has another meaning, and this one took its place
	}
	of.into = to.Place(into)
	of.message = seenIn(to, path, of.path, trials)
	if !like.Shared || !like.Same || !c.alike[of.path].Same {
		of.part = requirement.PartRedefined
	}
	return of
}

// seenIn says what was expected in a field and what is there, of the first object in which that differs. The others only differ from the first in
// that field.
func seenIn(to *corpus.Schema, path, place string, trials []trial) string {
	for i, t := range trials {
		after, _ := corpus.Value(t.converted, path)
		if to.Equal(path, t.value, after) {
			continue
		}
		loss := corpus.Loss{Path: place, Before: t.value, After: after}.String()
		if i > 0 {
			loss += fmt.Sprintf(" (with %s there instead of %s)", inShort(t.value), inShort(trials[0].value))
		}
		return loss
	}
	return place + ": its value does not stay"
}

// follows reports whether a leaf of the converted objects has the value that each object had. What is left out is 0, false or "".
func follows(schema *corpus.Schema, leaf string, trials []trial) bool {
	some := false
	for _, t := range trials {
		value, found := corpus.Value(t.converted, leaf)
		if found && schema.Equal(leaf, t.value, value) {
			some = some || !corpus.IsNothing(value)
		} else if found || !corpus.IsNothing(t.value) {
			return false
		}
	}
	return some
}

func leavesOfAll(trials []trial) []string {
	leaves := map[string]bool{}
	for _, t := range trials {
		for _, leaf := range corpus.Leaves(&unstructured.Unstructured{Object: t.converted}) {
			leaves[leaf] = true
		}
	}
	return slices.Sorted(maps.Keys(leaves))
}

// reordered is that an item of a list is at another place of the list.
func (e *equality) reordered(pair corpus.Pair, path, into string, t trial, of *move) *move {
	steps, others := fieldpath.Split(path), fieldpath.Split(into)
	at := 0
	for steps[at] == others[at] {
		at++
	}
	list := fieldpath.Join(steps[:at])
	schema := e.p.definition.schemaOf(pair.From)
	if !steps[at].List || !schema.Ordered(e.p.definition.schemaOf(pair.To), list) || e.isMeant(pair, list, list) {
		return nil
	}
	whole := fieldpath.Join(steps[:at+1])
	item := fieldpath.Join(others[:at+1])
	of.path = schema.Place(list)
	of.message = fmt.Sprintf("%s: expected the items in their order, but %s is %s afterwards (%v)", list, whole, item, t.value)
	return of
}
