package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/options"
)

// optionFlags are the flags of a command for options that crdconform.yaml has as well. One that is given takes the place of what
// the file says.
type optionFlags struct {
	command string
	flags   *pflag.FlagSet
	options []options.Option // of the command
	given   config.Config    // what the flags say
	sets    []string         // of --set
}

// bind binds the flags that a command takes for options.
func (f *optionFlags) bind(flags *pflag.FlagSet, command string) {
	f.command, f.flags, f.given = command, flags, config.Default()
	for _, o := range options.All() {
		if slices.Contains(o.Commands, command) {
			f.options = append(f.options, o)
			if o.Flag != "" {
				f.bindOption(o)
			}
		}
	}
	if len(f.keys()) > 0 {
		f.bindSet()
	}
}

func (f *optionFlags) bindOption(o options.Option) {
	value := o.In(&f.given)
	o.SetDefault(value)
	switch v := value.(type) {
	case *string:
		f.flags.StringVar(v, o.Flag, *v, o.Help)
	case *config.APIServer:
		f.flags.StringVar((*string)(v), o.Flag, string(*v), o.Help)
	case *bool:
		f.flags.BoolVar(v, o.Flag, *v, o.Help)
	case *int:
		f.flags.IntVar(v, o.Flag, *v, o.Help)
	case *int32:
		f.flags.Int32Var(v, o.Flag, *v, o.Help)
	case *int64:
		f.flags.Int64Var(v, o.Flag, *v, o.Help)
	case *config.Duration:
		f.flags.DurationVar(&v.Duration, o.Flag, v.Duration, o.Help)
	case *config.Share:
		f.flags.TextVar(v, o.Flag, *v, o.Help)
	case *float64:
		f.flags.Float64Var(v, o.Flag, *v, o.Help)
	case *[]int:
		f.flags.IntSliceVar(v, o.Flag, *v, o.Help)
	case *[]float64:
		f.flags.Float64SliceVar(v, o.Flag, *v, o.Help)
	case *[]string:
		if o.Whole {
			f.flags.StringArrayVar(v, o.Flag, *v, o.Help)
		} else {
			f.flags.StringSliceVar(v, o.Flag, *v, o.Help)
		}
	case **config.FromCRD: // whether there is such a section
		f.flags.Bool(o.Flag, false, o.Help)
	case *config.Objectives: // each by its name
		f.flags.StringArray(o.Flag, nil, o.Help)
	}
}

// over puts what the flags say that were given in the place of what a configuration says, and then what --set says. Flags of whole
// sections are left to others, since they say more than one value.
func (f *optionFlags) over(c *config.Config) error {
	for _, o := range slices.Backward(f.options) { // the first flag of two for a value is the one that is named
		_, isWebhook := o.In(&f.given).(**config.FromCRD)
		_, areObjectives := o.In(&f.given).(*config.Objectives)
		if o.Flag != "" && f.flags.Changed(o.Flag) && !isWebhook && !areObjectives {
			c.Override(o.Key, f.given, "--"+o.Flag)
		}
	}
	return f.apply(c)
}
