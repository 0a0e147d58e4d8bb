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

// yaml reads a document of YAML that is next, behind some spaces. The items of a list are read one by one: a line that begins one is
// indented as far as that of the first.
func (d *documents) yaml(indent []byte) error {
	rest := block{indent, d.at(0)} // all but the items
	item, column, kind := block{}, none, ""
	flush := func() error {
		if item.text == nil {
			return nil
		}
		done := item
		item.text = nil
		return d.item(done)
	}
	listed := false
	for begun := false; !begun || !d.marked(); begun = true {
		at := d.at(item.at.item + 1)
		line, err := d.text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		spaces, dash := shape(line)
		inItem := column >= 0 && (spaces < 0 || spaces > column)
		begins := column != none && dash && (column == first || spaces == column)
		switch {
		case begins:
			if err := flush(); err != nil {
				return err
			}
			listed, column, item = true, spaces, block{bytes.Clone(line), at}
		case inItem:
			item.text = append(item.text, line...)
		default:
			if err := flush(); err != nil {
				return err
			}
			if spaces >= 0 {
				column = none
			}
			if value, is := bytes.CutPrefix(line, []byte("kind:")); is {
				kind = strings.Trim(string(value), " \t\r\n\"'")
			}
			if string(bytes.TrimSpace(line)) == "items:" && spaces == 0 && mayBeList(kind) {
				column, item.at.item = first, 0
			}
			rest.text = append(rest.text, line...)
		}
		if int64(max(len(item.text), len(rest.text))) > d.options.ObjectBytes {
			return d.tooLarge(at)
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if listed && kind == "" {
		return fmt.Errorf("%s: the list ends without a kind, so it is cut off; get a complete one", d.at(0))
	}
	if listed {
		_, err := d.toJSON(rest)
		return err
	}
	return d.document(rest, kind)
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

// item takes an item of a list.
func (d *documents) item(b block) error {
	array, err := d.toJSON(b)
	if err != nil {
		return err
	}
	return d.take(bytes.TrimSuffix(bytes.TrimPrefix(array, []byte("[")), []byte("]")), b.at)
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
