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

// namesakes makes one cause of those that differ only in where the field is, as of a struct that many fields have. Each is lost on ways on which the
// one is that is lost on most: a way on which another was not tried makes no difference.
func namesakes(causes []*Cause) []*Cause {
	widest, groups := map[string]*Cause{}, map[string][]*Cause{}
	for _, c := range causes {
		if most := widest[c.alike()]; most == nil || len(c.ways()) > len(most.ways()) {
			widest[c.alike()] = c
		}
	}
	isIn := func(c *Cause) bool { return c.alike() != "" && within(c.ways(), widest[c.alike()].ways()) }
	for _, c := range causes {
		if isIn(c) {
			groups[c.alike()] = append(groups[c.alike()], c)
		}
	}
	var all []*Cause
	for _, c := range causes {
		group := groups[c.alike()]
		switch {
		case !isIn(c) || len(group) < 2 || (len(group) < fewNamesakes && !isOfMetadata(c.field)):
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
	return fmt.Sprintf("%s %q %q %t %t", lastOf(c.field), c.effects, slices.Sorted(slices.Values(c.Lacking)), c.kept, c.made)
}

// ways are the pairs of versions between which the same happens. Of a key of a map they say nothing.
func (c *Cause) ways() []string {
	if isOfMetadata(c.field) {
		return nil
	}
	return c.Pairs
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
