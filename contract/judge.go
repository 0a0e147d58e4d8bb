package contract

import (
	"fmt"
	"mime"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/cluster/redact"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// Judge judges the response to a request whose objects can be converted. The Objects of the judgement may be parts of the body of the
// response, which must not be changed afterwards.
func (r Request) Judge(response Response) Judgement {
	var j Judgement
	if arrived(&j, response) && r.scanned(&j, response.Body) {
		return j
	}
	return r.decoded(response)
}

// decoded judges a response by decoding it as API servers do.
func (r Request) decoded(response Response) Judgement {
	var j Judgement
	answer := r.envelope(&j, response)
	if answer == nil {
		return j
	}
	r.uid(&j, string(answer.UID), requirement.WebhookResponseUID)
	converted := answer.ConvertedObjects
	status := answer.Result.Status
	j.Message = answer.Result.Message
	switch {
	case status == "Success":
		r.objects(&j, converted)
	case (status == "Failed" || status == "Failure") && len(converted) < max(len(r.Objects), 1):
		// The status is not wrong here: the conversion should not have failed.
		j.stop(requirement.WebhookFailureAvoided, whole, "response.result", "a conversion that succeeds", fmt.Sprintf("%s: %s", status, quote(j.Message)))
	default:
		j.stop(requirement.WebhookResponseStatus, whole, "response.result.status", `"Success"`, quote(status))
	}
	return j
}

// JudgeFailure judges the response to a request whose objects cannot be converted. It returns false if the webhook says that it
// converted them, since then there is no failure to judge. Only the two requirements on failures count as judged. Anything that keeps
// the webhook from saying that the conversion failed violates the first of them. This is only a finding if conversions that succeed
// get a response.
func (r Request) JudgeFailure(response Response) (Judgement, bool) {
	j := Judgement{failure: true}
	const id, want = requirement.WebhookFailureStatus, `200 and a ConversionReview with result.status "Failed"`
	if response.Err == nil && (response.Status < 200 || response.Status > 206 || response.Status == 204) {
		// The client's request fails either way, even if with an unhelpful message.
		j.stop(id, requirement.PartHTTPStatus, "HTTP status", want, strconv.Itoa(response.Status)+detours(response)+said(response.Body))
		return j, true
	}
	answer := r.envelope(&j, response)
	if answer == nil {
		last := &j.Violations[len(j.Violations)-1]
		last.Requirement, last.Expected, j.Stopped = id, want, id
		return j, true
	}
	if answer.Result.Status == "Success" {
		return Judgement{}, false
	}
	j.Message = answer.Result.Message
	if status := answer.Result.Status; status != "Failed" {
		j.add(id, requirement.PartSpelling, -1, "response.result.status", `"Failed"`, quote(status))
	}
	r.uid(&j, string(answer.UID), requirement.WebhookFailureUID)
	return j, true
}

// envelope judges everything that does not depend on the outcome of the conversion. It returns nil if it had to stop.
func (r Request) envelope(j *Judgement, response Response) *apiextensionsv1.ConversionResponse {
	if !arrived(j, response) {
		return nil
	}
	review := r.review(j, response.Body)
	if review == nil || !r.named(j, review.Kind, review.APIVersion) {
		return nil
	}
	if review.Response == nil {
		j.stop(requirement.WebhookResponseStanza, whole, "response", "an object", "nothing")
		return nil
	}
	if review.Request != nil {
		lean(j, len(review.Request.Objects))
	}
	return review.Response
}

// arrived judges everything but the body, and reports whether an API server would read the body.
func arrived(j *Judgement, response Response) bool {
	if response.Err != nil {
		noResponse(j, response)
		return false
	}
	return httpStatus(j, response) && contentType(j, response.ContentType)
}

// lean adds the violation that a response contains a request.
func lean(j *Judgement, objects int) {
	j.add(requirement.WebhookResponseLean, whole, -1, "request", "nothing", fmt.Sprintf("another request, with %d objects", objects))
}

// named judges the kind and apiVersion of the ConversionReview, and reports whether an API server would read on. For v1beta1, an API
// server does so even if they are missing.
func (r Request) named(j *Judgement, is, apiVersion string) bool {
	lenient := r.ReviewVersion == "v1beta1"
	switch {
	case is == kind:
	case is == "" && lenient:
		j.add(requirement.WebhookResponseReviewKind, requirement.PartMissingInV1beta1, -1, "kind", quote(kind), quote(is))
	default:
		j.stop(requirement.WebhookResponseReviewKind, whole, "kind", quote(kind), quote(is))
		return false
	}
	switch want := group + "/" + r.ReviewVersion; {
	case apiVersion == want:
	case versionless(apiVersion) && lenient:
		j.add(requirement.WebhookResponseReviewVersion, requirement.PartMissingInV1beta1, -1, "apiVersion", quote(want), quote(apiVersion))
	default:
		j.stop(requirement.WebhookResponseReviewVersion, whole, "apiVersion", quote(want), quote(apiVersion))
		return false
	}
	return true
}

func noResponse(j *Judgement, response Response) {
	switch {
	case response.Status == 0 || response.TimedOut:
		j.stop(requirement.WebhookResponseInTime, whole, "HTTP response", "a complete response in time", clip(response.Err.Error()))
	default:
		j.stop(requirement.WebhookResponseBody, whole, "HTTP body", "a complete JSON document",
			fmt.Sprintf("the end after %d bytes: %s", len(response.Body), clip(response.Err.Error())))
	}
}

// httpStatus judges the HTTP status, and reports whether an API server would read on. It does for statuses up to 206, except 204,
// which has nothing to read. A webhook that redirects, or requests a retry, has not responded with 200 either, but API servers do
// what it requests.
func httpStatus(j *Judgement, response Response) bool {
	const id, path, want = requirement.WebhookResponseHTTPStatus, "HTTP status", "200"
	status, detours := response.Status, detours(response)
	if status == 200 && detours == "" {
		return true
	}
	actual := strconv.Itoa(status) + detours + said(response.Body)
	if status == 404 {
		actual += "; check the path of the URL: many webhooks are at /convert, and that of \"crdconform serve\" at /crdconvert"
	}
	switch {
	case status >= 200 && status <= 206 && status != 204:
		j.add(id, requirement.PartFineInTheEnd, -1, path, want, actual)
		return true
	default:
		j.stop(id, whole, path, want, actual)
		return false
	}
}

// detours describes how a response came about, if it took more than a single request.
func detours(response Response) string {
	var words string
	if response.Attempts > 1 {
		words = fmt.Sprintf(" on attempt %d, which it requested with Retry-After", response.Attempts)
	}
	if response.RedirectedTo != "" {
		words += ", redirected to " + clip(response.RedirectedTo)
	}
	return words
}

// said quotes the beginning of a body that is not a ConversionReview, on one line and without anything that looks like a secret. It
// often shows which line of a webhook crashed.
func said(body []byte) string {
	text := strings.ToValidUTF8(string(body[:min(len(body), 2*most)]), "")
	if text = visible.Line(redact.Text(text)); text == "" {
		return ""
	}
	return ": " + strconv.Quote(visible.Short(text, most))
}

// contentType judges the content type, and reports whether an API server would read on. It does unless it cannot parse the content
// type.
func contentType(j *Judgement, value string) bool {
	const id, path, want = requirement.WebhookResponseContentType, "Content-Type", "application/json"
	if value == want {
		return true
	}
	media, _, err := mime.ParseMediaType(value)
	switch {
	case value == "":
		j.add(id, whole, -1, path, want, "none")
	case err != nil:
		j.stop(id, requirement.PartMalformed, path, want, quote(value)+", which is malformed")
		return false
	case media != want:
		j.add(id, whole, -1, path, want, clip(media))
	}
	return true
}

// uid judges the uid of a response. API servers ignore it for v1beta1.
func (r Request) uid(j *Judgement, uid string, id requirement.ID) {
	if uid == r.UID {
		return
	}
	part := whole
	if r.ReviewVersion == "v1beta1" {
		part = requirement.PartUIDInV1beta1
	}
	j.add(id, part, -1, "response.uid", quote(r.UID), quote(uid))
}
