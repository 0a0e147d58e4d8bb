package corpus

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"pgregory.net/rapid"
)

// samplesSort is the place of the samples' values among the sorts.
const samplesSort = 1

// hasSampleSort reports whether the samples' values are a kind of their own.
func (n *node) hasSampleSort() bool { return n.kind == text && n.enum == nil }

// sorts is the number of kinds of values for a place.
func (n *node) sorts() int {
	switch {
	case n.enum != nil:
		return 1
	case n.kind == text && n.isFree() && len(n.hints) > 0:
		return 3 + len(sortsOfText()) // words are the last
	case n.kind == text && n.isFree():
		return 2 + len(sortsOfText())
	case n.kind == text:
		return 2
	case n.kind == integer, n.kind == number:
		return 3
	case n.kind == intOrString && len(n.patterns) == 0:
		return 4
	}
	return 1
}

// isFree reports whether a string may have any characters.
func (n *node) isFree() bool {
	return len(n.patterns) == 0 && !n.validated
}

// plainFormat is how upstream compares formats.
func plainFormat(format string) string { return strings.ReplaceAll(format, "-", "") }

// acceptsText reports whether a string keeps to the limits.
func (n *node) acceptsText(value string) bool {
	length := int64(utf8.RuneCountInString(value))
	return length >= n.minLength && length <= n.maxLength && n.matches(value) &&
		(!n.validated || strfmt.Default.Validates(n.format, value))
}

// mostlyHinted is in how many of 100 cases text of all kinds is not put where other strings seem to be meant: a webhook that refuses it there
// would be shown none in other fields.
const mostlyHinted = 80

// text makes a string.
func (m *maker) text(n *node) string {
	p := &m.g.places[n.id]
	if m.style == Zeros && p.isDuration(n) && n.acceptsText(noTime) {
		return noTime
	}
	if m.style == Zeros && m.mixed && n.acceptsText("0") && m.chance(15) { // in some languages that is nothing, too
		return "0"
	}
	if m.style == Zeros && n.acceptsText("") {
		return ""
	}
	if fitting := slices.DeleteFunc(zoned(), func(s string) bool { return !n.acceptsText(s) }); m.style == Text && n.format == "date-time" && len(fitting) > 0 && m.chance(50) {
		return one(m, fitting)
	}
	if !n.isFree() {
		if m.growing[n.id] {
			if long := n.longest(m.g.words, p.pool); long != "" {
				return long
			}
		}
		if m.grows(n) {
			return slices.MaxFunc(p.pool, func(a, b string) int { return len(a) - len(b) })
		}
		return one(m, p.pool)
	}
	if p.level == 0 && len(n.hints) > 0 && (m.style != Text || m.chance(mostlyHinted)) {
		return one(m, n.hints)
	}
	if p.level > samplesSort && p.level <= samplesSort+len(sortsOfText()) {
		if fitting := slices.DeleteFunc(sortsOfText()[p.level-samplesSort-1], func(s string) bool { return !n.acceptsText(s) }); len(fitting) > 0 {
			return one(m, fitting)
		}
	}
	switch {
	case m.style == Text && p.level == 0:
		return m.strange(n.minLength, n.maxLength)
	case m.grows(n) && p.level == 0:
		return m.long(n, m.share)
	}
	return m.word(n.minLength, n.maxLength)
}

// word makes a string of one or two words.
func (m *maker) word(least, most int64) string {
	word := one(m, m.g.words)
	if m.chance(30) {
		word += "-" + one(m, m.g.words)
	}
	return fitted(word, least, most)
}

// fitted cuts a string of ASCII, or adds to it, so that its length is allowed.
func fitted(word string, least, most int64) string {
	if short := least - int64(len(word)); short > 0 {
		word += strings.Repeat("x", int(min(short, 1<<20)))
	}
	return word[:min(int64(len(word)), most)]
}

// long makes a string of so many bytes, if that is allowed.
func (m *maker) long(n *node, bytes int) string {
	const most = 192 << 10 // so that it fits into an annotation, which is where webhooks keep things
	length := max(n.minLength, min(n.maxLength, int64(min(bytes, most))))
	return fitted(strings.Repeat(one(m, m.g.words)+" ", int(length/3)+1), n.minLength, length)
}

// strange makes a string of characters that are often spoilt.
func (m *maker) strange(least, most int64) string {
	fitting := slices.DeleteFunc(strangeText(), func(s string) bool { return int64(utf8.RuneCountInString(s)) > most })
	if most >= 1200 && m.chance(3) {
		fitting = []string{strings.Repeat("λόγος 🦄 ", 130)}
	}
	if len(fitting) == 0 {
		return ""
	}
	made := one(m, fitting)
	if other := one(m, fitting); m.chance(40) && int64(utf8.RuneCountInString(made+other)) <= most {
		made += other
	}
	if short := least - int64(utf8.RuneCountInString(made)); short > 0 {
		made += strings.Repeat("ß", int(min(short, 1<<20)))
	}
	return made
}

