package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/cluster/minors"
	"github.com/crdconform/crdconform/requirement"
)

// minorsVariable names the folder with API servers of older minors.
const minorsVariable = "CRDCONFORM_MINORS"

// programsOf is where API servers of older minors are.
func programsOf(variable func(string) (string, bool)) minors.Programs {
	if variable == nil {
		return minors.Programs{}
	}
	dir, _ := variable(minorsVariable)
	return minors.Programs{Dir: dir}
}

// builtInMinor is the minor of the API server that is in this program.
func builtInMinor() requirement.Minor {
	minor, _ := requirement.ParseMinor(embedded.Release()) // it is a version
	return minor
}

// olderMinor reads a minor of which there is an embedded API server, and tells whether it is one in a program of its own.
func olderMinor(flag, text string) (requirement.Minor, bool, error) {
	all := append(minors.All(), builtInMinor())
	minor, err := requirement.ParseMinor(text)
	if err != nil {
		return minor, false, fmt.Errorf("%s: %w", flag, err)
	}
	if text != minor.String() || !slices.Contains(all, minor) {
		return minor, false, fmt.Errorf("%s %s: there is no embedded API server of that; there are %s", flag, text, names(all))
	}
	return minor, minor != builtInMinor(), nil
}

func names(all []requirement.Minor) string {
	var texts []string
	for _, minor := range all {
		texts = append(texts, minor.String())
	}
	return strings.Join(texts, ", ")
}

func newMinors(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "minors",
		Short: "Show of which Kubernetes minors there is an embedded API server, and build them",
		Long: `minors shows the Kubernetes minors whose embedded API servers "run --kubernetes" and "matrix --embedded" can check. The newest is
a part of crdconform. The others are programs, which "crdconform minors build" builds once on this machine.`,
		Example: `  crdconform minors
  crdconform minors build 1.31 1.36`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return listMinors(s) },
	}
	cmd.AddCommand(newMinorsBuild(s))
	return cmd
}

func listMinors(s streams) error {
	programs := programsOf(s.variable)
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MINOR\tRELEASE\tPROGRAM")
	for _, minor := range minors.All() {
		release, _ := minors.Release(minor)
		path, err := programs.Find(minor)
		switch {
		case errors.Is(err, minors.ErrNotBuilt):
			path = "not built yet"
		case err != nil:
			return unjudged(err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", minor, release, path)
	}
	fmt.Fprintf(w, "%s\t%s\tbuilt in\n", builtInMinor(), embedded.Release())
	if err := w.Flush(); err != nil {
		return unjudged(err)
	}
	return write(s.out, text.String())
}

func newMinorsBuild(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "build [MINOR...]",
		Short: "Build embedded API servers of older Kubernetes minors, all or some",
		Long: `build makes the programs that are not there yet, with the go command and the Go modules of each minor, which Go
downloads. That takes some minutes for each at first, and up to 70 MB. The programs are kept in the folder
crdconform/minors in the user's cache folder, or in $` + minorsVariable + `.`,
		Example: `  crdconform minors build
  crdconform minors build 1.31`,
		RunE: func(cmd *cobra.Command, args []string) error { return buildMinors(cmd.Context(), s, args) },
	}
}

func buildMinors(ctx context.Context, s streams, args []string) error {
	wanted := minors.All()
	if len(args) > 0 {
		wanted = nil
	}
	for _, arg := range args {
		minor, older, err := olderMinor("minors build", arg)
		if err != nil {
			return err
		}
		if !older {
			return fmt.Errorf("minors build %s: that one is built in", arg)
		}
		wanted = append(wanted, minor)
	}
	for _, minor := range wanted {
		fmt.Fprintf(s.err, "building the API server of Kubernetes %s\n", minor)
		path, err := programsOf(s.variable).Build(ctx, minor, s.err)
		if ctx.Err() != nil {
			return &exitError{exitInterrupted, errors.New("interrupted")}
		}
		if err != nil {
			return unjudged(err)
		}
		if err := write(s.out, path+"\n"); err != nil {
			return err
		}
	}
	return nil
}
