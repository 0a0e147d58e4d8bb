package subject

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

const (
	keptBytes = 64 << 10
	keptLines = 200
)

// output keeps the end of what a program writes, and passes everything on. It is safe for use by many goroutines.
type output struct {
	mu   sync.Mutex
	kept []byte
	cut  bool      // whether something before kept was dropped
	next io.Writer // nil discards it, or once it failed
}

// Write never fails, so that the program never waits.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p...)
	if len(o.kept) > 2*keptBytes {
		o.kept = append(o.kept[:0], o.kept[len(o.kept)-keptBytes:]...)
		o.cut = true
	}
	if o.next != nil {
		if _, err := o.next.Write(p); err != nil {
			o.next = nil
		}
	}
	return len(p), nil
}

// text returns the last lines, at most so many, as text that any report can hold.
func (o *output) text(lines int) string {
	o.mu.Lock()
	kept, cut := bytes.Clone(o.kept), o.cut
	o.mu.Unlock()
	if len(kept) > keptBytes {
		kept, cut = kept[len(kept)-keptBytes:], true
	}
	if _, whole, found := bytes.Cut(kept, []byte("\n")); cut && found && len(whole) > 0 {
		kept = whole // what is left of the first line is no line
	}
	all := strings.Split(strings.TrimRight(readable(string(kept)), "\n"), "\n")
	if len(all) > lines {
		all, cut = all[len(all)-lines:], true
	}
	text := strings.Join(all, "\n")
	if cut {
		return "(earlier output is left out)\n" + text
	}
	return text
}

// readable drops what terminals interpret, and replaces what is not UTF-8.
func readable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`).ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\uFFFE' || r == '\uFFFF': // which XML does not know
			return -1
		}
		return r
	}, text)
}
