package webhook

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// few is how many generated objects replace samples if there are none.
const few = 3

// pool is what a webhook makes of the objects that are generated for a version.
type pool struct {
	generator *corpus.Generator
	size      int                          // how many objects there are to be
	objects   []*unstructured.Unstructured // those that it converts to every other version
	dropped   map[string]int               // how many objects it does not convert, by the cause
	cut       bool                         // whether there would have been more to learn
	refusals  []refusal
}

// refusal is an object that the schema allows and the webhook does not convert.
type refusal struct {
	version string
	object  *unstructured.Unstructured // the smallest one
	x       exchange

	// settled says that the webhook converts objects with other values in the same places.
	settled bool

	needs string // the path of a field that it lacks by right, and with which it is converted
}

// failed reports whether the webhook said that it cannot convert the object, or broke down. Otherwise it answered with something that
// API servers reject.
func (r refusal) failed() bool {
	v := r.x.judgement.Rejected()
	return crashed(&r.x) || v == nil || v.Requirement == requirement.WebhookFailureAvoided
}

// words say on which way the object was not converted, and why.
func (r refusal) words() string {
	return fmt.Sprintf("%s -> %s: %v", r.version, r.x.to, r.x.judgement.Rejected())
}

// pool returns the generated objects of a version. Where the webhook refuses some, it is found out which values it would
// rather have: a string may have to be a duration although the schema does not say so.
func (p *prober) pool(ctx context.Context, version string) *pool {
	if known := p.pools[version]; known != nil {
		return known
	}
	c := p.env.Subject.Corpus
	one := &pool{generator: c.Definition.Generator(version, p.env.Seed(), c.Objects(version)), size: p.env.Subject.Objects}
	if one.size <= 0 {
		one.size = objectsPerVersion
	}
	before := p.talk.late
	within, cancel := p.budget.withinBudget(ctx)
	defer cancel()
	p.talk.hasty = true
	generated := p.env.Spending(suites.SpentGenerating)
	adapted := one.generator.Learn(within, one.size, func(_ context.Context, objects []*unstructured.Unstructured) []string {
		return p.causes(ctx, version, objects)
	})
	generated()
	p.talk.hasty = false
	rejections := adapted.Rejections
	one.objects, one.dropped, one.cut = adapted.Objects, adapted.Dropped, adapted.Cut || within.Err() != nil
	if p.talk.late != before { // nothing was asked after that, so there is nothing to learn but that
		one.refusals = []refusal{{version: version, object: &unstructured.Unstructured{Object: p.exhibits.decode(p.talk.late.x.request.Objects[0])}, x: p.talk.late.x}}
		rejections, p.talk.late = nil, before
	}
	for _, rejection := range rejections {
		if x := p.refused(ctx, version, []*unstructured.Unstructured{rejection.Object})[0]; x != nil {
			one.refusals = append(one.refusals, refusal{version, rejection.Object, *x, rejection.Settled, rejection.Needs})
		}
	}
	if ctx.Err() == nil {
		p.pools[version] = one // all or nothing: the spec may be stopped in between
	}
	return one
}

// causes says of each object why the webhook does not convert it, empty if it does.
func (p *prober) causes(ctx context.Context, version string, objects []*unstructured.Unstructured) []string {
	causes := make([]string, len(objects))
	for i, x := range p.refused(ctx, version, objects) {
		if x != nil {
			causes[i] = cause(x)
		}
	}
	return causes
}

// cause is in which way a conversion failed.
func cause(x *exchange) string {
	if crashed(x) {
		return fmt.Sprintf("%s on the way to %s: it broke down", x.judgement.Stopped, x.to)
	}
	return fmt.Sprintf("%s on the way to %s", x.judgement.Stopped, x.to)
}

// objectsPerVersion is how many objects are generated for each version unless the user says otherwise.
const objectsPerVersion = 50

// refused returns which objects the webhook does not convert to some other version, by the exchange that shows it.
func (p *prober) refused(ctx context.Context, version string, objects []*unstructured.Unstructured) []*exchange {
	refused := make([]*exchange, len(objects))
	for _, pair := range p.ways(ctx) {
		if pair.From != version || p.isRefused(ctx, pair) {
			continue
		}
		for i, o := range p.talk.answers(ctx, pair, objects) {
			if o.raw == nil && refused[i] == nil {
				refused[i] = &o.x
			}
		}
	}
	return refused
}

// crashed reports whether a webhook broke down over a request, as opposed to saying that it cannot convert the objects.
func crashed(x *exchange) bool { return suites.Crashed(x.response, x.judgement) }

// brokeOff reports whether a webhook did not answer a request, or by an HTTP status that says that it is broken.
func brokeOff(x *exchange) bool { return suites.BrokeOff(x.response) }

// shrink looks for the smallest object like one given that still does something, within the time budget. What does it has to note it.
func (p *prober) shrink(ctx context.Context, version string, object *unstructured.Unstructured, does func(context.Context, *unstructured.Unstructured) bool) {
	schema := p.definition.schemaOf(version)
	if schema == nil || p.connection.silent != nil || p.talk.isLateHere() {
		return
	}
	within, cancel := p.budget.withinBudget(ctx)
	defer cancel()
	before := p.env.Subject.Ends()
	defer p.env.Spending(suites.SpentShrinking)()
	schema.Shrink(within, object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		// Once one was not answered in time, nothing more is asked, which says nothing of others.
		return within.Err() == nil && p.env.Subject.Ends()-before < mostFatal && !p.talk.isLateHere() && does(ctx, candidate)
	})
}

