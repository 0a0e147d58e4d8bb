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
func (fd *fields) expected(ctx SpecContext) {
	fd.connection.secured(ctx)
	all := fd.env.Subject.Corpus.Expected
	if len(all) == 0 {
		fd.env.Inapplicable("no file says what an object becomes at another version; such files can be given, and recorded")
	}
	var first *exchange
	var object []byte
	var lines []string
	var findings []reports.FieldFinding
	for _, e := range all {
		for _, output := range e.Outputs {
			pair := corpus.Pair{From: e.Input.GroupVersionKind().Version, To: output.GroupVersionKind().Version}
			x := fd.talk.ask(ctx, fd.standard.reviewVersion(ctx), pair, e.Input.Unstructured)
			found := fd.unexpected(&x, pair, output.Object)
			fd.env.Tried(1)
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
	fd.env.Found(findings)
	fd.env.Attach("object.yaml", object)
	if more := len(lines) - mostTold; more > 0 {
		fd.env.Attach("places.txt", []byte(strings.Join(lines, "\n")+"\n"))
		lines = append(lines[:mostTold], fmt.Sprintf("and %d more places like this, see places.txt", more))
	}
	fd.exhibits.violated(requirement.Failed, *first, strings.Join(lines, "\n"))
}

// unexpected returns the fields in which the result of an exchange is not as expected.
func (fd *fields) unexpected(x *exchange, pair corpus.Pair, expected map[string]any) []reports.FieldFinding {
	if v := x.judgement.Rejected(); v != nil {
		return []reports.FieldFinding{{Effect: refused, From: pair.From, To: pair.To, Message: "conversion failed: " + v.String()}}
	}
	schema := fd.definition.schemaOf(pair.To)
	var found []reports.FieldFinding
	for _, l := range schema.Unexpected(expected, fd.exhibits.decode(x.judgement.Objects[0])) {
		found = append(found, reports.FieldFinding{Field: schema.Pattern(l.Path), Effect: differs, From: pair.From, To: pair.To, Message: l.String()})
	}
	return found
}
