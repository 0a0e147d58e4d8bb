package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// property is something that conversions do for each object, such as to lose nothing.
type property struct {
	// objects returns the objects of a version to try, which check leaves as they are.
	objects func(ctx context.Context, version string) []*unstructured.Unstructured

	// check converts objects that are at the first version of a pair, and returns what is wrong.
	check func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding

	// reversed is whether what is wrong is about objects at the second version of a pair, on their way through the first.
	reversed bool

	// large is whether it is about size alone, so that objects are shown as they are: to make them smaller says no more.
	large bool

	// mutual is whether API servers ask for it only between versions that they convert from and to.
	mutual bool
}

// finding is what is wrong with the conversion of an object.
type finding struct {
	object  int                  // index into the objects that were checked
	trip    string               // such as v1 -> v1beta1 -> v1
	path    string               // where in the object; empty when it is about the object as a whole
	message string               // what was expected there, and what was got
	part    requirement.PartName // which part of the requirement it violates, which says how severe it is
	x       exchange
	effect  effect
}

// effect is what happens to a field.
type effect struct {
	sort  string // of reports.FieldFinding
	lacks string // the part of the path that the other version has no field for, if it is lost; empty if it has all
	kept  bool   // other values of the field come back
	dull  bool   // the value says little: 0, false, or empty
	noted bool   // an annotation undoes an edit of the field
	where string // what reports name in place of the path, if that names several
	at    string // the path itself, if it is one in the object that was checked
	into  string // the place that has the value, if it has moved
	swaps bool   // and the first has what that had
	when  string // after which edit, if it takes one of something else
}

// The kinds of effects besides those of corpus.
const (
	added   = "added"
	refused = "refused"
	invalid = "invalid"
	differs = "differs"
	grows   = "grows"
	moved   = "moved"
)

// none stands for findings that are in no part of a requirement.
const none requirement.PartName = ""

// partOf returns the part that a loss is in.
func partOf(l corpus.Loss) requirement.PartName {
	switch {
	case l.Empty:
		return requirement.PartEmpty
	case l.Declared:
		return requirement.PartRedefined
	}
	return none
}

// place distinguishes findings with different causes.
func (f finding) place() string { return f.trip + " " + fieldpath.Generalize(f.path) }

// found is a finding with the object that it is about.
type found struct {
	finding

	pair    corpus.Pair
	subject *unstructured.Unstructured
	madeUp  bool     // the finding is in content that was made up
	when    string   // under which circumstances it shows, if it takes any
	takes   []string // the fields of metadata that these are about
	alike   bool     // the circumstances are that its value is changed as those of others are
	home    string   // the field that shows what is lost or changed at the stored version

	// again looks for it in another object, if the property does not.
	again func(ctx context.Context, object *unstructured.Unstructured) (found, bool)
}

// effort counts for the spec that runs.
type effort struct {
	tried int // how many objects have gone all of the way that the spec that runs is about: its effective trials
}

// trials tries properties on the objects of each pair of versions, and reports what is against them.
type trials struct {
	material
	effort    *effort
	survivors *survivors
	findings  *findings
	gathering *gathering
}

// piecemeal is the property of objects each by itself, as many at once as there are in a request: what comes back of thousands takes more memory
// than all else.
func (p property) piecemeal() property {
	check := p.check
	p.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		var findings []finding
		before := 0
		for part := range slices.Chunk(objects, perRequest) {
			for _, f := range check(ctx, pair, part) {
				f.object += before
				findings = append(findings, f)
			}
			before += len(part)
		}
		return findings
	}
	return p
}

// hold fails the spec unless the property holds for every object at every pair of versions, with the smallest object that shows
// why. It returns how many objects were tried.
func (ts *trials) hold(ctx context.Context, what property) int {
	GinkgoHelper()
	ts.standard.sound(ctx)
	ts.effort.tried = 0
	all, tried := ts.against(ctx, what)
	ts.env.Tried(ts.effort.tried)
	ts.report(ctx, what, all)
	return tried
}

