package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/visible"
)

// limit is the maximum size of a file in bytes. A configuration has a few hundred; a larger file is something else.
const limit = 64 << 10

// shown is the maximum number of problems reported for a file.
const shown = 20

// Read reads a configuration file. Keys that the file does not set have the values of Default. The error lists the
// problems, at most 20, as ProblemErrors with line and column where known. It wraps fs.ErrNotExist if there is no such file.
func Read(path string) (Config, error) {
	data, err := contents(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, data)
}

func contents(path string) ([]byte, error) {
	file, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; \"crdconform init CRD...\" writes one", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read from
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; give the configuration file in it, such as %s", path, strings.TrimSuffix(path, "/")+"/"+FileName)
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return data, nil
}

// Parse parses the contents of a configuration file. The name of the file is used in messages and by Path.
func Parse(name string, data []byte) (Config, error) {
	s := &source{name: name, positions: map[string]position{}}
	root, err := s.root(data)
	if err != nil {
		return Config{}, err
	}
	if err := s.rightFile(root); err != nil {
		return Config{}, err
	}
	c := Default()
	c.APIVersion, c.Kind, c.source = "", "", s
	d := &decoder{source: s}
	d.value(root, reflect.ValueOf(&c).Elem(), "")
	problems := d.problems
	for _, p := range c.problems() {
		if !d.blames(p.Key) {
			problems = append(problems, p)
		}
	}
	slices.SortStableFunc(problems, func(a, b *ProblemError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c, joined(problems)
}

// joined joins problems into one error. It returns nil if there are none.
func joined(problems []*ProblemError) error {
	var all []error
	for _, p := range problems[:min(len(problems), shown)] {
		all = append(all, p)
	}
	if more := len(problems) - len(all); more > 0 {
		all = append(all, errors.New(visible.More(more)))
	}
	return errors.Join(all...)
}

// root parses the file and returns the value of its only document.
func (s *source) root(data []byte) (ast.Node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	whole := func(message string) error { return &ProblemError{File: s.name, Message: message} }
	if len(data) > limit {
		message := fmt.Sprintf("it is larger than %d KiB, so it is not a configuration", limit>>10)
		if bytes.Contains(data, []byte("CustomResourceDefinition")) {
			message += "; to create one from definitions, run \"crdconform init " + s.name + "\""
		}
		return nil, whole(message)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, whole("it is not text in UTF-8; save it as that")
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	s.lines = strings.Split(text, "\n")
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, s.syntax(err)
	}
	var root ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil || document.Body.Type() == ast.CommentType:
		case root != nil:
			return nil, s.problem(place(document.Body), "", "a second document begins here; a configuration is one document, remove the ---")
		default:
			root = document.Body
		}
	}
	if root == nil {
		return nil, whole("it is empty; \"crdconform init CRD...\" writes one")
	}
	return root, nil
}

// syntax converts an error of the parser into a problem.
func (s *source) syntax(err error) error {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		return &ProblemError{File: s.name, Message: "it is not YAML: " + err.Error()}
	}
	p := located.GetToken().Position
	message := "it is not YAML: " + located.GetMessage()
	switch {
	case strings.Contains(message, "'\t'"):
		message = "there is a tab; YAML is indented with spaces"
	case strings.Contains(message, "already defined"):
		message += "; remove one of them"
	case p.Line >= 1 && p.Line <= len(s.lines) && strings.Contains(s.lines[p.Line-1], "{"):
		message += "; text with { or } in it needs quotes"
	}
	return s.problem(position{p.Line, p.Column}, "", message)
}

// place returns the position at which a value begins.
func place(node ast.Node) position {
	if m, isMap := node.(ast.MapNode); isMap {
		if entries := m.MapRange(); node.GetToken().Value == ":" && entries.Next() {
			node = entries.Key() // the token of a map in block style is its first colon
		}
	}
	token := node.GetToken()
	if token == nil || token.Position == nil {
		return position{}
	}
	return position{token.Position.Line, token.Position.Column}
}

// rightFile returns an error if the file is not a configuration of a known version. The error says what the file is instead.
func (s *source) rightFile(root ast.Node) error {
	entries, isMap := root.(ast.MapNode)
	if !isMap {
		return s.problem(place(root), "", "it is "+described(root)+", not a configuration; that has keys such as crds and webhook")
	}
	texts := map[string]string{}
	found := map[string]position{}
	for iter := entries.MapRange(); iter.Next(); {
		key, text := iter.Key().GetToken().Value, ""
		if value, isText := iter.Value().(*ast.StringNode); isText {
			text = value.Value
		}
		if text != "" {
			texts[key], found[key] = text, place(iter.Value())
		}
	}
	kind, version := texts["kind"], texts["apiVersion"]
	switch {
	case kind == "CustomResourceDefinition" || kind == "CustomResourceDefinitionList":
		return s.problem(found["kind"], "", "this is a "+kind+", not a configuration; \"crdconform init "+s.name+"\" creates one from it")
	case kind != "" && kind != Kind:
		return s.problem(found["kind"], "", fmt.Sprintf("this is a %q, not a configuration, which has kind: %s", kind, Kind))
	case version != "" && version != APIVersion:
		return s.problem(found["apiVersion"], "apiVersion", fmt.Sprintf("unknown apiVersion %q (want %s)", version, APIVersion))
	}
	return nil
}
