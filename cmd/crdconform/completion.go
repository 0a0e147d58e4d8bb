package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/internal/disruption"
)

// completeContexts offers the contexts of the kubeconfig wherever a flag names one.
func completeContexts(cmd *cobra.Command) {
	for _, flag := range []string{"context", "contexts", "from-context"} {
		if cmd.Flags().Lookup(flag) != nil {
			// It fails for flags that do not exist, or are completed already.
			_ = cmd.RegisterFlagCompletionFunc(flag, completeContext)
		}
	}
	for _, below := range cmd.Commands() {
		completeContexts(below)
	}
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