// against returns what is against a property, and how many objects were tried. A mutual one is not applicable if no object is ever converted
// back.
func (ts *trials) against(ctx context.Context, what property) ([]found, int) {
	GinkgoHelper()
	pairs := ts.crossings.pairs(ctx)
	if what.mutual && len(pairs) > 0 && !slices.ContainsFunc(pairs, func(pair corpus.Pair) bool { return !ts.definition.oneWay(pair) }) {
		ts.env.Inapplicable("objects are only converted from " + strings.Join(ts.env.Subject.Corpus.Unserved, ", ") + ", which is not served, and never back")
	}
	var all []found
	tried := 0
	made := map[string][]*unstructured.Unstructured{} // by version; big ones take long to make
	for _, pair := range pairs {
		if what.mutual && ts.definition.oneWay(pair) {
			continue
		}
		if len(all) == 0 { // what was found is found, whatever is left
			ts.budget.inBudget()
		} else if ts.budget.spent() {
			break
		}
		objects, known := made[pair.From]
		if !known {
			objects = what.objects(ctx, pair.From)
			made[pair.From] = objects
		}
		tried += len(objects)
		for _, f := range what.check(ctx, pair, objects) {
			all = append(all, ts.findings.newFound(f, pair, objects[f.object]))
		}
	}
	return all, tried
}

// someCame skips a spec if every object has lost something that other specs report.
func (ts *trials) someCame() {
	GinkgoHelper()
	if ts.effort.tried == 0 {
		Skip("cannot be judged while webhook.conversion.round-trip fails for every object")
	}
}

// report fails the spec because of what was found, or makes it Tolerated.
func (ts *trials) report(ctx context.Context, what property, all []found) {
	GinkgoHelper()
	// That a field is declared to be lost, and changes instead, is said where it is put up with.
	all = slices.DeleteFunc(all, func(f found) bool {
		return f.part == requirement.PartRedefined && ts.env.Severity(f.part) != requirement.Tolerated
	})
	// One that API servers accept is not worth reporting next to one that they reject. Of content that was made up all is said, at the end.
	if ts.findings.fails(all) {
		all = slices.DeleteFunc(slices.Clone(all), func(f found) bool { return ts.env.Severity(f.part) == requirement.Tolerated })
	}
	all = ts.findings.sorted(all)
	if len(all) == 0 {
		return
	}
	shown := ts.gathering.evidence(ctx, what, all)
	first := shown.named[0]
	if len(shown.named) > mostTold || len(shown.beside) > 0 {
		ts.env.Attach("places.txt", []byte(shown.places()))
	}
	if !shown.together {
		ts.env.Attach("object.yaml", corpus.YAML(first.subject))
	}
	ts.env.Found(ts.reported(ctx, what, shown.named))
	x := first.x
	if len(shown.memory.by) > 0 {
		x = shown.memory.x
	}
	ts.exhibits.violated(ts.findings.severity(first), x, shown.summary())
}

// reported returns findings as reports have them. Of a field that the other version lacks with all below it, one is enough.
func (ts *trials) reported(ctx context.Context, what property, all []found) []reports.FieldFinding {
	var findings []reports.FieldFinding
	asked := 0
	isLost := func(pair corpus.Pair, path string) bool {
		return slices.ContainsFunc(all, func(f found) bool { return f.pair == pair && f.path == path })
	}
	for _, f := range all {
		if f.madeUp && !all[0].madeUp {
			continue // it is not a cause beside others
		}
		pair := f.pair
		if what.reversed {
			pair = reverse(pair)
		}
		schema := ts.definition.schemaOf(pair.From)
		r := reports.FieldFinding{Field: schema.Pattern(cmp.Or(f.effect.where, f.path)), Effect: f.effect.sort, From: pair.From, To: pair.To, Lacking: f.effect.lacks != "", Kept: f.effect.kept, Message: f.finding.line(), MadeUp: f.madeUp, Annotation: f.effect.noted, When: f.when, Home: f.home}
		if f.when != "" {
			if f.effect.sort == refused {
				r.Field = "" // none that it has is to blame
			}
			findings = append(findings, r)
			continue
		}
		if f.effect.sort == refused && r.Field == "" && !crashed(&f.x) {
			r.Violates = violatedBy(f.x)
		}
		switch f.effect.sort {
		case "lost":
			r.Instead = ts.definition.schemaOf(pair.To).Instead(schema, f.path)
		case moved:
			if r.Instead = schema.Pattern(f.effect.into); f.effect.swaps {
				other := r
				other.Field, other.Instead = r.Instead, r.Field
				findings = append(findings, other)
			}
		}
		if r.Meant() {
			if instead, at := ts.survivors.keptElsewhere(ctx, f, isLost, &asked); instead != "" {
				r.Instead, r.Place, r.Kept = instead, at, true
			}
		}
		if r.Meant() {
			whole := ts.survivors.on(ctx, f.pair).LostWhole(f.effect.lacks, f.path)
			r.Field, r.Kept = schema.Pattern(cmp.Or(whole, f.path)), whole == ""
		}
		if !slices.ContainsFunc(findings, func(other reports.FieldFinding) bool {
			other.Message = r.Message
			return r.Meant() && other == r
		}) {
			findings = append(findings, r)
		}
	}
	return findings
}

