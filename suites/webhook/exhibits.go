package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// exhibits shows exchanges in reports: with what is needed to send them again, and as the reason for a verdict.
type exhibits struct {
	env *suites.Env
}

// violated makes the verdict what a violation amounts to, with the exchange that shows why.
func (e *exhibits) violated(severity requirement.Verdict, x exchange, message string) {
	GinkgoHelper()
	e.attach(x)
	e.env.Violated(severity, message)
}

// fail fails the spec with the exchange that shows why.
func (e *exhibits) fail(x exchange, message string) {
	GinkgoHelper()
	e.violated(requirement.Failed, x, message)
}

// rejected fails the spec because API servers refuse a response. It may be for what another requirement says.
func (e *exhibits) rejected(x exchange, message string) {
	GinkgoHelper()
	if violated := violatedBy(x); violated != "" {
		of := reports.FieldFinding{Effect: refused, To: x.to, Message: message, Violates: violated}
		if len(x.request.Objects) > 0 {
			first := unstructured.Unstructured{Object: e.decode(x.request.Objects[0])}
			of.From = first.GroupVersionKind().Version
		}
		e.env.Found([]reports.FieldFinding{of})
	}
	e.fail(x, message)
}

// violatedBy returns the requirement for which API servers refuse a response. It is empty for a failure, which says nothing of what it is for.
func violatedBy(x exchange) requirement.ID {
	if v := x.judgement.Rejected(); v != nil && v.Requirement != requirement.WebhookFailureAvoided {
		return v.Requirement
	}
	return ""
}

// skip skips the spec because of a violation that another spec reports, if that one is checked as well.
func (e *exhibits) skip(x exchange) {
	GinkgoHelper()
	broken, why := x.judgement.Stopped, x.what
	if v := x.judgement.Rejected(); broken == "" && v != nil {
		broken = v.Requirement
	}
	if i := slices.IndexFunc(x.judgement.Violations, func(v contract.Violation) bool { return v.Requirement == broken }); i >= 0 {
		why += ": " + x.judgement.Violations[i].String()
	}
	Skip(fmt.Sprintf("cannot be judged while %s fails (%s)", broken, why))
}

// attach attaches the request, and what is needed to send it again; and the exchange that came before, if that matters.
func (e *exhibits) attach(x exchange) {
	e.env.Attach("reproduce.sh", e.script(x))
	e.env.Attach("request.json", x.sent())
	e.env.Attach("response.txt", kept(&x)) // what a browser must not take for a page
	if x.before != nil {
		e.env.Attach("request-before.json", x.before.sent())
		e.env.Attach("response-before.txt", kept(x.before))
	}
	if ca := e.env.Subject.Client.Endpoint().CA; len(ca) > 0 {
		e.env.Attach("ca.crt", ca)
	}
}

// kept is what is kept of the body of a response: all, unless it is out of proportion to the request. Reports indent what is JSON, which
// makes what is nested deep a thousand times as long.
func kept(x *exchange) []byte {
	const deep = 4 << 10
	body, most := x.response.Body, proportionate(x)
	if contract.CheckBody(x.sent(), body) != nil {
		most = deep
	}
	if len(body) > most {
		return fmt.Appendf(bytes.Clone(body[:most]), "\n(%d bytes were read; the others are left out)", len(body))
	}
	return body
}

// proportionate is how long a response may be that is kept as a whole, in bytes.
func proportionate(x *exchange) int { return 2*len(x.sent()) + 128<<10 }

// described lists the first violations that are seen in an exchange.
func described(x exchange, violations []contract.Violation) string {
	return x.what + ": " + strings.Join(visible.Few(visible.Strings(violations), 3, " like this"), "\n")
}

func rejected(v contract.Violation) bool { return v.Severity == contract.Rejected }

// sent returns the objects of an exchange, none of one that API servers would not send.
func (e *exhibits) sent(x *exchange) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, len(x.request.Objects))
	for _, raw := range x.request.Objects {
		objects = append(objects, &unstructured.Unstructured{Object: e.decode(raw)})
	}
	return objects
}

// named lists objects by name, the first of them where there are many.
func (e *exhibits) named(objects []*unstructured.Unstructured) string {
	const most = 3
	var names []string
	for _, object := range objects[:min(len(objects), most)] {
		names = append(names, e.env.Subject.Corpus.Called(object))
	}
	if more := len(objects) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// decode decodes an object, integers as such. Nil stays nil.
func (e *exhibits) decode(raw json.RawMessage) map[string]any {
	GinkgoHelper()
	if raw == nil {
		return nil
	}
	object := &unstructured.Unstructured{}
	e.env.Require(object.UnmarshalJSON(raw), "decoding an object")
	return object.Object
}
