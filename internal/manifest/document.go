package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/visible"
)

// Document is a document of YAML or JSON in a file.
type Document struct {
	File string
	Line int // of its first field, from 1
	Text []byte
}

// String is the place of the document, as FILE:LINE.
func (d Document) String() string { return fmt.Sprintf("%s:%d", visible.Graphic(d.File), d.Line) }

// decode returns text as UTF-8: PowerShell writes UTF-16, and some editors a mark in front of UTF-8.
func decode(text []byte) []byte {
	decoded, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return text // who reads it says what is wrong
	}
	return decoded
}

// Documents returns the documents of a file that have more than comments.
func Documents(file string, data []byte) []Document {
	var all []Document
	text := decode(data)
	begin, line := 0, 1
	add := func(end int) {
		if d := (Document{file, line, text[begin:end]}).trimmed(); len(d.Text) > 0 {
			all = append(all, d)
		}
	}
	for offset, n := 0, 1; offset < len(text); n++ {
		end := len(text)
		if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		if marks(text[offset:end]) {
			add(offset)
			begin, line = offset+len(Marker), n
		}
		offset = end
	}
	add(len(text))
	return all
}

// Marker is what begins a document of YAML, and is as long as what ends one.
const Marker = "---"

// marks reports whether a line begins a document.
func marks(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte(Marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// trimmed returns the document without the lines in front of it that have only comments, directives such as %YAML, or the end of a
// document. Nothing is left of a document that has no others.
func (d Document) trimmed() Document {
	for line := range bytes.Lines(d.Text) {
		if rest := bytes.TrimSpace(line); len(rest) > 0 && rest[0] != '#' && rest[0] != '%' && string(rest) != "..." {
			break
		}
		d.Text = d.Text[len(line):]
		if line[len(line)-1] == '\n' {
			d.Line++
		}
	}
	return d
}

// JSON returns the document as JSON. What is JSON stays as it is, and may be indented by tabs, unlike YAML. It fails for what is neither, for
// keys that are there twice, and for aliases that stand for more than 32 MiB.
func (d Document) JSON() ([]byte, error) { return d.JSONWithin(files.Objects) }

// JSONWithin is like JSON, with another limit in bytes for what aliases stand for. Beyond, the error is ErrTooLarge.
func (d Document) JSONWithin(most int64) ([]byte, error) {
	return d.converted(most, once)
}

// once converts YAML to JSON, and fails for keys that are there twice. A key beside a merge key (<<) takes the place of what that brings, so
// it is not.
func once(text []byte) ([]byte, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err == nil || !bytes.Contains(text, []byte("<<")) {
		return raw, err
	}
	var root kyaml.Node
	if kyaml.Unmarshal(text, &root) != nil {
		return nil, err
	}
	if again := repeated(&root); again != nil {
		return nil, fmt.Errorf("line %d: key %q already set in map", again.Line, again.Value)
	}
	return yaml.YAMLToJSON(text)
}

// repeated returns a key that its mapping has before, nil if there is none.
func repeated(n *kyaml.Node) *kyaml.Node {
	keys := map[string]bool{}
	for i, inside := range n.Content {
		if n.Kind == kyaml.MappingNode && i%2 == 0 && inside.Kind == kyaml.ScalarNode {
			if keys[inside.Value] {
				return inside
			}
			keys[inside.Value] = true
		}
		if again := repeated(inside); again != nil {
			return again
		}
	}
	return nil
}

// LastJSON is like JSON, but of keys that are there twice the last one counts, for a caller that reports these itself.
func (d Document) LastJSON() ([]byte, error) { return d.converted(files.Objects, yaml.YAMLToJSON) }

func (d Document) converted(most int64, convert func([]byte) ([]byte, error)) ([]byte, error) {
	if json.Valid(d.Text) {
		return d.Text, nil
	}
	if bytes.IndexByte(d.Text, '&') >= 0 && bytes.IndexByte(d.Text, '*') >= 0 {
		var root kyaml.Node
		if err := kyaml.Unmarshal(d.Text, &root); err == nil && expanded(&root, map[*kyaml.Node]int64{}) > most {
			return nil, fmt.Errorf("%s: %w", d, ErrTooLarge)
		}
	}
	raw, err := convert(d.Text)
	if err != nil {
		return nil, d.unreadable(err)
	}
	return raw, nil
}

// ErrTooLarge is the error for aliases that stand for too much.
var ErrTooLarge = errors.New("its aliases stand for more than an object may have")

// unreadable says why a document cannot be read, and where.
func (d Document) unreadable(err error) error {
	if !utf8.Valid(d.Text) {
		return fmt.Errorf("%s: this is not text in UTF-8", d)
	}
	begin := d
	reason := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	reason = strings.TrimPrefix(reason, "unmarshal errors:\n  ") // of keys that are there twice, the first is enough
	if at := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(reason); at != nil {
		within, _ := strconv.Atoi(at[1]) // digits; too many of them are no line
		d.Line, reason = d.Line+max(within, 1)-1, strings.TrimPrefix(reason, at[0])
	}
	if twice := regexp.MustCompile(`^key "(.*)" already set in map`).FindStringSubmatch(reason); twice != nil {
		return fmt.Errorf("%s: the key %s is there twice; remove one", d, twice[1])
	}
	reason = strings.ReplaceAll(reason, "\n", " ")
	if bytes.Contains(d.Text, []byte("{{")) { // or text with braces, and a mistake elsewhere
		return fmt.Errorf("%s: this is a template, not YAML; render it first, for example by \"helm template\", and give the output (line %d: %s)", begin, d.Line, reason)
	}
	if lines := strings.Split(string(begin.Text), "\n"); strings.Contains(reason, "a tab") || strings.Contains(reason, "cannot start any token") {
		if at := d.Line - begin.Line; at < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[at], " "), "\t") {
			reason = "there is a tab; YAML is indented with spaces"
		}
	}
	return fmt.Errorf("%s: not YAML or JSON: %s", d, reason)
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

// Object is an object, and where it was read.
type Object struct {
	*unstructured.Unstructured

	From string // FILE:LINE, with the number of the item in a list
}

// Objects returns the objects of a file; lists are opened. It fails for a document that is no object, and says which.
func Objects(file string, data []byte) ([]Object, error) {
	var all []Object
	for _, d := range Documents(file, data) {
		found, err := d.objects()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (d Document) objects() ([]Object, error) {
	raw, err := d.JSON()
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return nil, nil
	}
	if err = isObject(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	object := &unstructured.Unstructured{}
	if err = object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("%s: not a Kubernetes object, which has an apiVersion and a kind: %w", d, err)
	}
	if !object.IsList() {
		return []Object{{object, d.String()}}, nil
	}
	var all []Object
	items, _ := object.Object["items"].([]any)
	for i, item := range items {
		if _, is := item.(map[string]any); !is {
			return nil, fmt.Errorf("%s: item %d of the list is not an object; remove it, or write one", d, i+1)
		}
	}
	if err = object.EachListItem(func(item runtime.Object) error {
		one, ok := item.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an item of the list is a %T", item)
		}
		all = append(all, Object{one, fmt.Sprintf("%s, item %d", d, len(all)+1)})
		return nil
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	return all, nil
}

// isObject reports whether a document has the two fields that all objects of Kubernetes have.
func isObject(raw []byte) error {
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		return err
	}
	wrong := fieldpath.Mismatches(document, reflect.TypeFor[metav1.TypeMeta]())
	fields, _ := document.(map[string]any)
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("not a Kubernetes object: %s", wrong[0])
	case fields["apiVersion"] == nil || fields["kind"] == nil:
		return errors.New("not a Kubernetes object, which has an apiVersion and a kind; add them, or leave the document out")
	}
	return nil
}
