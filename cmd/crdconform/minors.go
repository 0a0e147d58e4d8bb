package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/visible"
)

// programsOf is where API servers of older minors are.
func programsOf(s streams) minors.Programs {
	return kinds.Programs(kinds.Options{Variable: s.variable})
}

func newMinors(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "minors",
		Short: "Show the minors with an embedded API server, and build them",
		Long: `minors shows the Kubernetes minors whose embedded API servers "run --kubernetes" and "matrix --embedded" can check. The newest
is part of crdconform. The others are separate programs, which "crdconform matrix minors build" builds once on this machine.`,
		Example: `  crdconform matrix minors
  crdconform matrix minors build 1.31 1.36`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return listMinors(s) },
	}
	cmd.AddCommand(newMinorsBuild(s))
	return cmd
}

func listMinors(s streams) error {
	programs := programsOf(s)
	table := visible.Table{Head: []string{"MINOR", "RELEASE", "PROGRAM"}}
	for _, minor := range minors.All() {
		release, _ := minors.Release(minor)
		path, err := programs.Find(minor)
		switch {
		case errors.Is(err, minors.ErrNotBuilt):
			path = "not built yet"
		case err != nil:
			return unjudged(err)
		}
		table.Add(minor, release, path)
	}
	table.Add(minors.BuiltIn(), embedded.Release(), "built in")
	return write(s.out, table.Text())
}

func newMinorsBuild(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "build [MINOR...]",
		Short: "Build embedded API servers of older Kubernetes minors, all or some",
		Long: `build builds the missing programs with the go command and the Go modules of each minor, which Go downloads. This takes
a few minutes for each program the first time, and up to 70 MB of disk. The programs are kept in the folder
crdconform/minors in the user's cache folder, or in $` + kinds.MinorsVariable + `.`,
		Example: `  crdconform matrix minors build
  crdconform matrix minors build 1.31`,
		RunE: func(cmd *cobra.Command, args []string) error { return buildMinors(cmd.Context(), s, args) },
	}
}

func buildMinors(ctx context.Context, s streams, args []string) error {
	wanted := minors.All()
	if len(args) > 0 {
		wanted = nil
	}
	for _, arg := range args {
		minor, older, err := kinds.EmbeddedMinor(arg)
		if wrong, is := errors.AsType[*kinds.OptionError](err); is {
			wrong.Option = "minors build"
		}
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
		path, err := programsOf(s).Build(ctx, minor, s.err)
		if err != nil {
			return unfinished(ctx, err)
		}
		if err := write(s.out, path+"\n"); err != nil {
			return err
		}
	}
	return nil
}
