package webhook

import (
	"maps"
	"reflect"
	"testing"
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
