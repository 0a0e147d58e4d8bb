package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// breakdowns has the specs about failures, those that come by themselves and those that are provoked.
type breakdowns struct {
	judging
}

func failure(env *suites.Env, ch *chapter) {
	Describe("failure", func() {
		env.It(requirement.WebhookFailureAvoided, "looks for failures in the conversion of valid objects", func(ctx SpecContext) {
			ch.breakdowns.refusals(ctx)
			if len(ch.crossings.pairs(ctx)) > 0 {
				ch.responses.judge(ctx, requirement.WebhookFailureAvoided)
			}
		})

		env.It(requirement.WebhookFailureAnnotations, "puts something else into annotations that the webhook adds, and converts the objects back", func(ctx SpecContext) {
			ch.trials.hold(ctx, ch.breakdowns.defaced())
			if ch.effort.tried == 0 {
				env.Inapplicable("the webhook adds no annotations")
			}
		})

		env.It(requirement.WebhookFailureEarlierSchemas, "converts objects that earlier schemas allowed", ch.past.earlierConverted)

		provoked := func(id requirement.ID, text string) {
			env.It(id, text, func(ctx SpecContext) {
				x, failed := ch.breakdowns.provoke(ctx)
				violations := x.judgement.Of(id)
				switch {
				case !failed && id == requirement.WebhookFailureStatus && leavesOut(x):
					ch.exhibits.violated(env.Severity(requirement.PartLeftOut), x, fmt.Sprintf("%s: expected a failure, got %s", x.what, x.judgement.Rejected()))
				case !failed:
					Skip("the webhook says Success even for the version " + noSuchVersion + ", so no failure can be provoked")
				case slices.ContainsFunc(violations, rejected):
					ch.responses.talks(ctx)
					ch.exhibits.fail(x, described(x, violations))
				case !x.judgement.Judged(id):
					ch.exhibits.skip(x)
				case len(violations) > 0:
					ch.exhibits.violated(requirement.Tolerated, x, described(x, violations))
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
func (b *breakdowns) refusals(ctx SpecContext) {
	GinkgoHelper()
	if closed := b.crossings.unconverted(ctx); !b.definition.generates() || len(b.crossings.pairs(ctx)) == 0 {
		b.trials.report(ctx, b.convertedOrClosed(), closed)
		return
	}
	x := b.standard.unsound(ctx)
	if x != nil && x.judgement.Stopped != requirement.WebhookFailureAvoided {
		return
	}
	b.trials.report(ctx, b.convertedOrClosed(), append(slices.Clone(b.failures.all(ctx)), b.failures.refusedValues(ctx)...))
}

// defaced is the property of objects to be converted whatever somebody has written into the annotations that the webhook added to
// them. Each annotation is tried once for each way.
func (b *breakdowns) defaced() property {
	return property{objects: b.stock.each, check: func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		tried := map[string]bool{}
		var findings []finding
		for i, o := range b.journeys.forth(ctx, pair, objects) {
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
				b.effort.tried++
				for _, f := range b.deface(ctx, pair, o.x, converted, key, annotations[key]) {
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
func (b *breakdowns) deface(ctx context.Context, pair corpus.Pair, before exchange, converted *unstructured.Unstructured, key, value string) []finding {
	var findings []finding
	path := fieldpath.Child("metadata.annotations", key)
	for _, onward := range b.routes.ways(ctx) {
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
			o := b.talk.answers(ctx, onward, []*unstructured.Unstructured{variant})[0]
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
		if len(refusing) == 0 || b.talk.answers(ctx, onward, []*unstructured.Unstructured{converted})[0].raw == nil {
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

// noSuchVersion is a version of nothing.
const noSuchVersion = "v0nosuchversion"

// leavesOut reports whether a response says Success without exactly the objects that it was asked for.
func leavesOut(x exchange) bool {
	v := x.judgement.Rejected()
	return v != nil && v.Requirement == requirement.WebhookResponseAllObjects
}

// provoke asks for what cannot be converted: for the documents' CronTabs a hostPort without a port, and for any object a
// version that does not exist. It returns the exchange with the judgement of the failure, and false with that of a conversion
// if the webhook says that it converted them.
func (b *breakdowns) provoke(ctx SpecContext) (exchange, bool) {
	c := b.env.Subject.Corpus
	version := b.standard.reviewVersion(ctx)
	if c.Documented {
		object := c.Objects("v1beta1")[0]
		object.Object["hostPort"] = "localhost"
		x := b.talk.ask(ctx, version, corpus.Pair{From: "v1beta1", To: "v1"}, object)
		if judgement, failed := x.request.JudgeFailure(x.response); failed {
			x.judgement = judgement
			return x, true
		}
	}
	from := c.Versions[0]
	x := b.talk.ask(ctx, version, corpus.Pair{From: from, To: noSuchVersion}, b.stock.base(ctx, from)[0])
	judgement, failed := x.request.JudgeFailure(x.response)
	if failed {
		x.judgement = judgement
	}
	return x, failed
}

// convertedOrClosed is the property of objects to be converted, which says of those at a version of which none is why.
func (b *breakdowns) convertedOrClosed() property {
	what := b.keeping.converted(nil)
	check := what.check
	what.check = func(ctx context.Context, pair corpus.Pair, objects []*unstructured.Unstructured) []finding {
		findings := check(ctx, pair, objects)
		for i, f := range findings {
			switch {
			case b.crossings.isClosed(ctx, pair.From):
				findings[i] = b.crossings.closedTo(pair, f.x)
			case b.routes.isRefused(ctx, pair):
				findings[i] = refusedAltogether(pair, f.x)
			}
			findings[i].object = f.object
		}
		return findings
	}
	return what
}
