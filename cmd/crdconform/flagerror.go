package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
)

// flagError says in plain words what is wrong with a flag, where the library quotes the functions that it called.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if name := unknown.GetSpecifiedName(); name == "filter" && cmd.Flags().Lookup("scenario") != nil {
			return errors.New("unknown flag --filter; --scenario selects what this command checks")
		} else if (name == "ca-file" || name == "server-name") && cmd.Flags().Lookup("scenario") != nil {
			return fmt.Errorf("unknown flag --%s: this command starts a program, given after --, with a certificate of its own", name)
		}
		if near := options.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			return fmt.Errorf("unknown flag --%s; did you mean --%s?", unknown.GetSpecifiedName(), near)
		}
		return fmt.Errorf("unknown flag --%s", unknown.GetSpecifiedName())
	}
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		if wanted := wantedOf(invalid); wanted != "" {
			return fmt.Errorf("--%s %s: %s", invalid.GetFlag().Name, shell.Quote(invalid.GetValue()), wanted)
		}
	}
	return err
}

// wantedOf says what the value of a flag has to be; nothing where the library says it well.
func wantedOf(invalid *pflag.InvalidValueError) string {
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
		if _, err := time.ParseDuration(invalid.GetValue() + "s"); err == nil {
			return "the unit is missing; write " + invalid.GetValue() + "s for seconds, or use m or h"
		}
		return "it must be a duration such as 30s, 5m or 1h30m"
	}
	return ""
}
