package contract

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
)

// requestBodies are bodies of requests that are written in many ways.
func requestBodies() []string {
	const full = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"example.com/v1","objects":[{"a":[1]},{"b":{}}]},"response":{"uid":""}}`
	return []string{
		full,
		" \n" + full + "\t",
		strings.ReplaceAll(full, ",", " ,\n "),
		strings.Replace(full, `[{"a":[1]},{"b":{}}]`, `[]`, 1),
		strings.Replace(full, `[{"a":[1]},{"b":{}}]`, `[null, 1, "x", [ {} ] ]`, 1),
		strings.Replace(full, `[{"a":[1]},{"b":{}}]`, `null`, 1),
		strings.Replace(full, `[{"a":[1]},{"b":{}}]`, `{"a":1}`, 1),
		strings.Replace(full, `"uid":"u"`, `"uid":"u","uid":"w","objects":[7]`, 1),
		strings.Replace(full, `"uid":"u"`, `"uid":null`, 1),
		strings.Replace(full, `"uid":"u"`, `"uid":"\u0041\ud800"`, 1),
		strings.Replace(full, `"uid":"u"`, `"UID":"u"`, 1),
		strings.Replace(full, `"uid":"u"`, `"\u0075id":"u"`, 1),
		strings.Replace(full, `"uid":"u"`, "\"uid\":\"\xff\"", 1),
		strings.Replace(full, `"request"`, `"request":{"uid":"first","objects":[1,2,3]},"request"`, 1),
		strings.Replace(full, `"request"`, `"request":null,"request"`, 1),
		strings.Replace(full, `{"a":[1]}`, strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001), 1),
		full[:len(full)-1],
		full + "x",
		`null`, `[]`, `"x"`, `1`, ``, `{}`, `{"request":5}`,
	}
}

// decodedRequest is what the decoder makes of a body.
func decodedRequest(body []byte) (requestReview, error) {
	var review requestReview
	err := kjson.UnmarshalCaseSensitivePreserveInts(body, &review)
	review.Response = responseStub{}
	return review, err
}

// agree returns what a scan finds in a body that a decoder does not, if it does not give up.
func agree(t *testing.T, body []byte) bool {
	t.Helper()
	before := bytes.Clone(body)
	scanned, ok := scanRequest(body)
	if !bytes.Equal(before, body) {
		t.Fatalf("%q was changed", before)
	}
	if !ok {
		return false
	}
	decoded, err := decodedRequest(body)
	if err != nil {
		// What does not matter to a webhook is not looked at: it may be of a type that the decoder does not want.
		if !strings.Contains(err.Error(), ".response.") && !strings.Contains(err.Error(), "exceeded max depth") {
			t.Errorf("%.300q is scanned, and refused by the decoder: %v", body, err)
		}
		return true
	}
	if diff := cmp.Diff(decoded, scanned); diff != "" {
		t.Errorf("%.300q: decoded (-), scanned (+):\n%s", body, diff)
	}
	return true
}

// TestScanRequest has the scan find what the decoder does, and not give up where requests are as API servers write them.
func TestScanRequest(t *testing.T) {
	t.Parallel()
	for i, body := range requestBodies() {
		if scanned := agree(t, []byte(body)); !scanned && i < 5 {
			t.Errorf("%q is not scanned", body)
		}
	}
	request, err := ParseRequest([]byte(requestBodies()[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := Request{ReviewVersion: "v1", UID: "u", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{[]byte(`{"a":[1]}`), []byte(`{"b":{}}`)}}
	if diff := cmp.Diff(want, request, cmp.AllowUnexported(Request{})); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	// What is put behind an object must not run into the next one.
	_ = append(request.Objects[0], "xxx"...)
	if string(request.Objects[1]) != `{"b":{}}` {
		t.Errorf("the second object became %s", request.Objects[1])
	}
}

func FuzzScanRequest(f *testing.F) {
	for _, body := range requestBodies() {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agree(t, body) })
}

// TestBodiesAreWhatTheEncoderWrites has objects in requests that the encoder would write otherwise, and others.
func TestBodiesAreWhatTheEncoderWrites(t *testing.T) {
	deep := strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1)
	for _, objects := range [][]string{
		nil, {}, {`{}`}, {`{"a": 1}`, `{"a":" \" "}`}, {`{"a":"<&>"}`, `"é"`, "\"\u2028\""}, {"null", "\"\xff\"", "1e3"}, {deep, "\n1"}, {""}, {"{"}, {`{"a":1e400}`},
	} {
		r := Request{ReviewVersion: "v1", UID: `"objects":[]`, DesiredAPIVersion: "<é>/v1"}
		for _, object := range objects {
			r.Objects = append(r.Objects, json.RawMessage(object))
		}
		if len(objects) == 0 && objects != nil {
			r.Objects = []json.RawMessage{}
		}
		want, wantErr := json.Marshal(requestReview{APIVersion: group + "/v1", Kind: kind, Request: &requestBody{r.UID, r.DesiredAPIVersion, r.Objects}})
		got, err := r.Body()
		if string(got) != string(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%q:\ngot  %s, %v\nwant %s, %v", objects, got, err, want, wantErr)
		}
	}
}
