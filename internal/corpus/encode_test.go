package corpus

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzAppendJSON(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `{"b":[1,-2.5,1e300,9007199254740993,true,false,null],"a":{"":"","<&>":"\u2028\u0007\"\\\/\u00e9\ud83d\ude00\u007f"}}`,
		`{"apiVersion":"v1","metadata":{"labels":{"a":"b"},"annotations":null},"list":[[],{},[{}]]}`, `"\ud800"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var value any
		if json.Unmarshal(text, &value) != nil {
			return
		}
		for _, v := range []any{value, integral(value), []any(nil), map[string]any(nil), string(text)} {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got := appendJSON([]byte("before"), v); !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// integral makes integers of whole numbers, as API servers do.
func integral(value any) any {
	switch v := value.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case []any:
		for i := range v {
			v[i] = integral(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = integral(v[name])
		}
	}
	return value
}
