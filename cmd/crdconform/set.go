package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
)

// bindSet binds the flag for keys of crdconform.yaml that have no flag of their own.
func (f *optionFlags) bindSet() {
	f.flags.StringArrayVar(&f.sets, "set", nil, "value of a key of crdconform.yaml, as KEY=VALUE, such as load.inFlight=100; VALUE is YAML; can be repeated")
}

// apply puts the values of --set in the place of what a configuration says.
func (f *optionFlags) apply(c *config.Config) error { return f.applyBelow(c, "") }

// applyBelow does so with those of a section.
func (f *optionFlags) applyBelow(c *config.Config, section string) error {
	for _, text := range f.sets {
		if !strings.HasPrefix(text, section) {
			continue
		}
		if err := f.applyOne(c, text); err != nil {
			return fmt.Errorf("--set %s: %w", text, err)
		}
	}
	return nil
}

func (f *optionFlags) applyOne(c *config.Config, text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return errors.New("give a key and its value, such as load.inFlight=100; docs/configuration.md has all keys")
	}
	if err := options.Check(reflect.TypeFor[config.Config](), key); err != nil {
		if instead := f.instead(key); instead != "" {
			return fmt.Errorf("there is no key %s; give %s", key, instead)
		}
		return err
	}
	if !f.takes(key) {
		if flag := f.name(key); flag != "--set "+key {
			return fmt.Errorf("%s does not use that key; give %s", f.command, flag)
		}
		return fmt.Errorf("%s does not use that key; it can set %s", f.command, listOf(f.keys()))
	}
	var document strings.Builder
	indent := ""
	for step := range strings.SplitSeq(key, ".") {
		document.WriteString("\n" + indent + step + ":")
		indent += "  "
	}
	// What is text needs no quotes, also where YAML takes it for a number, as it does with 1.36.
	if is := options.Made(reflect.ValueOf(new(config.Config)).Elem(), key).Kind(); is == reflect.String && value != "" && !strings.ContainsAny(value[:1], `"'`) {
		value = strconv.Quote(value)
	}
	from, err := config.Parse("--set", []byte("apiVersion: "+config.APIVersion+"\nkind: "+config.Kind+document.String()+" "+value+"\n"))
	// What doesn't go together in a file that has only this key may do so with the rest, and is validated with it.
	alone := problemsOf(from.Validate())
	for _, problem := range problemsOf(err) {
		is := func(other *config.ProblemError) bool {
			return other.Key == problem.Key && other.Message == problem.Message
		}
		if (problem.Key == "" || options.Within(problem.Key, key)) && !slices.ContainsFunc(alone, is) {
			return errors.New(problem.Message)
		}
	}
	options.Option{Key: key}.In(c)
	c.Override(key, from, "--set "+key)
	return nil
}

// instead returns what gives what somebody called by a name that is no key: a flag of the command, or a key that ends so.
func (f *optionFlags) instead(name string) string {
	name = flagName(name)
	if f.flags.Lookup(name) != nil {
		return "--" + name
	}
	if keys := keysLike(f.command, name); len(keys) > 0 {
		return fmt.Sprintf("--set %s=%s", keys[0], valueOf(keys[0]))
	}
	return ""
}

// problemsOf returns the problems in the error of a configuration.
func problemsOf(err error) []*config.ProblemError {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		var all []*config.ProblemError
		for _, one := range joined.Unwrap() {
			all = append(all, problemsOf(one)...)
		}
		return all
	}
	if problem, is := errors.AsType[*config.ProblemError](err); is {
		return []*config.ProblemError{problem}
	}
	return nil
}

// takes reports whether the command uses a key: with a configuration file any, or else those that it has instead of flags.
func (f *optionFlags) takes(key string) bool {
	return f.flags.Lookup("config") != nil || slices.Contains(f.keys(), key)
}

// keys are the keys without a flag that the command uses.
func (f *optionFlags) keys() []string {
	var keys []string
	for _, o := range f.options {
		if o.Flag == "" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// name is how the command is given a key: by its flag, or else by --set.
func (f *optionFlags) name(key string) string {
	for _, o := range f.options {
		if o.Key == key && o.Flag != "" {
			return "--" + o.Flag
		}
	}
	return "--set " + key
}

// says reports whether a flag or --set gives a key, or one below it.
func (f *optionFlags) says(key string) bool {
	set := slices.ContainsFunc(f.sets, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		return options.Within(name, key)
	})
	return set || slices.ContainsFunc(f.options, func(o options.Option) bool {
		return o.Flag != "" && options.Within(o.Key, key) && f.flags.Changed(o.Flag)
	})
}
