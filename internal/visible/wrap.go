package visible

import (
	"strings"
	"unicode/utf8"
)

// Wrapped breaks a line between words into lines of at most so many characters. A word that is longer stays whole, and so do the spaces
// before the first one.
func Wrapped(line string, columns int) []string {
	if utf8.RuneCountInString(line) <= columns {
		return []string{line}
	}
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	var lines []string
	now := ""
	for word := range strings.FieldsSeq(rest) {
		if now != "" && utf8.RuneCountInString(indent+now+" "+word) > columns {
			lines, now = append(lines, indent+now), ""
		}
		if now != "" {
			now += " "
		}
		now += word
	}
	return append(lines, indent+now)
}
