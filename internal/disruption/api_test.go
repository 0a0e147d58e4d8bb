package disruption

import (
	"strings"
	"testing"
)

// TestRewritten keeps all that an object has, large numbers too, and gives it annotations if it has none.
func TestRewritten(t *testing.T) {
	for raw, want := range map[string]string{
		`{"metadata":{"name":"a","annotations":{"b":"c"}},"n":9007199254740993}`: `{"metadata":{"annotations":{"b":"c","crdconform.dev/written":"x"},"name":"a"},"n":9007199254740993}`,
		`{"metadata":{"name":"a"}}`: `{"metadata":{"annotations":{"crdconform.dev/written":"x"},"name":"a"}}`,
	} {
		if got, err := rewritten([]byte(raw), "x"); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	for _, raw := range []string{"", "{}", `{"metadata":1}`} {
		if _, err := rewritten([]byte(raw), "x"); err == nil || !strings.Contains(err.Error(), "the answer is not an object") {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}
