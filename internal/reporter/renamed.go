package reporter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
)

// renamed makes one cause of those about fields of different versions that hold the same.
func renamed(causes []*Cause) []*Cause {
	var all []*Cause
	for _, c := range causes {
		at := slices.IndexFunc(all, func(other *Cause) bool { return other.holds(c) })
		if at < 0 {
			all = append(all, c)
			continue
		}
		all[at].take(c)
		all[at].kept = all[at].kept && c.kept
		all[at].instead = slices.DeleteFunc(all[at].instead, func(text string) bool { // it is said which fields are one
			return strings.HasSuffix(text, inPlace(all[at].field)) || strings.HasSuffix(text, inPlace(c.field))
		})
		put(&all[at].from, c.from...)
		for _, version := range c.from {
			put(&all[at].also, cmp.Or(c.field, visible.First(outermost(c.fields), 1))+" at "+version)
		}
	}
	return all
}

// inPlace ends what is said of a version that has another field in place of one.
func inPlace(field string) string { return " has " + field + " in its place" }

// holds reports whether the field of another cause is what this one's field is at other versions: one is known to be in place of the other, at the
// stored version both are in one place, or one of them is in that of the other.
func (c *Cause) holds(other *Cause) bool {
	if c.field == "" {
		return c.mirrors(other)
	}
	isApart := c.isApartFrom(other)
	isInside := func(place, of string) bool { return strings.Contains(of, ".") && slices.Contains(above(place), of) } // all is in spec
	isNamed := slices.Contains(c.places, other.field) || slices.Contains(other.places, c.field)
	isAtHome := c.kept == other.kept && c.home != "" && other.home != "" && (c.home == other.home || isInside(c.home, other.home) || isInside(other.home, c.home))
	return c.isField() && other.isField() && isApart && (isNamed || isAtHome) && c.field != other.field && slices.Equal(c.about, other.about)
}

// isApartFrom reports whether two causes are about objects of different versions.
func (c *Cause) isApartFrom(other *Cause) bool {
	return !slices.ContainsFunc(c.from, func(version string) bool { return slices.Contains(other.from, version) })
}

// mirrors reports whether the same happens under the same circumstances to a field that has another name on the way back: these and the fields
// differ in one path alone, that of what the fields are in.
func (c *Cause) mirrors(other *Cause) bool {
	words, others := strings.Fields(c.when), strings.Fields(other.when)
	if len(words) == 0 || len(words) != len(others) || !c.isApartFrom(other) || !c.isAboutValues() || !other.isAboutValues() ||
		!slices.Equal(c.about, other.about) || !within(bothWays(other.Pairs), bothWays(c.Pairs)) {
		return false
	}
	at := slices.IndexFunc(words, func(word string) bool { return !slices.Contains(others, word) })
	if at < 0 || !slices.Equal(slices.Delete(slices.Clone(words), at, at+1), slices.Delete(slices.Clone(others), at, at+1)) {
		return false
	}
	var renamed []string
	for _, field := range outermost(other.fields) {
		rest, isInside := strings.CutPrefix(field, others[at])
		if !isInside {
			return false
		}
		renamed = append(renamed, words[at]+rest)
	}
	return within(renamed, c.fields)
}

// isField reports whether it is about a field that is lost or changed, and so may be invalid, grow or differ by the way, in every object, though the other
// version could keep it.
func (c *Cause) isField() bool {
	return c.field != "" && c.when == "" && !c.made && c.below == 0 && len(c.undone) == 0 &&
		(slices.Contains(c.effects, "lost") || slices.Contains(c.effects, "changed")) && within(c.effects, []string{"lost", "changed", "differs", "invalid", "grows"})
}
