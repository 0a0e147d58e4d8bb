package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

// Override puts the value that another configuration has at a key in the place of what this one has, unless the section of the key
// is missing here. What gave it, such as the flag --crd, is named where there is something wrong with it; nothing when it is the
// absence of a value. Names of files are relative to the folder that the program runs in.
func (c *Config) Override(key string, from Config, flag string) {
	whole := key
	key, _, _ = strings.Cut(key, "[")
	value, target := options.Value(reflect.ValueOf(from), key, false), options.Value(reflect.ValueOf(c).Elem(), key, false)
	if !target.IsValid() {
		return
	}
	if o, _ := options.Of(key); o.Files {
		value = c.fromHere(value)
	}
	target.Set(value)
	s := &source{}
	if c.source != nil {
		*s = *c.source
	}
	s.positions, s.flags = maps.Clone(s.positions), maps.Clone(s.flags)
	maps.DeleteFunc(s.positions, func(given string, _ position) bool { return options.Within(given, key) })
	maps.DeleteFunc(s.flags, func(given, _ string) bool {
		return options.Within(given, key) && (whole == key || given == key) // several flags may say parts of one item
	})
	if s.flags == nil {
		s.flags = map[string]string{}
	}
	if flag != "" {
		s.flags[key], s.flags[whole] = flag, flag
	}
	c.source = s
}

// fromHere makes names of files, or a list of them, mean the same in the configuration as for the program.
func (c *Config) fromHere(v reflect.Value) reflect.Value {
	if !c.inFile() {
		return v
	}
	names, isList := reflect.TypeAssert[[]string](v)
	if !isList {
		names = []string{v.String()}
	}
	names = slices.Clone(names)
	for i, name := range names {
		if whole, err := filepath.Abs(name); err == nil && c.Path(name) != name {
			names[i] = whole
		}
	}
	if isList {
		return reflect.ValueOf(names)
	}
	return reflect.ValueOf(names[0])
}
