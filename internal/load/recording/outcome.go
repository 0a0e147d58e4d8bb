package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// outcome is what came of a question on one side.
type outcome struct {
	verdict     string // a sentence that goes on from the name of the side
	detail      string // of the verdict: the first violation
	refused     bool   // the webhook says that the conversion failed, or has a status that is a failure
	message     string // of a conversion that failed
	objects     []map[string]any
	missing     string // why there is no response; empty when there is one
	withheld    string // why the response cannot be judged although there was one
	interrupted bool
}

// fine is the verdict on a response without violations.
const fine = "is fine"

// answers returns what both sides answer. Of two webhooks A is asked first.
func (c *comparing) answers(ctx context.Context, q *Question) (a, b outcome) {
	if c.A != nil {
		a = c.ask(ctx, c.A, q)
		return a, c.ask(ctx, c.B, q)
	}
	if q.Withheld != "" {
		return outcome{withheld: "the recording does not have the response: " + q.Withheld}, outcome{}
	}
	return judged(q, q.Recorded), c.ask(ctx, c.B, q)
}

// live returns the outcome of the side that can be asked again, and is: A unless that is a recording.
func (c *comparing) live(a, b outcome) outcome {
	if c.A == nil {
		return b
	}
	return a
}

// again asks that side.
func (c *comparing) again(ctx context.Context, q *Question) outcome {
	if c.A == nil {
		return c.ask(ctx, c.B, q)
	}
	return c.ask(ctx, c.A, q)
}

func (c *comparing) ask(ctx context.Context, client *wire.Client, q *Question) outcome {
	response := client.Send(ctx, q.Body)
	if response.Interrupted {
		return outcome{interrupted: true}
	}
	if c.A == nil && response.Err == nil {
		if redacted, err := c.Redaction.Response(q.Body, response.Body); err == nil { // otherwise it is no JSON, which the judge will say
			response.Body = redacted
		}
	}
	return judged(q, response)
}

// judged judges a response.
func judged(q *Question, response contract.Response) outcome {
	judgement := q.Request.Judge(response)
	o := outcome{verdict: verdict(judgement.Violations), message: judgement.Message}
	if response.Status == 0 && response.Err != nil {
		o.missing = response.Err.Error()
	}
	if all := judgement.Violations; len(all) > 0 {
		worst := slices.IndexFunc(all, func(v contract.Violation) bool { return v.Severity != contract.Tolerated })
		o.detail = all[max(worst, 0)].String()
	}
	o.refused = Refusal(judgement) != ""
	for _, raw := range judgement.Objects {
		var object map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
			o.objects = nil // the judge lets no such object pass
			break
		}
		o.objects = append(o.objects, object)
	}
	return o
}

// verdict puts violations into words: which requirements are violated, not how often or by which values.
func verdict(violations []contract.Violation) string {
	var ids []string
	for _, v := range violations {
		id := string(v.Requirement)
		if v.Requirement == requirement.WebhookResponseHTTPStatus {
			status, _, _ := strings.Cut(v.Actual, ";") // a hint may go with it
			status, _, _ = strings.Cut(status, `: "`)  // and what the webhook said
			id += " by " + status
		}
		if v.Severity == contract.Tolerated {
			id += " (tolerated)"
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return fine
	}
	slices.Sort(ids)
	return "violates " + strings.Join(slices.Compact(ids), ", ")
}

// words are the verdict with its first violation.
func (o outcome) words() json.RawMessage {
	if o.detail == "" {
		return sentence(o.verdict)
	}
	return sentence(o.verdict + ": " + o.detail)
}

// only is the outcome with no other object than one; with none for -1.
func (o outcome) only(object int) outcome {
	all := o.objects
	o.objects = nil
	if object >= 0 && object < len(all) {
		o.objects = make([]map[string]any, object+1)
		o.objects[object] = all[object]
	}
	return o
}

// deviation is a difference between two outcomes.
type deviation struct {
	key
	object int    // in the request; -1 when it is about the request as a whole
	at     string // path with indices
	a, b   json.RawMessage
}

// among reports whether others are about the same: the field, or whatever the verdicts and messages are.
func (f deviation) among(others []deviation) bool {
	return slices.ContainsFunc(others, func(o deviation) bool {
		if f.what == FieldDiffers {
			return o.key == f.key
		}
		return o.what != FieldDiffers
	})
}

// explained reports whether redaction may be the reason of a difference from a recorded outcome.
func (f deviation) explained(r Redaction, recorded, live outcome) bool {
	switch f.what {
	case FieldDiffers:
		return r.Explains(f.a, f.b)
	case MessageDiffers:
		return AlikeInForm(recorded.message, live.message)
	case VerdictDiffers: // see decided
	}
	return false
}

// deviations returns the differences between two outcomes.
func (c *comparing) deviations(q *Question, a, b outcome) []deviation {
	if a.verdict != b.verdict {
		k := key{what: VerdictDiffers, a: a.verdict, b: b.verdict}
		return append(c.fields(q, a, b), deviation{key: k, object: -1, a: a.words(), b: b.words()})
	}
	if a.message != b.message {
		return append(c.fields(q, a, b), deviation{key: key{what: MessageDiffers}, object: -1, a: sentence(a.message), b: sentence(b.message)})
	}
	return c.fields(q, a, b)
}

func sentence(text string) json.RawMessage { return value(text) }

// fields returns the fields in which converted objects differ, where both sides have them.
func (c *comparing) fields(q *Question, a, b outcome) []deviation {
	var found []deviation
	for i := range min(len(a.objects), len(b.objects)) {
		if a.objects[i] == nil || b.objects[i] == nil {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(q.Request.DesiredAPIVersion, (&unstructured.Unstructured{Object: a.objects[i]}).GetKind())
		var s *corpus.Schema
		if c.Schema != nil {
			s = c.Schema(gvk.Group, gvk.Kind, gvk.Version)
		}
		for _, l := range s.Apart(a.objects[i], b.objects[i]) {
			f := deviation{key: key{what: FieldDiffers, kind: gvk.Kind, path: s.Place(l.Path)}, object: i, at: l.Path}
			if !l.Added {
				f.a = value(l.Before)
			}
			if l.After != nil {
				f.b = value(l.After)
			}
			found = append(found, f)
		}
	}
	return found
}

// value is a value of an object as JSON.
func value(v any) json.RawMessage {
	text, err := corpus.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("difference: %v", err)) // it came from JSON
	}
	return text
}

// example describes a deviation to people.
func (c *comparing) example(i int, f deviation) Example {
	q := c.questions[i]
	e := Example{Line: q.Line, To: q.Request.DesiredAPIVersion, Path: f.at, A: f.a, B: f.b}
	if at := max(f.object, 0); at < len(q.Request.Objects) {
		object := &unstructured.Unstructured{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Request.Objects[at], &object.Object); err == nil {
			e.From, e.Object = object.GetAPIVersion(), object.GetName()
			if namespace := object.GetNamespace(); namespace != "" {
				e.Object = namespace + "/" + e.Object
			}
		}
	}
	return e
}
