package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/cluster/embedded"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of crdconform and of the API server in it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "crdconform %s\nKubernetes %s (embedded API server)\n%s %s/%s\n",
				toolVersion(), embedded.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
