package reports

import (
	"regexp"
	"strings"
	"unicode"
)

// Visible returns text with U+FFFD in the place of what is not to be seen: controls that a terminal obeys, marks that turn
// the direction of reading, bytes that are no UTF-8. So it does with the first character of what the logs of a CI obey, as in
// ::error::. Much of what is quoted was sent by the webhook that is judged.
func Visible(s string) string {
	s = visible(s)
	if !strings.Contains(s, "::") && !strings.Contains(s, "##") {
		return s
	}
	// GitHub takes a command at the beginning of a line, where wrapped text may have it, and the older ##[ anywhere, as
	// Azure and TeamCity do with theirs.
	s = regexp.MustCompile(`(^|\s):(:[A-Za-z-]+(?:[ \t][^\n]*?)?::)`).ReplaceAllString(s, "${1}\uFFFD${2}")
	return regexp.MustCompile(`#(#(?:vso|teamcity)?\[)`).ReplaceAllString(s, "\uFFFD${1}")
}

// visible does so for what no log has.
func visible(s string) string {
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

// flat returns text in one line. Lines that stand beside each other are told apart; one that is indented, or follows one that
// ends in a colon, belongs to the line before.
func flat(s string) string {
	var text, last string
	for line := range strings.Lines(Visible(s)) {
		words := strings.Join(strings.Fields(line), " ")
		switch {
		case words == "":
			continue
		case text == "":
		case strings.HasSuffix(last, ":") || indented(line) || indented(last):
			text += " "
		default:
			text += "; "
		}
		text, last = text+words, strings.TrimRight(line, " \t\n")
	}
	return text
}

func indented(line string) bool { return strings.TrimLeft(line, " \t") != line }

// brief returns what a line of a list has room for: the first line, with the next one where the first only leads to it.
func brief(s string) string {
	var text []string
	for line := range strings.Lines(Visible(s)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text = append(text, line)
		if !strings.HasSuffix(line, ":") {
			break
		}
	}
	return cut(strings.Join(text, " "), 300)
}

// Brief is the reason of the verdict in a line of 300 characters or less.
func (r Result) Brief() string { return brief(r.Reason) }

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
