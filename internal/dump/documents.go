package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/crdconform/crdconform/internal/manifest"
)

// documents reads a stream of documents of YAML and JSON, and of each list in it item by item.
type documents struct {
	*collector
	file   string
	in     *bufio.Reader
	line   int    // of the next byte
	buffer []byte // of the last value or line
}

// read reads all documents.
func (d *documents) read() error {
	for {
		indent, first, err := d.begin()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if first == '{' || first == '[' {
			err = d.json("")
		} else {
			err = d.yaml(indent)
		}
		if err != nil {
			return err
		}
	}
}

// begin skips what is before a document, and returns its first byte, and the spaces before that.
func (d *documents) begin() (indent []byte, first byte, err error) {
	for {
		c, err := d.peek()
		switch {
		case err != nil:
			return nil, 0, err
		case c == '\n':
			d.skip(1)
			indent = nil
		case c == ' ' || c == '\t' || c == '\r':
			d.skip(1)
			if indent = append(indent, c); int64(len(indent)) > d.options.ObjectBytes {
				return nil, 0, d.tooLarge(d.at(0))
			}
		case c == '#' || c == '%' && len(indent) == 0:
			if _, err := d.text(); err != nil {
				return nil, 0, err
			}
			indent = nil
		case len(indent) == 0 && d.marked():
			d.skip(len(manifest.Marker))
			indent = []byte("   ") // in its place
		default:
			return indent, c, nil
		}
	}
}

// peek returns the next byte, which is read again.
func (d *documents) peek() (byte, error) {
	next, err := d.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// skip skips bytes that were peeked at.
func (d *documents) skip(n int) {
	next, _ := d.in.Peek(n) // which are there
	d.line += bytes.Count(next, []byte{'\n'})
	_, _ = d.in.Discard(len(next))
}

// marked reports whether a marker is next. It has to be at the beginning of a line.
func (d *documents) marked() bool {
	next, _ := d.in.Peek(len(manifest.Marker) + 1) // less at the end
	if len(next) < len(manifest.Marker) || string(next[:3]) != manifest.Marker && string(next[:3]) != "..." {
		return false
	}
	return len(next) == len(manifest.Marker) || strings.IndexByte(" \t\r\n", next[3]) >= 0
}

// text returns the next line with its end, until the next call.
func (d *documents) text() ([]byte, error) {
	d.buffer = d.buffer[:0]
	for {
		part, err := d.in.ReadSlice('\n')
		d.buffer = append(d.buffer, part...)
		switch {
		case int64(len(d.buffer)) > d.options.ObjectBytes:
			return nil, d.tooLarge(d.at(0))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(d.buffer) > 0:
			return d.buffer, nil
		case err != nil:
			return nil, err
		}
		d.line++
		return d.buffer, nil
	}
}

// at is the place of what comes next.
func (d *documents) at(item int) place { return place{d.file, d.line, item} }

func (d *documents) tooLarge(at place) error {
	return fmt.Errorf("%s: an object is larger than %d MiB, which no API server would store; is the file what it should be?", at, d.options.ObjectBytes>>20)
}

// json reads a document of JSON that is next: an object, a list of objects, or an array of them. The kind is empty if it is not known
// yet.
func (d *documents) json(kind string) error {
	if first, err := d.solid(); err != nil {
		return err
	} else if first == '[' {
		return d.items()
	}
	at := d.at(0)
	d.skip(1)
	whole, listed := []byte{'{'}, false
	for first := true; ; first = false {
		key, err := d.key(first)
		if err != nil {
			return err
		}
		if key == "" {
			break
		}
		c, err := d.solid()
		if err == nil && key == `"items"` && c == '[' && mayBeList(kind) {
			listed = true
			if err = d.items(); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		value, err := d.raw()
		if err != nil {
			return err
		}
		if key == `"kind"` {
			kind = strings.Trim(string(value), `"`)
		}
		if len(whole) > 1 {
			whole = append(whole, ',')
		}
		whole = append(append(append(whole, key...), ':'), value...)
		if int64(len(whole)) > d.options.ObjectBytes {
			return d.tooLarge(at)
		}
	}
	if listed {
		return nil
	}
	return d.take(append(whole, '}'), at)
}

// mayBeList reports whether what has items may be a list, of which kubectl writes the kind behind the items.
func mayBeList(kind string) bool { return kind == "" || strings.HasSuffix(kind, "List") }

// items reads the objects of an array that is next.
func (d *documents) items() error {
	d.skip(1)
	for n := 1; ; n++ {
		more, err := d.more(n == 1, ']')
		if err != nil || !more {
			return err
		}
		if _, err = d.solid(); err != nil {
			return err
		}
		at := d.at(n)
		item, err := d.raw()
		if err != nil {
			return err
		}
		if err := d.take(item, at); err != nil {
			return err
		}
	}
}

// more skips the comma before another field or item, and reports whether there is one. If not, it skips what ends all.
func (d *documents) more(first bool, end byte) (bool, error) {
	c, err := d.solid()
	switch {
	case err != nil:
		return false, err
	case c == end:
		d.skip(1)
		return false, nil
	case first:
		return true, nil
	case c == ',':
		d.skip(1)
		return true, nil
	}
	return false, d.unexpected(c)
}

// key reads the name of the next field, in quotes, and the colon behind it. It is empty behind the last field.
func (d *documents) key(first bool) (string, error) {
	if more, err := d.more(first, '}'); err != nil || !more {
		return "", err
	}
	c, err := d.solid()
	if err != nil {
		return "", err
	}
	if c != '"' {
		return "", d.unexpected(c)
	}
	raw, err := d.raw()
	if err != nil {
		return "", err
	}
	key := string(raw)
	if c, err = d.solid(); err != nil {
		return "", err
	}
	if c != ':' {
		return "", d.unexpected(c)
	}
	d.skip(1)
	return key, nil
}

func (d *documents) unexpected(c byte) error {
	return fmt.Errorf("%s: it is not JSON: %q is not expected there", d.at(0), c)
}

// solid skips space in JSON, and peeks at what is behind it.
func (d *documents) solid() (byte, error) {
	for {
		c, err := d.peek()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || strings.IndexByte(" \t\r\n", c) < 0 {
			return c, err
		}
		d.skip(1)
	}
}

// raw returns the next value of JSON, valid until the next call. It looks only for the end; the caller finds what is wrong inside.
func (d *documents) raw() ([]byte, error) {
	d.buffer = d.buffer[:0]
	at := d.at(0)
	depth, quoted, escaped := 0, false, false
	for {
		c, err := d.in.ReadByte()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if depth == 0 && !quoted && len(d.buffer) > 0 && strings.IndexByte(",]} \t\r\n:", c) >= 0 { // behind a number, true, false or null
			return d.buffer, d.in.UnreadByte()
		}
		if d.buffer = append(d.buffer, c); int64(len(d.buffer)) > d.options.ObjectBytes {
			return nil, d.tooLarge(at)
		}
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == '\n':
			d.line++
		case quoted:
			continue
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth <= 0 && !quoted && strings.IndexByte(`"}]`, c) >= 0 {
			return d.buffer, nil
		}
	}
}
