package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

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
func (s *stock) pool(ctx context.Context, version string) *pool {
	if known := s.pools[version]; known != nil {
		return known
	}
	c := s.env.Subject.Corpus
	one := &pool{generator: c.Definition.Generator(version, s.env.Seed(), c.Objects(version)), size: s.env.Subject.Objects}
	if one.size <= 0 {
		one.size = objectsPerVersion
	}
	within, cancel := s.budget.withinBudget(ctx)
	defer cancel()
	var adapted corpus.Adapted
	late := s.talk.hastily(func() {
		defer s.env.Spending(suites.SpentGenerating)()
		adapted = one.generator.Learn(within, one.size, func(_ context.Context, objects []*unstructured.Unstructured) []string {
			return s.causes(ctx, version, objects)
		})
	})
	rejections := adapted.Rejections
	one.objects, one.dropped, one.cut = adapted.Objects, adapted.Dropped, adapted.Cut || within.Err() != nil
	if late != nil { // nothing was asked after that, so there is nothing to learn but that
		one.refusals = []refusal{{version: version, object: &unstructured.Unstructured{Object: s.exhibits.decode(late.x.request.Objects[0])}, x: late.x}}
		rejections = nil
	}
	for _, rejection := range rejections {
		if x := s.refused(ctx, version, []*unstructured.Unstructured{rejection.Object})[0]; x != nil {
			one.refusals = append(one.refusals, refusal{version, rejection.Object, *x, rejection.Settled, rejection.Needs})
		}
	}
	if ctx.Err() == nil {
		s.pools[version] = one // all or nothing: the spec may be stopped in between
	}
	return one
}

// causes says of each object why the webhook does not convert it, empty if it does.
func (s *stock) causes(ctx context.Context, version string, objects []*unstructured.Unstructured) []string {
	causes := make([]string, len(objects))
	for i, x := range s.refused(ctx, version, objects) {
		if x != nil {
			causes[i] = cause(x)
		}
	}
	return causes
}

// cause is in which way a conversion failed.
func cause(x *exchange) string {
	violated := x.judgement.Stopped
	if v := x.judgement.Rejected(); violated == "" && v != nil {
		violated = v.Requirement
	}
	if crashed(x) {
		return fmt.Sprintf("%s on the way to %s: it broke down", violated, x.to)
	}
	return fmt.Sprintf("%s on the way to %s", violated, x.to)
}

// objectsPerVersion is how many objects are generated for each version unless the user says otherwise.
const objectsPerVersion = 50

// refused returns which objects the webhook does not convert to some other version, by the exchange that shows it.
func (s *stock) refused(ctx context.Context, version string, objects []*unstructured.Unstructured) []*exchange {
	refused := make([]*exchange, len(objects))
	for _, pair := range s.routes.ways(ctx) {
		if pair.From != version || s.routes.isRefused(ctx, pair) {
			continue
		}
		for i, o := range s.talk.answers(ctx, pair, objects) {
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
