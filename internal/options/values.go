package options

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// In returns a pointer to the value of the option in a configuration, which a pointer leads to. The sections that it belongs to are made
// if they are missing, with their defaults.
func (o Option) In(config any) any {
	c := reflect.ValueOf(config).Elem()
	isThere := Value(c, o.Key).IsValid()
	v := Made(c, o.Key)
	if !isThere {
		SetDefaults(config, Parent(o.Key))
	}
	return v.Addr().Interface()
}

// SetDefault sets the value that a pointer leads to to the default of the option.
func (o Option) SetDefault(value any) {
	if o.Default == nil {
		return
	}
	v, d := reflect.ValueOf(value).Elem(), reflect.ValueOf(o.Default)
	if v.Kind() == reflect.Struct { // a duration
		v = v.Field(0)
	}
	v.Set(d.Convert(v.Type()))
}

// SetDefaults sets the options below a section that are zero to their defaults. An empty section is the whole configuration.
func SetDefaults(config any, section string) {
	for _, o := range All() {
		if o.Default == nil || o.Implied || section != "" && !Within(o.Key, section) {
			continue
		}
		if v := Value(reflect.ValueOf(config).Elem(), o.Key); v.IsValid() && v.IsZero() {
			o.SetDefault(v.Addr().Interface())
		}
	}
}

// missing is what becomes of sections and items that are missing on the way to a value.
type missing int

const (
	left missing = iota
	made
)

// Value returns the value at a key below a value; the zero reflect.Value if a section on the way is missing.
func Value(v reflect.Value, key string) reflect.Value { return value(v, key, left) }

// Made returns the value at a key below a value, and makes the sections that are missing on the way.
func Made(v reflect.Value, key string) reflect.Value { return value(v, key, made) }

func value(v reflect.Value, key string, what missing) reflect.Value {
	for step := range strings.SplitSeq(key, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && what == left {
				return reflect.Value{}
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		name, index, isItem := strings.Cut(strings.TrimSuffix(step, "]"), "[")
		v = v.Field(slices.Index(Keys(v.Type()), name))
		if isItem {
			i, _ := strconv.Atoi(index) // the table has numbers there
			if v.Len() <= i && what == left {
				return reflect.Value{}
			}
			for v.Len() <= i {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			}
			v = v.Index(i)
		}
	}
	return v
}

// Numbers returns the numbers that a configuration has for the option, each with its key: of a list, and of lists of sections, all.
func (o Option) Numbers(config any) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		list, below, isList := strings.Cut(o.Key, "[*].")
		if isList {
			sections := Value(reflect.ValueOf(config), list)
			for i := range sections.Len() {
				for key, n := range (Option{Key: below}).Numbers(sections.Index(i).Interface()) {
					if !yield(Item(list, i)+"."+key, n) {
						return
					}
				}
			}
			return
		}
		v := reflect.Indirect(Value(reflect.ValueOf(config), o.Key))
		if !v.IsValid() {
			return
		}
		if v.Kind() != reflect.Slice {
			yield(o.Key, v.Convert(reflect.TypeFor[float64]()).Float())
			return
		}
		for i := range v.Len() {
			if !yield(Item(o.Key, i), v.Index(i).Convert(reflect.TypeFor[float64]()).Float()) {
				return
			}
		}
	}
}

// Keys returns the keys of a section, in the order of its fields; "" for a field that is not in files.
func Keys(section reflect.Type) []string {
	names := make([]string, section.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(section.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// Within reports whether a key is the other one, or belongs to it.
func Within(key, other string) bool {
	rest, found := strings.CutPrefix(key, other)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Parent returns the key that a key belongs to: webhook of webhook.url, filter of filter[0].
func Parent(key string) string { return key[:max(0, strings.LastIndexAny(key, ".["))] }

// Item returns the key of an item of a list.
func Item(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// Check reports what is wrong with a key of a section; nil if there is such a key.
func Check(section reflect.Type, key string) error {
	at := section
	for step := range strings.SplitSeq(key, ".") {
		if at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return fmt.Errorf("nothing can be set below %s; give all of it", strings.TrimSuffix(strings.TrimSuffix(key, step), "."))
		}
		known := Keys(at)
		i := slices.Index(known, step)
		if i < 0 || step == "" {
			if near := Nearest(step, known); near != "" {
				return fmt.Errorf("unknown key %s; did you mean %s?", step, near)
			}
			return fmt.Errorf("unknown key %s; docs/configuration.md has all", step)
		}
		at = at.Field(i).Type
	}
	return nil
}
