package contract

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

func TestCheckBody(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte { return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)) }
	for name, test := range map[string]struct {
		request, response []byte
		tooDeep           bool
	}{
		"empty":                   {nil, nil, false},
		"as deep as may be":       {nil, nested(addedNesting), false},
		"too deep":                {nil, nested(addedNesting + 1), true},
		"without an end":          {nil, nested(10_000)[:5000], true},
		"side by side":            {nil, []byte(strings.Repeat("[],", 10_000)), false},
		"in a string":             {nil, []byte(`"` + strings.Repeat("[", 10_000) + `"`), false},
		"behind an escaped quote": {nil, []byte(`"\\"` + strings.Repeat("[", 10_000)), true},
		"as deep as the request":  {nested(1000), nested(1000), false},
		"deeper by the bound":     {nested(1000), nested(1000 + addedNesting), false},
		"deeper by more":          {nested(1000), nested(1001 + addedNesting), true},
	} {
		if err := CheckBody(test.request, test.response); (err != nil) != test.tooDeep {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckBodyCountsValues(t *testing.T) {
	t.Parallel()
	list := func(items int, item string) []byte {
		return []byte("[" + strings.Repeat(item+",", items-1) + item + "]")
	}
	quoted := func(text []byte) []byte { return []byte(strconv.Quote(string(text))) }
	for name, test := range map[string]struct {
		request, response []byte
		tooMany           bool
	}{
		"as many as may be":       {[]byte("0"), list(addedValues+maxGrowth-1, "0"), false},
		"one more":                {[]byte("0"), list(addedValues+maxGrowth, "0"), true},
		"objects":                 {[]byte("0"), list(addedValues/2+maxGrowth, `{"a":{}}`), true},
		"empty ones":              {[]byte("0"), list(addedValues-1, "{ }"), false},
		"without an end":          {nil, list(100_000, "0")[:50_000], true},
		"in a string":             {nil, []byte(`"` + strings.Repeat(",", 100_000) + `"`), false},
		"behind an escaped quote": {nil, []byte(`"\\"` + strings.Repeat(",", 100_000)), true},
		"many in the request":     {list(50_000, "0"), list(maxGrowth*50_000, "0"), false},
		"many more than in it":    {list(50_000, "0"), list((maxGrowth+1)*50_000, "0"), true},
		"kept in an annotation":   {quoted(list(50_000, `{"a":0}`)), list(50_000, `{"a":0}`), false},
		"more than was kept":      {quoted(list(50_000, `{"a":0}`)), list(150_000, `{"a":0}`), true},
	} {
		err := CheckBody(test.request, test.response)
		if tooMany := errors.As(err, new(valuesError)); tooMany != test.tooMany {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyValues has the judges of requests that are sent once and over and over say the same.
func TestManyValues(t *testing.T) {
	t.Parallel()
	request := Request{ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{[]byte(`{"apiVersion":"example.com/v2","kind":"A","metadata":{"name":"a"}}`)}}
	for _, many := range []int{1000, 100_000} {
		body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"1","result":{"status":"Success"},"convertedObjects":[` +
			`{"apiVersion":"example.com/v1","kind":"A","metadata":{"name":"a"},"more":[` + strings.Repeat("0,", many) + `0]}]}}`
		response := Response{Status: 200, ContentType: "application/json", Body: []byte(body)}
		once, repeated := request.Judge(response), request.Repeated().Judge("1", response)
		for _, j := range []Judgement{once, repeated} {
			v := j.Rejected()
			if tooMany := v != nil && v.Requirement == requirement.WebhookResponseBody && strings.Contains(v.Actual, "more than 16420 values"); tooMany != (many > 16_420) {
				t.Errorf("%d: %v", many, v)
			}
		}
	}
}
