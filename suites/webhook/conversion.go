package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/fixtures"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
)

func conversion(env *suites.Env, p *prober) {
	Describe("conversion", func() {
		env.It(requirement.WebhookConversionDocumentedExample, "asks what the documents ask and compares the answers", p.documentedExample)
		env.It(requirement.WebhookConversionRoundTrip, "converts objects to every other version and back", p.roundTrip)
		env.It(requirement.WebhookConversionSchema, "validates converted objects by the documents' schemas", p.schema)
		env.It(requirement.WebhookConversionIntegers, "puts large integers into objects and looks for them after", p.integers)
	})
}

// onlyDocumented skips a spec that knows the documents' CronTabs alone.
func (p *prober) onlyDocumented(what string) {
	if !p.env.Subject.Corpus.Documented {
		Skip(what + " is known for the CronTabs of the documents only, and these are samples")
	}
}

func (p *prober) documentedExample(ctx SpecContext) {
	p.onlyDocumented("what objects convert to")
	version := p.reviewVersion(ctx)
	body := fixtures.ReviewRequest(version)
	request, err := contract.ParseRequest(body)
	p.env.Require(err, "reading the documents' request")
	var documented struct {
		Response struct {
			ConvertedObjects []json.RawMessage `json:"convertedObjects"`
		} `json:"response"`
	}
	p.env.Require(json.Unmarshal(fixtures.ReviewSuccess(version), &documented), "reading the documents' response")
	x := p.send(ctx, "the documents' example in ConversionReview "+version, request, body)
	x.judgement = request.Judge(x.response)
	for i, got := range p.expect(ctx, x, "the documents' request") {
		want := documented.Response.ConvertedObjects[i]
		wanted, converted := p.decode(want), p.decode(got)
		if lost := lossesOf(wanted, converted); len(lost) > 0 {
			p.fail(x, fmt.Sprintf("%s: object %d: %s", x.what, i, lines(lost)))
		}
		delete(converted, "metadata") // which may have got labels and annotations
		if surplus := lossesOf(converted, wanted); len(surplus) > 0 {
			p.fail(x, fmt.Sprintf("%s: object %d: expected nothing in %s, got %s", x.what, i, strings.TrimPrefix(surplus[0].path, "."), shown(surplus[0].before)))
		}
	}
}

func (p *prober) roundTrip(ctx SpecContext) {
	c := p.env.Subject.Corpus
	version := p.reviewVersion(ctx)
	tolerate := func() {}
	for _, pair := range c.Pairs() {
		objects := c.Batch(pair.From, size)
		there := p.ask(ctx, version, pair, objects...)
		var converted []*unstructured.Unstructured
		for i, raw := range p.expect(ctx, there, "a batch") {
			converted = append(converted, restored(objects[i], p.decode(raw)))
		}
		back := p.ask(ctx, version, corpus.Pair{From: pair.To, To: pair.From}, converted...)
		back.before = &there
		if v := back.judgement.Rejected(); v != nil {
			p.fail(back, fmt.Sprintf("%s: expected it to convert what it has itself converted %s, got %s", back.what, pair, v))
		}
		for i, raw := range back.judgement.Objects {
			lost := lossesOf(objects[i].Object, p.decode(raw))
			message := fmt.Sprintf("%s -> %s: object %d: %s", pair, pair.From, i, lines(lost))
			if slices.ContainsFunc(lost, func(l loss) bool { return !l.empty }) {
				p.fail(back, message)
			}
			if len(lost) > 0 {
				tolerate = func() { p.tolerate(back, message) }
			}
		}
	}
	tolerate()
}

// restored does what API servers do with a converted object: its metadata is the original's but for labels and
// annotations.
func restored(original *unstructured.Unstructured, converted map[string]any) *unstructured.Unstructured {
	after := &unstructured.Unstructured{Object: converted}
	labels, annotations := after.GetLabels(), after.GetAnnotations()
	after.Object["metadata"] = original.DeepCopy().Object["metadata"]
	after.SetLabels(labels)
	after.SetAnnotations(annotations)
	return after
}
