package lint

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/crdconform/crdconform/internal/manifest"
)

// place is where a field is.
type place struct {
	file         string
	line, column int // from 1
}

// places says where the fields of a document are. The keys are the steps of paths, joined by separator.
type places map[string]place

// separator stands between the steps of a path. No key in YAML can hold it.
const separator = "\x00"

// placesOf looks up the fields of a document, which has been decoded by then; should this parser see it otherwise, the beginning is
// the only place that is known.
func placesOf(d manifest.Document) (found places, twice []duplicate) {
	found = places{"": {file: d.File, line: d.Line, column: 1}}
	tree, err := parser.ParseBytes(d.Text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return found, nil
	}
	w := &walker{places: found, file: d.File, before: d.Line - 1}
	for _, document := range tree.Docs {
		if document.Body != nil {
			w.item(document.Body, "")
		}
	}
	return found, w.twice
}

// duplicate is a key that its mapping has twice.
type duplicate struct {
	path string // joined by separator
	place
}

type walker struct {
	places places
	file   string
	before int // lines of the file before the document
	twice  []duplicate
}

func (w *walker) note(path string, t *token.Token) {
	if t != nil && t.Position != nil {
		w.places[path] = place{file: w.file, line: w.before + t.Position.Line, column: t.Position.Column}
	}
}

// walk notes where keys and items are. What an alias stands for is where the alias is, so nothing is walked twice.
func (w *walker) walk(node ast.Node, path string) {
	switch n := node.(type) {
	case *ast.MappingNode:
		seen := map[string]bool{}
		for _, value := range n.Values {
			w.entry(value, path, seen)
		}
	case *ast.MappingValueNode:
		w.entry(n, path, map[string]bool{})
	case *ast.SequenceNode:
		for i, item := range n.Values {
			w.item(item, join(path, strconv.Itoa(i)))
		}
	case *ast.AnchorNode:
		w.walk(n.Value, path)
	case *ast.TagNode:
		w.walk(n.Value, path)
	}
}

// entry walks a key and its value. The keys of the mapping that were seen already are in seen.
func (w *walker) entry(n *ast.MappingValueNode, path string, seen map[string]bool) {
	key := n.Key.GetToken()
	if key == nil || n.Key.IsMergeKey() {
		return
	}
	path = join(path, key.Value)
	w.note(path, key)
	if seen[path] {
		w.twice = append(w.twice, duplicate{path: path, place: w.places[path]})
	}
	seen[path] = true
	w.walk(n.Value, path)
}

// item walks what stands at a path by itself, an item of a list or a whole document, and notes where it begins.
func (w *walker) item(node ast.Node, path string) {
	if node == nil {
		return
	}
	first := node
	if mapping, ok := node.(*ast.MappingNode); ok && len(mapping.Values) > 0 && !mapping.IsFlowStyle {
		first = mapping.Values[0]
	}
	if value, ok := first.(*ast.MappingValueNode); ok {
		first = value.Key
	}
	w.note(path, first.GetToken())
	w.walk(node, path)
}

// find returns the place of a path below a prefix, or else of the nearest field above it.
func (p places) find(prefix, path string) place {
	at, _ := p.nearest(prefix, path)
	return at
}

// nearest is like find, and returns how many steps of the path lead to the place.
func (p places) nearest(prefix, path string) (place, int) {
	way := steps(path)
	key := prefix
	for _, step := range way {
		key = join(key, step)
	}
	for known := len(way); ; known-- {
		if at, found := p[key]; found {
			return at, known
		}
		key = key[:max(strings.LastIndex(key, separator), 0)]
	}
}

func join(path, step string) string {
	if path == "" {
		return separator + step
	}
	return path + separator + step
}

// steps splits a path such as spec.versions[1].schema or metadata.annotations[example.com/a], with or without quotes.
func steps(path string) []string {
	var all []string
	for path != "" {
		if rest, bracket := strings.CutPrefix(path, "["); bracket {
			key, after, _ := strings.Cut(rest, "]")
			all, path = append(all, strings.Trim(key, "'")), strings.TrimPrefix(after, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		all, path = append(all, path[:end]), strings.TrimPrefix(path[end:], ".")
	}
	return all
}

// byPlace orders findings by file, line, column and rule.
func byPlace(a, b Diagnostic) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
}
