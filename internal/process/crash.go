package process

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
)

// mostOfCrash is how much is kept of a crash, in bytes: the dump of all goroutines that follows says nothing.
const mostOfCrash = 32 << 10

// crash keeps the beginning of a dump by which the runtime of Go ends a program. What follows it may be longer than a Tail.
type crash struct {
	rest []byte // of a line that has not ended
	kept []byte
	over bool // whether there were goroutines: a panic that comes after that is another
}

// dumped matches the first line of a crash.
var dumped = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: |runtime: )`)

// note reads more of what the program writes.
func (c *crash) note(p []byte) {
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			c.rest = append(c.rest, p[:min(len(p), mostOfCrash)]...)
			return
		}
		if len(c.rest) > 0 {
			line = append(c.rest, line...)
			c.rest = nil
		}
		c.line(line)
		p = rest
	}
}

func (c *crash) line(line []byte) {
	switch begins := dumped.Match(line); {
	case begins && (len(c.kept) == 0 || c.over):
		c.kept, c.over = c.kept[:0], false
	case len(c.kept) == 0, len(c.kept)+len(line) > mostOfCrash:
		return
	case bytes.HasPrefix(line, []byte("goroutine ")):
		c.over = true
	}
	c.kept = append(append(c.kept, line[:min(len(line), mostOfCrash)]...), '\n')
}

// Crash returns the first lines of the crash that ended a program, such as "panic: ...", with the first frame of the program's own code; empty
// if it has written of none. Only the runtime of Go writes one in which they would be far from the end.
func (t *Tail) Crash() string {
	t.mu.Lock()
	kept, dumped := string(t.crash.kept), t.crash.over
	t.mu.Unlock()
	if !dumped {
		return ""
	}
	head, stack, _ := strings.Cut(readable(kept), "\ngoroutine ")
	head, _, _ = strings.Cut(strings.TrimSpace(head), "\nruntime stack:")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	const most = 6
	lines = lines[:min(len(lines), most)]
	return strings.Join(lines, "\n") + ownFrame(strings.Split(stack, "\n"))
}

// ownFrame says what the first frame of a stack is that is the program's own code, as the end of a sentence; the first of all if there is
// none, and nothing if there are no frames.
func ownFrame(stack []string) string {
	first := ""
	for i := 0; i+1 < len(stack); i++ {
		function, place := stack[i], strings.TrimSpace(stack[i+1])
		if !strings.HasPrefix(stack[i+1], "\t") || !frame.MatchString(place) {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		function, _, _ = strings.Cut(function, "(0x") // what it was called with are addresses
		text := ", in " + function + ", " + place
		first = cmp.Or(first, text)
		if !isOthers(function, place) {
			return text
		}
	}
	return first
}

// frame matches where a frame is.
var frame = regexp.MustCompile(`\.(go|s|c):\d+`)

// isOthers reports whether a frame is in the standard library or in a module that the program requires.
func isOthers(function, place string) bool {
	name := strings.TrimPrefix(function, "created by ")
	if end := strings.IndexAny(name, "([ "); end >= 0 {
		name = name[:end]
	}
	slash := strings.LastIndex(name, "/") + 1
	symbol, _, found := strings.Cut(name[slash:], ".")
	if !found {
		return true // such as panic
	}
	of := name[:slash] + symbol
	if host, _, _ := strings.Cut(of, "/"); !strings.Contains(host, ".") && (strings.Contains(place, "/src/"+of+"/") || strings.HasPrefix(place, of+"/")) {
		return true
	}
	return strings.Contains(place, "@v") || strings.Contains(place, "/vendor/")
}
