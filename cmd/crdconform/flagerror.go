package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
)

// flagError says in plain words what is wrong with a flag, where the library quotes the functions that it called.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		if before := cmd.Flags().Args(); cmd.HasSubCommands() && len(before) > 0 {
			return onlyCommands(cmd, before) // a flag of a command that there is not
		}
		return unknownFlag(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
	}
	if empty, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		return fmt.Errorf("--%s: the value is missing; add one, or leave the flag out", empty.GetFlag().Name)
	}
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		if wanted := wantedOf(invalid); wanted != "" {
			return fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, shell.Quote(invalid.GetValue()), wanted)
		}
	}
	return err
}

// unknownFlag is the error for a flag that a command does not have, with what may have been meant. Of a flag of one letter, letters is
// what stands behind the dash.
func unknownFlag(cmd *cobra.Command, name, letters string) error {
	typed := "--" + name
	if letters != "" {
		typed = "-" + name
		if long, _, _ := strings.Cut(letters, "="); len(long) > 1 && cmd.Flags().Lookup(long) != nil {
			return fmt.Errorf("unknown flag -%s; did you mean --%s?", long, long)
		}
		name = kubectlName(name)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if flag := flagOfKey(commandOf(cmd), name); flag != "" {
		return fmt.Errorf("unknown flag %s; did you mean --%s?", typed, flag)
	}
	if keys := keysLike(commandOf(cmd), name); len(keys) > 0 {
		return fmt.Errorf("unknown flag %s: it is %s of %s, or --set %s=%s", typed, strings.Join(keys, " or "), config.FileName, keys[0], valueOf(keys[0]))
	}
	if name == "filter" && cmd.Flags().Lookup("scenario") != nil {
		return errors.New("unknown flag --filter; --scenario selects what this command checks")
	} else if (name == "ca-file" || name == "server-name") && cmd.Flags().Lookup("scenario") != nil {
		return fmt.Errorf("unknown flag --%s: this command starts a program, given after --, with a certificate of its own", name)
	}
	if instead := insteadOf(cmd, name); instead != "" {
		return fmt.Errorf("unknown flag %s%s", typed, instead)
	}
	if near := options.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag %s; did you mean --%s?", typed, near)
	}
	return fmt.Errorf("unknown flag %s", typed)
}

// flagOfKey returns the flag of a command whose key is that, or ends so: generate for objects, since its key is generate.objects.
func flagOfKey(command, name string) string {
	for _, o := range options.All() {
		if o.Flag != "" && slices.Contains(o.Commands, command) && (o.Key == name || strings.HasSuffix(flagName(o.Key), "."+name)) {
			return o.Flag
		}
	}
	return ""
}

// keysLike returns the keys without a flag of a command that end as the name of a flag that there is not: webhook.serverName for
// server-name. Where none does, it returns those whose last word is the last one of the flag.
func keysLike(command, flag string) []string {
	var alike, ending []string
	for _, o := range options.All() {
		if o.Flag != "" || !slices.Contains(o.Commands, command) {
			continue
		}
		steps, last := strings.Split(flagName(o.Key), "."), flag[strings.LastIndex(flag, "-")+1:]
		for i := range steps {
			if strings.Join(steps[i:], "-") == flag || i == 0 && o.Key == flag {
				alike = append(alike, o.Key)
			}
		}
		if end := steps[len(steps)-1]; flag != last && (end == last || strings.HasSuffix(end, "-"+last)) {
			ending = append(ending, o.Key)
		}
	}
	if len(alike) > 0 {
		return alike
	}
	return ending
}

// valueOf stands for a value of a key.
func valueOf(key string) string {
	if options.Made(reflect.ValueOf(new(config.Config)).Elem(), key).Kind() == reflect.Slice {
		return "[VALUE]"
	}
	return "VALUE"
}

// flagName writes the steps of a key as flags are written: webhook.server-name.
func flagName(key string) string {
	var name strings.Builder
	for i, letter := range key {
		if i > 0 && unicode.IsUpper(letter) && unicode.IsLower(rune(key[i-1])) {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(letter))
	}
	return name.String()
}

// wantedOf says what the value of a flag has to be; nothing where the library says it well.
func wantedOf(invalid *pflag.InvalidValueError) string {
	if errors.Is(invalid, strconv.ErrRange) {
		return "it is too large"
	}
	switch invalid.GetFlag().Value.Type() {
	case "int", "int32", "int64", "uint16", "uint64":
		return "it must be a whole number"
	case "intSlice":
		return "it must be a whole number, or several with commas between them"
	case "float64":
		return "it must be a number"
	case "float64Slice":
		return "it must be a number, or several with commas between them"
	case "bool":
		return "it must be true or false"
	case "duration":
		if err := new(config.Duration).UnmarshalText([]byte(invalid.GetValue())); err != nil {
			return err.Error()
		}
	}
	return ""
}

// onlyOnce returns an error for a value that is given to a flag more than once.
func onlyOnce(flag string, values []string) error {
	for i, value := range values {
		if slices.Contains(values[:i], value) {
			return fmt.Errorf("%s %s: given twice", flag, value)
		}
	}
	return nil
}
