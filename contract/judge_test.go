package contract_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/requirement"
)

func parse(t *testing.T, body []byte) contract.Request {
	t.Helper()
	request, err := contract.ParseRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func ok(body []byte) contract.Response {
	return contract.Response{Status: 200, ContentType: "application/json", Body: body}
}

// edit returns the documents' response with a change.
func edit(t *testing.T, version string, change func(review, response map[string]any, objects []any)) []byte {
	t.Helper()
	var review map[string]any
	if err := json.Unmarshal(fixtures.ReviewSuccess(version), &review); err != nil {
		t.Fatal(err)
	}
	response := review["response"].(map[string]any)
	change(review, response, response["convertedObjects"].([]any))
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestDocumentedResponsesAreFine(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		request := parse(t, fixtures.ReviewRequest(version))
		judgement := request.Judge(ok(fixtures.ReviewSuccess(version)))
		if len(judgement.Violations) > 0 || judgement.Stopped != "" {
			t.Errorf("%s: %v", version, judgement.Violations)
		}
		if len(judgement.Objects) != 2 {
			t.Errorf("%s: got %d objects, want 2", version, len(judgement.Objects))
		}
		judgement, failed := request.JudgeFailure(ok(fixtures.ReviewFailure(version)))
		// The documents leave a placeholder for the uid in their example, which the fixture fills in.
		if len(judgement.Violations) > 0 || !failed {
			t.Errorf("%s: failure: %v", version, judgement.Violations)
		}
		if want := "hostPort could not be parsed into a separate host and port"; judgement.Message != want {
			t.Errorf("%s: message %q, want %q", version, judgement.Message, want)
		}
	}
}

func TestJudge(t *testing.T) {
	metadata := func(objects []any, i int) map[string]any {
		return objects[i].(map[string]any)["metadata"].(map[string]any)
	}
	tests := map[string]struct {
		version string
		change  func(review, response map[string]any, objects []any)
		want    []string // requirement, severity and object
	}{
		"field names in another case do not count": {"v1", func(review, response map[string]any, _ []any) {
			delete(review, "response")
			review["Response"] = response
		}, []string{"webhook.response.stanza rejected -1"}},
		"uid of v1beta1 is not looked at by servers": {"v1beta1", func(_, response map[string]any, _ []any) {
			response["uid"] = "other"
		}, []string{"webhook.response.uid tolerated -1"}},
		"uid that is not a string": {"v1", func(_, response map[string]any, _ []any) {
			response["uid"] = 5
		}, []string{"webhook.response.review-kind rejected -1"}},
		"swapped objects are a matter of order alone": {"v1", func(_, _ map[string]any, objects []any) {
			objects[0], objects[1] = objects[1], objects[0]
		}, []string{"webhook.response.order rejected 0", "webhook.response.order rejected 1"}},
		"swapped names are not": {"v1", func(_, _ map[string]any, objects []any) {
			a, b := metadata(objects, 0), metadata(objects, 1)
			a["name"], b["name"] = b["name"], a["name"]
		}, []string{"webhook.metadata.name rejected 0", "webhook.metadata.name rejected 1"}},
		"one object twice": {"v1", func(_, _ map[string]any, objects []any) {
			objects[1] = objects[0]
		}, []string{
			"webhook.metadata.name rejected 1", "webhook.metadata.namespace rejected 1", "webhook.metadata.uid rejected 1",
			"webhook.metadata.unchanged tolerated 1", "webhook.metadata.unchanged tolerated 1",
		}},
		"an object that is a string": {"v1", func(_, _ map[string]any, objects []any) {
			objects[1] = "crontab"
		}, []string{"webhook.response.all-objects rejected 1"}},
		"an object that is null": {"v1", func(_, _ map[string]any, objects []any) {
			objects[0] = nil
		}, []string{"webhook.response.all-objects rejected 0"}},
		"null for what was absent": {"v1", func(_, _ map[string]any, objects []any) {
			metadata(objects, 0)["deletionTimestamp"] = nil
			metadata(objects, 0)["labels"] = nil
		}, nil},
		"labels and annotations may change": {"v1", func(_, _ map[string]any, objects []any) {
			metadata(objects, 0)["labels"] = map[string]any{"app": "crontab"}
			metadata(objects, 0)["annotations"] = map[string]any{"example.com/text": "any text\nat all"}
		}, nil},
		"a label that is null": {"v1", func(_, _ map[string]any, objects []any) {
			metadata(objects, 0)["labels"] = map[string]any{"app": nil}
		}, []string{"webhook.metadata.labels-valid rejected 0"}},
		"an annotation key that is invalid": {"v1", func(_, _ map[string]any, objects []any) {
			metadata(objects, 0)["annotations"] = map[string]any{"no spaces": ""}
		}, []string{"webhook.metadata.labels-valid rejected 0"}},
		"several things at once": {"v1", func(review, response map[string]any, objects []any) {
			review["request"] = map[string]any{}
			response["uid"] = ""
			objects[1].(map[string]any)["kind"] = "Other"
			metadata(objects, 1)["generation"] = 2
		}, []string{
			"webhook.response.lean tolerated -1", "webhook.response.uid rejected -1",
			"webhook.response.kind rejected 1", "webhook.metadata.unchanged tolerated 1",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := parse(t, fixtures.ReviewRequest(test.version))
			judgement := request.Judge(ok(edit(t, test.version, test.change)))
			var got []string
			for _, v := range judgement.Violations {
				got = append(got, strings.Join([]string{string(v.Requirement), v.Severity.String(), jsonOf(t, v.Object)}, " "))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s%v", diff, judgement.Violations)
			}
		})
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestJudgedUpToWhereItStopped(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	judgement := request.Judge(contract.Response{Status: 500})
	for _, id := range contract.Order() {
		want := id == requirement.WebhookResponseInTime || id == requirement.WebhookResponseHTTPStatus
		if judgement.Judged(id) != want {
			t.Errorf("%s judged: %t, want %t", id, judgement.Judged(id), want)
		}
	}
	if judgement.Judged(requirement.WebhookConversionRoundTrip) {
		t.Error("the judge claims to have looked at a round trip")
	}
}

func TestResponsesCutShort(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	tests := map[string]struct {
		response contract.Response
		want     requirement.ID
	}{
		"refused connection":   {contract.Response{Err: errors.New("connection refused")}, requirement.WebhookResponseInTime},
		"timeout":              {contract.Response{Err: errors.New("timeout"), TimedOut: true}, requirement.WebhookResponseInTime},
		"timeout in the body":  {contract.Response{Status: 200, Err: errors.New("timeout"), TimedOut: true}, requirement.WebhookResponseInTime},
		"connection lost":      {contract.Response{Status: 200, Err: errors.New("unexpected EOF")}, requirement.WebhookResponseBody},
		"no body":              {contract.Response{Status: 200}, requirement.WebhookResponseBody},
		"half of the document": {contract.Response{Status: 200, Body: fixtures.ReviewSuccess("v1")[:100]}, requirement.WebhookResponseBody},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			judgement := request.Judge(test.response)
			if judgement.Stopped != test.want || judgement.Rejected() == nil {
				t.Errorf("stopped at %s with %v, want %s", judgement.Stopped, judgement.Violations, test.want)
			}
		})
	}
}

func TestFailuresThatWereToBe(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	if _, failed := request.JudgeFailure(ok(fixtures.ReviewSuccess("v1"))); failed {
		t.Error("a success was taken for a failure")
	}
	created := ok(fixtures.ReviewSuccess("v1"))
	created.Status = 201
	if _, failed := request.JudgeFailure(created); failed {
		t.Error("a success with status 201, which API servers take, was taken for a failure")
	}
	judgement, _ := request.JudgeFailure(ok(edit(t, "v1", func(_, response map[string]any, _ []any) {
		delete(response, "convertedObjects")
		response["uid"] = ""
		response["result"] = map[string]any{"status": "Failure"}
	})))
	want := []requirement.ID{requirement.WebhookFailureStatus, requirement.WebhookFailureUID}
	var got []requirement.ID
	for _, v := range judgement.Violations {
		got = append(got, v.Requirement)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequestsRoundTrip(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		request := parse(t, fixtures.ReviewRequest(version))
		body, err := request.Body()
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, body)
		if again.ReviewVersion != version || again.UID != request.UID || again.DesiredAPIVersion != "example.com/v1" || len(again.Objects) != 2 {
			t.Errorf("%s became %+v", body, again)
		}
	}
	for name, body := range map[string]string{
		"not JSON":        `{`,
		"another kind":    `{"kind": "AdmissionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": {}}`,
		"another version": `{"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v2", "request": {}}`,
		"no request":      `{"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}`,
	} {
		if _, err := contract.ParseRequest([]byte(body)); err == nil {
			t.Errorf("%s was parsed", name)
		}
	}
	if _, err := (contract.Request{ReviewVersion: "v1", Objects: []json.RawMessage{[]byte("{")}}).Body(); err == nil {
		t.Error("an object that is not JSON was encoded")
	}
}

// FuzzJudge gives the judge arbitrary bytes for the request and the response. It must not panic, and what it says must
// make sense.
func FuzzJudge(f *testing.F) {
	for _, version := range []string{"v1", "v1beta1"} {
		f.Add(fixtures.ReviewRequest(version), fixtures.ReviewSuccess(version), 200, "application/json")
		f.Add(fixtures.ReviewRequest(version), fixtures.ReviewFailure(version), 200, "text/plain")
	}
	f.Add(fixtures.ReviewRequest("v1"), []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"convertedObjects":[{"metadata":{"labels":[]}},null]}}`), 206, ";;;")
	f.Add([]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"objects":[null,5,{"metadata":7}]}}`),
		[]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"","result":{"status":"Success"},"convertedObjects":[{},{},{"metadata":1e400}]}}`), 200, "")
	// Some servers send objects without metadata.
	partial := []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"objects":[{"kind":"CronTab"}]}}`)
	f.Add(partial, []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"","result":{"status":"Success"},"convertedObjects":[{"kind":"CronTab","metadata":{"creationTimestamp":null}}]}}`), 200, "")
	f.Add(partial, []byte("\uFEFF{}"), 200, "")
	f.Add(partial, []byte("kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\nresponse: {convertedObjects: [{metadata: {name: [1e400]}}], result: {status: Success}}"), 200, "")
	known := contract.Order()
	f.Fuzz(func(t *testing.T, requestBody, responseBody []byte, status int, contentType string) {
		request, err := contract.ParseRequest(requestBody)
		if err != nil {
			return
		}
		response := contract.Response{Status: status, ContentType: contentType, Body: responseBody}
		judgement := request.Judge(response)
		for _, v := range judgement.Violations {
			if !slices.Contains(known, v.Requirement) {
				t.Errorf("a violation of %s, which is not in the order of judging", v.Requirement)
			}
			if v.Object < -1 || v.Object >= len(request.Objects) {
				t.Errorf("a violation by object %d of %d", v.Object, len(request.Objects))
			}
			if v.String() == "" {
				t.Error("a violation without words")
			}
		}
		if judgement.Stopped != "" && len(judgement.Of(judgement.Stopped)) == 0 {
			t.Errorf("stopped at %s, which is not violated", judgement.Stopped)
		}
		if judgement.Stopped == "" && len(judgement.Objects) != len(request.Objects) {
			t.Errorf("%d objects for %d", len(judgement.Objects), len(request.Objects))
		}
		if prepared := request.Prepare().Judge(response); !slices.Equal(prepared.Violations, judgement.Violations) {
			t.Errorf("prepared: %v, otherwise %v", prepared.Violations, judgement.Violations)
		}
		request.JudgeFailure(response)
	})
}

// TestBodyOfAnError wants the beginning of the body in the violation: in a line, printable, and without what looks like a secret.
func TestBodyOfAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"a stack":  {"TypeError: no 'size'\n    at hook.js:13:35\n", `HTTP status: expected 200, got 500: "TypeError: no 'size' at hook.js:13:35"`},
		"nothing":  {"", "HTTP status: expected 200, got 500"},
		"blank":    {" \n", "HTTP status: expected 200, got 500"},
		"bytes":    {"a\x00\x1b[31mb\xff", `HTTP status: expected 200, got 500: "a\x00\x1b[31mb"`},
		"a secret": {"cannot call with Authorization: Bearer abcdefghijklmnop0123456789", `HTTP status: expected 200, got 500: "cannot call with Authorization: Bearer [redacted]"`},
		"long":     {strings.Repeat("é", 1000), `HTTP status: expected 200, got 500: "` + strings.Repeat("é", 150) + `..."`},
	} {
		j := twoObjects().Judge(contract.Response{Status: 500, Body: []byte(test.body)})
		if v := j.Rejected(); v == nil || v.String() != test.want {
			t.Errorf("%s: got %v, want %s", name, v, test.want)
		}
	}
}
