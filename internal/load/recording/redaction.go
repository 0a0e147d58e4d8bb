package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

const (
	// shortest is the length in bytes from which on a string that was redacted, or a part of it, is looked for elsewhere in its
	// exchange. Shorter ones are too likely to be a part of something else.
	shortest = 6

	// shortestValue is the same for values of responses that are nothing but such a part.
	shortestValue = 3
)

// Redaction says what of objects must not get into a recording. The zero value lets everything pass.
//
// At its paths letters become x, capitals X and digits 1, in strings and numbers, and true becomes false; punctuation, empty
// strings, 0, nulls and the keys of maps stay. So the length and the form of a value can be seen, and webhooks can do with it
// what they did: split it, join it, parse it. Times, durations, quantities, addresses, UUIDs and URLs stay valid as such. What
// has to be one of a few words, or has a checksum, does not.
//
// That holds for the same paths within annotations that are JSON objects too, where kubectl and converters keep copies. Strings
// of 6 bytes or more that were redacted are redacted wherever else they are in the same exchange, such as in a message. In
// responses, which are made from requests, so are parts of such strings of up to 4 KiB that have 6 bytes or more, from the
// beginning of a word to the end of one, and values that are nothing but a part of 3 bytes or more; unless the request has them elsewhere too. What
// cannot be decoded cannot be redacted, so such bodies are withheld.
type Redaction struct{ patterns []fieldpath.Pattern }

// ParseRedaction reads paths into objects such as spec.password, spec.users[*].token, spec.tokens.* and
// metadata.annotations['example.com/key'], which are written as in the configuration file. It refuses apiVersion and kind,
// and all metadata but labels and annotations, which webhooks could not read then.
func ParseRedaction(paths []string) (Redaction, error) {
	var r Redaction
	for _, path := range paths {
		pattern, err := fieldpath.ParsePattern(path)
		if err != nil {
			return Redaction{}, err
		}
		if !redactable(fieldpath.Generalize(path)) {
			return Redaction{}, fmt.Errorf("the path %q cannot be redacted: webhooks need apiVersion, kind and metadata; of metadata, only labels and annotations can be redacted", path)
		}
		r.patterns = append(r.patterns, pattern)
	}
	return r, nil
}

func redactable(path string) bool {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	switch path[:end] {
	case "apiVersion", "kind":
		return false
	case "metadata":
		rest := strings.TrimPrefix(path[end:], ".")
		for _, field := range []string{"labels", "annotations"} {
			if after, found := strings.CutPrefix(rest, field); found && (after == "" || after[0] == '.' || after[0] == '[') {
				return true
			}
		}
		return false
	}
	return true
}

// Paths returns the paths as they were written.
func (r Redaction) Paths() []string {
	return visible.Strings(r.patterns)
}

// Response returns the body of a response as it would be recorded, to compare it with one that was. The request is as it was
// recorded. It fails for what is not JSON.
func (r Redaction) Response(request, response []byte) ([]byte, error) {
	if len(r.patterns) == 0 {
		return response, nil
	}
	x, _, err := r.apply(Exchange{Body: request, Response: contract.Response{Body: response}})
	if err == nil && x.Withheld != "" {
		err = errors.New(x.Withheld)
	}
	return x.Response.Body, err
}

// Objects redacts custom resources, as they would be in one request, and returns the paths at which one of them has something.
func (r Redaction) Objects(objects []*unstructured.Unstructured) ([]string, error) {
	type review struct {
		Request struct {
			Objects []*unstructured.Unstructured `json:"objects"`
		} `json:"request"`
	}
	var plain, redacted review
	plain.Request.Objects = objects
	body, err := encoded(plain)
	if err != nil {
		return nil, err
	}
	x, paths, err := r.apply(Exchange{Body: body})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(x.Body, &redacted); err != nil {
		return nil, err
	}
	for i, object := range redacted.Request.Objects {
		objects[i].Object = object.Object
	}
	return paths, nil
}

// apply returns a copy of an exchange without what must not be recorded, and which of the paths were found in it. It fails when
// the request cannot be decoded.
func (r Redaction) apply(x Exchange) (Exchange, []string, error) {
	if len(r.patterns) == 0 {
		return x, nil, nil
	}
	e := &eraser{patterns: r.patterns, matched: make([]bool, len(r.patterns)), secrets: map[string]bool{}, numbers: map[string]bool{}}
	request, err := decoded(x.Body)
	if err != nil {
		return Exchange{}, nil, err
	}
	e.review(request)
	if e.changed {
		x.Redacted = e.found()
	}
	var response any
	if len(x.Response.Body) > 0 && x.Withheld == "" {
		if response, err = decoded(x.Response.Body); err != nil {
			x.Withheld = "it is not JSON, so nothing in it can be redacted"
		}
		e.review(response)
	}
	s := newScrubber(e.secrets)
	request = s.review(request)
	if x.Body, err = encoded(request); err != nil {
		return Exchange{}, nil, err
	}
	s = s.withParts(e, request, string(x.Body))
	switch {
	case x.Withheld != "":
		x.Response.Body = nil
	case response != nil:
		x.Response.Body, err = encoded(s.review(response))
	}
	if x.Response.Err != nil {
		x.Response.Err = errors.New(s.text(x.Response.Err.Error()))
	}
	return x, e.found(), err
}

