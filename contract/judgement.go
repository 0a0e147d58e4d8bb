package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// Response is what came back over HTTP for a request.
type Response struct {
	Status      int    // HTTP status; 0 when nothing came back
	ContentType string // value of the Content-Type header; empty when there was none
	Body        []byte // what was read of the body, decompressed
	Err         error  // why there is no response, or only a part of one; nil when it is whole
	TimedOut    bool   // whether Err is that the webhook took too long

	// Interrupted is whether Err is that the caller gave up. Such a response says nothing about the webhook, and is not to be
	// judged.
	Interrupted bool

	Protocol     string // such as HTTP/1.1; empty when nothing came back
	RedirectedTo string // URL that the webhook redirected to; empty when it did not
	Attempts     int    // how often it was asked, because it wanted to be asked again later; 0 stands for 1
}

// Severity says what a violation means in production.
type Severity int

// The severities. An API server fails the client's request for a rejected response and uses a tolerated one.
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
	Requirement requirement.ID
	Severity    Severity
	Object      int    // index into request.objects; -1 when it concerns the response as a whole
	Path        string // the place in the response, such as response.uid
	Expected    string
	Actual      string
}

// String renders the violation as one line.
func (v Violation) String() string {
	var b strings.Builder
	if v.Object >= 0 {
		fmt.Fprintf(&b, "object %d: ", v.Object)
	}
	fmt.Fprintf(&b, "%s: expected %s, got %s", v.Path, v.Expected, v.Actual)
	return b.String()
}

// Judgement is what the judge has to say of one response.
type Judgement struct {
	Violations []Violation

	// Stopped is the requirement whose violation made it impossible to look further; what comes after it in its order was
	// not judged. Empty when everything was.
	Stopped requirement.ID

	// Objects are the converted objects in the order of the request. Nil unless the conversion succeeded and all are
	// there.
	Objects []json.RawMessage

	// Message is what the webhook said of a conversion that failed.
	Message string

	failure bool // whether it is of a conversion that was to fail
}

// order lists the requirements that the judge looks at, in the order in which it does.
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

// Judged reports whether the judge could look at a requirement.
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

// Rejected returns the first violation for which an API server would fail the client's request, nil if there is none.
func (j *Judgement) Rejected() *Violation {
	for i := range j.Violations {
		if j.Violations[i].Severity == Rejected {
			return &j.Violations[i]
		}
	}
	return nil
}

// whole stands for violations that are in no part of a requirement.
const whole requirement.PartName = ""

// add adds a violation of a requirement, in one of its parts or none. The catalogue says how severe that is.
func (j *Judgement) add(id requirement.ID, part requirement.PartName, object int, path, expected, actual string) {
	severity := Rejected
	if requirement.SeverityOf(id, part) == requirement.Tolerated {
		severity = Tolerated
	}
	j.Violations = append(j.Violations, Violation{id, severity, object, path, expected, actual})
}

// stop adds a violation beyond which nothing can be judged.
func (j *Judgement) stop(id requirement.ID, part requirement.PartName, path, expected, actual string) {
	j.add(id, part, -1, path, expected, actual)
	j.Stopped = id
}

// most is how many bytes are shown of what a webhook sent.
const most = 300

// clip shortens what a webhook sent to what fits a line.
func clip[T ~string | ~[]byte](s T) string {
	if len(s) <= most {
		return string(s)
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(string(s[:most]), ""), len(s))
}

// quote does the same, with quotes and escapes.
func quote[T ~string | ~[]byte](s T) string {
	if len(s) <= most {
		return strconv.Quote(string(s))
	}
	return fmt.Sprintf("%q... (%d bytes)", strings.ToValidUTF8(string(s[:most]), ""), len(s))
}
