package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/corpus"
)

// Placeholder takes the place of strings. It is base64 of something as well, so that fields of bytes can still be decoded.
const Placeholder = "REDACTED"

// shortest is the length in bytes from which on a string that was redacted is looked for elsewhere in its exchange. Shorter
// ones are too likely to be a part of something else.
const shortest = 6

// Redaction says what of objects must not get into a recording. The zero value lets everything pass.
//
// At its paths every string becomes Placeholder, unless it is empty, every number 0 and every boolean false; nulls, and the keys
// of maps, stay. That holds for the same paths within annotations that are JSON objects too, where kubectl and converters keep
// copies. Strings of 6 bytes or more that were redacted are replaced wherever else they are in the same exchange, such as in
// a message. What cannot be decoded cannot be redacted, so such bodies are withheld.
type Redaction struct{ patterns []config.Pattern }

// ParseRedaction reads paths into objects such as spec.password, spec.users[*].token, spec.tokens.* and
// metadata.annotations['example.com/key'], which are written as in the configuration file. It refuses apiVersion and kind,
// and all metadata but labels and annotations, which webhooks could not read then.
func ParseRedaction(paths []string) (Redaction, error) {
	var r Redaction
	for _, path := range paths {
		pattern, err := config.ParsePattern(path)
		if err != nil {
			return Redaction{}, err
		}
		if !redactable(corpus.Generalize(path)) {
			return Redaction{}, fmt.Errorf("the path %q cannot be redacted: webhooks need apiVersion, kind and metadata; of that, only labels and annotations can be", path)
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
	var paths []string
	for _, p := range r.patterns {
		paths = append(paths, p.String())
	}
	return paths
}

// Response returns the body of a response as it would be recorded, to compare it with one that was. It fails for what is not
// JSON.
func (r Redaction) Response(body []byte) ([]byte, error) {
	if len(r.patterns) == 0 {
		return body, nil
	}
	x, _, err := r.apply(Exchange{Body: []byte("{}"), Response: contract.Response{Body: body}})
	if err == nil && x.Withheld != "" {
		err = errors.New(x.Withheld)
	}
	return x.Response.Body, err
}

// apply returns a copy of an exchange without what must not be recorded, and which of the paths were found in it. It fails
// when the request cannot be decoded.
func (r Redaction) apply(x Exchange) (Exchange, []bool, error) {
	if len(r.patterns) == 0 {
		return x, nil, nil
	}
	e := &eraser{patterns: r.patterns, matched: make([]bool, len(r.patterns)), secrets: map[string]bool{}}
	request, err := decoded(x.Body)
	if err != nil {
		return Exchange{}, nil, err
	}
	e.review(request)
	var response any
	if len(x.Response.Body) > 0 && x.Withheld == "" {
		if response, err = decoded(x.Response.Body); err != nil {
			x.Withheld = "it is not JSON, so nothing in it can be redacted"
		}
		e.review(response)
	}
	s := newScrubber(e.secrets)
	if x.Body, err = encoded(s.review(request)); err != nil {
		return Exchange{}, nil, err
	}
	switch {
	case x.Withheld != "":
		x.Response.Body = nil
	case response != nil:
		x.Response.Body, err = encoded(s.review(response))
	}
	if x.Response.Err != nil {
		x.Response.Err = errors.New(s.text(x.Response.Err.Error()))
	}
	return x, e.matched, err
}

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
	patterns []config.Pattern
	matched  []bool
	secrets  map[string]bool // strings that were replaced
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

// object erases in a custom resource, and tells whether it did.
func (e *eraser) object(value any) bool {
	object, _ := value.(map[string]any)
	erased := false
	for field := range object {
		switch field {
		case "apiVersion", "kind":
		case "metadata":
			erased = e.metadata(object[field]) || erased
		default:
			object[field] = e.value(step("", field), object[field], false, &erased)
		}
	}
	return erased
}

func (e *eraser) metadata(value any) bool {
	metadata, _ := value.(map[string]any)
	erased := false
	for _, field := range []string{"labels", "annotations"} {
		if inner, found := metadata[field]; found {
			metadata[field] = e.value(step(step("", "metadata"), field), inner, false, &erased)
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
		return Placeholder
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// value returns what takes the place of a value. Within tells that its path, or one above it, is to be redacted.
func (e *eraser) value(path string, value any, within bool, erased *bool) any {
	for i, p := range e.patterns {
		if !within && p.Matches(path) {
			within, *erased, e.matched[i] = true, true, true
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = e.value(step(path, key), value[key], within, erased)
		}
	case []any:
		for i := range value {
			value[i] = e.value(path+"["+strconv.Itoa(i)+"]", value[i], within, erased)
		}
	case string:
		if within && value != "" {
			e.secrets[value] = true
			return Placeholder
		}
	case json.Number:
		if within {
			return json.Number("0")
		}
	case bool:
		return value && !within
	}
	return value
}

// step is the path of a key, in quotes whatever the key.
func step(path, key string) string {
	return path + "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(key) + "']"
}
