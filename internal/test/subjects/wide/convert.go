package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

const (
	group  = "wide.example.org"
	fields = 200

	// misnamed is the field that a bug gives a wrong name to.
	misnamed = 137
)

// prefixes returns what the names of fields begin with, by version.
func prefixes() map[string]string {
	return map[string]string{"v1alpha1": "field", "v1beta1": "setting", "v1": "option"}
}

func name(prefix string, n int) string { return fmt.Sprintf("%s%03d", prefix, n) }

func webhook() program.Webhook {
	return program.Webhook{
		Name: "wide",
		Bugs: []program.Bug{
			{Name: "misnames", Summary: fmt.Sprintf("gives field %d the name of another one, in conversions from v1beta1 to v1", misnamed)},
			{Name: "slow", Summary: "goes through each object ten times"},
		},
		Handler: func(bug string) (http.Handler, error) {
			c := newConverter()
			switch bug {
			case "misnames":
				c.names[pair{"v1beta1", "v1"}][name("setting", misnamed)] = `"` + name("option", fields) + `"`
			case "slow":
				c.times = 10
			}
			return program.Handler(c.convert), nil
		},
	}
}

type pair struct{ from, to string }

// converter renames fields. It is not changed once it is made, so any number of requests can use it at a time.
type converter struct {
	names map[pair]map[string]string // the new name, in quotes, by the old one
	times int                        // how often each object is converted
}

func newConverter() *converter {
	c := &converter{names: map[pair]map[string]string{}, times: 1}
	for from, old := range prefixes() {
		for to, changed := range prefixes() {
			names := map[string]string{}
			for n := range fields {
				names[name(old, n)] = `"` + name(changed, n) + `"`
			}
			c.names[pair{from, to}] = names
		}
	}
	return c
}

func (c *converter) convert(request program.Review) ([]json.RawMessage, error) {
	desired, ok := strings.CutPrefix(request.Desired, group+"/")
	if !ok {
		return nil, fmt.Errorf("cannot convert to %s", request.Desired)
	}
	converted := make([]json.RawMessage, len(request.Objects))
	for i, object := range request.Objects {
		for range c.times {
			var err error
			if converted[i], err = c.one(object, desired); err != nil {
				return nil, fmt.Errorf("object %d: %w", i, err)
			}
		}
	}
	return converted, nil
}

// one converts an object: the apiVersion and the names in spec. The rest is copied byte for byte.
func (c *converter) one(object json.RawMessage, desired string) (json.RawMessage, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(object, &parts); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	var apiVersion string
	if err := json.Unmarshal(parts["apiVersion"], &apiVersion); err != nil {
		return nil, errors.New("it has no apiVersion")
	}
	version, ok := strings.CutPrefix(apiVersion, group+"/")
	names := c.names[pair{version, desired}]
	if !ok || names == nil {
		return nil, fmt.Errorf("cannot convert %s to %s/%s", apiVersion, group, desired)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(object)+len(object)/4))
	fmt.Fprintf(out, `{"apiVersion":"%s/%s"`, group, desired)
	for _, key := range slices.Sorted(keysBut(parts, "apiVersion")) {
		quoted, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		out.WriteByte(',')
		out.Write(quoted)
		out.WriteByte(':')
		if key == "spec" {
			rename(out, parts[key], names)
		} else {
			out.Write(parts[key])
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// keysBut iterates over the keys of a map but one.
func keysBut(m map[string]json.RawMessage, but string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if key != but && !yield(key) {
				return
			}
		}
	}
}

// rename copies JSON that is known to be valid, with the names of the outermost object replaced. A name that is not known
// stays.
func rename(out *bytes.Buffer, raw []byte, names map[string]string) {
	depth, copied := 0, 0
	key := false // the next string is a name of the outermost object
	for at := 0; at < len(raw); {
		switch raw[at] {
		case '{', '[':
			depth++
			key = depth == 1 && raw[at] == '{'
		case '}', ']':
			depth--
		case ',':
			key = depth == 1 && raw[0] == '{'
		case '"':
			end := stringEnd(raw, at)
			if key {
				if replacement, found := names[string(unquoted(raw[at:end]))]; found {
					out.Write(raw[copied:at])
					out.WriteString(replacement)
					copied = end
				}
			}
			at, key = end, false
			continue
		}
		at++
	}
	out.Write(raw[copied:])
}

// stringEnd returns the place behind the string that begins at a place.
func stringEnd(raw []byte, at int) int {
	for at++; raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// unquoted returns the text of a JSON string.
func unquoted(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil
	}
	return []byte(text)
}
