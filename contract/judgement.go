package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// Response is the HTTP response to a request.
type Response struct {
	Status      int    // HTTP status; 0 without a response
	ContentType string // value of the Content-Type header; empty if there was none
	Body        []byte // the part of the body that was read, decompressed
	Err         error  // why there is no response, or only a part of one; nil if it is complete
	TimedOut    bool   // whether Err means that the webhook took too long

	// Interrupted reports whether Err means that the caller gave up. Such a response says nothing about the webhook and must not be
	// judged.
	Interrupted bool

	Protocol     string // such as HTTP/1.1; empty without a response
	RedirectedTo string // URL that the webhook redirected to; empty if it did not
	Attempts     int    // number of times the request was sent, as the webhook requested retries; 0 means 1
}

// Severity is the effect of a violation in production.
type Severity int

// The severities. An API server fails the client's request if a response is Rejected, and uses a response that is Tolerated.
const (
	Rejected Severity = iota + 1
	Tolerated
)

// String returns "rejected" or "tolerated".
func (s Severity) String() string {
	switch s {
	case Rejected:
		return "rejected"
	case Tolerated:
		return "tolerated"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// Violation is one way in which a response breaks a requirement.
type Violation struct {
	Requirement requirement.ID `json:"requirement"`
	Severity    Severity       `json:"severity"`
	Object      int            `json:"object"` // index into request.objects; -1 if it concerns the response as a whole
	Path        string         `json:"path"`   // place in the response, such as response.uid
	Expected    string         `json:"expected"`
	Actual      string         `json:"actual"`
}

// String returns the violation on one line.
func (v Violation) String() string {
	var b strings.Builder
	if v.Object >= 0 {
		fmt.Fprintf(&b, "object %d: ", v.Object)
	}
	fmt.Fprintf(&b, "%s: expected %s, got %s", v.Path, v.Expected, v.Actual)
	return b.String()
}

// Judgement is the result of judging one response.
type Judgement struct {
	Violations []Violation

	// Stopped is the requirement whose violation made it impossible to continue. The requirements that come after it were not judged.
	// It is empty if all were judged.
	Stopped requirement.ID

	// Objects are the converted objects in the order of the request. It is nil unless the conversion succeeded and all objects are
	// present.
	Objects []json.RawMessage

	// Message is the message in the webhook's result. API servers show the one of a failed conversion to clients.
	Message string

	failure bool // whether the conversion was supposed to fail
}

// order returns the requirements that are judged, in the order in which they are judged.
func order() []requirement.ID {
	return []requirement.ID{
		requirement.WebhookResponseInTime,
		requirement.WebhookResponseHTTPStatus,
		requirement.WebhookResponseContentType,
		requirement.WebhookResponseBody,
		requirement.WebhookResponseReviewKind,
		requirement.WebhookResponseReviewVersion,
		requirement.WebhookResponseStanza,
		requirement.WebhookResponseLean,
		requirement.WebhookResponseUID,
		requirement.WebhookResponseStatus,
		requirement.WebhookFailureStatus,
		requirement.WebhookFailureUID,
		requirement.WebhookFailureAvoided,
		requirement.WebhookResponseAllObjects,
		requirement.WebhookResponseOrder,
		requirement.WebhookResponseAPIVersion,
		requirement.WebhookResponseKind,
		requirement.WebhookMetadataPresent,
		requirement.WebhookMetadataName,
		requirement.WebhookMetadataNamespace,
		requirement.WebhookMetadataUID,
		requirement.WebhookMetadataUnchanged,
		requirement.WebhookMetadataLabelsValid,
	}
}

// Judged reports whether a requirement could be judged.
func (j *Judgement) Judged(id requirement.ID) bool {
	order := order()
	if j.failure {
		order = []requirement.ID{requirement.WebhookFailureStatus, requirement.WebhookFailureUID}
	}
	at := slices.Index(order, id)
	return at >= 0 && (j.Stopped == "" || at <= slices.Index(order, j.Stopped))
}

// Of returns the violations of one requirement.
func (j *Judgement) Of(id requirement.ID) []Violation {
	var of []Violation
	for _, v := range j.Violations {
		if v.Requirement == id {
			of = append(of, v)
		}
	}
	return of
}

// Rejected returns the first violation for which an API server would fail the client's request, or nil if there is none.
func (j *Judgement) Rejected() *Violation {
	for i := range j.Violations {
		if j.Violations[i].Severity == Rejected {
			return &j.Violations[i]
		}
	}
	return nil
}

// whole is the part of violations that belong to no part of a requirement.
const whole requirement.PartName = ""

// add adds a violation of a requirement, in one of its parts or in none. The catalogue defines its severity.
func (j *Judgement) add(id requirement.ID, part requirement.PartName, object int, path, expected, actual string) {
	severity := Rejected
	if requirement.SeverityOf(id, part) == requirement.Tolerated {
		severity = Tolerated
	}
	j.Violations = append(j.Violations, Violation{id, severity, object, path, expected, actual})
}

// stop adds a violation after which nothing can be judged.
func (j *Judgement) stop(id requirement.ID, part requirement.PartName, path, expected, actual string) {
	j.add(id, part, -1, path, expected, actual)
	j.Stopped = id
}

// most is the maximum number of bytes shown of anything that a webhook sent.
const most = 300

// clip shortens text that a webhook sent, so that it fits on a line.
func clip[T ~string | ~[]byte](s T) string {
	if len(s) <= most {
		return string(s)
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(string(s[:most]), ""), len(s))
}

// quote does the same as clip, with quotes and escapes.
func quote[T ~string | ~[]byte](s T) string {
	if len(s) <= most {
		return strconv.Quote(string(s))
	}
	return fmt.Sprintf("%q... (%d bytes)", strings.ToValidUTF8(string(s[:most]), ""), len(s))
}
