package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(fieldsOf(p.decode(want)), fieldsOf(p.decode(got))); diff != "" {
			p.fail(x, fmt.Sprintf("%s: object %d: expected (-), got (+):\n%s", x.what, i, diff))
		}
	}
}

// fieldsOf returns an object without its metadata, of which other specs judge.
func fieldsOf(object map[string]any) map[string]any {
	fields := maps.Clone(object)
	delete(fields, "metadata")
	return fields
}

func (p *prober) roundTrip(ctx SpecContext) {
	c := p.env.Subject.Corpus
	version := p.reviewVersion(ctx)
	for _, pair := range c.Pairs() {
		objects := c.Batch(pair.From, size)
		there := p.ask(ctx, version, pair, objects...)
		var converted []*unstructured.Unstructured
		for i, raw := range p.expect(ctx, there, "a batch") {
			converted = append(converted, restored(objects[i], p.decode(raw)))
		}
		back := p.ask(ctx, version, corpus.Pair{From: pair.To, To: pair.From}, converted...)
		if v := back.judgement.Rejected(); v != nil {
			p.fail(back, fmt.Sprintf("%s: expected it to convert what it has itself converted %s, got %s", back.what, pair, v))
		}
		for i, raw := range back.judgement.Objects {
			if diff := lost(objects[i].Object, p.decode(raw)); diff != "" {
				p.fail(there, fmt.Sprintf("%s -> %s: object %d: expected (-), got (+):\n%s", pair, pair.From, i, diff))
			}
		}
	}
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

// lost says what an object lost or changed on a round trip. Annotations may have been added, since webhooks keep there
// what the other version has no field for.
func lost(before, after map[string]any) string {
	if diff := cmp.Diff(fieldsOf(before), fieldsOf(after)); diff != "" {
		return diff
	}
	was, is := &unstructured.Unstructured{Object: before}, &unstructured.Unstructured{Object: after}
	kept := maps.Clone(is.GetAnnotations())
	maps.DeleteFunc(kept, func(name, _ string) bool { _, had := was.GetAnnotations()[name]; return !had })
	return cmp.Diff(was.GetLabels(), is.GetLabels()) + cmp.Diff(was.GetAnnotations(), kept)
}

// large is the first integer that floating point numbers of 64 bits do not have.
const large = int64(1)<<53 + 1

func (p *prober) integers(ctx SpecContext) {
	p.sound(ctx)
	c := p.env.Subject.Corpus
	seen := false
	for _, pair := range c.Pairs() {
		objects := c.Objects(pair.From)
		for _, object := range objects {
			if !enlarge(object.Object) {
				object.Object["replicas"] = large
			}
		}
		x := p.ask(ctx, p.reviewVersion(ctx), pair, objects...)
		// Fields may well be too small for it, so a refusal is none of this spec's business.
		for i, raw := range x.judgement.Objects {
			fields, err := json.Marshal(fieldsOf(p.decode(raw)))
			p.env.Require(err, "encoding an object")
			switch {
			case strings.Contains(string(fields), strconv.FormatInt(large, 10)):
				seen = true
			case strings.Contains(string(fields), strconv.FormatInt(large-1, 10)) || strings.Contains(string(fields), "9.007199254740992e+15"):
				p.fail(x, fmt.Sprintf("%s: object %d: expected %d, got it as %d: %s", x.what, i, large, large-1, fields))
			}
		}
	}
	if !seen {
		Skip("the webhook keeps no large integer in these objects, so nothing can be told; give samples with fields of 64 bits")
	}
}

// enlarge makes every integer outside of metadata large, and tells whether there was one.
func enlarge(object map[string]any) bool {
	found := false
	var visit func(v any) any
	visit = func(v any) any {
		switch v := v.(type) {
		case int64:
			found = true
			return large
		case map[string]any:
			for key := range v {
				v[key] = visit(v[key])
			}
		case []any:
			for i := range v {
				v[i] = visit(v[i])
			}
		}
		return v
	}
	for key := range object {
		if key != "metadata" {
			object[key] = visit(object[key])
		}
	}
	return found
}
