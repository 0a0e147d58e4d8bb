package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// scrubber masks strings that were redacted at their own places wherever else they are.
type scrubber struct {
	secrets  map[string]bool
	replacer *strings.Replacer
	values   map[string]bool // that are masked where they are all of a value
}

func newScrubber(secrets map[string]bool) scrubber {
	var pairs [][2]string
	for secret := range secrets {
		instead := mask(secret)
		if len(secret) < shortest || secret == instead {
			continue
		}
		pairs = append(pairs, [2]string{secret, instead})
		// As it is within JSON that is a string itself, with and without the escapes that are for HTML.
		for _, encode := range []func(any) ([]byte, error){encoded, json.Marshal} {
			raw, err1 := encode(secret)
			masked, err2 := encode(instead)
			if err1 == nil && err2 == nil {
				pairs = append(pairs, [2]string{unquoted(raw), unquoted(masked)})
			}
		}
	}
	// What is a part of another comes after it.
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(len(b[0]), len(a[0])), strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	s := scrubber{secrets: secrets}
	if len(pairs) > 0 {
		var flat []string
		for _, pair := range pairs {
			flat = append(flat, pair[0], pair[1])
		}
		s.replacer = strings.NewReplacer(flat...)
	}
	return s
}

// unquoted is what is between the quotes of a string in JSON.
func unquoted(raw []byte) string {
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	return string(raw[1 : len(raw)-1])
}

// withParts is a scrubber for the response to a request. It masks parts of what was redacted too, which webhooks may have taken
// out of it, unless the request as it will be written has them elsewhere.
func (s scrubber) withParts(e *eraser, request any, written string) scrubber {
	there := map[string]bool{}
	leaves(request, there)
	all, values := maps.Clone(s.secrets), map[string]bool{}
	for secret := range s.secrets {
		for _, part := range parts(secret) {
			if len(part) >= shortest && !strings.Contains(written, part) {
				all[part] = true
			}
			if len(part) >= shortestValue && !there[part] && mask(part) != "false" {
				values[part] = true
			}
		}
	}
	for number := range e.numbers {
		if len(number) >= shortestValue && !there[number] {
			values[number] = true
		}
	}
	s = newScrubber(all)
	s.values = values
	return s
}

const (
	// mostWords is how many words a part of a string has, at most.
	mostWords = 8

	// longest is the length in bytes up to which parts of a string are looked for. There would be millions of them otherwise.
	longest = 4 << 10
)

var word = regexp.MustCompile(`[\pL\pN]+`)

// parts are the string, and what is in it from the beginning of a word, a run of letters and digits, to the end of one.
func parts(s string) []string {
	all := []string{s}
	if len(s) > longest {
		return all
	}
	places := word.FindAllStringIndex(s, -1)
	for i, from := range places {
		for _, to := range places[i:min(i+mostWords, len(places))] {
			all = append(all, s[from[0]:to[1]])
		}
	}
	return all
}

// leaves collects the strings and numbers below a value.
func leaves(value any, into map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			leaves(inner, into)
		}
	case []any:
		for _, inner := range value {
			leaves(inner, into)
		}
	case string:
		into[value] = true
	case json.Number:
		into[value.String()] = true
	}
}

func (s scrubber) text(text string) string {
	if s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// review scrubs a ConversionReview but for what identifies it and its objects.
func (s scrubber) review(value any) any {
	review, ok := value.(map[string]any)
	if !ok {
		return s.value(value)
	}
	for key, inner := range review {
		stanza, isMap := inner.(map[string]any)
		switch {
		case key == "apiVersion" || key == "kind":
		case isMap:
			s.stanza(stanza)
		default:
			review[key] = s.value(inner)
		}
	}
	return review
}

// stanza scrubs the request or the response of a review.
func (s scrubber) stanza(stanza map[string]any) {
	for key, inner := range stanza {
		switch key {
		case "uid", "desiredAPIVersion":
		case "objects", "convertedObjects":
			objects, isList := inner.([]any)
			if !isList {
				stanza[key] = s.value(inner)
			}
			for i := range objects {
				objects[i] = s.object(objects[i])
			}
		default:
			stanza[key] = s.value(inner)
		}
	}
}

func (s scrubber) object(raw any) any {
	object, ok := raw.(map[string]any)
	if !ok {
		return s.value(raw)
	}
	for field, inner := range object {
		metadata, isMap := inner.(map[string]any)
		switch {
		case field == "apiVersion" || field == "kind":
		case field == "metadata" && isMap:
			for _, name := range []string{"labels", "annotations", managedFields} {
				if value, found := metadata[name]; found {
					metadata[name] = s.entry(name, value)
				}
			}
		default:
			object[field] = s.value(inner)
		}
	}
	return object
}

// managedFields is the field of the metadata that has the items of sets, and the keys of list maps, in the names of its own
// fields.
const managedFields = "managedFields"

// entry scrubs what is under a key.
func (s scrubber) entry(key string, value any) any {
	if key == managedFields {
		return s.keys(value)
	}
	return s.value(value)
}

// value scrubs all strings below a value, but no keys that users may have chosen.
func (s scrubber) value(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = s.entry(key, value[key])
		}
	case []any:
		for i := range value {
			value[i] = s.value(value[i])
		}
	case string:
		if s.values[value] {
			return mask(value)
		}
		return s.text(value)
	case json.Number:
		if s.values[value.String()] {
			return maskNumber(value)
		}
	}
	return value
}

// keys scrubs the keys below a value.
func (s scrubber) keys(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inner := s.keys(value[key])
			delete(value, key)
			value[s.text(key)] = inner
		}
	case []any:
		for i := range value {
			value[i] = s.keys(value[i])
		}
	}
	return value
}
