package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/requirement"
)

// verdicts lists the violations in short.
func verdicts(judgement contract.Judgement) string {
	var words []string
	for _, v := range judgement.Violations {
		words = append(words, fmt.Sprintf("%s %s", v.Requirement, v.Severity))
	}
	return strings.Join(words, ", ")
}

// TestBodiesAreDecodedAsAPIServersDo has bodies that API servers decode although they should not be sent, and others that
// look fine to who reads only what he needs.
func TestBodiesAreDecodedAsAPIServersDo(t *testing.T) {
	set := func(key string, value any) func(review, response map[string]any, objects []any) {
		return func(review, response map[string]any, _ []any) {
			switch key {
			case "kind", "apiVersion", "request", "Kind":
				review[key] = value
			case "result":
				response[key] = value
			}
		}
	}
	for name, test := range map[string]struct {
		key   string
		value any
		v1    string
		beta  string // the same as v1 when empty
	}{
		"code as a string":          {"result", map[string]any{"status": "Success", "code": "200"}, "webhook.response.review-kind rejected", ""},
		"details as a list":         {"result", map[string]any{"status": "Success", "details": []any{}}, "webhook.response.review-kind rejected", ""},
		"request as a string":       {"request", "x", "webhook.response.review-kind rejected", ""},
		"request with wrong types":  {"request", map[string]any{"objects": "x"}, "webhook.response.review-kind rejected", ""},
		"request that is null":      {"request", nil, "", ""},
		"request":                   {"request", map[string]any{"uid": "x"}, "webhook.response.lean tolerated", ""},
		"no kind":                   {"kind", nil, "webhook.response.review-kind rejected", "webhook.response.review-kind tolerated"},
		"empty kind":                {"kind", "", "webhook.response.review-kind rejected", "webhook.response.review-kind tolerated"},
		"other kind":                {"kind", "List", "webhook.response.review-kind rejected", ""},
		"kind in another case":      {"Kind", "ConversionReview", "", ""},
		"kind of another type":      {"Kind", 5, "webhook.response.review-kind rejected", ""},
		"no apiVersion":             {"apiVersion", nil, "webhook.response.review-version rejected", "webhook.response.review-version tolerated"},
		"apiVersion of the group":   {"apiVersion", "apiextensions.k8s.io/", "webhook.response.review-version rejected", "webhook.response.review-version tolerated"},
		"apiVersion without group":  {"apiVersion", "/v1beta1", "webhook.response.review-version rejected", ""},
		"apiVersion of other group": {"apiVersion", "example.com/", "webhook.response.review-version rejected", ""},
		"apiVersion of no version":  {"apiVersion", "apiextensions.k8s.io/v2", "webhook.response.review-version rejected", ""},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			want := test.v1
			if version == "v1beta1" && test.beta != "" {
				want = test.beta
			}
			judgement := parse(t, fixtures.ReviewRequest(version)).Judge(ok(edit(t, version, set(test.key, test.value))))
			if got := verdicts(judgement); got != want {
				t.Errorf("%s: %s: got %q, want %q: %v", name, version, got, want, judgement.Violations)
			}
		}
	}
}

func TestOtherThanJSON(t *testing.T) {
	body := fixtures.ReviewSuccess("v1")
	asYAML, err := yaml.JSONToYAML(body)
	if err != nil {
		t.Fatal(err)
	}
	typed := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(body, typed); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var asProtobuf bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(typed, &asProtobuf); err != nil {
		t.Fatal(err)
	}
	mark := []byte("\uFEFF")
	for name, test := range map[string]struct {
		body []byte
		want string
		says string
	}{
		"JSON with spaces around it": {append([]byte(" \n"), body...), "", ""},
		"YAML":                       {asYAML, "webhook.response.body tolerated", "YAML"},
		"JSON with a byte order mark": {
			append(mark, body...), "webhook.response.body tolerated",
			"byte order mark",
		},
		"protobuf":                   {asProtobuf.Bytes(), "webhook.response.body tolerated", "protobuf"},
		"YAML with wrong types":      {append(asYAML, "request: x\n"...), "webhook.response.review-kind rejected", "request"},
		"YAML of another version":    {bytes.Replace(asYAML, []byte("apiextensions.k8s.io/v1"), []byte("apiextensions.k8s.io/v1beta1"), 1), "webhook.response.body rejected", ""},
		"plain text":                 {[]byte("It works!"), "webhook.response.body rejected", "It works!"},
		"zeros, too many to try":     {make([]byte, 33<<20), "webhook.response.body rejected", "(34603008 bytes)"},
		"JSON with something behind": {append(bytes.Clone(body), "}"...), "webhook.response.body rejected", ""},
	} {
		judgement := parse(t, fixtures.ReviewRequest("v1")).Judge(ok(test.body))
		if got := verdicts(judgement); got != test.want {
			t.Errorf("%s: got %q, want %q: %v", name, got, test.want, judgement.Violations)
		} else if got != "" && !strings.Contains(judgement.Violations[0].Actual, test.says) {
			t.Errorf("%s: got %s, want something with %q", name, judgement.Violations[0], test.says)
		}
		for _, v := range judgement.Violations {
			if len(v.String()) > 2000 {
				t.Errorf("%s: %d bytes are no line", name, len(v.String()))
			}
		}
	}
}

