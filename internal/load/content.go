package load

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// Content is what a webhook answered before the load, when it had nothing else to do.
type Content struct {
	Answers []Answer `json:"answers"`           // by request
	Varying []string `json:"varying,omitempty"` // fields that differ each time, with [*] for any index; they are not compared
}

// Answer is the expected response to one request.
type Answer struct {
	Objects [][]byte `json:"objects,omitempty"` // converted, as JSON; nil if not known

	// Body is a response with exactly these objects, and UID that of its request; empty if there was none.
	Body []byte `json:"body,omitempty"`
	UID  string `json:"uid,omitempty"`

	// Violations are what is wrong with these objects, or why they are not known. Each response has them.
	Violations []contract.Violation `json:"violations,omitempty"`
}

// expected compares responses with an answer. It is safe for use by many goroutines.
type expected struct {
	answer        Answer
	request       contract.Request // prepared
	before, after []byte           // what the uid stands between in a response; nil if that is not known
	objects       func() []map[string]any
	varying       []string
}

// expected returns what is expected of the responses to the n-th request; nil for nothing.
func (c *Content) expected(n int, request contract.Request) *expected {
	if c == nil {
		return nil
	}
	e := &expected{answer: c.Answers[n], request: request.Prepare(), varying: c.Varying}
	e.objects = sync.OnceValue(func() []map[string]any { return decoded(e.answer.Objects) })
	uid := []byte(e.answer.UID)
	if bytes.Count(e.answer.Body, uid) == 1 && len(uid) == uidLength {
		e.before, e.after, _ = bytes.Cut(e.answer.Body, uid)
	}
	return e
}

// judge adds what is wrong with the objects in a response that API servers accept.
func (e *expected) judge(j *contract.Judgement, uid string, response contract.Response) {
	if e == nil || j.Rejected() != nil {
		return
	}
	if !e.same(uid, response.Body) {
		if v := e.difference(uid, response); v != nil {
			j.Violations = append(j.Violations, *v)
		}
	}
	j.Violations = append(j.Violations, e.answer.Violations...)
}

// same reports whether a response is the expected one, byte by byte but for the uid.
func (e *expected) same(uid string, body []byte) bool {
	return e.before != nil && len(body) == len(e.before)+len(uid)+len(e.after) &&
		bytes.HasPrefix(body, e.before) && bytes.HasSuffix(body, e.after) && string(body[len(e.before):len(e.before)+len(uid)]) == uid
}

// difference returns the first difference in meaning between the objects in a response and the expected ones.
func (e *expected) difference(uid string, response contract.Response) *contract.Violation {
	if e.answer.Objects == nil {
		return nil
	}
	request := e.request
	request.UID = uid
	judgement := request.Judge(response)
	for i, raw := range judgement.Objects {
		if bytes.Equal(raw, e.answer.Objects[i]) {
			continue
		}
		if lost := unlike(e.objects()[i], decode(raw), e.varying); len(lost) > 0 {
			return violation(requirement.WebhookConversionPure, i, lost[0], " as before the load")
		}
	}
	return nil
}

// violation says that an object has something else than it should.
func violation(id requirement.ID, object int, l corpus.Loss, when string) *contract.Violation {
	v := &contract.Violation{Requirement: id, Severity: contract.Rejected, Object: object, Path: l.Path, Expected: value(l.Before), Actual: value(l.After)}
	if l.Added {
		v.Expected = "nothing"
	}
	if l.After == nil {
		v.Actual = "nothing"
	}
	v.Expected += when
	return v
}

// value is a value of an object as JSON, cut to what fits a line.
func value(v any) string {
	text, err := corpus.Encode(v)
	if err != nil {
		return "a value that JSON cannot hold"
	}
	return visible.Cut(string(text), 120)
}

// unlike returns the differences between two objects, but for varying fields.
func unlike(a, b map[string]any, varying []string) []corpus.Loss {
	var schema *corpus.Schema // workers have none, and all must agree
	return slices.DeleteFunc(schema.Apart(a, b), func(l corpus.Loss) bool { return varies(l.Path, varying) })
}

// varies reports whether a path is one of the varying fields, or below one.
func varies(path string, varying []string) bool {
	place := fieldpath.Generalize(path)
	return slices.ContainsFunc(varying, func(field string) bool { return fieldpath.Within(place, field) })
}

// decoded returns objects that the judge has accepted.
func decoded[T ~[]byte](all []T) []map[string]any {
	objects := make([]map[string]any, len(all))
	for i, raw := range all {
		objects[i] = decode(json.RawMessage(raw))
	}
	return objects
}

func decode(raw json.RawMessage) map[string]any {
	var object map[string]any
	_ = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object) // the judge accepts no objects for which it fails
	return object
}
