package webhook

import (
	"cmp"
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

func failure(env *suites.Env, p *prober) {
	Describe("failure", func() {
		env.It(requirement.WebhookFailureAvoided, "looks for failures in the conversion of valid objects", func(ctx SpecContext) {
			p.refusals(ctx)
			if len(p.crossings.pairs(ctx)) > 0 {
				p.judge(ctx, requirement.WebhookFailureAvoided)
			}
		})

		env.It(requirement.WebhookFailureAnnotations, "puts something else into annotations that the webhook adds, and converts the objects back", func(ctx SpecContext) {
			p.hold(ctx, p.defaced())
			if p.came == 0 {
				env.Inapplicable("the webhook adds no annotations")
			}
		})

		env.It(requirement.WebhookFailureEarlierSchemas, "converts objects that earlier schemas allowed", p.earlierConverted)

		provoked := func(id requirement.ID, text string) {
			env.It(id, text, func(ctx SpecContext) {
				x := p.provoke(ctx)
				violations := x.judgement.Of(id)
				switch {
				case slices.ContainsFunc(violations, rejected):
					p.talks(ctx)
					p.exhibits.fail(x, described(x, violations))
				case !x.judgement.Judged(id):
					p.exhibits.skip(x)
				case len(violations) > 0:
					p.exhibits.violated(requirement.Tolerated, x, described(x, violations))
				}
			})
		}
		provoked(requirement.WebhookFailureStatus, "provokes a failure and looks at the result")
		provoked(requirement.WebhookFailureUID, "provokes a failure and compares the uids of request and response")
	})
}

// refusals reports generated objects that the webhook did not convert. A webhook that broke down over one fails, and so does
// one that refuses an object with nothing in it, or every object of a version. One that requires values that the schema does not
// require is Tolerated: clients are free to write others, but few will.
func (p *prober) refusals(ctx SpecContext) {
	GinkgoHelper()
	if closed := p.crossings.unconverted(ctx); !p.definition.generates() || len(p.crossings.pairs(ctx)) == 0 {
		p.report(ctx, p.convertedOrClosed(), closed)
		return
	}
	x := p.standard.unsound(ctx)
	if x != nil && x.judgement.Stopped != requirement.WebhookFailureAvoided {
		return
	}
	p.report(ctx, p.convertedOrClosed(), append(slices.Clone(p.failures(ctx)), p.tooLarge(ctx)...))
}

// tooLarge returns objects with large integers that the webhook properly refuses, which webhook.conversion.integers passes over: one for
// each way and field. Crashes are left to that.
func (p *prober) tooLarge(ctx context.Context) []found {
	var all []found
	if p.standard.unsound(ctx) != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, pair := range p.crossings.pairs(ctx) {
		if p.crossings.isClosed(ctx, pair.From) {
			continue
		}
		objects := p.stock.singles(ctx, pair.From, corpus.Integers)
		for i, o := range p.talk.answers(ctx, pair, objects) {
			if o.raw != nil || crashed(&o.x) || !(refusal{x: o.x}).failed() {
				continue
			}
			one := p.refusedInteger(refusal{version: pair.From, object: objects[i], x: o.x})
			if place := one.place(); !seen[place] {
				seen[place] = true
				all = append(all, one)
			}
		}
	}
	return all
}

// refusedInteger is that an object with a large integer was refused.
func (p *prober) refusedInteger(r refusal) found {
	pair := corpus.Pair{From: r.version, To: r.x.to}
	isOther := func(path string) bool {
		value, _ := corpus.Value(r.object.Object, path)
		n, is := value.(int64)
		return !is || -math.MaxInt16 <= n && n <= math.MaxInt16
	}
	path := strings.Join(slices.DeleteFunc(p.definition.schemaOf(r.version).Given(r.object), isOther), ", ")
	message := fmt.Sprintf("conversion failed for an object that the schema allows, with a large integer at %s: %s", path, r.x.judgement.Rejected())
	one := found{finding: finding{0, pair.String(), path, message, requirement.PartRefusedValue, r.x, effect{sort: refused}}, pair: pair, subject: r.object}
	one.again = p.refusedAgain(r, path, p.refusedInteger)
	return one
}

// failures returns the generated objects that the webhook did not convert: the smallest mixed ones, and of the others one for each way and
// message. Those whose response violates another requirement are left to that.
func (p *prober) failures(ctx context.Context) []found {
	if p.failing != nil {
		return *p.failing
	}
	var all []found
	seen := map[string]bool{}
	add := func(r refusal, every bool) {
		if r.failed() {
			seen[r.words()] = true
			all = append(all, p.refusedObject(r, every))
		}
	}
	if !p.definition.generates() {
		return nil
	}
	all = append(all, slices.Concat(p.routes.refusedWays(ctx), p.crossings.unconverted(ctx))...)
	unsound := len(p.crossings.pairs(ctx)) > 0 && p.standard.unsound(ctx) != nil
	isShown := func(version string) bool { return unsound && len(p.env.Subject.Corpus.Objects(version)) > 0 } // by a sample
	for _, version := range p.env.Subject.Corpus.Versions {
		if isShown(version) || p.crossings.isClosed(ctx, version) {
			continue
		}
		for _, r := range p.stock.refusedSamples(ctx, version) {
			add(r, true)
		}
		one := p.stock.pool(ctx, version)
		for _, r := range one.refusals {
			add(r, len(one.objects) == 0)
		}
	}
	for _, pair := range p.crossings.pairs(ctx) {
		if isShown(pair.From) || p.routes.isRefused(ctx, pair) {
			continue
		}
		objects := p.stock.each(ctx, pair.From)
		for i, o := range p.forth(ctx, pair, objects) {
			if r := (refusal{version: pair.From, object: objects[i], x: o.x}); o.object == nil && !seen[r.words()] {
				if crashed(&r.x) && p.talk.late == nil {
					r.needs = p.stock.pool(ctx, pair.From).generator.Needed(ctx, r.object, func(ctx context.Context, objects []*unstructured.Unstructured) []string {
						return p.stock.causes(ctx, pair.From, objects)
					})
				}
				add(r, false)
			}
		}
	}
	if ctx.Err() == nil {
		p.failing = &all
	}
	return all
}

// refusedObject is that an object was not converted, and all of its version neither if every is set. If a smaller object is not either, it names
// the fields of that.
func (p *prober) refusedObject(r refusal, every bool) found {
	pair := corpus.Pair{From: r.version, To: r.x.to}
	given := p.definition.schemaOf(r.version).Given(r.object)
	path := cmp.Or(r.needs, strings.Join(given, ", "))
	about, when := "with "+firstOf(given), ""
	if len(given) == 0 {
		about = "without any field of its own"
	}
	if r.needs != "" {
		when = "without " + p.definition.schemaOf(r.version).Pattern(path)
		about = "without " + path + ", and succeeded with it"
	}
	message := fmt.Sprintf("conversion failed for an object that the schema allows, %s: %s", about, r.x.judgement.Rejected())
	part := none
	if !crashed(&r.x) && !every && (r.settled || len(corpus.Leaves(r.object)) > 0) {
		part = requirement.PartRefusedValue
	}
	one := found{finding: finding{0, pair.String(), path, message, part, r.x, effect{sort: refused}}, pair: pair, subject: r.object, when: when}
	if r.needs == "" && len(given) > 1 {
		one.effect.where = fieldpath.Around(given...)
	}
	one.again = p.refusedAgain(r, path, func(r refusal) found { return p.refusedObject(r, every) })
	return one
}

// refusedAgain returns a function that asks for another object in place of one that was refused, which names a path. It is another finding if one
// was a crash, if it names nothing any more, or if the path is what the object needs, which a smaller one may need more than.
func (p *prober) refusedAgain(r refusal, path string, says func(refusal) found) func(context.Context, *unstructured.Unstructured) (found, bool) {
	return func(ctx context.Context, object *unstructured.Unstructured) (found, bool) {
		if r.needs != "" && len(corpus.Leaves(object)) < len(corpus.Leaves(r.object)) {
			return found{}, false
		}
		late := p.talk.late
		o := p.talk.answers(ctx, corpus.Pair{From: r.version, To: r.x.to}, []*unstructured.Unstructured{object})[0]
		other := refusal{version: r.version, object: object, x: o.x, settled: r.settled, needs: r.needs}
		if o.raw != nil || p.talk.late != late || !other.failed() || crashed(&o.x) != crashed(&r.x) {
			return found{}, false
		}
		again := says(other)
		return again, again.path != "" || path == ""
	}
}

// firstOf names a few of the fields that are given in an object: a line of a report is to have room for what the webhook says of them.
func firstOf(given []string) string {
	const most = 3
	text := strings.Join(given[:min(len(given), most)], ", ")
	if more := len(given) - most; more > 0 {
		text += fmt.Sprintf(" and %d more fields", more)
	}
	return text
}

// defaced is the property of objects to be converted whatever somebody has written into the annotations that the webhook added to
// them. Each annotation is tried once for each way.
func (p *prober) defaced() property {
	return property{objects: p.stock.each, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		tried := map[string]bool{}
		var findings []finding
		for i, o := range p.forth(ctx, pair, objects) {
			if o.object == nil {
				continue
			}
			converted := corpus.Restored(objects[i], o.object)
			given, annotations := objects[i].GetAnnotations(), converted.GetAnnotations()
			for _, key := range slices.Sorted(maps.Keys(annotations)) {
				if _, isGiven := given[key]; isGiven || tried[key] {
					continue
				}
				tried[key] = true
				p.came++
				for _, f := range p.deface(ctx, pair, o.x, converted, key, annotations[key]) {
					f.object = i
					findings = append(findings, f)
				}
			}
		}
		return findings
	}}
}

