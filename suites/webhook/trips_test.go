package webhook

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"github.com/crdconform/crdconform/contract"
)

// TestShared has what came of an object take as little memory as possible, and be what it was.
func TestShared(t *testing.T) {
	t.Parallel()
	same, item := map[string]any{"text": "x", "n": int64(1)}, map[string]any{"text": "y"}
	sent := map[string]any{"same": same, "list": []any{item, "z"}, "number": int64(1), "null": nil}
	came := func() map[string]any {
		return map[string]any{
			"same": map[string]any{"text": "x", "n": int64(1)}, "list": []any{map[string]any{"text": "y"}, "other"}, "number": 1.0, "more": []any{nil},
		}
	}
	got := shared(came(), sent)
	if !reflect.DeepEqual(got, came()) {
		t.Errorf("it is %v, not %v", got, came())
	}
	for name, both := range map[string][2]any{"what is the same": {got["same"], same}, "what is the same in another list": {got["list"].([]any)[0], item}} {
		if reflect.ValueOf(both[0]).Pointer() != reflect.ValueOf(both[1]).Pointer() {
			t.Errorf("%s is not shared", name)
		}
	}
	if none := shared(nil, maps.Clone(sent)); none != nil {
		t.Errorf("nothing became %v", none)
	}
}

// TestSentAgain has the request of an exchange that is kept be what was sent, without being kept.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	request := contract.Request{ReviewVersion: "v1", UID: "u", DesiredAPIVersion: "example.com/v2", Objects: []json.RawMessage{[]byte(`{"kind":"A"}`), []byte(`{ "kind" : "B" }`)}}
	body, err := request.Body()
	if err != nil {
		t.Fatal(err)
	}
	x := exchange{request: request, body: body}
	x.body = nil
	if got := x.sent(); string(got) != string(body) {
		t.Errorf("got %s, want %s", got, body)
	}
	if got := (&exchange{raw: &malformed{}}).sent(); got != nil {
		t.Errorf("got %s for an empty body", got)
	}
}
