package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/options"
)

// source records where the values of a configuration come from: a file, and whatever replaced parts of it.
type source struct {
	name      string // of the file; empty if there is none
	lines     []string
	positions map[string]position // by key, such as webhook.command.args[0]
	flags     map[string]string   // what gave the value of a key, such as --crd
}

// position is a place in a file; line and column count from 1.
type position struct{ line, column int }

// ProblemError is a problem in a configuration. Its text names what the user wrote: the flag, or else the key with its place in the
// file.
type ProblemError struct {
	File         string // name of the file, as given; empty if no file set the value
	Line, Column int    // from 1; 0 if no line is to blame
	Key          string // such as webhook.timeout; empty if no key is to blame
	Flag         string // flag that set the value, such as --timeout; empty if no flag did
	Message      string // what is wrong and what to do
	Excerpt      string // the line with a mark under the column; may be empty

	cause error
}

// Error renders the problem as "--timeout: message" or as "crdconform.yaml:7:3: webhook.timeout: message", with the excerpt below.
func (e *ProblemError) Error() string {
	if e.Flag != "" {
		return e.Flag + ": " + e.Message
	}
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
		}
		b.WriteString(" ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Message)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

// Unwrap returns the error from which the problem was created.
func (e *ProblemError) Unwrap() error { return e.cause }

// problem returns a problem at a position.
func (s *source) problem(p position, key, message string) *ProblemError {
	return &ProblemError{File: s.name, Line: p.line, Column: p.column, Key: key, Message: message, Excerpt: s.excerpt(p)}
}

// widest is the maximum number of characters shown of a line.
const widest = 100

// excerpt returns a line with a mark under the column. Of a long line, it returns only the part around the column.
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

// At returns an error about the value of a key such as filter[0] or webhook.reference.faults[1], with a message formatted as by
// fmt.Errorf. The error names the flag that set the value, or else the line of the key in the file; if the file lacks the key, the
// line of the section or list that contains it.
func (c Config) At(key, format string, args ...any) error { return c.at(key, format, args...) }

func (c Config) at(key, format string, args ...any) *ProblemError {
	file, flag, place := c.giver(key)
	for i, arg := range args {
		if other, isKey := arg.(options.Key); isKey {
			args[i] = called(other, flag != "")
		}
	}
	cause := fmt.Errorf(format, args...)
	problem := &ProblemError{File: file, Key: key, Flag: flag, Message: cause.Error(), cause: cause}
	if place.line > 0 {
		problem.Line, problem.Column, problem.Excerpt = place.line, place.column, c.source.excerpt(place)
	}
	return problem
}

// giver returns what set the value of a key, or of a section or list that contains it: a flag, or a file and the position in it.
func (c Config) giver(key string) (file, flag string, place position) {
	if c.source == nil {
		return "", "", position{}
	}
	for above := key; above != ""; above = options.Parent(above) {
		if flag = c.source.flags[above]; flag != "" {
			return "", flag, position{}
		}
		if p, found := c.source.positions[above]; found {
			return c.source.name, "", p
		}
	}
	return c.source.name, "", position{}
}

// called returns the name of an option in a message: its flag if byFlag is set and it has one, or else its key.
func called(key options.Key, byFlag bool) string {
	if o, _ := options.Of(string(key)); byFlag && o.Flag != "" {
		return "--" + o.Flag
	}
	return string(key)
}

// given reports whether a file has the key.
func (c Config) given(key string) bool {
	if c.source == nil {
		return false
	}
	_, found := c.source.positions[key]
	return found
}
