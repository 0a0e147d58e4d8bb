package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Hidden:  true, // --version is in the help
		Short:   "Print the versions of crdconform and of the API server in it",
		Long:    "version prints the versions of crdconform, of its built-in API server, and of Go.",
		Example: `  crdconform version`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			return write(s.out, fmt.Sprintf("crdconform %s\nKubernetes %s (embedded API server)\n%s %s/%s\n",
				toolVersion(), embedded.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}
