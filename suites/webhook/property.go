package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/requirement"
)

// property is something that conversions do for each object, such as to lose nothing.
type property struct {
	// objects returns the objects of a version to try, which check leaves as they are.
	objects func(ctx context.Context, version string) []*unstructured.Unstructured

	// check converts objects that are at the first version of a pair, and returns what is wrong.
	check func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding

	// explain attaches what helps with all that was found. It may be nil.
	explain func(all []found)
}

// finding is what is wrong with the conversion of an object.
type finding struct {
	object  int                  // index into the objects that were checked
	trip    string               // such as v1 -> v1beta1 -> v1
	path    string               // where in the object; empty when it is about the object as a whole
	message string               // what was expected there, and what was got
	part    requirement.PartName // which part of the requirement it violates, which says how severe it is
	x       exchange
}

// none stands for findings that are in no part of a requirement.
const none requirement.PartName = ""

// partOf returns the part that a loss is in.
func partOf(l corpus.Loss) requirement.PartName {
	if l.Empty {
		return requirement.PartEmpty
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
}

// hold fails the spec unless the property holds for every object at every pair of versions, with the smallest object that shows
// why. It returns how many objects were tried.
func (p *prober) hold(ctx context.Context, what property) int {
	GinkgoHelper()
	p.sound(ctx)
	all, tried := p.against(ctx, what)
	p.report(ctx, what, all)
	return tried
}

// against returns what is against a property, and how many objects were tried.
func (p *prober) against(ctx context.Context, what property) ([]found, int) {
	var all []found
	tried := 0
	made := map[string][]*unstructured.Unstructured{} // by version; big ones take long to make
	for _, pair := range p.env.Subject.Corpus.Pairs() {
		if len(all) == 0 { // what was found is found, whatever is left
			p.inBudget()
		} else if p.spent() {
			break
		}
		objects, known := made[pair.From]
		if !known {
			objects = what.objects(ctx, pair.From)
			made[pair.From] = objects
		}
		tried += len(objects)
		for _, f := range what.check(ctx, pair, objects) {
			all = append(all, found{f, pair, objects[f.object]})
		}
	}
	return all, tried
}

// report fails the spec because of what was found, or makes it Tolerated.
func (p *prober) report(ctx context.Context, what property, all []found) {
	GinkgoHelper()
	// One that API servers accept is not worth reporting next to one that they reject.
	if failures := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return p.env.Severity(f.part) == requirement.Tolerated }); len(failures) > 0 {
		all = failures
	}
	all = distinct(all)
	if len(all) == 0 {
		return
	}
	first, alone := p.smallest(ctx, what, all[0])
	if !alone && p.dependent(ctx) {
		Skip("cannot be judged while webhook.batch.independent fails: the result for an object depends on others in the request")
	}
	message := told(first, all)
	if len(all) > mostTold {
		p.env.Attach("places.txt", []byte(strings.Join(lines(all), "\n")+"\n"))
	}
	p.env.Attach("object.yaml", corpus.YAML(first.subject))
	if what.explain != nil {
		what.explain(all)
	}
	p.violated(p.env.Severity(first.part), first.x, message)
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

// smallest returns the same finding for the smallest object that has it, and whether it shows for an object alone.
func (p *prober) smallest(ctx context.Context, what property, f found) (found, bool) {
	alone := func(ctx context.Context, object *unstructured.Unstructured) (found, bool) {
		for _, one := range what.check(ctx, f.pair, []*unstructured.Unstructured{object}) {
			if one.place() == f.place() && p.env.Severity(one.part) == p.env.Severity(f.part) {
				return found{one, f.pair, object}, true
			}
		}
		return f, false
	}
	f, again := alone(ctx, f.subject)
	if !again {
		return f, false // it takes the neighbours in the batch, or does not come every time
	}
	p.shrink(ctx, f.pair.From, f.subject, func(ctx context.Context, candidate *unstructured.Unstructured) bool {
		smaller, still := alone(ctx, candidate)
		if still {
			f = smaller
		}
		return still
	})
	return f, true
}

// told says what was found: all of it in lines, and the object of the first.
func told(first found, all []found) string {
	shown := append([]string{first.line()}, lines(all[1:])...)
	if more := len(shown) - mostTold; more > 0 {
		shown = append(shown[:mostTold], fmt.Sprintf("and %d more places like this, see places.txt", more))
	}
	return strings.Join(shown, "\n") + "\nobject: " + brief(first.subject)
}

// mostTold is how many places a message names.
const mostTold = 12

// lines are findings as lines.
func lines(all []found) []string {
	texts := make([]string, 0, len(all))
	for _, f := range all {
		texts = append(texts, f.line())
	}
	return texts
}

func (f finding) line() string { return f.trip + ": " + f.message }

// brief is an object without its metadata, in one line.
func brief(object *unstructured.Unstructured) string {
	const most = 300
	fields := map[string]any{}
	for name, value := range object.Object {
		if name != "kind" && name != "metadata" {
			fields[name] = value
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if values, found, _ := unstructured.NestedStringMap(object.Object, "metadata", field); found && len(values) > 0 {
			fields["metadata."+field] = values
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "... (whole in object.yaml)"
	}
	return string(text)
}
