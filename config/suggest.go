package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/crdconform/crdconform/internal/options"
)

// unknownKey returns a message that a section of the given type has no such key, with a key that may have been meant: one of that
// section, of a section below it, or else of another section.
func unknownKey(name, section string, of reflect.Type, value ast.Node) string {
	const text = "unknown key"
	known := options.Keys(of)
	below := placeOf(name, of, section)
	if below != "" && options.Parent(below) == section { // only lists have their names changed
		key := strings.TrimPrefix(below, section+".")
		if written := inlined(value); written != "" {
			return fmt.Sprintf("%s; it is a list, write %s: [%s]", text, key, written)
		}
		return fmt.Sprintf("%s; did you mean %s?", text, key)
	}
	near := options.Nearest(name, known)
	switch place := cmp.Or(below, placeOf(name, reflect.TypeFor[Config](), "")); {
	case near != "" && below == "":
		return fmt.Sprintf("%s; did you mean %s?", text, near)
	case place != "":
		return fmt.Sprintf("%s here; did you mean %s?", text, place)
	}
	known = slices.DeleteFunc(known, func(one string) bool { return one == "" })
	return fmt.Sprintf("%s; there are %s", text, strings.Join(known, ", "))
}

// inlined returns a text, a boolean or a number as it is written in a list. It returns "" for other values, and for long ones.
func inlined(value ast.Node) string {
	written := ""
	switch value.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		written = value.GetToken().Value
	case *ast.StringNode:
		text, _ := textOf(value)
		written = scalar(text)
	}
	if len(written) > 40 {
		return ""
	}
	return written
}

// placeOf returns the key with a name in or below a section, or the key of a list whose name is the plural. It returns "" if there is
// none. The one nearest to the section wins.
func placeOf(name string, section reflect.Type, key string) string {
	type place struct {
		section reflect.Type
		key     string
	}
	for level := []place{{section, key}}; len(level) > 0; {
		var next []place
		for _, p := range level {
			for i, known := range options.Keys(p.section) {
				kind := p.section.Field(i).Type
				isList := kind.Kind() == reflect.Slice
				below := strings.TrimPrefix(p.key+"."+known, ".")
				if known != "" && (known == name || isList && (known == name+"s" || known == name+"es")) {
					return below
				}
				if isList {
					below += "[]"
				}
				if isList || kind.Kind() == reflect.Pointer {
					kind = kind.Elem()
				}
				if known != "" && kind.Kind() == reflect.Struct && kind.PkgPath() == section.PkgPath() {
					next = append(next, place{kind, below})
				}
			}
		}
		level = next
	}
	return ""
}
