package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// expectations has the specs about results that are given: by the documents, or by the author.
type expectations struct {
	material
}

// expected compares what objects become with what their author says that they become, field by field.
func (xs *expectations) expected(ctx SpecContext) {
	xs.connection.secured(ctx)
	all := xs.env.Subject.Corpus.Expected
	if len(all) == 0 {
		xs.env.Inapplicable("no file says what an object becomes at another version; such files can be given, and recorded")
	}
	var first *exchange
	var object []byte
	var lines []string
	var findings []reports.FieldFinding
	for _, e := range all {
		for _, output := range e.Outputs {
			pair := corpus.Pair{From: e.Input.GroupVersionKind().Version, To: output.GroupVersionKind().Version}
			x := xs.talk.ask(ctx, xs.standard.reviewVersion(ctx), pair, e.Input.Unstructured)
			found := xs.unexpected(&x, pair, output.Object)
			xs.env.Tried(1)
			for _, f := range found {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", output.From, pair, f.Message))
			}
			if len(found) > 0 && first == nil {
				first, object = &x, corpus.YAML(e.Input.Unstructured)
			}
			findings = append(findings, found...)
		}
	}
	if first == nil {
		return
	}
	xs.env.Found(findings)
	xs.env.Attach("object.yaml", object)
	if len(lines) > mostTold {
		xs.env.Attach("places.txt", []byte(strings.Join(lines, "\n")+"\n"))
	}
	xs.exhibits.violated(requirement.Failed, *first, strings.Join(visible.Few(lines, mostTold, placesLeft), "\n"))
}

// unexpected returns the fields in which the result of an exchange is not as expected.
func (xs *expectations) unexpected(x *exchange, pair corpus.Pair, expected map[string]any) []reports.FieldFinding {
	if v := x.judgement.Rejected(); v != nil {
		return []reports.FieldFinding{{Effect: refused, From: pair.From, To: pair.To, Message: "conversion failed: " + v.String()}}
	}
	schema := xs.definition.schemaOf(pair.To)
	var found []reports.FieldFinding
	for _, l := range schema.Unexpected(expected, xs.exhibits.decode(x.judgement.Objects[0])) {
		found = append(found, reports.FieldFinding{Field: schema.Pattern(l.Path), Effect: differs, From: pair.From, To: pair.To, Message: l.String()})
	}
	return found
}

func (xs *expectations) documentedExample(ctx SpecContext) {
	xs.definition.onlyDocumented("what objects convert to")
	version := xs.standard.reviewVersion(ctx)
	body := fixtures.ReviewRequest(version)
	request, err := contract.ParseRequest(body)
	xs.env.Require(err, "reading the documents' request")
	var documented struct {
		Response struct {
			ConvertedObjects []json.RawMessage `json:"convertedObjects"`
		} `json:"response"`
	}
	xs.env.Require(json.Unmarshal(fixtures.ReviewSuccess(version), &documented), "reading the documents' response")
	x := xs.connection.send(ctx, "the documents' example in ConversionReview "+version, request, body)
	x.judgement = request.Judge(x.response)
	var schema *corpus.Schema // the documents' example says more than the schema
	for i, got := range xs.standard.expect(ctx, x, "the documents' request") {
		xs.env.Tried(1)
		want := documented.Response.ConvertedObjects[i]
		wanted, converted := xs.exhibits.decode(want), xs.exhibits.decode(got)
		if lost := schema.Losses(wanted, converted); len(lost) > 0 {
			xs.exhibits.fail(x, fmt.Sprintf("%s: object %d: %s", x.what, i, strings.Join(visible.Strings(lost), "\n")))
		}
		delete(converted, "metadata") // which may have got labels and annotations
		if surplus := schema.Losses(converted, wanted); len(surplus) > 0 {
			xs.exhibits.fail(x, fmt.Sprintf("%s: object %d: expected nothing in %s, got %v", x.what, i, surplus[0].Path, surplus[0].Before))
		}
	}
}
