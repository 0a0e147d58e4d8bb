package corpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// appendJSON appends a value that came from JSON to a text, byte for byte as json.Marshal writes it. That goes through every value by
// reflection, which takes three times as long; a check encodes each object for each request.
func appendJSON(text []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		if v == nil {
			return append(text, "null"...)
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		text = append(text, '{')
		for i, name := range names {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(appendString(text, name), ':')
			text = appendJSON(text, v[name])
		}
		return append(text, '}')
	case []any:
		if v == nil {
			return append(text, "null"...)
		}
		text = append(text, '[')
		for i, item := range v {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendJSON(text, item)
		}
		return append(text, ']')
	case string:
		return appendString(text, v)
	case int64:
		return strconv.AppendInt(text, v, 10)
	case bool:
		return strconv.AppendBool(text, v)
	}
	return append(text, marshalled(value)...)
}

// appendString appends a string. One with a character that is escaped, or may be, is left to json.Marshal.
func appendString(text []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c >= 0x7F || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(text, marshalled(s)...)
		}
	}
	text = append(text, '"')
	text = append(text, s...)
	return append(text, '"')
}

func marshalled(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("corpus: %v", err)) // it came from JSON
	}
	return text
}
