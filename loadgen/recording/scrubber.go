package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// scrubber replaces strings that were redacted at their own places wherever else they are.
type scrubber struct{ replacer *strings.Replacer }

func newScrubber(secrets map[string]bool) scrubber {
	var all []string
	for secret := range secrets {
		if len(secret) < shortest || secret == Placeholder {
			continue
		}
		all = append(all, secret)
		// As it is within JSON that is a string itself, with and without the escapes that are for HTML.
		for _, encode := range []func(any) ([]byte, error){encoded, json.Marshal} {
			if raw, err := encode(secret); err == nil {
				raw = bytes.TrimSuffix(raw, []byte("\n"))
				all = append(all, string(raw[1:len(raw)-1]))
			}
		}
	}
	// What is a part of another comes after it.
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	var pairs []string
	for _, secret := range slices.Compact(all) {
		pairs = append(pairs, secret, Placeholder)
	}
	if len(pairs) == 0 {
		return scrubber{}
	}
	return scrubber{strings.NewReplacer(pairs...)}
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
	if !ok || s.replacer == nil {
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
		return s.text(value)
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
