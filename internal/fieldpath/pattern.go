package fieldpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Pattern stands for fields of objects, each with all below it. It is written like the path of a field, spec.list[3].name,
// with [*] for any item of a list, * for any key of a map, and ['a/b'] for a key with dots, slashes or other signs; in the
// quotes, \' is a quote and \\ a backslash. The zero value matches nothing.
type Pattern struct {
	text  string
	steps []wanted
}

// wanted is a step of a pattern.
type wanted struct {
	Step

	any bool // whether any key, or any item of a list, is meant
}

// ParsePattern reads a pattern.
func ParsePattern(text string) (Pattern, error) {
	steps, err := parse(text)
	if err != nil {
		return Pattern{}, fmt.Errorf("the path %q %w", text, err)
	}
	return Pattern{text, steps}, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// MarshalText returns the pattern as it was written.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText reads a pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Matches reports whether the pattern stands for the field at a path such as spec.list[3].name, or for one above it. It is
// false for what is not a path.
func (p Pattern) Matches(path string) bool {
	steps, err := parse(path)
	if err != nil || len(p.steps) == 0 || len(steps) < len(p.steps) {
		return false
	}
	for i, want := range p.steps {
		if got := steps[i]; got.List != want.List || !want.any && got.Step != want.Step {
			return false
		}
	}
	return true
}

// The errors go on from "the path ...".
var (
	errEmpty   = errors.New("is empty; write it as spec.list[*].name")
	errBracket = errors.New("has a [ without ]; write [*], [3] or ['a/b']")
)

func parse(text string) ([]wanted, error) {
	if text == "" {
		return nil, errEmpty
	}
	var steps []wanted
	for rest, first := text, true; rest != ""; first = false {
		var s wanted
		var err error
		switch {
		case strings.HasPrefix(rest, "['"):
			s, rest, err = quotedKey(rest)
		case rest[0] == '[':
			s, rest, err = listItem(rest)
		default:
			s, rest, err = plainKey(rest, first)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// plainKey takes a key from the beginning of a path, with the dot before it.
func plainKey(text string, first bool) (wanted, string, error) {
	rest, dotted := strings.CutPrefix(text, ".")
	switch {
	case first && dotted:
		return wanted{}, "", errors.New("begins with a dot; leave the dot out")
	case !first && !dotted:
		return wanted{}, "", fmt.Errorf("has %q after a ]; put a dot in between", text)
	}
	end := strings.IndexAny(rest, ".[")
	if end < 0 {
		end = len(rest)
	}
	name := rest[:end]
	switch {
	case name == "":
		return wanted{}, "", errors.New("has no key after a dot; remove the dot or add the key")
	case strings.ContainsAny(name, "]'\"") || strings.TrimSpace(name) != name:
		return wanted{}, "", fmt.Errorf("has the unusual key %q; write ['...'] around it", name)
	}
	return wanted{Step{Key: name}, name == "*"}, rest[end:], nil
}

// quotedKey takes ['...'] from the beginning of a path.
func quotedKey(text string) (wanted, string, error) {
	var name strings.Builder
	for i := len("['"); i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			name.WriteByte(text[i])
		case strings.HasPrefix(text[i:], "']"):
			return wanted{Step: Step{Key: name.String()}}, text[i+len("']"):], nil
		case text[i] == '\'':
			return wanted{}, "", errors.New("has a quote within quotes; write \\' for it")
		default:
			name.WriteByte(text[i])
		}
	}
	return wanted{}, "", errors.New("has a [' without ']")
}

// listItem takes [3] or [*] from the beginning of a path.
func listItem(text string) (wanted, string, error) {
	inside, rest, closed := strings.Cut(text[1:], "]")
	switch {
	case !closed:
		return wanted{}, "", errBracket
	case inside == "*":
		return wanted{Step{List: true, At: -1}, true}, rest, nil
	}
	at, err := strconv.ParseUint(inside, 10, 31)
	if err != nil {
		return wanted{}, "", fmt.Errorf("has [%s]; write [*] for any item of a list, [3] for one, and ['a/b'] for a key", inside)
	}
	return wanted{Step: Step{List: true, At: int(at)}}, rest, nil
}
