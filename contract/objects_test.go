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
