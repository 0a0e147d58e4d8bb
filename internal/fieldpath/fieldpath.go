// Package fieldpath has the paths of fields in objects: spec.list[3].name, with spec.map['example.com/a'] for keys that are
// more than letters, digits, _, - and $. In the quotes, \' is a quote and \\ a backslash. [*] stands for any item of a list.
//
// Mismatches compares what was decoded from YAML or JSON with a type of Go, and says in the words of YAML which fields do not fit.
package fieldpath

import (
	"strconv"
	"strings"
)

// Step is a part of a path.
type Step struct {
	Key  string // a key, unless List is true
	List bool
	At   int // index of the list's item, -1 for any
}

// escapes are for keys within quotes.
var escapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// Child returns the path of a field or map entry.
func Child(path, key string) string {
	if !isPlain(key) {
		return path + "['" + escapes.Replace(key) + "']"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// isPlain reports whether a key needs no brackets in a path.
func isPlain(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return key != ""
}

// Item returns the path of a list's item.
func Item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Split takes a path apart. It also takes upstream's paths, which have keys in brackets without quotes, and makes something of
// paths that are broken.
func Split(path string) []Step {
	var found []Step
	for path != "" {
		var next Step
		switch {
		case path[0] == '.':
			path = path[1:]
			continue
		case strings.HasPrefix(path, "['"):
			next, path = quoted(path[2:])
		case path[0] == '[':
			next, path = bracketed(path[1:])
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			next, path = Step{Key: path[:end]}, path[end:]
		}
		found = append(found, next)
	}
	return found
}

// quoted reads a key until the quote that closes it.
func quoted(path string) (Step, string) {
	var key strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			key.WriteByte(path[i])
		case path[i] == '\'':
			return Step{Key: key.String()}, strings.TrimPrefix(path[i+1:], "]")
		default:
			key.WriteByte(path[i])
		}
	}
	return Step{Key: key.String()}, ""
}

// bracketed reads an index, * for any, or a key.
func bracketed(path string) (Step, string) {
	inside, rest, _ := strings.Cut(path, "]")
	if inside == "*" {
		return Step{List: true, At: -1}, rest
	}
	if at, err := strconv.Atoi(inside); err == nil && at >= 0 {
		return Step{List: true, At: at}, rest
	}
	return Step{Key: inside}, rest
}

// Join returns the path that steps make.
func Join(steps []Step) string {
	path := ""
	for _, next := range steps {
		switch {
		case next.List && next.At < 0:
			path += "[*]"
		case next.List:
			path = Item(path, next.At)
		default:
			path = Child(path, next.Key)
		}
	}
	return path
}

// Generalize returns a path with [*] in place of every index: spec.list[3].name becomes spec.list[*].name. The keys
// of maps stay, since they look like fields.
func Generalize(path string) string {
	steps := Split(path)
	for i := range steps {
		steps[i].At = -1
	}
	return Join(steps)
}

// Within reports whether a path is another one, or leads to something in it.
func Within(path, other string) bool {
	rest, found := strings.CutPrefix(path, other)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Around returns the narrowest path that several are in; empty if they have nothing in common.
func Around(paths ...string) string {
	common := Split(paths[0])
	for _, path := range paths[1:] {
		steps := Split(path)
		n := 0
		for n < min(len(common), len(steps)) && common[n] == steps[n] {
			n++
		}
		common = common[:n]
	}
	return Join(common)
}

// Value returns the value that steps lead to, and whether there is one.
func Value(value any, steps []Step) (any, bool) {
	for _, next := range steps {
		switch container := value.(type) {
		case map[string]any:
			inner, ok := container[next.Key]
			if next.List || !ok {
				return nil, false
			}
			value = inner
		case []any:
			if !next.List || next.At < 0 || next.At >= len(container) {
				return nil, false
			}
			value = container[next.At]
		default:
			return nil, false
		}
	}
	return value, true
}

// Put replaces the value that steps lead to, which must exist. The steps must not be empty.
func Put(root map[string]any, steps []Step, value any) {
	last := steps[len(steps)-1]
	parent, _ := Value(root, steps[:len(steps)-1])
	switch parent := parent.(type) {
	case map[string]any:
		parent[last.Key] = value
	case []any:
		parent[last.At] = value
	}
}
