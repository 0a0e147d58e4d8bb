package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/crdconform/crdconform/internal/options"
)

// View returns all settings in force as a configuration file. A comment on each line says where the value comes from: a line of the
// file, a flag, or the defaults. File names are kept as written.
func (c Config) View() string {
	_, lines := c.rendered(reflect.ValueOf(c), "")
	return strings.Join(lines, "\n") + "\n"
}

// rendered returns a value as it is written after its key, or else the lines that are written below the key.
func (c Config) rendered(v reflect.Value, key string) (string, []string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if text, isText := reflect.TypeAssert[fmt.Stringer](v); isText {
		return scalar(text.String()), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		lines := c.section(v, key)
		return "{}", lines
	case reflect.Slice:
		var lines []string
		for i := range v.Len() {
			below := options.Item(key, i)
			inline, more := c.rendered(v.Index(i), below)
			lines = append(lines, c.entry("-", inline, more, below)...)
		}
		return "[]", lines
	case reflect.Map:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(v.Interface().(map[string]string))) { //nolint:errcheck // there is no other kind of map
			below := key + "." + name
			lines = append(lines, c.entry(scalar(name)+":", scalar(v.MapIndex(reflect.ValueOf(name)).String()), nil, below)...)
		}
		return "{}", lines
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), nil
	case reflect.String:
		return scalar(v.String()), nil
	default:
		return fmt.Sprint(v.Interface()), nil
	}
}

// section returns the lines of a section, without keys that are missing.
func (c Config) section(v reflect.Value, key string) []string {
	var lines []string
	for i, name := range options.Keys(v.Type()) {
		field := v.Field(i)
		_, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || options != "" && field.IsZero() {
			continue
		}
		below := strings.TrimPrefix(key+"."+name, ".")
		inline, more := c.rendered(field, below)
		lines = append(lines, c.entry(name+":", inline, more, below)...)
	}
	return lines
}

// entry returns the lines for a value after a key or a dash.
func (c Config) entry(start, inline string, more []string, key string) []string {
	if len(more) == 0 {
		return []string{start + " " + inline + " # " + strings.Join(strings.Fields(c.Origin(key)), " ")}
	}
	lines := []string{start}
	if start == "-" {
		lines[0], more = "- "+more[0], more[1:]
	}
	for _, line := range more {
		lines = append(lines, "  "+line)
	}
	return lines
}

// plain matches text that needs no quotes, unless it reads as something other than text.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./*@:+-]*$`)

// scalar returns text in YAML on one line.
func scalar(text string) string {
	if plain.MatchString(text) && !strings.HasSuffix(text, ":") {
		var is any
		if err := yaml.Unmarshal([]byte(text), &is); err == nil && is == text {
			return text
		}
	}
	return strconv.Quote(text)
}
