package contract

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestStringsOf(t *testing.T) {
	t.Parallel()
	for encoded, test := range map[string]struct {
		values  map[string]string
		problem string
	}{
		`{}`:                     {map[string]string{}, ""},
		`{"a":"b","c":"\u00e9"}`: {map[string]string{"a": "b", "c": "é"}, ""},
		`{"a":1,"a":"b"}`:        {map[string]string{"a": "b"}, ""}, // the last one counts
		`{"a":"b","a":1}`:        {nil, `1 for a, which is not a string`},
		`{"a":null}`:             {nil, `null for a, which is not a string`},
		`{"a":{"b":"c"}}`:        {nil, `{"b":"c"} for a, which is not a string`},
		`["a"]`:                  {nil, `["a"], which is not a map`},
		`"a"`:                    {nil, `"a", which is not a map`},
	} {
		values, problem := stringsOf(json.RawMessage(encoded))
		if problem != test.problem || !maps.Equal(values, test.values) {
			t.Errorf("%s: got %v, %q", encoded, values, problem)
		}
	}
}

// TestSameValue has values that are compared part by part compared as if they were decoded.
func TestSameValue(t *testing.T) {
	t.Parallel()
	values := []string{
		`null`, `true`, `1`, `1.0`, `1e0`, `1e999`, `"a"`, `"\u0061"`, `{}`, `{ }`, `[]`, `[ ]`, `[1]`, `[1.0]`, `[1,2]`, `[2,1]`, `[[1]]`, `[{}]`,
		`{"a":1}`, `{"a":1.0}`, `{"\u0061":1}`, `{"A":1}`, `{"a":2,"a":1}`, `{"a":1,"a":2}`, `{"a":null}`, `{"a":1,"b":null}`,
		`{"a":1,"b":[{"c":"d","e":{}}]}`, `{"b":[{"e":{},"c":"d"}],"a":1}`, `{"b":[{"e":{},"c":"\u0064"}], "a":1.0}`, `{"b":[{"e":{"f":0},"c":"d"}],"a":1}`,
		``, `{`, `[1`, `{"a":1}x`, `[1]]`,
	}
	for _, a := range values {
		for _, b := range values {
			same, decoded := sameValue(json.RawMessage(a), json.RawMessage(b)), a == b || sameDecoded(json.RawMessage(a), json.RawMessage(b))
			if same != decoded {
				t.Errorf("%s and %s: got %t, want %t", a, b, same, decoded)
			}
		}
	}
}

// TestSameValueByParts has what encoders write in another order compared without decoding it.
func TestSameValueByParts(t *testing.T) {
	a, b := json.RawMessage(`{"a":{"c":[1,2]},"b":""}`), json.RawMessage(`{"b":"","a":{"c":[1,2]}}`)
	if allocations := testing.AllocsPerRun(10, func() { sameValue(a, b) }); allocations > testing.AllocsPerRun(10, func() { sameDecoded(a, b) })/2 {
		t.Errorf("members in another order: got %.0f allocations, want at most half of those of decoding them", allocations)
	}
}
