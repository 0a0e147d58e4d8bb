package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
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
	if bytes.IndexByte(b.text, '&') >= 0 && bytes.IndexByte(b.text, '*') >= 0 {
		var root kyaml.Node
		if err := kyaml.Unmarshal(b.text, &root); err == nil && expanded(&root, map[*kyaml.Node]int64{}) > d.options.ObjectBytes {
			return nil, d.tooLarge(b.at)
		}
	}
	raw, err := yaml.YAMLToJSON(b.text)
	if err == nil {
		return raw, nil
	}
	reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	if at := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(reason); at != nil {
		within, _ := strconv.Atoi(at[1]) // digits; too many of them are no line
		b.at.line, reason = b.at.line+max(within, 1)-1, strings.TrimPrefix(reason, at[0])
	}
	advice := ""
	if bytes.Contains(b.text, []byte("{{")) {
		advice = "; it looks like a template, so render it first, for example by \"helm template\""
	}
	return nil, fmt.Errorf("%s: it is neither YAML nor JSON: %s%s", b.at, strings.ReplaceAll(reason, "\n", " "), advice)
}

// expanded is about how many bytes a node has when each alias is replaced by what it stands for. One that stands for what it is in
// has none here; the parser rejects it.
func expanded(n *kyaml.Node, known map[*kyaml.Node]int64) int64 {
	const enough = 1 << 40
	if size, is := known[n]; is {
		return size
	}
	known[n] = 0
	size := int64(len(n.Value) + 1)
	if n.Alias != nil {
		size = expanded(n.Alias, known)
	}
	for _, inside := range n.Content {
		size = min(enough, size+expanded(inside, known))
	}
	known[n] = size
	return size
}
