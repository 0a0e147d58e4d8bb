package webhook

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// failures knows which objects the webhook does not convert.
type failures struct {
	material

	known *[]found // nil before they are known
}

// all returns the generated objects that the webhook did not convert: the smallest mixed ones, and of the others one for each way and
// message. Those whose response violates another requirement are left to that.
func (fs *failures) all(ctx context.Context) []found {
	if fs.known != nil {
		return *fs.known
	}
	var all []found
	seen := map[string]bool{}
	add := func(r refusal, by intent) {
		if r.failed() {
			seen[r.words()] = true
			if by == maybeMeant && fs.refusesAll(ctx, r) {
				by = notMeant
			}
			all = append(all, fs.refusedObject(r, by))
		}
	}
	if !fs.definition.generates() {
		return nil
	}
	all = append(all, slices.Concat(fs.routes.refusedWays(ctx), fs.crossings.unconverted(ctx))...)
	unsound := len(fs.crossings.pairs(ctx)) > 0 && fs.standard.unsound(ctx) != nil
	isShown := func(version string) bool { return unsound && len(fs.env.Subject.Corpus.Objects(version)) > 0 } // by a sample
	for _, version := range fs.env.Subject.Corpus.Versions {
		if isShown(version) || fs.crossings.isClosed(ctx, version) {
			continue
		}
		for _, r := range fs.stock.refusedSamples(ctx, version) {
			add(r, notMeant)
		}
		one, by := fs.stock.pool(ctx, version), maybeMeant
		if len(one.objects) == 0 {
			by = notMeant
		}
		for _, r := range one.refusals {
			add(r, by)
		}
	}
	for _, pair := range fs.crossings.pairs(ctx) {
		if isShown(pair.From) || fs.routes.isRefused(ctx, pair) {
			continue
		}
		objects := fs.stock.each(ctx, pair.From)
		for i, o := range fs.journeys.forth(ctx, pair, objects) {
			if r := (refusal{version: pair.From, object: objects[i], x: o.x}); o.object == nil && !seen[r.words()] {
				if crashed(&r.x) && fs.talk.late == nil {
					r.needs = fs.stock.pool(ctx, pair.From).generator.Needed(ctx, r.object, func(ctx context.Context, objects []*unstructured.Unstructured) []string {
						return fs.stock.causes(ctx, pair.From, objects)
					})
				}
				add(r, maybeMeant)
			}
		}
	}
	if ctx.Err() == nil {
		fs.known = &all
	}
	return all
}

// intent says whether an author may mean to refuse an object.
type intent int

const (
	maybeMeant intent = iota // others of the version are converted, so that one of its values may be refused
	notMeant                 // none of the version is converted, none that has a field, or it is a sample, which is there to be converted
)

// refusesAll reports whether the webhook refuses every value of the only field of an object, as far as all can be tried: also beside the fields that
// other objects have, since it may need one of them.
func (fs *failures) refusesAll(ctx context.Context, r refusal) bool {
	s := fs.definition.schemaOf(r.version)
	given := s.Given(r.object)
	if r.needs != "" || len(given) != 1 {
		return false
	}
	pair, asked := corpus.Pair{From: r.version, To: r.x.to}, false
	for _, object := range append([]*unstructured.Unstructured{r.object}, fs.stock.all(ctx, r.version)...) {
		var others []*unstructured.Unstructured
		for _, value := range s.All(given[0]) {
			other := fs.talk.anew(corpus.With(object, given[0], value))
			if _, has := corpus.Value(other.Object, given[0]); has && len(s.Problems(other.Object)) == 0 {
				others = append(others, other)
			}
		}
		outcomes := fs.talk.answers(ctx, pair, others)
		if slices.ContainsFunc(outcomes, func(o outcome) bool { return o.raw != nil || !(refusal{x: o.x}).failed() }) {
			return false
		}
		asked = asked || len(outcomes) > 0
	}
	return asked && ctx.Err() == nil
}