// Explains reports whether a recorded value and a live one may differ for no more than that the webhook was asked with redacted
// values: they have the same form, and one of them nothing but letters and digits as redaction makes them. Both are JSON.
func (r Redaction) Explains(recorded, live json.RawMessage) bool {
	a, err1 := decoded(recorded)
	b, err2 := decoded(live)
	return err1 == nil && err2 == nil && explained(a, b)
}

func explained(recorded, live any) bool {
	switch live := live.(type) {
	case string:
		text, is := recorded.(string)
		return is && (text == live || masks(text, live, shape) || masks(text, live, mask))
	case json.Number:
		number, is := recorded.(json.Number)
		return is && (number == live || masks(number, live, maskNumber))
	case []any:
		list, is := recorded.([]any)
		return is && slices.EqualFunc(list, live, explained)
	case map[string]any:
		object, is := recorded.(map[string]any)
		return is && maps.EqualFunc(object, live, explained)
	}
	return recorded == live
}

// masks reports whether one of two values is the other one masked.
func masks[T comparable](a, b T, mask func(T) T) bool { return mask(a) == b || mask(b) == a }

// AlikeInForm reports whether two texts, such as what is said of conversions that fail, differ in letters and digits only.
func AlikeInForm(a, b string) bool { return shape(a) == shape(b) }

// decoded decodes JSON, with numbers as they are written.
func decoded(body []byte) (any, error) {
	if !isJSON(body) {
		return nil, errors.New("it is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// eraser replaces values by their paths, in place.
type eraser struct {
	patterns []fieldpath.Pattern
	matched  []bool
	changed  bool            // something was replaced by something else
	secrets  map[string]bool // strings that were replaced
	numbers  map[string]bool // numbers that were replaced, as they are written
}

// found are the paths that were found so far.
func (e *eraser) found() []string {
	var paths []string
	for i, p := range e.patterns {
		if e.matched[i] {
			paths = append(paths, p.String())
		}
	}
	return paths
}

// review erases in the objects of a ConversionReview: those of its request, and those of its response.
func (e *eraser) review(value any) {
	review, _ := value.(map[string]any)
	for stanza, field := range map[string]string{"request": "objects", "response": "convertedObjects"} {
		inner, _ := review[stanza].(map[string]any)
		objects, _ := inner[field].([]any)
		for _, object := range objects {
			e.object(object)
		}
	}
}

// object erases in a custom resource, and reports whether it did.
func (e *eraser) object(value any) bool {
	object, _ := value.(map[string]any)
	erased := false
	for field := range object {
		switch field {
		case "apiVersion", "kind":
		case "metadata":
			erased = e.metadata(object[field]) || erased
		default:
			object[field] = e.value(fieldpath.Child("", field), object[field], &erased)
		}
	}
	return erased
}

func (e *eraser) metadata(value any) bool {
	metadata, _ := value.(map[string]any)
	erased := false
	for _, field := range []string{"labels", "annotations"} {
		if inner, found := metadata[field]; found {
			metadata[field] = e.value(fieldpath.Child("metadata", field), inner, &erased)
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	for key, value := range annotations {
		if text, ok := value.(string); ok {
			annotations[key] = e.annotation(text, &erased)
		}
	}
	return erased
}

// annotation erases in an annotation that is an object itself.
func (e *eraser) annotation(text string, erased *bool) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text
	}
	inner, err := decoded([]byte(text))
	if err != nil || !e.object(inner) {
		return text
	}
	*erased = true
	raw, err := encoded(inner)
	if err != nil {
		return mask(text)
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// value returns the replacement of a value.
func (e *eraser) value(path string, value any, erased *bool) any {
	if i := slices.IndexFunc(e.patterns, func(p fieldpath.Pattern) bool { return p.Matches(path) }); i >= 0 {
		*erased, e.matched[i] = true, true
		return e.masked(value)
	}
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = e.value(fieldpath.Child(path, key), value[key], erased)
		}
	case []any:
		for i := range value {
			value[i] = e.value(fieldpath.Item(path, i), value[i], erased)
		}
	}
	return value
}

// masked returns the replacement of a value at a path that is redacted.
func (e *eraser) masked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = e.masked(value[key])
		}
	case []any:
		for i := range value {
			value[i] = e.masked(value[i])
		}
	case string:
		if value != "" {
			e.secrets[value] = true
			return e.instead(value, mask(value))
		}
	case json.Number:
		e.numbers[value.String()] = true
		return e.instead(value, maskNumber(value))
	case bool:
		return e.instead(value, false)
	}
	return value
}

// instead is what takes the place of a value.
func (e *eraser) instead(value, masked any) any {
	e.changed = e.changed || masked != value
	return masked
}