func TestObjectsAreDecodedAsAPIServersDo(t *testing.T) {
	const reply = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u","result":{"status":"Success"},"convertedObjects":[%s]}}`
	request := func(object string) contract.Request {
		return contract.Request{ReviewVersion: "v1", UID: "u", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{json.RawMessage(object)}}
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"metadata that there was not before":     {`{"kind":"A"}`, `{"kind":"A","apiVersion":"example.com/v1","metadata":{"creationTimestamp":null}}`, ""},
		"more metadata than before":              {`{"kind":"A"}`, `{"kind":"A","apiVersion":"example.com/v1","metadata":{"generation":1}}`, "webhook.metadata.unchanged tolerated"},
		"no metadata, as before":                 {`{"kind":"A"}`, `{"kind":"A","apiVersion":"example.com/v1"}`, "webhook.metadata.present rejected"},
		"a number that is too large":             {`{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"example.com/v1","metadata":{},"a":[-1e400]}`, "webhook.response.all-objects rejected"},
		"a number of 400 digits":                 {`{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"example.com/v1","metadata":{},"a":1` + strings.Repeat("0", 400) + `}`, "webhook.response.all-objects rejected"},
		"a large number in a string and numbers": {`{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"example.com/v1","metadata":{},"a\"":"\\\"1e400","b":1e300,"c":1e-400}`, ""},
	} {
		judgement := request(test.before).Judge(ok(fmt.Appendf(nil, reply, test.after)))
		if got := verdicts(judgement); got != test.want {
			t.Errorf("%s: got %q, want %q: %v", name, got, test.want, judgement.Violations)
		}
	}
}

func TestDetours(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	for name, test := range map[string]struct {
		change func(*contract.Response)
		want   string
		says   string
	}{
		"one attempt":                {func(r *contract.Response) { r.Attempts = 1 }, "", ""},
		"redirected, then fine":      {func(r *contract.Response) { r.RedirectedTo = "https://there/" }, "webhook.response.http-status tolerated", "200, redirected to https://there/"},
		"redirected, then not found": {func(r *contract.Response) { r.RedirectedTo, r.Status = "https://there/", 404 }, "webhook.response.http-status rejected", "404, redirected to https://there/"},
		"three attempts":             {func(r *contract.Response) { r.Attempts = 3 }, "webhook.response.http-status tolerated", "200 on attempt 3"},
		"never":                      {func(r *contract.Response) { r.Attempts, r.Status = 11, 503 }, "webhook.response.http-status rejected", "503 on attempt 11"},
	} {
		response := ok(fixtures.ReviewSuccess("v1"))
		test.change(&response)
		judgement := request.Judge(response)
		if got := verdicts(judgement); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		} else if got != "" && !strings.Contains(judgement.Violations[0].Actual, test.says) {
			t.Errorf("%s: got %s, want something with %q", name, judgement.Violations[0], test.says)
		}
	}
}

// TestFailuresThatAreNone has responses to what cannot be converted that say nothing of a failure. The uid of a failure
// cannot be judged then.
func TestFailuresThatAreNone(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	for name, test := range map[string]struct {
		response contract.Response
		want     string
	}{
		"status 500":           {contract.Response{Status: 500}, "webhook.failure.status tolerated"},
		"connection lost":      {contract.Response{Err: errors.New("EOF")}, "webhook.failure.status rejected"},
		"no answer in time":    {contract.Response{Err: errors.New("timeout"), TimedOut: true}, "webhook.failure.status rejected"},
		"half an answer":       {contract.Response{Status: 200, Err: errors.New("unexpected EOF")}, "webhook.failure.status rejected"},
		"text":                 {ok([]byte("no such port")), "webhook.failure.status rejected"},
		"another kind":         {ok([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure"}`)), "webhook.failure.status rejected"},
		"a review of no words": {ok([]byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`)), "webhook.failure.status rejected"},
	} {
		judgement, failed := request.JudgeFailure(test.response)
		if got := verdicts(judgement); got != test.want || !failed || judgement.Stopped != requirement.WebhookFailureStatus {
			t.Errorf("%s: got %q, stopped at %q, want %q", name, got, judgement.Stopped, test.want)
		}
		if !judgement.Judged(requirement.WebhookFailureStatus) || judgement.Judged(requirement.WebhookFailureUID) || judgement.Judged(requirement.WebhookResponseBody) {
			t.Errorf("%s: judged is the uid of a failure that is not there, or a response that is to be another", name)
		}
	}
	judgement, _ := request.JudgeFailure(ok(fixtures.ReviewFailure("v1")))
	if !judgement.Judged(requirement.WebhookFailureStatus) || !judgement.Judged(requirement.WebhookFailureUID) {
		t.Error("a failure as it is to be was not judged")
	}
}

func TestPreparedRequestsFollowTheirObjects(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1")).Prepare()
	if got := verdicts(request.Judge(ok(fixtures.ReviewSuccess("v1")))); got != "" {
		t.Errorf("got %q", got)
	}
	request.Objects = []json.RawMessage{request.Objects[1], request.Objects[0]}
	if got := verdicts(request.Judge(ok(fixtures.ReviewSuccess("v1")))); !strings.Contains(got, "webhook.response.order rejected") {
		t.Errorf("other objects in place of those prepared: got %q", got)
	}
}
