// Package visible writes text for people. Much of what is quoted was sent by the webhook that is judged, so it is made safe to show.
package visible

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/dustin/go-humanize/english"
)

// Text returns text with U+FFFD in the place of what is not visible: controls that a terminal obeys, marks that turn the direction
// of reading, bytes that are no UTF-8. So it does with the first character of what the logs of a CI obey, as in ::error::.
func Text(s string) string {
	s = Graphic(s)
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	// GitHub takes a command at the beginning of a line, where wrapped text may have it, and the older ##[ anywhere, as
	// Azure and TeamCity do with theirs.
	s = regexp.MustCompile(`(^|\s):(:[A-Za-z-]+(?:[ \t][^\n]*?)?::)`).ReplaceAllString(s, "${1}\uFFFD${2}")
	return regexp.MustCompile(`#(#(?:vso|teamcity)?\[)`).ReplaceAllString(s, "\uFFFD${1}")
}

// Graphic is Text for what no log has: it leaves what only logs obey.
func Graphic(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Cut returns the first characters of a text that is longer than that, with an ellipsis.
func Cut(s string, characters int) string {
	for at := range s {
		if characters == 0 {
			return s[:at] + "…"
		}
		characters--
	}
	return s
}

// Count returns a number with the word for what it counts, such as "1 object" or "2 objects". The plural may be empty where English forms it
// by a rule.
func Count[N int | int64 | uint64](n N, singular, plural string) string {
	return fmt.Sprintf("%d %s", n, Word(n, singular, plural))
}

// Word returns the word of Count alone.
func Word[N int | int64 | uint64](n N, singular, plural string) string {
	return english.PluralWord(int(min(n, 2)), singular, plural)
}

// More is what a list ends with that is cut off.
func More[N int | int64](n N) string { return fmt.Sprintf("and %d more", n) }

// First lists the first of some names, and says how many more there are.
func First(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " " + More(len(names)-most)
}

// Few returns the first of some texts and, if there are more, a last one that says how many, followed by rest.
func Few(texts []string, most int, rest string) []string {
	if len(texts) <= most {
		return texts
	}
	return append(slices.Clone(texts[:most]), More(len(texts)-most)+rest)
}

// Strings returns what each of some values is as text.
func Strings[T fmt.Stringer](all []T) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return texts
}

// Line returns a text on one line, with single spaces.
func Line(s string) string { return strings.Join(strings.Fields(s), " ") }

// Short returns the first bytes of a text that is longer than that, as far as they are whole characters, with three dots.
func Short(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return strings.ToValidUTF8(s[:bytes], "") + "..."
}