// intOrString makes an integer or a string.
func (m *maker) intOrString(n *node) any {
	p := &m.g.places[n.id]
	if n.quantity {
		if m.style != Integers && m.style != Zeros && len(p.pool) > 0 && m.chance(75) {
			return one(m, p.pool)
		}
		return m.integer(n)
	}
	if len(n.patterns) > 0 {
		if len(p.pool) > 0 && m.style != Integers && m.chance(60) {
			return one(m, p.pool)
		}
		return m.integer(n)
	}
	if m.style == Text && p.level == 0 && n.acceptsText("5") && m.chance(30) {
		return "5"
	}
	shape := [][]string{{"", "25%", "", "25%", "", "100%", "0%"}, {""}, {"25%"}, {"http"}}[p.level]
	if text := one(m, shape); text != "" && n.acceptsText(text) && (m.style != Integers && m.style != Zeros || p.level > 1) {
		return text
	}
	return m.integer(n)
}

// strings returns strings that the patterns, the format and the length allow. Those that people would write come first,
// then those that go through each branch of a pattern, and others that it allows only when there are few of them.
func (n *node) strings() []string {
	const usually, least, capitals = 16, 3, 2
	enough := usually
	var pool []string
	keep := func(candidates []string) {
		for _, candidate := range candidates {
			if len(pool) < enough && n.acceptsText(candidate) && !slices.Contains(pool, candidate) {
				pool = append(pool, candidate)
			}
		}
	}
	if n.quantity {
		keep(append(quantities(), "1e3", "0.5"))
		return pool
	}
	keep(formats()[plainFormat(n.format)])
	if len(n.patterns) == 0 {
		return pool
	}
	keep(usual())
	for _, pattern := range n.patterns {
		enough = len(pool) + mostWitnesses
		keep(witnesses(pattern.String()))
	}
	for _, pattern := range n.patterns {
		if len(pool) >= least {
			break
		}
		found := matching(pattern.String())
		slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
		keep(slices.DeleteFunc(slices.Clone(found), func(s string) bool { return !isReadable(s) }))
		keep(slices.DeleteFunc(slices.Clone(found), hasControl))
		keep(slices.DeleteFunc(n.stretched(found), hasControl))
		if len(pool) == 0 {
			keep(found)
		}
	}
	if len(pool) > 0 && !slices.ContainsFunc(pool, hasCapital) { // a webhook may fold case
		enough = len(pool) + capitals
		candidates := usual()
		for _, lower := range pool {
			candidates = append(candidates, strings.ToUpper(lower))
		}
		keep(slices.DeleteFunc(candidates, func(s string) bool { return !hasCapital(s) }))
	}
	return pool
}

// hasCapital reports whether a string has a letter that lower case would change.
func hasCapital(s string) bool { return strings.ToLower(s) != s }

// hasControl reports whether a string has characters that are uncommon and that many tools cannot show.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f || r == 0xfffd })
}

// isReadable reports whether a string is ASCII that is printed.
func isReadable(value string) bool {
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// stretched cuts strings, and joins them, so that their lengths are allowed.
func (n *node) stretched(found []string) []string {
	var made []string
	for _, s := range found {
		runes := []rune(s)
		if int64(len(runes)) > n.maxLength {
			made = append(made, string(runes[:n.maxLength]))
		}
		if len(runes) > 0 && n.minLength > int64(len(runes)) && n.minLength < 1<<16 {
			made = append(made, strings.Repeat(s, int(n.minLength)/len(runes)+1), s+strings.Repeat(string(runes[len(runes)-1]), int(n.minLength)-len(runes)))
		}
	}
	return made
}

// matching returns strings that a pattern matches, or fewer, if it is one for which they are hard to find.
func matching(pattern string) []string {
	const tries = 24
	hash := fnv.New32a()
	hash.Write([]byte(pattern))
	var found []string
	for i := range tries {
		if s, ok := example(pattern, int(hash.Sum32()>>1)+i); ok {
			found = append(found, s)
		}
	}
	return found
}

// example returns a string that a pattern matches. Rapid panics when it finds none.
func example(pattern string, seed int) (s string, ok bool) {
	defer func() {
		if recover() != nil {
			s, ok = "", false
		}
	}()
	s = rapid.StringMatching(pattern).Example(seed)
	return s, utf8.ValidString(s)
}

// name returns a name for an object, which the root schema may limit.
func (g *Generator) name(style Style, number int) string {
	name := fmt.Sprintf("%s-%s-%d", strings.ToLower(g.definition.CRD.Spec.Names.Kind), style, number)
	limits := g.schema.root.byName["metadata"].child("name")
	switch {
	case limits == nil || limits.accepts(name):
		return name
	case limits.enum != nil:
		return fmt.Sprint(limits.enum[number%len(limits.enum)])
	}
	short := "o" + strconv.Itoa(number)
	if pool := g.places[limits.id].pool; !limits.accepts(short) && len(pool) > 0 {
		return pool[number%len(pool)]
	}
	return short
}
