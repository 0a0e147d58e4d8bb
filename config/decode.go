package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/crdconform/crdconform/internal/options"
)

// decoder decodes a parsed file into a configuration. It does not use the decoder of the library, which stops at the first error,
// decodes 1.5 as the integer 1 and true as the text "true", and does not report where a value came from.
type decoder struct {
	source   *source
	problems []*ProblemError
}

func (d *decoder) complain(node ast.Node, key, format string, args ...any) {
	d.problems = append(d.problems, d.source.problem(place(node), key, fmt.Sprintf(format, args...)))
}

// blames reports whether there is a problem with a key, with a section that contains it, or with a key below it.
func (d *decoder) blames(key string) bool {
	return slices.ContainsFunc(d.problems, func(p *ProblemError) bool { return options.Within(key, p.Key) || options.Within(p.Key, key) })
}

// value decodes a value of the file, at a key, into v.
func (d *decoder) value(node ast.Node, v reflect.Value, key string) {
	switch node.(type) {
	case *ast.NullNode:
		d.complain(node, key, "the value is missing; add one, or leave the key out")
		return
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.complain(node, key, "anchors, aliases and tags are not supported; write the value out")
		return
	}
	if text, isText := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); isText {
		d.text(node, text, key)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		if command, isCommand := reflect.TypeAssert[*Command](target); isCommand {
			*command = defaultCommand()
		}
		d.value(node, target.Elem(), key)
		v.Set(target)
	case reflect.Struct:
		d.section(node, v, key)
	case reflect.Slice:
		d.list(node, v, key)
	case reflect.Map:
		d.dictionary(node, v, key)
	default:
		d.scalar(node, v, key)
	}
}

func (d *decoder) text(node ast.Node, v encoding.TextUnmarshaler, key string) {
	text, isText := textOf(node)
	if !isText {
		// A number is the likely mistake, and the type has the best message for it.
		text = node.GetToken().Value
		if _, isNumber := node.(ast.ScalarNode); !isNumber || v.UnmarshalText([]byte(text)) == nil {
			d.complain(node, key, "want text, got %s", described(node))
			return
		}
	}
	if err := v.UnmarshalText([]byte(text)); err != nil {
		d.complain(node, key, "%v", err)
	}
}

func textOf(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

func (d *decoder) section(node ast.Node, v reflect.Value, key string) {
	known := options.Keys(v.Type())
	d.entries(node, key, func(name, below string, keyNode, value ast.Node) {
		i := slices.Index(known, name)
		if i < 0 {
			d.complain(keyNode, below, "%s", unknownKey(name, key, v.Type(), value))
			return
		}
		d.value(value, v.Field(i), below)
	})
}

// entries calls a function for every entry of a map, with its name and its key in the configuration.
func (d *decoder) entries(node ast.Node, key string, do func(name, below string, keyNode, value ast.Node)) {
	m, isMap := node.(ast.MapNode)
	if !isMap {
		d.complain(node, key, "want keys and values, got %s", described(node))
		return
	}
	for iter := m.MapRange(); iter.Next(); {
		name, isText := textOf(iter.Key())
		if !isText {
			d.complain(iter.Key(), key, "%s cannot be a key here; use text", described(iter.Key()))
			continue
		}
		below := name
		if key != "" {
			below = key + "." + name
		}
		d.source.positions[below] = place(iter.Key())
		do(name, below, iter.Key(), iter.Value())
	}
}

func (d *decoder) list(node ast.Node, v reflect.Value, key string) {
	items, isList := node.(*ast.SequenceNode)
	if !isList {
		d.complain(node, key, "want a list, got %s; write [...] around it, or \"- \" before each item", described(node))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items.Values), len(items.Values))
	for i, item := range items.Values {
		below := fmt.Sprintf("%s[%d]", key, i)
		d.source.positions[below] = place(item)
		d.value(item, list.Index(i), below)
	}
	v.Set(list)
}

func (d *decoder) dictionary(node ast.Node, v reflect.Value, key string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.entries(node, key, func(name, below string, _, value ast.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, below)
		v.SetMapIndex(reflect.ValueOf(name), element)
	})
}

// scalar decodes text, a boolean or a number into v. It does not convert between them: the text "1" is not a number.
func (d *decoder) scalar(node ast.Node, v reflect.Value, key string) {
	switch v.Kind() {
	case reflect.String:
		text, isText := textOf(node)
		if !isText {
			hint := "; quote it if that is intended"
			if node.Type() == ast.SequenceType || node.Type() == ast.MappingType {
				hint = ""
			}
			d.complain(node, key, "want text, got %s%s", described(node), hint)
			return
		}
		v.SetString(text)
	case reflect.Bool:
		truth, isBool := node.(*ast.BoolNode)
		if !isBool {
			d.complain(node, key, "want true or false, got %s", described(node))
			return
		}
		v.SetBool(truth.Value)
	case reflect.Float64:
		number, isNumber := numberOf(node)
		if !isNumber {
			d.complain(node, key, "want a number, got %s%s", described(node), withoutPercent(node))
			return
		}
		v.SetFloat(number)
	default: // an integer
		number, isInteger := integerOf(node)
		if !isInteger {
			wrong := "want a whole number, got %s"
			if node.Type() == ast.IntegerType {
				wrong = "%s is too large"
			}
			d.complain(node, key, wrong, described(node))
			return
		}
		v.SetInt(number)
	}
}

func numberOf(node ast.Node) (float64, bool) {
	if float, isFloat := node.(*ast.FloatNode); isFloat {
		return float.Value, !math.IsInf(float.Value, 0)
	}
	if integer, isInteger := node.(*ast.IntegerNode); isInteger {
		switch n := integer.Value.(type) {
		case int64:
			return float64(n), true
		case uint64:
			return float64(n), true
		}
	}
	return 0, false
}

// withoutPercent returns a hint on how to write a number that was written as a percentage such as 1%, and "" for any other value.
func withoutPercent(node ast.Node) string {
	text, _ := textOf(node)
	number, found := strings.CutSuffix(text, "%")
	if percent, err := strconv.ParseFloat(number, 64); found && err == nil {
		return fmt.Sprintf("; write %g", percent/100)
	}
	return ""
}

// integerOf returns a whole number; 5.0 counts as one.
func integerOf(node ast.Node) (int64, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		switch value := n.Value.(type) {
		case int64:
			return value, true
		case uint64:
			return int64(min(value, math.MaxInt64)), value <= math.MaxInt64
		}
	case *ast.FloatNode:
		const exact = 1 << 53
		return int64(max(min(n.Value, exact), -exact)), n.Value == math.Trunc(n.Value) && math.Abs(n.Value) <= exact
	}
	return 0, false
}

// described describes a value, for messages.
func described(node ast.Node) string {
	switch n := node.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		text, _ := textOf(n)
		if runes := []rune(text); len(runes) > 40 {
			text = string(runes[:40]) + "…"
		}
		return fmt.Sprintf("the text %q", text)
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	}
	return node.GetToken().Value
}
