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

// block is a part of a document of YAML that is YAML by itself.
type block struct {
	text []byte
	at   place // of its first line
}

// yaml reads a document of YAML that is next, behind some spaces.
func (d *documents) yaml(indent []byte) error {
	p := parts{documents: d, rest: block{indent, d.at(0)}, column: none}
	for begun := false; !begun || !d.marked(); begun = true {
		at := d.at(p.item.at.item + 1)
		line, err := d.text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.add(line, at)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if !p.listed {
		return d.document(p.rest, p.kind)
	}
	if p.kind == "" {
		return fmt.Errorf("%s: the list ends without a kind, so it is cut off; get a complete one", d.at(0))
	}
	_, err := d.toJSON(p.rest)
	return err
}

// parts are those of a document of YAML. The items of a list are taken one by one: a line that begins one is indented as far as that of
// the first.
type parts struct {
	*documents
	rest   block  // all but the items
	item   block  // that is not complete yet; without text if there is none
	column int    // of the items
	listed bool   // there were items
	kind   string // of the document, if it was seen
}

// add adds a line.
func (p *parts) add(line []byte, at place) error {
	spaces, dash := shape(line)
	switch {
	case dash && (p.column == first || spaces == p.column):
		if err := p.flush(); err != nil {
			return err
		}
		p.listed, p.column, p.item = true, spaces, block{bytes.Clone(line), at}
	case p.column >= 0 && (spaces < 0 || spaces > p.column):
		p.item.text = append(p.item.text, line...)
	default:
		if err := p.flush(); err != nil {
			return err
		}
		if spaces >= 0 {
			p.column = none
		}
		if value, is := bytes.CutPrefix(line, []byte("kind:")); is {
			p.kind = strings.Trim(string(value), " \t\r\n\"'")
		}
		if spaces == 0 && string(bytes.TrimSpace(line)) == "items:" && mayBeList(p.kind) {
			p.column, p.item.at.item = first, 0
		}
		p.rest.text = append(p.rest.text, line...)
	}
	if int64(max(len(p.item.text), len(p.rest.text))) > p.options.ObjectBytes {
		return p.tooLarge(at)
	}
	return nil
}

// flush takes the item, which is complete.
func (p *parts) flush() error {
	if p.item.text == nil {
		return nil
	}
	array, err := p.toJSON(p.item)
	if err != nil {
		return err
	}
	p.item.text = nil
	return p.take(bytes.TrimSuffix(bytes.TrimPrefix(array, []byte("[")), []byte("]")), p.item.at)
}

// Columns of the items of a list before the first was seen, and where there are none.
const (
	first = -1
	none  = -2
)

// shape returns how far a line is indented, or -1 if it has nothing but space or a comment, and whether it begins an item.
func shape(line []byte) (spaces int, dash bool) {
	text := bytes.TrimLeft(line, " ")
	spaces = len(line) - len(text)
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] == '#' {
		return -1, false
	}
	return spaces, text[0] == '-' && (len(text) == 1 || text[1] == ' ' || text[1] == '\t')
}

// document takes a document whose items were not read yet.
func (d *documents) document(b block, kind string) error {
	raw, err := d.toJSON(b)
	if err != nil || string(raw) == "null" {
		return err
	}
	if raw[0] != '{' && raw[0] != '[' {
		return d.take(raw, b.at)
	}
	inside := documents{collector: d.collector, file: d.file, in: bufio.NewReader(bytes.NewReader(raw)), line: b.at.line}
	return inside.json(kind)
}

// toJSON turns YAML into JSON.
func (d *documents) toJSON(b block) ([]byte, error) {
	raw, err := manifest.Document{File: d.file, Line: b.at.line, Text: b.text}.JSONWithin(d.options.ObjectBytes)
	if errors.Is(err, manifest.ErrTooLarge) {
		return nil, d.tooLarge(b.at)
	}
	return raw, err
}