// distinct keeps the first of the findings at each place.
func distinct(all []found) []found {
	seen := map[string]bool{}
	var kept []found
	for _, f := range all {
		if !seen[f.place()] {
			seen[f.place()] = true
			kept = append(kept, f)
		}
	}
	return kept
}

// summary says what was found: what happens to each field in a line, with the other ways on which it happens in a second one, and the
// object of the first.
func (e evidence) summary() string {
	var shown []string
	all := e.named
	ways := map[string][]string{}
	key := func(f found) string { return fmt.Sprintf("%s %q %t", f.effect.sort, f.path, f.effect.lacks != "") }
	for _, f := range all {
		ways[key(f)] = append(ways[key(f)], f.trip)
	}
	for _, f := range all {
		also := ways[key(f)]
		if f.path == "" || len(also) == 1 {
			shown = append(shown, f.line())
		} else if also[0] == f.trip {
			shown = append(shown, f.line()+"\n    also "+strings.Join(also[1:], "; "))
		}
	}
	shown = visible.Few(shown, mostTold, placesLeft)
	if n := len(e.beside); n > 0 {
		shown = append(shown, fmt.Sprintf("and %s where it happens only beside these, see places.txt", visible.Count(n, "more place", "")))
	}
	switch {
	case len(e.memory.by) > 0:
		shown = append(shown, fmt.Sprintf("no object shows it when it is asked for alone: the webhook answers with what it keeps of another object with the same %s; request.json, after request-before.json, shows that", strings.Join(e.memory.by, " and ")))
	case e.together:
		shown = append(shown, "no object shows it when it is asked for alone: it takes other objects, requests before, or time, see request.json")
	default:
		shown = append(shown, "object: "+brief(all[0].subject, all[0].takes))
	}
	return strings.Join(shown, "\n")
}

// mostTold is how many places a message names.
const mostTold = 12

// placesLeft follows how many more there are, which are attached.
const placesLeft = " places like this, see places.txt"

// lines are findings as lines.
func lines(all []found) []string {
	texts := make([]string, 0, len(all))
	for _, f := range all {
		texts = append(texts, f.line())
	}
	return texts
}

func (f finding) line() string { return f.trip + ": " + f.message }

// line also says what it takes in the metadata of the object.
func (f found) line() string {
	if strings.HasPrefix(f.when, "where ") {
		f.trip += ", only " + f.when
	}
	return f.finding.line()
}

// brief is an object in one line, of whose metadata it has labels and annotations, and the fields that matter.
func brief(object *unstructured.Unstructured, matters []string) string {
	const most = 300
	fields := map[string]any{}
	for name, value := range object.Object {
		if name != "kind" && name != "metadata" {
			fields[name] = value
		}
	}
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if values, found, _ := unstructured.NestedStringMap(object.Object, "metadata", field); found && len(values) > 0 {
			metadata[field] = values
		}
	}
	all, _, _ := unstructured.NestedMap(object.Object, "metadata")
	for field, value := range all {
		if slices.Contains(matters, field) {
			metadata[field] = value
		}
	}
	if len(metadata) > 0 {
		fields["metadata"] = metadata
	}
	text, err := corpus.Encode(fields)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		return corpus.Printable(strings.ToValidUTF8(string(text[:most]), "")) + "... (whole in object.yaml)"
	}
	return corpus.Printable(string(text))
}