// refusedObject is that an object was not converted. If a smaller object is not either, it names the fields of that.
func (fs *failures) refusedObject(r refusal, by intent) found {
	pair := corpus.Pair{From: r.version, To: r.x.to}
	given := fs.free(r)
	path := cmp.Or(r.needs, strings.Join(given, ", "))
	about, when := "with "+firstOf(given), ""
	if len(given) == 0 {
		about = "without any field of its own"
	}
	if r.needs != "" {
		when = "without " + fs.definition.schemaOf(r.version).Pattern(path)
		about = "without " + path + ", and succeeded with it"
	}
	message := fmt.Sprintf("conversion failed for an object that the schema allows, %s: %s", about, r.x.judgement.Rejected())
	part := none
	if !crashed(&r.x) && by == maybeMeant && (r.settled || len(corpus.Leaves(r.object)) > 0) {
		part = requirement.PartRefusedValue
	}
	one := found{finding: finding{0, pair.String(), path, message, part, r.x, effect{sort: refused}}, pair: pair, subject: r.object, when: when}
	if r.needs == "" && len(given) > 1 {
		one.effect.where = fieldpath.Around(given...)
	}
	one.again = fs.refusedAgain(r, path, func(r refusal) found { return fs.refusedObject(r, by) })
	return one
}

// mostGiven is of how many fields of an object it is asked whether they need be there.
const mostGiven = 20

// free returns the fields of an object that was refused which need not be there: those that must be are in others as well. If all of them must be,
// these are what is left.
func (fs *failures) free(r refusal) []string {
	schema := fs.definition.schemaOf(r.version)
	given := schema.Given(r.object)
	if len(given) > mostGiven {
		return given // each is validated, and nothing is said of so many
	}
	free := slices.DeleteFunc(slices.Clone(given), func(path string) bool {
		return len(schema.Problems(corpus.Without(r.object, path).Object)) > 0
	})
	if len(free) == 0 {
		return given
	}
	return free
}

// refusedAgain returns a function that asks for another object in place of one that was refused, which names a path. It is another finding if one
// was a crash, if it names nothing any more, or if the path is what the object needs, which a smaller one may need more than.
func (fs *failures) refusedAgain(r refusal, path string, says func(refusal) found) func(context.Context, *unstructured.Unstructured) (found, bool) {
	return func(ctx context.Context, object *unstructured.Unstructured) (found, bool) {
		if r.needs != "" && len(corpus.Leaves(object)) < len(corpus.Leaves(r.object)) {
			return found{}, false
		}
		late := fs.talk.late
		o := fs.talk.answers(ctx, corpus.Pair{From: r.version, To: r.x.to}, []*unstructured.Unstructured{object})[0]
		other := refusal{version: r.version, object: object, x: o.x, settled: r.settled, needs: r.needs}
		if o.raw != nil || fs.talk.late != late || !other.failed() || crashed(&o.x) != crashed(&r.x) {
			return found{}, false
		}
		again := says(other)
		return again, again.path != "" || path == ""
	}
}

// firstOf names a few of the fields that are given in an object: a line of a report is to have room for what the webhook says of them.
func firstOf(given []string) string {
	const most = 3
	text := visible.First(given, most)
	if len(given) > most {
		text += " fields"
	}
	return text
}

// peculiar is a style of values that webhooks tend to refuse, each in one field of an object.
type peculiar struct {
	style corpus.Style
	words string
	has   func(value any) bool
}

func peculiarities() []peculiar {
	return []peculiar{
		{corpus.Integers, "a large integer", func(value any) bool {
			n, is := value.(int64)
			return is && (n < -math.MaxInt16 || n > math.MaxInt16)
		}},
		{corpus.Zeros, `0, false or ""`, corpus.IsNothing},
		{corpus.Text, "special text", isStrange},
	}
}

// refusedValues returns objects with one value of a style that the webhook properly refuses, which the requirement about that style passes over: one for
// each way and field in which it takes other values. Crashes are left to that requirement.
func (fs *failures) refusedValues(ctx context.Context) []found {
	if fs.standard.unsound(ctx) != nil {
		return nil
	}
	all, seen := []found(nil), map[string]bool{}
	at := func(f found) string { return f.pair.From + " " + fieldpath.Generalize(f.path) }
	for _, f := range fs.all(ctx) {
		seen[at(f)] = true // whatever the value, and on whichever way that is known
	}
	zeroed := map[string][]*unstructured.Unstructured{}
	for _, pair := range fs.crossings.pairs(ctx) {
		if fs.crossings.isClosed(ctx, pair.From) {
			continue
		}
		var objects []*unstructured.Unstructured
		var of []peculiar
		for _, p := range peculiarities() {
			some := fs.stock.singles(ctx, pair.From, p.style)
			if p.style == corpus.Zeros {
				if _, known := zeroed[pair.From]; !known {
					zeroed[pair.From] = fs.zeroed(ctx, pair.From)
				}
				some = slices.Concat(zeroed[pair.From], some)
			}
			objects, of = append(objects, some...), append(of, slices.Repeat([]peculiar{p}, len(some))...)
		}
		for i, o := range fs.talk.answers(ctx, pair, objects) {
			if o.raw != nil || crashed(&o.x) || !(refusal{x: o.x}).failed() {
				continue
			}
			r := refusal{version: pair.From, object: objects[i], x: o.x}
			if one := fs.refusedValue(r, of[i]); one.path != "" && !seen[at(one)] && !seen[one.place()] && fs.isFor(ctx, one, fs.blamed(r, of[i])) {
				seen[one.place()] = true
				all = append(all, one)
			}
		}
	}
	return all
}

