package reports

import (
	"strings"
	"unicode"
)

// Visible returns text with U+FFFD in the place of what is not to be seen: controls that a terminal obeys, marks that turn
// the direction of reading, bytes that are no UTF-8. Much of what is quoted was sent by the webhook that is judged.
func Visible(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// firstLine returns the first line that has something in it.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(Visible(s)), "\n")
	return strings.TrimSpace(line)
}

// flat returns text in one line.
func flat(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

// brief returns what a line of a list has room for.
func brief(s string) string { return cut(firstLine(s), 300) }

// cut returns the first characters of text that is longer than that.
func cut(s string, characters int) string {
	for at := range s {
		if characters == 0 {
			return s[:at] + "…"
		}
		characters--
	}
	return s
}
