package webhook

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// past has the specs about objects that earlier schemas allowed.
type past struct {
	judging

	stale   map[string]*earlier // what is known of objects of earlier schemas, by version
	counted bool                // whether they were reported
}

// earlier has the objects of a version that definitions of earlier releases allowed, as API servers send them today.
type earlier struct {
	stale  map[string]corpus.Stale // by what the object has besides metadata
	all    []*unstructured.Unstructured
	shown  []corpus.Stale // also those whose object another difference has too
	missed []corpus.Gap
	mended map[string]*unstructured.Unstructured // objects without the difference, see isBlameless
}

// earlier returns the objects of a version that earlier definitions allowed. Of equal ones there is one.
func (p *past) earlier(ctx context.Context, version string) *earlier {
	if known := p.stale[version]; known != nil {
		return known
	}
	e := &earlier{stale: map[string]corpus.Stale{}, mended: map[string]*unstructured.Unstructured{}}
	generator := p.stock.pool(ctx, version).generator
	for _, definition := range p.env.Subject.Corpus.Earlier {
		stale, gaps := generator.Earlier(definition)
		e.shown, e.missed = append(e.shown, stale...), append(e.missed, gaps...)
		for _, one := range stale {
			key := content(one.Object)
			if bytes := size(one.Object); bytes >= small { // which webhooks fail for in many ways
				e.missed = append(e.missed, corpus.Gap{Path: one.Path, Reason: fmt.Sprintf("%s: it takes an object of %d KiB, and %s is about large ones", one.Change, bytes>>10, requirement.WebhookConversionHuge)})
			} else if _, known := e.stale[key]; !known {
				e.stale[key] = one
				e.all = append(e.all, one.Object)
			}
		}
	}
	if ctx.Err() == nil {
		p.stale[version] = e
	}
	return e
}

// content is what an object has besides metadata, as a key.
func content(object *unstructured.Unstructured) string {
	fields := map[string]any{}
	for name, value := range object.Object {
		if name != "metadata" {
			fields[name] = value
		}
	}
	return string(corpus.JSON(&unstructured.Unstructured{Object: fields})[0])
}

// needsEarlier skips a spec if no object of an earlier definition is not as today's has it, or if none can be judged.
func (p *past) needsEarlier(ctx context.Context) {
	GinkgoHelper()
	p.definition.needsGenerated("which objects earlier schemas allowed")
	if len(p.env.Subject.Corpus.Earlier) == 0 {
		p.env.Inapplicable("there is no definition of an earlier release whose schemas could have allowed other objects; give one")
	}
	p.standard.sound(ctx)
	tried := 0
	var missed, unjudged []string
	for _, version := range p.env.Subject.Corpus.Versions {
		e := p.earlier(ctx, version)
		tried += len(e.all)
		for _, one := range e.shown {
			fmt.Fprintf(GinkgoWriter, "%s: %s\n", version, one)
		}
		for _, gap := range e.missed {
			missed = append(missed, fmt.Sprintf("%s: %s", version, gap))
		}
		unjudged = append(unjudged, p.unjudged(ctx, version)...)
	}
	for _, one := range slices.Concat(missed, unjudged) {
		fmt.Fprintf(GinkgoWriter, "not judged: %s\n", one)
	}
	if report := p.env.Subject.Stale; report != nil && !p.counted {
		p.counted = true
		report(tried-len(unjudged), slices.Concat(missed, unjudged))
	}
	switch {
	case tried == 0 && len(missed) == 0:
		p.env.Inapplicable("the schemas of earlier releases allowed nothing that today's do not")
	case tried == 0:
		Skip(fmt.Sprintf("no object could be made for any of the %d differences from the schemas of earlier releases", len(missed)))
	case tried == len(unjudged):
		Skip(fmt.Sprintf("cannot be judged while %s fails: the webhook does not convert any of the objects without what is different, either", requirement.WebhookFailureAvoided))
	}
}

// unjudged returns the differences at a version whose objects the webhook converts to no other version, for another reason than what an
// earlier schema allowed.
func (p *past) unjudged(ctx context.Context, version string) []string {
	e := p.earlier(ctx, version)
	judged := map[*unstructured.Unstructured]bool{}
	for _, pair := range p.crossings.pairs(ctx) {
		if pair.From != version {
			continue
		}
		for i, o := range p.talk.answers(ctx, pair, e.all) {
			if judged[e.all[i]] || o.raw != nil || !p.isBlameless(ctx, pair, e.all[i]) {
				judged[e.all[i]] = true
			}
		}
	}
	var left []string
	for _, object := range e.all {
		if !judged[object] {
			left = append(left, fmt.Sprintf("%s: %s: the webhook does not convert the object without that, either", version, e.stale[content(object)]))
		}
	}
	return left
}

// ofEarlier returns the objects of a version that earlier definitions allowed.
func (p *past) ofEarlier(ctx context.Context, version string) []*unstructured.Unstructured {
	return copies(p.earlier(ctx, version).all)
}