// deface converts an object, which was converted on the way of a pair, with other values in an annotation. It says of all at once that they are
// refused, unless the object is refused with the annotation as it was, too.
func (p *prober) deface(ctx context.Context, pair corpus.Pair, before exchange, converted *unstructured.Unstructured, key, value string) []finding {
	var findings []finding
	path := fieldpath.Child("metadata.annotations", key)
	for _, onward := range p.routes.ways(ctx) {
		if onward.From != pair.To {
			continue
		}
		way := fmt.Sprintf("%s -> %s", pair, onward.To)
		var refusing []string
		var first outcome
		for _, other := range []string{"null", "", "[]", "not JSON", value[:len(value)/2]} {
			variant := converted.DeepCopy()
			annotations := variant.GetAnnotations()
			annotations[key] = other
			variant.SetAnnotations(annotations)
			o := p.talk.answers(ctx, onward, []*unstructured.Unstructured{variant})[0]
			if o.raw != nil {
				continue
			}
			o.x.before = &before
			if v := o.x.judgement.Rejected(); v.Requirement != requirement.WebhookFailureAvoided || brokeOff(&o.x) {
				refusing, first = []string{fmt.Sprintf("%.40q", other)}, o
				break
			}
			if refusing = append(refusing, fmt.Sprintf("%.40q", other)); len(refusing) == 1 {
				first = o
			}
		}
		if len(refusing) == 0 || p.talk.answers(ctx, onward, []*unstructured.Unstructured{converted})[0].raw == nil {
			continue
		}
		part := none
		if v := first.x.judgement.Rejected(); v.Requirement == requirement.WebhookFailureAvoided && !brokeOff(&first.x) {
			part = requirement.PartRefusedAnnotation
		}
		message := fmt.Sprintf("%s: expected the object to be converted with %s there, got %s", path, strings.Join(refusing, " or "), first.x.judgement.Rejected())
		findings = append(findings, finding{0, way, path, message, part, first.x, effect{sort: refused}})
	}
	return findings
}

