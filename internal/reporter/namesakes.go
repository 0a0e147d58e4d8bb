package reporter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
)

// fewNamesakes is how many fields of one name are one cause, if the same happens to them. Of labels, and of annotations, two are enough: they are
// keys of one map.
const fewNamesakes = 3

// namesakes makes one cause of those that differ only in where the field is, as of a struct that many fields have.
func namesakes(causes []*Cause) []*Cause {
	groups := map[string][]*Cause{}
	for _, c := range causes {
		key := c.alike()
		groups[key] = append(groups[key], c)
	}
	var all []*Cause
	for _, c := range causes {
		group := groups[c.alike()]
		switch {
		case c.alike() == "" || len(group) < 2 || (len(group) < fewNamesakes && !isOfMetadata(c.field)):
			all = append(all, c)
		case group[0] == c:
			for _, other := range group {
				put(&c.namesakes, other.field)
				if other != c {
					c.take(other)
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// alike is what causes have in common that may differ in where a field is; empty for those that are not about one field.
func (c *Cause) alike() string {
	if c.field == "" || c.below > 0 || len(c.undone)+len(c.instead)+len(c.moved)+len(c.also) > 0 || len(c.effects) == 0 {
		return ""
	}
	pairs := c.Pairs
	if isOfMetadata(c.field) {
		pairs = nil // on which ways a key was tried says nothing of the map
	}
	return fmt.Sprintf("%s %q %q %q %t %t", lastOf(c.field), c.effects, c.Lacking, pairs, c.kept, c.made)
}

// isOfMetadata reports whether a field is a label or an annotation.
func isOfMetadata(path string) bool { return strings.HasSuffix(lastOf(path), "['*']") }

// lastOf is the name of a field without what it is in. Labels and annotations have one for all.
func lastOf(path string) string {
	for _, in := range []string{"metadata.labels", "metadata.annotations"} {
		if slices.Contains(above(path), in) {
			return in + "['*']"
		}
	}
	return path[strings.LastIndex(path, ".")+1:]
}

// inFields says in which fields of a name the same happens.
func (c *Cause) inFields() string {
	n := len(c.namesakes)
	if n == 2 {
		return "in 2 fields, " + listed(c.namesakes)
	}
	return fmt.Sprintf("in %d fields, %s, %s %s", n, c.namesakes[0], c.namesakes[1], visible.More(n-2))
}

// name is what the cause calls its field.
func (c *Cause) name() string {
	if len(c.namesakes) > 0 {
		return visible.Text(lastOf(c.field))
	}
	return visible.Text(c.field)
}
