package webhook

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// expected compares what objects become with what their author says that they become, field by field.
func (p *prober) expected(ctx SpecContext) {
	p.connection.secured(ctx)
	all := p.env.Subject.Corpus.Expected
	if len(all) == 0 {
		p.env.Inapplicable("no file says what an object becomes at another version; such files can be given, and recorded")
	}
	var first *exchange
	var object []byte
	var lines []string
	var findings []reports.FieldFinding
	for _, e := range all {
		for _, output := range e.Outputs {
			pair := corpus.Pair{From: e.Input.GroupVersionKind().Version, To: output.GroupVersionKind().Version}
			x := p.talk.ask(ctx, p.standard.reviewVersion(ctx), pair, e.Input.Unstructured)
			found := p.unexpected(&x, pair, output.Object)
			p.env.Tried(1)
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
	p.env.Found(findings)
	p.env.Attach("object.yaml", object)
	if more := len(lines) - mostTold; more > 0 {
		p.env.Attach("places.txt", []byte(strings.Join(lines, "\n")+"\n"))
		lines = append(lines[:mostTold], fmt.Sprintf("and %d more places like this, see places.txt", more))
	}
	p.exhibits.violated(requirement.Failed, *first, strings.Join(lines, "\n"))
}

// unexpected returns the fields in which the result of an exchange is not as expected.
func (p *prober) unexpected(x *exchange, pair corpus.Pair, expected map[string]any) []reports.FieldFinding {
	if v := x.judgement.Rejected(); v != nil {
		return []reports.FieldFinding{{Effect: refused, From: pair.From, To: pair.To, Message: "conversion failed: " + v.String()}}
	}
	schema := p.definition.schemaOf(pair.To)
	var found []reports.FieldFinding
	for _, l := range schema.Unexpected(expected, p.exhibits.decode(x.judgement.Objects[0])) {
		found = append(found, reports.FieldFinding{Field: schema.Pattern(l.Path), Effect: differs, From: pair.From, To: pair.To, Message: l.String()})
	}
	return found
}
