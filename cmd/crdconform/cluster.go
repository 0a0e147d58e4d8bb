package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
)

// clusterFlags say which API server to check.
type clusterFlags struct {
	flags   *pflag.FlagSet
	sort    string   // of cluster
	none    bool     // whether there may be none
	looks   bool     // whether a cluster may be looked at only
	kinds   []string // that there may be; all if empty
	without []string // options that the command has no flag for
	options kinds.Options
}

// bind binds the flags to a command that has --cluster, which says what the cluster is for.
func (f *clusterFlags) bind(s streams, flags *pflag.FlagSet, command string) {
	f.flags = flags
	f.options.Variable = s.variable
	for _, o := range f.options.Table() {
		if slices.Contains(f.without, o.Name) || !slices.ContainsFunc(f.allowed(), func(k kinds.Kind) bool { return slices.Contains(k.Options, o.Name) }) {
			continue
		}
		if strings.HasPrefix(o.Name, clusterKeys) {
			continue // it has no flag
		}
		switch v := o.Value.(type) {
		case *bool:
			if o.Name != kinds.ReadOnly || f.looks {
				flags.BoolVar(v, o.Name, false, o.Help)
			}
		case *string:
			flags.StringVar(v, o.Name, "", o.Help)
		}
	}
	var texts []string
	for _, k := range f.allowed() {
		texts = append(texts, strings.TrimSuffix(k.Name+", "+strings.ReplaceAll(k.Summary, "%s", command), ", "))
	}
	if f.none {
		texts = append(texts, "none, to skip those checks")
	}
	texts[len(texts)-1] = "or " + texts[len(texts)-1]
	flags.Lookup("api-server").Usage += ": " + strings.Join(texts, "; ")
}

// clusterKeys is what the keys of options begin with that have no flags.
const clusterKeys = "cluster."

// take takes the options that have no flags from a configuration, and fails if one was given that is of another kind of cluster.
func (f *clusterFlags) take(c *config.Config) error {
	f.sort = string(c.APIServer)
	var errs []error
	for _, o := range f.options.Table() {
		if !strings.HasPrefix(o.Name, clusterKeys) {
			continue
		}
		value := options.Value(reflect.ValueOf(c).Elem(), o.Name)
		if value.IsZero() {
			continue
		}
		if k, _ := f.kind(); !slices.Contains(k.Options, o.Name) {
			if strings.HasPrefix(c.Origin(o.Name), "--") { // what a file says may be for other runs
				errs = append(errs, fmt.Errorf("--set %s is only valid with --api-server %s, not %s", o.Name, strings.Join(f.belongs(o.Name), " or "), f.sort))
			}
			continue
		}
		switch to := o.Value.(type) {
		case *bool:
			*to = value.Bool()
		case *string:
			*to = value.String()
			if in, _ := options.Of(o.Name); in.Files {
				*to = c.Path(*to)
			}
		}
	}
	return errors.Join(errs...)
}

// allowed are the kinds that there may be.
func (f *clusterFlags) allowed() []kinds.Kind {
	return slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool { return len(f.kinds) > 0 && !slices.Contains(f.kinds, k.Name) })
}

// belongs returns the kinds of clusters that a flag is for; none when it is for all.
func (f *clusterFlags) belongs(flag string) []string {
	deploys := slices.ContainsFunc(options.All(), func(o options.Option) bool { return o.Flag == flag && strings.HasPrefix(o.Key, "webhook.inCluster.") })
	var owners []string
	for _, k := range f.allowed() {
		from := k.Source(kinds.Options{})
		if slices.Contains(k.Options, flag) || deploys && from.Pods {
			owners = append(owners, k.Name)
		}
	}
	return owners
}

// kind is the kind of cluster that is asked for; false for none.
func (f *clusterFlags) kind() (kinds.Kind, bool) { return kinds.Named(f.sort) }

// source is where the API server comes from; nil for none.
func (f *clusterFlags) source() *source.Source {
	if k, found := f.kind(); found {
		return k.Source(f.options)
	}
	return nil
}

// validate reports whether the flags go together.
func (f *clusterFlags) validate() error {
	kind, found := f.kind()
	if len(f.kinds) > 0 && !slices.Contains(f.kinds, f.sort) {
		return fmt.Errorf("--api-server %s: this command cannot use such a cluster (want %s)", f.sort, strings.Join(f.kinds, ", "))
	}
	if !found && !f.none {
		return fmt.Errorf("--api-server %s: an API server is required; only \"crdconform check\" can do without", f.sort)
	}
	var errs []error
	f.flags.Visit(func(flag *pflag.Flag) {
		if owners := f.belongs(flag.Name); owners != nil && !slices.Contains(owners, f.sort) {
			errs = append(errs, fmt.Errorf("--%s is only valid with --api-server %s, not %s", flag.Name, strings.Join(owners, " or "), f.sort))
		}
	})
	for _, option := range slices.Sorted(maps.Keys(kind.Needs)) {
		if value := f.flags.Lookup(option); value == nil || value.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--api-server %s requires --%s NAME, %s", f.sort, option, kind.Needs[option]))
		}
	}
	if len(errs) > 0 || kind.Validate == nil {
		return errors.Join(errs...)
	}
	return asFlag(kind.Validate(f.options))
}

// asFlag shows what is wrong with an option as a flag.
func asFlag(err error) error {
	if wrong, is := errors.AsType[*kinds.OptionError](err); is {
		if strings.HasPrefix(wrong.Option, clusterKeys) {
			return fmt.Errorf("--set %w", wrong)
		}
		return fmt.Errorf("--%w", wrong)
	}
	return err
}

// again is what a command needs to have the same cluster again.
func (f *clusterFlags) again() string {
	var text strings.Builder
	f.flags.Visit(func(flag *pflag.Flag) {
		switch {
		case flag.Name == "set":
			sets, _ := f.flags.GetStringArray(flag.Name) // as it is bound
			for _, set := range sets {
				if strings.HasPrefix(set, "cluster.keep=") {
					continue
				}
				text.WriteString(" --set " + shell.Quote(set))
			}
		case flag.Name != "api-server" && f.belongs(flag.Name) == nil:
		case flag.Value.Type() == "bool":
			if flag.Value.String() == "true" {
				text.WriteString(" --" + flag.Name)
			}
		default:
			value := flag.Value.String()
			if list, ok := flag.Value.(pflag.SliceValue); ok { // it would come in brackets
				value = strings.Join(list.GetSlice(), ",")
			}
			text.WriteString(" --" + flag.Name + " " + shell.Quote(value))
		}
	})
	return text.String()
}
