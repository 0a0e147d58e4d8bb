package process

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// keptBytes is how much a Tail returns at most.
const keptBytes = 64 << 10

// Tail keeps the last 64 KiB of what a process writes and the beginning of its crash, and passes everything on. It is safe for concurrent
// use.
type Tail struct {
	Next io.Writer // gets everything too, unless it is nil or has failed

	mu   sync.Mutex
	kept []byte
	cut  bool // whether something before kept was dropped

	crash crash
}

// Write never fails, so that the program never waits.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.crash.note(p)
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*keptBytes {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-keptBytes:]...)
		t.cut = true
	}
	if t.Next != nil {
		if _, err := t.Next.Write(p); err != nil {
			t.Next = nil
		}
	}
	return len(p), nil
}

// Text returns the last lines, at most so many, without what terminals interpret and with a replacement character for what is not
// UTF-8, so that any report can hold them.
func (t *Tail) Text(lines int) string {
	t.mu.Lock()
	kept, cut := bytes.Clone(t.kept), t.cut
	t.mu.Unlock()
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