// isFor reports whether an object was refused for the values at some paths: it is converted without these or with others there, or no such object is valid.
func (fs *failures) isFor(ctx context.Context, f found, paths []string) bool {
	schema, others := fs.definition.schemaOf(f.pair.From), []*unstructured.Unstructured{f.subject}
	for _, path := range slices.Backward(paths) { // what is taken from a list moves what comes after it
		others[0] = corpus.Without(others[0], path)
		if variant := changed(schema, f.subject, nil, path); variant != nil {
			others = append(others, variant)
		}
	}
	schema.Prepare(others[0].Object)
	others = slices.DeleteFunc(others, func(other *unstructured.Unstructured) bool { return len(schema.Problems(other.Object)) > 0 })
	return len(others) == 0 || slices.ContainsFunc(fs.talk.answers(ctx, f.pair, others), func(o outcome) bool { return o.raw != nil })
}

// mostZeroed is in how many objects a place is tried for which 0, false or "" is not valid.
const mostZeroed = 2

// zeroed returns valid objects with 0, false or "" in place of another value, as few as each place has one.
func (fs *failures) zeroed(ctx context.Context, version string) []*unstructured.Unstructured {
	schema, tried := fs.definition.schemaOf(version), map[string]int{}
	var objects []*unstructured.Unstructured
	each := fs.stock.each(ctx, version)
	mixed := len(fs.stock.all(ctx, version))
	for _, object := range slices.Concat(each[mixed:], each[:mixed]) { // those with one field first
		for _, path := range schema.Given(object) {
			value, _ := corpus.Value(object.Object, path)
			place := fieldpath.Generalize(path)
			if !isScalar(value) || tried[place] >= mostZeroed || ctx.Err() != nil || fs.budget.spent() {
				continue
			}
			tried[place]++
			if zero := corpus.With(object, path, reflect.Zero(reflect.TypeOf(value)).Interface()); len(schema.Problems(zero.Object)) == 0 {
				tried[place] = mostZeroed
				objects = append(objects, zero)
			}
		}
	}
	return objects
}

// blamed returns the fields of an object that was refused which have values of a style.
func (fs *failures) blamed(r refusal, p peculiar) []string {
	isOther := func(path string) bool {
		value, _ := corpus.Value(r.object.Object, path)
		return !p.has(value)
	}
	if blamed := slices.DeleteFunc(fs.free(r), isOther); len(blamed) > 0 {
		return blamed
	}
	return slices.DeleteFunc(fs.definition.schemaOf(r.version).Given(r.object), isOther)
}

// refusedValue is that an object with a value of a style was refused.
func (fs *failures) refusedValue(r refusal, p peculiar) found {
	pair := corpus.Pair{From: r.version, To: r.x.to}
	blamed := fs.blamed(r, p)
	path := strings.Join(blamed, ", ")
	message := fmt.Sprintf("conversion failed for an object that the schema allows, with %s at %s: %s", p.words, path, r.x.judgement.Rejected())
	one := found{finding: finding{0, pair.String(), path, message, requirement.PartRefusedValue, r.x, effect{sort: refused}}, pair: pair, subject: r.object}
	if len(blamed) > 1 {
		one.effect.where = fieldpath.Around(blamed...)
	}
	again := fs.refusedAgain(r, path, func(r refusal) found { return fs.refusedValue(r, p) })
	one.again = func(ctx context.Context, object *unstructured.Unstructured) (found, bool) {
		// A smaller one may have such values in more fields, for which it may be refused instead.
		other, is := again(ctx, object)
		hasOthers := slices.ContainsFunc(fs.blamed(refusal{version: r.version, object: object, x: other.x}, p), func(path string) bool { return !slices.Contains(blamed, path) })
		return other, is && !hasOthers
	}
	return one
}

// breaksDown reports whether the webhook breaks down over an object without anything special about it on the way of a pair, which
// webhook.failure.avoided reports.
func (fs *failures) breaksDown(ctx context.Context, pair corpus.Pair) bool {
	return slices.ContainsFunc(fs.all(ctx), func(f found) bool { return f.pair == pair && crashed(&f.x) })
}
