package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strconv"

	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/requirement"
)

type responseReview struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Request    json.RawMessage `json:"request"`
	Response   *struct {
		UID              string            `json:"uid"`
		ConvertedObjects []json.RawMessage `json:"convertedObjects"`
		Result           struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"result"`
	} `json:"response"`
}

// Judge judges the response to a request whose objects can be converted.
func (r Request) Judge(response Response) Judgement {
	var j Judgement
	review := r.envelope(&j, response)
	if review == nil {
		return j
	}
	r.uid(&j, review.Response.UID, requirement.WebhookResponseUID)
	converted := review.Response.ConvertedObjects
	status := review.Response.Result.Status
	j.Message = review.Response.Result.Message
	switch {
	case status == "Success":
		r.objects(&j, converted)
	case (status == "Failed" || status == "Failure") && len(converted) < max(len(r.Objects), 1):
		// Not the status is wrong then, but that there is a failure at all.
		j.stop(requirement.WebhookFailureAvoided, Rejected, "response.result", "a conversion that succeeds", fmt.Sprintf("%s: %s", status, quote(j.Message)))
	default:
		j.stop(requirement.WebhookResponseStatus, Rejected, "response.result.status", `"Success"`, quote(status))
	}
	return j
}

// JudgeFailure judges the response to a request whose objects cannot be converted. Its second result is false when the
// webhook says that it converted them: then there is no failure to judge.
func (r Request) JudgeFailure(response Response) (Judgement, bool) {
	var j Judgement
	if response.Err == nil && response.Status != 200 {
		// The client's request fails either way, if with a message that helps nobody.
		j.stop(requirement.WebhookFailureStatus, Tolerated, "HTTP status", `200 and a ConversionReview with result.status "Failed"`, strconv.Itoa(response.Status))
		return j, true
	}
	review := r.envelope(&j, response)
	if review == nil {
		return j, true
	}
	if review.Response.Result.Status == "Success" {
		return Judgement{}, false
	}
	j.Message = review.Response.Result.Message
	r.uid(&j, review.Response.UID, requirement.WebhookFailureUID)
	if status := review.Response.Result.Status; status != "Failed" {
		j.add(requirement.WebhookFailureStatus, Tolerated, -1, "response.result.status", `"Failed"`, quote(status))
	}
	return j, true
}

// envelope judges all that does not depend on the outcome of the conversion. It returns nil when it had to stop.
func (r Request) envelope(j *Judgement, response Response) *responseReview {
	if response.Err != nil {
		noResponse(j, response)
		return nil
	}
	if !httpStatus(j, response.Status) || !contentType(j, response.ContentType) {
		return nil
	}
	review := decodeReview(j, response.Body)
	if review == nil {
		return nil
	}
	want := group + "/" + r.ReviewVersion
	switch {
	case review.Kind != kind:
		j.stop(requirement.WebhookResponseReviewKind, Rejected, "kind", quote(kind), quote(review.Kind))
		return nil
	case review.APIVersion != want:
		j.stop(requirement.WebhookResponseReviewVersion, Rejected, "apiVersion", quote(want), quote(review.APIVersion))
		return nil
	case review.Response == nil:
		j.stop(requirement.WebhookResponseStanza, Rejected, "response", "an object", "nothing")
		return nil
	}
	if len(review.Request) > 0 && string(review.Request) != "null" {
		j.add(requirement.WebhookResponseLean, Tolerated, -1, "request", "nothing", fmt.Sprintf("%d bytes of the request again", len(review.Request)))
	}
	return review
}

func noResponse(j *Judgement, response Response) {
	switch {
	case response.Status == 0 || response.TimedOut:
		j.stop(requirement.WebhookResponseInTime, Rejected, "HTTP response", "a whole response in time", response.Err.Error())
	default:
		j.stop(requirement.WebhookResponseBody, Rejected, "HTTP body", "a whole JSON document",
			fmt.Sprintf("the end after %d bytes: %v", len(response.Body), response.Err))
	}
}

// httpStatus judges the HTTP status and tells whether an API server reads on. Statuses up to 206 pass there; with 204
// there is nothing to read.
func httpStatus(j *Judgement, status int) bool {
	switch {
	case status == 200:
		return true
	case status > 200 && status <= 206 && status != 204:
		j.add(requirement.WebhookResponseHTTPStatus, Tolerated, -1, "HTTP status", "200", strconv.Itoa(status))
		return true
	default:
		j.stop(requirement.WebhookResponseHTTPStatus, Rejected, "HTTP status", "200", strconv.Itoa(status))
		return false
	}
}

// contentType judges the content type and tells whether an API server reads on: it does unless it cannot parse it.
func contentType(j *Judgement, value string) bool {
	const id, path, want = requirement.WebhookResponseContentType, "Content-Type", "application/json"
	media, _, err := mime.ParseMediaType(value)
	switch {
	case value == "":
		j.add(id, Tolerated, -1, path, want, "none")
	case err != nil:
		j.stop(id, Rejected, path, want, fmt.Sprintf("%q, which is malformed", value))
		return false
	case media != want:
		j.add(id, Tolerated, -1, path, want, media)
	}
	return true
}

func decodeReview(j *Judgement, body []byte) *responseReview {
	if len(body) == 0 {
		j.stop(requirement.WebhookResponseBody, Rejected, "HTTP body", "a JSON document", "nothing")
		return nil
	}
	var review responseReview
	err := kjson.UnmarshalCaseSensitivePreserveInts(body, &review)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return &review
	case errors.As(err, &wrongType) || json.Valid(body):
		j.stop(requirement.WebhookResponseReviewKind, Rejected, "HTTP body", "a ConversionReview", err.Error())
	default:
		j.stop(requirement.WebhookResponseBody, Rejected, "HTTP body", "a JSON document", fmt.Sprintf("%s (%v)", quote(string(body)), err))
	}
	return nil
}

// uid judges the uid of a response. For v1beta1 API servers do not look at it.
func (r Request) uid(j *Judgement, uid string, id requirement.ID) {
	if uid == r.UID {
		return
	}
	severity := Rejected
	if r.ReviewVersion == "v1beta1" {
		severity = Tolerated
	}
	j.add(id, severity, -1, "response.uid", quote(r.UID), quote(uid))
}

func quote(s string) string { return clip(strconv.Quote(s)) }