// styled returns generated objects of a style, with values that the webhook is known to take; none where the schemas are
// not known.
func (p *prober) styled(ctx context.Context, version string, style corpus.Style, n int) []*unstructured.Unstructured {
	if !p.definition.generates() {
		return nil
	}
	one := p.pool(ctx, version)
	generated := p.env.Spending(suites.SpentGenerating)
	objects := one.generator.Objects(style, min(n, one.size))
	generated()
	if style != corpus.Plain {
		objects = append(objects, p.singles(ctx, version, style)...)
	}
	return objects
}

// singles returns the generated objects with one field each, whose value is of a style other than plain.
func (p *prober) singles(ctx context.Context, version string, style corpus.Style) []*unstructured.Unstructured {
	p.each(ctx, version)
	return p.special[version][style]
}

// base returns the objects of a version that everything else builds on: the samples that the webhook converts or, where there are none, a
// few that were generated and that it converts. If it converts none at all, they are the samples.
func (p *prober) base(ctx context.Context, version string) []*unstructured.Unstructured {
	c := p.env.Subject.Corpus
	samples, refusals := c.Objects(version), p.refusedSamples(ctx, version)
	if len(samples) > 0 && (len(refusals) == 0 || len(refusals) == len(samples) && len(p.pool(ctx, version).objects) == 0) {
		return samples
	}
	if len(refusals) < len(samples) {
		return slices.DeleteFunc(samples, func(sample *unstructured.Unstructured) bool {
			return slices.ContainsFunc(refusals, func(r refusal) bool { return r.object.GetUID() == sample.GetUID() })
		})
	}
	one := p.pool(ctx, version)
	if len(one.objects) == 0 { // the webhook converts none, and what was learned from that may have left nothing to generate
		return c.Definition.Generator(version, p.env.Seed(), nil).Objects(corpus.Plain, few)
	}
	return copies(one.objects[:min(len(one.objects), few)])
}

// refusedSamples returns the samples of a version that the webhook does not convert. They are reported, and take nothing away from what can be
// generated. What does not come in time is left in place: each other object might take as long. So is what violates requirements for responses,
// whose specs name the sample, but not where the version is not served: then nothing else might be left.
func (p *prober) refusedSamples(ctx context.Context, version string) []refusal {
	samples := p.env.Subject.Corpus.Objects(version)
	if known, is := p.unwanted[version]; is || len(samples) == 0 || !p.definition.generates() {
		return known
	}
	speaks := p.talk.spoken(ctx)
	var refusals []refusal
	for _, sample := range samples {
		for _, pair := range p.ways(ctx) {
			if pair.From != version || p.connection.silent != nil || p.isRefused(ctx, pair) {
				continue
			}
			x := p.talk.ask(ctx, speaks, pair, sample)
			if r := (refusal{version: version, object: sample, x: x}); r.failed() && !isLate(&x) && (x.judgement.Stopped == requirement.WebhookFailureAvoided || p.definition.oneWay(pair) && crashed(&x)) {
				refusals = append(refusals, r)
				break
			}
		}
	}
	if ctx.Err() == nil {
		p.unwanted[version] = refusals
	}
	return refusals
}

// some returns the objects of base and, if these are samples, a few that were generated besides: samples add to what is tried.
func (p *prober) some(ctx context.Context, version string) []*unstructured.Unstructured {
	objects := p.base(ctx, version)
	if len(p.env.Subject.Corpus.Objects(version)) == len(p.refusedSamples(ctx, version)) || !p.definition.generates() {
		return objects
	}
	generated := p.pool(ctx, version).objects
	return append(objects, copies(generated[:min(len(generated), few)])...)
}

// all returns the objects of base and those that were generated with many fields each. They are the same ones each time, and not to
// be changed.
func (p *prober) all(ctx context.Context, version string) []*unstructured.Unstructured {
	each := p.each(ctx, version)
	if n, known := p.mixed[version]; known {
		return each[:n:n]
	}
	return each // the spec was stopped
}

// each returns the objects of all, and after them those that were generated with one field each, whose value is plain. They are
// the same ones each time, and not to be changed.
func (p *prober) each(ctx context.Context, version string) []*unstructured.Unstructured {
	if known := p.everything[version]; known != nil {
		return known
	}
	objects := p.base(ctx, version)
	if !p.definition.generates() {
		p.know(ctx, version, objects, len(objects))
		return objects
	}
	one := p.pool(ctx, version)
	objects = append(objects, copies(one.objects)...)
	mixed := len(objects)
	special := map[corpus.Style][]*unstructured.Unstructured{}
	generated := p.env.Spending(suites.SpentGenerating)
	singles := one.generator.Singles()
	generated()
	for _, single := range singles {
		if single.Style == corpus.Plain {
			objects = append(objects, single.Object)
		} else {
			special[single.Style] = append(special[single.Style], single.Object)
		}
	}
	p.special[version] = special
	p.know(ctx, version, objects, mixed)
	return objects
}

// know remembers the objects of a version, unless the spec was stopped while they were made.
func (p *prober) know(ctx context.Context, version string, objects []*unstructured.Unstructured, mixed int) {
	if ctx.Err() != nil {
		return
	}
	p.everything[version], p.mixed[version] = objects, mixed
	for i, raw := range corpus.JSON(objects...) {
		p.talk.written[objects[i]] = raw
	}
}

// areKnown reports whether objects are those that all or each returns for a version.
func (p *prober) areKnown(version string, objects []*unstructured.Unstructured) bool {
	known := p.everything[version]
	return len(known) > 0 && (len(objects) == len(known) || len(objects) == p.mixed[version]) && len(objects) > 0 && objects[0] == known[0]
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		all = append(all, object.DeepCopy())
	}
	return all
}
