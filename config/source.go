package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// source is the file that a configuration was read from.
type source struct {
	name      string
	lines     []string
	positions map[string]position // by key, such as webhook.command.args[0]
}

// position is a place in a file; both count from 1.
type position struct{ line, column int }

// ProblemError is something that is wrong in a configuration.
type ProblemError struct {
	File         string // as it was named; nothing for a configuration that was not read from a file
	Line, Column int    // from 1; 0 when no line is to blame
	Key          string // such as webhook.timeout; nothing when no key is to blame
	Message      string // what is wrong and what to do
	Excerpt      string // the line with a mark under the column; may be empty
}

// Error renders the problem as "crdconform.yaml:7:3: message", with the excerpt below.
func (e *ProblemError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
		}
		b.WriteString(" ")
	}
	b.WriteString(e.Message)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

// problem makes an error about a place.
func (s *source) problem(p position, key, message string) *ProblemError {
	return &ProblemError{File: s.name, Line: p.line, Column: p.column, Key: key, Message: message, Excerpt: s.excerpt(p)}
}

// widest is how many characters of a line are shown.
const widest = 100

// excerpt returns a line with a mark under the column. Of a long line, it is the part around the column.
func (s *source) excerpt(p position) string {
	if p.line < 1 || p.line > len(s.lines) || p.column < 1 {
		return ""
	}
	line := []rune(strings.ReplaceAll(s.lines[p.line-1], "\t", " "))
	at := min(p.column-1, len(line))
	cut := max(0, at-widest/2)
	line = line[cut:min(len(line), cut+widest)]
	number := fmt.Sprintf("  %d | ", p.line)
	return number + string(line) + "\n" + strings.Repeat(" ", utf8.RuneCountInString(number)+at-cut) + "^"
}

// At makes an error about the value of a key such as filter[0] or webhook.reference.faults[1]. It tells the line of the key,
// or of the one that it belongs to, when the configuration was read from a file that has it.
func (c Config) At(key, message string) error { return c.at(key, message) }

func (c Config) at(key, message string) *ProblemError {
	text := key + ": " + message
	if c.source == nil {
		return &ProblemError{Key: key, Message: text}
	}
	for above := key; above != ""; above = parent(above) {
		if p, found := c.source.positions[above]; found {
			return c.source.problem(p, key, text)
		}
	}
	return &ProblemError{File: c.source.name, Key: key, Message: text}
}

// parent returns the key that a key belongs to: webhook of webhook.url, filter of filter[0].
func parent(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }

// given tells whether a file has the key.
func (c Config) given(key string) bool {
	if c.source == nil {
		return false
	}
	_, found := c.source.positions[key]
	return found
}
