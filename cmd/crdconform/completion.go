package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/options"
)

// completeFlags offers the values of flags that several commands have: contexts of the kubeconfig, and keys of crdconform.yaml.
func completeFlags(cmd *cobra.Command) {
	for flag, values := range map[string]cobra.CompletionFunc{
		"context": completeContext, "contexts": completeContext, "from-context": completeContext, "set": completeKey,
	} {
		if cmd.Flags().Lookup(flag) != nil {
			// It fails for flags that do not exist, or are completed already.
			_ = cmd.RegisterFlagCompletionFunc(flag, values)
		}
	}
	for _, below := range cmd.Commands() {
		completeFlags(below)
	}
}

// completeKey offers the keys that the command has no flag for.
func completeKey(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var keys []cobra.Completion
	for _, o := range options.All() {
		if o.Flag == "" && slices.Contains(o.Commands, commandOf(cmd)) {
			keys = append(keys, cobra.CompletionWithDesc(o.Key+"=", o.Help))
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeContext(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if flag := cmd.Flags().Lookup("kubeconfig"); flag != nil {
		rules.ExplicitPath = flag.Value.String()
	}
	config, err := rules.Load()
	if err != nil { // there is nothing to offer
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completing completes the names of what there is, with what each is about.
func completing[T any](all func() []T, one func(T) (name, about string)) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		for _, t := range all() {
			if name, about := one(t); strings.HasPrefix(name, begun) {
				names = append(names, cobra.CompletionWithDesc(name, about))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete offers the kinds of API servers that the command can use.
func (f *clusterFlags) complete(cmd *cobra.Command) {
	var names []cobra.Completion
	for _, k := range f.allowed() {
		names = append(names, k.Name)
	}
	if f.none {
		names = append(names, "none")
	}
	// It fails for flags that do not exist only.
	_ = cmd.RegisterFlagCompletionFunc("api-server", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

func completeScenario(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, id := range disruption.IDs() {
		names = append(names, strings.TrimPrefix(string(id), id.Area()+"."))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
