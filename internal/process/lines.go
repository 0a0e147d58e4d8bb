package process

import "bytes"

// Lines passes on what is written to it in lines.
type Lines struct {
	Say  func(line string)
	rest []byte
}

// Write never fails.
func (w *Lines) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(text), nil
		}
		w.Say(string(line))
		w.rest = rest
	}
}

// Flush passes on a last line that has no end.
func (w *Lines) Flush() {
	if len(w.rest) > 0 {
		w.Say(string(w.rest))
		w.rest = nil
	}
}
