package fieldpath

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mismatch is a field with a value of another type than it has to have.
type Mismatch struct {
	Path          string // empty for the whole
	Expected, Got string
	isUnquoted    bool // a number or a word that YAML does not take for text
}

func (m Mismatch) String() string {
	text := fmt.Sprintf("expected %s, got %s", m.Expected, m.Got)
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.isUnquoted {
		text += "; quote it"
	}
	return text
}

// Mismatches returns the fields of a value that do not fit into a type, sorted by their keys. Fields that the type does not have fit.
func Mismatches(value any, into reflect.Type) []Mismatch {
	var c comparison
	c.compare("", value, into)
	return c.found
}

type comparison struct{ found []Mismatch }

func (c *comparison) wrong(path, expected string, got any) {
	c.found = append(c.found, Mismatch{Path: path, Expected: expected, Got: spoken(got)})
}

// compare compares a value with a type; nothing fits into each.
func (c *comparison) compare(path string, value any, into reflect.Type) {
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if value == nil || c.special(path, value, into) {
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		c.structure(path, value, into)
	case reflect.Map:
		fields := c.mapping(path, value)
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			c.compare(Child(path, key), fields[key], into.Elem())
		}
	case reflect.Slice:
		c.list(path, value, into.Elem())
	case reflect.String:
		if _, ok := value.(string); !ok {
			c.wrong(path, "text", value)
			c.found[len(c.found)-1].isUnquoted = isScalar(value)
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			c.wrong(path, "true or false", value)
		}
	case reflect.Float32, reflect.Float64:
		if _, ok := numberOf(value); !ok {
			c.wrong(path, "a number", value)
		}
	case reflect.Int32, reflect.Int64:
		if n, ok := numberOf(value); !ok || n != math.Trunc(n) || into.Kind() == reflect.Int32 && math.Abs(n) > math.MaxInt32 {
			c.wrong(path, fmt.Sprintf("an integer of %d bits", into.Bits()), value)
		}
	default: // any other would be new in definitions, and is left to the decoder
	}
}

// special compares with the types that are decoded in a way of their own.
func (c *comparison) special(path string, value any, into reflect.Type) bool {
	switch into {
	case reflect.TypeFor[apiextensionsv1.JSON](), reflect.TypeFor[metav1.FieldsV1]():
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():
		if _, ok := value.(bool); !ok {
			c.schema(path, "a mapping, true or false", value)
		}
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():
		if _, ok := value.([]any); ok {
			c.list(path, value, reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
			return true
		}
		c.schema(path, "a mapping or a list", value)
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():
		if _, ok := value.([]any); ok {
			c.list(path, value, reflect.TypeFor[string]())
			return true
		}
		c.schema(path, "a mapping or a list of text", value)
	case reflect.TypeFor[metav1.Time]():
		text, _ := value.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			c.wrong(path, "a time such as 2026-01-31T12:00:00Z", value)
		}
	case reflect.TypeFor[[]byte]():
		text, ok := value.(string)
		if _, err := base64.StdEncoding.DecodeString(text); !ok || err != nil {
			c.wrong(path, "text in base64", value)
		}
	default:
		return false
	}
	return true
}

// schema compares with a schema, where something else may be as well.
func (c *comparison) schema(path, expected string, value any) {
	if _, ok := value.(map[string]any); !ok {
		c.wrong(path, expected, value)
		return
	}
	c.compare(path, value, reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
}

func (c *comparison) structure(path string, value any, into reflect.Type) {
	fields := c.mapping(path, value)
	for i := 0; fields != nil && i < into.NumField(); i++ {
		field := into.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			c.compare(path, value, field.Type)
			continue
		}
		if inner, found := fields[key]; found {
			c.compare(Child(path, key), inner, field.Type)
		}
	}
}

func (c *comparison) mapping(path string, value any) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok {
		c.wrong(path, "a mapping", value)
	}
	return fields
}

func (c *comparison) list(path string, value any, of reflect.Type) {
	items, ok := value.([]any)
	if !ok {
		c.wrong(path, "a list", value)
	}
	for i, item := range items {
		c.compare(Item(path, i), item, of)
	}
}

func numberOf(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

func isScalar(value any) bool {
	_, isNumber := numberOf(value)
	_, isBool := value.(bool)
	return isNumber || isBool
}

// spoken is a value in words.
func spoken(value any) string {
	const most = 40
	switch v := value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		if len(v) > most {
			return fmt.Sprintf("the text %q", strings.ToValidUTF8(v[:most], "")+"...")
		}
		return fmt.Sprintf("the text %q", v)
	case bool:
		return strconv.FormatBool(v)
	}
	n, _ := numberOf(value)
	return "the number " + strconv.FormatFloat(n, 'f', -1, 64)
}
