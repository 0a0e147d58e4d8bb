package contract

import (
	"strings"
	"testing"
)

func TestCheckNesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte { return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)) }
	for name, test := range map[string]struct {
		request, response []byte
		tooDeep           bool
	}{
		"empty":                   {nil, nil, false},
		"as deep as may be":       {nil, nested(MaxNesting), false},
		"too deep":                {nil, nested(MaxNesting + 1), true},
		"without an end":          {nil, nested(10_000)[:5000], true},
		"side by side":            {nil, []byte(strings.Repeat("[],", 10_000)), false},
		"in a string":             {nil, []byte(`"` + strings.Repeat("[", 10_000) + `"`), false},
		"behind an escaped quote": {nil, []byte(`"\\"` + strings.Repeat("[", 10_000)), true},
		"as deep as the request":  {nested(1000), nested(1000), false},
		"deeper by the bound":     {nested(1000), nested(1000 + MaxNesting), false},
		"deeper by more":          {nested(1000), nested(1001 + MaxNesting), true},
	} {
		if err := CheckNesting(test.request, test.response); (err != nil) != test.tooDeep {
			t.Errorf("%s: %v", name, err)
		}
	}
}
