package reports

import (
	"strings"
	"unicode/utf8"
)

// visible returns text without what is not text: controls that a terminal obeys, marks that turn the direction of
// reading, and bytes that are no UTF-8 become U+FFFD. Much of what reports quote was sent by the webhook that they judge.
func visible(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r&0xfffe == 0xfffe:
			return utf8.RuneError
		}
		return r
	}, s)
}

// firstLine returns the first line that has something in it.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(visible(s)), "\n")
	return strings.TrimSpace(line)
}

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