// talks skips the spec unless the webhook answers with a ConversionReview where there is nothing to fail.
func (p *prober) talks(ctx SpecContext) {
	GinkgoHelper()
	for _, x := range p.standard.exchanges(ctx) {
		if !x.judgement.Judged(requirement.WebhookResponseLean) {
			p.exhibits.skip(x)
		}
	}
}

// provoke asks for what cannot be converted: for the documents' CronTabs a hostPort without a port, and for any object a
// version that does not exist. It returns the exchange with the judgement of the failure, and skips the spec when the
// webhook says that it converted them.
func (p *prober) provoke(ctx SpecContext) exchange {
	c := p.env.Subject.Corpus
	version := p.standard.reviewVersion(ctx)
	if c.Documented {
		object := c.Objects("v1beta1")[0]
		object.Object["hostPort"] = "localhost"
		x := p.talk.ask(ctx, version, corpus.Pair{From: "v1beta1", To: "v1"}, object)
		if judgement, failed := x.request.JudgeFailure(x.response); failed {
			x.judgement = judgement
			return x
		}
	}
	from := c.Versions[0]
	x := p.talk.ask(ctx, version, corpus.Pair{From: from, To: "v0nosuchversion"}, p.stock.base(ctx, from)[0])
	judgement, failed := x.request.JudgeFailure(x.response)
	if !failed {
		Skip("the webhook claims to convert even to the version v0nosuchversion, so no failure can be provoked")
	}
	x.judgement = judgement
	return x
}
