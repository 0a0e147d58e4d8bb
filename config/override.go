package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

// Override replaces the value at a key with the value that another configuration has there, unless the section of the key is missing
// in c. Messages about the value name flag, such as --crd; flag is empty if from has no value there. File names in the value are
// relative to the current directory.
func (c *Config) Override(key string, from Config, flag string) {
	whole := key
	key, _, _ = strings.Cut(key, "[")
	value, target := options.Value(reflect.ValueOf(from), key), options.Value(reflect.ValueOf(c).Elem(), key)
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

// fromHere converts a file name relative to the current directory, or a list of them, into names that mean the same in the
// configuration.
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