// earlierConverted expects objects that earlier schemas allowed to be converted.
func (p *past) earlierConverted(ctx SpecContext) {
	p.needsEarlier(ctx)
	p.trials.hold(ctx, property{objects: p.ofEarlier, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		of, places := p.known(ctx, pair, objects)
		var findings []finding
		for i, o := range p.talk.answers(ctx, pair, of) {
			if o.raw != nil || p.isBlameless(ctx, pair, of[i]) {
				continue
			}
			one := p.earlier(ctx, pair.From).stale[content(of[i])]
			part := none
			if one.Free && !crashed(&o.x) {
				part = requirement.PartUnnamedValue
			}
			message := fmt.Sprintf("conversion failed for an object that an earlier schema allowed (%s): %s", one, o.x.judgement.Rejected())
			findings = append(findings, finding{places[i], pair.String(), one.Path, message, part, o.x, effect{sort: refused}})
		}
		return findings
	}})
}

// earlierKept expects objects that earlier schemas allowed to come back from another version as they were. Those that are not converted at
// all are reported by webhook.failure.earlier-schemas, and what is lost of others too by other specs.
func (p *past) earlierKept(ctx SpecContext) {
	p.needsEarlier(ctx)
	usual := p.keeping.usual(ctx)
	p.trials.hold(ctx, property{objects: p.ofEarlier, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		of, places := p.known(ctx, pair, objects)
		var findings []finding
		add := func(i int, way string, l corpus.Loss, x exchange) {
			one := p.earlier(ctx, pair.From).stale[content(of[i])]
			message := fmt.Sprintf("%s%s (%s)", l, p.losses.lacks(pair, l), one)
			f := finding{places[i], way, p.definition.schemaOf(pair.From).Place(l.Path), message, partOf(l), x, p.losses.effectBy(pair, l, nil)}
			if !usual[f.place()] {
				findings = append(findings, f)
			}
		}
		forth := p.losses.forthOnly(pair, of, probing)
		for i, t := range p.journeys.travel(ctx, pair, of) {
			switch {
			case t.there.object == nil:
			case p.definition.oneWay(pair):
				p.effort.tried++
				for _, l := range forth(ctx, i, t) {
					add(i, pair.String(), l, t.there.x)
				}
			case t.back.object == nil:
				p.effort.tried++
				if f := p.stuck(ctx, pair, of[i], t); f != nil {
					f.object = places[i]
					findings = append(findings, *f)
				}
			default:
				p.effort.tried++
				for _, l := range p.losses.lost(pair, of[i].Object, t.back.object) {
					add(i, there(pair), l, t.back.x)
				}
			}
		}
		return findings
	}})
	if p.effort.tried == 0 {
		Skip(fmt.Sprintf("cannot be judged while %s fails for every object", requirement.WebhookFailureEarlierSchemas))
	}
}

// known returns those of some objects that earlier schemas allowed, with their places. The others are smaller ones that report tries in
// place of one; as today's schema allows them, they lack what is different.
func (p *past) known(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, []int) {
	e := p.earlier(ctx, pair.From)
	var of []*unstructured.Unstructured
	var places []int
	for i, object := range objects {
		if _, known := e.stale[content(object)]; known {
			of, places = append(of, object), append(places, i)
		}
	}
	return of, places
}

// stuck is that an object was converted and does not come back, nil if the same is so without what an earlier schema allowed.
func (p *past) stuck(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured, t trip) *finding {
	if mended := p.mended(ctx, pair.From, object); mended != nil {
		other := p.journeys.travel(ctx, pair, []*unstructured.Unstructured{mended})[0]
		if other.there.object == nil || other.back.object == nil {
			return nil
		}
	}
	one := p.earlier(ctx, pair.From).stale[content(object)]
	message := fmt.Sprintf("conversion of its own result failed, of an object that an earlier schema allowed (%s): %s", one, t.back.x.judgement.Rejected())
	return &finding{trip: there(pair), path: one.Path, message: message, x: t.back.x, effect: effect{sort: refused}}
}

// isBlameless reports whether an object is not converted for another reason than what an earlier schema allowed: without that, it is not
// converted either.
func (p *past) isBlameless(ctx context.Context, pair corpus.Pair, object *unstructured.Unstructured) bool {
	mended := p.mended(ctx, pair.From, object)
	return mended != nil && p.talk.answers(ctx, pair, []*unstructured.Unstructured{mended})[0].raw == nil
}

// mended is an object as today's schema allows it, nil if there is none that is like it.
func (p *past) mended(ctx context.Context, version string, object *unstructured.Unstructured) *unstructured.Unstructured {
	e, key := p.earlier(ctx, version), content(object)
	if _, known := e.mended[key]; !known {
		e.mended[key] = p.stock.pool(ctx, version).generator.Mend(object)
	}
	return e.mended[key]
}
