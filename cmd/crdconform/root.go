package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// The exit codes, in the words of the help and of the README. Scripts rely on them.
const (
	exitConforms    = 0   // it conforms, or was done: also if something is Tolerated, known to fail or flaky, or was not judged for lack of a case
	exitViolates    = 1   // it does not conform: a requirement Failed, is Tolerated with --strict, or an objective was missed
	exitUsage       = 2   // nothing was done: bad flags, files or IDs, or nothing selected
	exitUnjudged    = 3   // it could not be judged: no cluster, no webhook, a void load, a limit that was reached, or output that cannot be written
	exitInterrupted = 130 // a signal ended it; a partial report is still written. It is 128 and the number of SIGINT, as shells have it
)

const exitCodes = `Exit codes:
  0    conforms; under load, every response is correct
  1    does not conform
  2    usage: bad flags, files or IDs, or nothing selected
  3    could not judge: no cluster, no webhook, nothing applicable, run timeout exceeded, setup failed, or
       the load generator reached its limits
  130  interrupted; a partial report is still written`

// areas returns the chapters that run checks.
func areas() []suites.Area { return chapters.Run() }

// checked returns the chapters that check may need.
func checked() []suites.Area { return chapters.Check() }

// streams is where a command writes.
type streams struct {
	out, err io.Writer
	terminal bool // out is one
	width    int  // of the terminal
	color    bool

	// variable looks up a variable of the environment. Nil means that none is set.
	variable func(name string) (value string, set bool)

	// plugin is whether kubectl started the program.
	plugin bool

	// acts is called before a command does more than read: from there on, one that is interrupted has something to stop or to report.
	// It may be nil.
	acts func()
}

// screen is where summaries are shown.
func (s streams) screen() reporter.Screen {
	return reporter.Screen{Out: s.out, Terminal: s.terminal, Width: s.width, Color: s.color, More: "--output markdown"}
}

// set reports whether the environment has a variable.
func (s streams) set(variable string) bool {
	if s.variable == nil {
		return false
	}
	_, found := s.variable(variable)
	return found
}

// act is to be called before a command does more than read.
func (s streams) act() {
	if s.acts != nil {
		s.acts()
	}
}

// exitError is an error with the exit code that it amounts to.
type exitError struct {
	code int
	err  error // nil if it was already reported
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func unjudged(err error) error { return &exitError{exitUnjudged, err} }

// unfinished is the error of a command that could not do its work: it was interrupted, or else there is no verdict.
func unfinished(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return unjudged(err)
}

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	out := &output{to: s.out}
	s.out = out
	root := newRoot(s) //nolint:contextcheck // commands get their context from cobra
	root.SetArgs(args)
	addCompletion(root)
	cmd, err := root.ExecuteContextC(ctx)
	lost := out.lost.Load()
	var exit *exitError
	switch {
	case errors.As(err, &exit):
	case err == nil, lost != nil && errors.Is(err, *lost): // cobra's, for its help and version
		exit = &exitError{code: exitConforms}
	default:
		// What cobra and the flags complain of, and whatever else was not given a code, is about usage.
		exit = &exitError{exitUsage, err}
	}
	if exit.err != nil {
		text := oneLine(inWords(exit.err))
		if s.plugin {
			text = pluginText(cmd.Root())(text)
		}
		fmt.Fprintf(s.err, "crdconform: %s\n", text)
	}
	if exit.code == exitUsage {
		fmt.Fprintf(s.err, "crdconform: see \"%s --help\"\n", cmd.CommandPath())
	}
	if lost != nil && exit.code != exitUnjudged && !errors.Is(*lost, syscall.EPIPE) {
		fmt.Fprintf(s.err, "crdconform: output: %s\n", (*lost).Error())
		if exit.code == exitConforms {
			return exitUnjudged
		}
	}
	return exit.code
}

// output remembers the first thing that could not be written to it, since commands do not look at each line.
type output struct {
	to   io.Writer
	lost atomic.Pointer[error]
}

// Write writes.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.lost.CompareAndSwap(nil, &err)
	}
	return n, err
}

// addCompletion adds cobra's command. By itself, that shows its help for a shell that it does not know, and succeeds.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = onlyCommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// oneLine makes a sentence of an error of cobra's, which puts what may have been meant on lines of their own.
func oneLine(text string) string {
	text = strings.TrimSpace(visible.Text(text))
	if what, meant, found := strings.Cut(text, "\n\nDid you mean this?\n"); found {
		text = what + "; did you mean " + strings.Join(strings.Fields(meant), ", ") + "?"
	}
	return text
}

// readFirst returns the commands that only read, or read before they call act: what they are given may never come to an end.
func readFirst() []string {
	return []string{"check", "load", "rehearse", "disrupt", "diff", "convert", "report", "list", "explain", "lint", "init", "config", "version", "man", "help", "completion", "storage status", "storage safe-to-drop", "doctor"}
}

// noArguments wants none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %s", cmd.Name(), strings.Join(args, " "))
	}
	return nil
}

// onlyCommands wants none of a command that has commands of its own, so that an argument is one of these, mistyped.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2 // what cobra sets for the root only
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		text += "; did you mean " + strings.Join(meant, ", ") + "?"
	}
	return errors.New(text)
}

// write writes what a command is asked for. That it cannot be written has nothing to do with usage. A reader that went away, as
// head does, has seen enough.
func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil && !errors.Is(err, syscall.EPIPE) {
		return unjudged(fmt.Errorf("output: %w", err))
	}
	return nil
}

// beside returns the outcome of a run beside which something else may have gone wrong. That is reported whatever the outcome is,
// and decides the exit code only of a run with which nothing is wrong.
func (s streams) beside(outcome, wrong error) error {
	switch {
	case wrong == nil:
		return outcome
	case outcome == nil:
		return unjudged(wrong)
	}
	fmt.Fprintf(s.err, "crdconform: %s\n", oneLine(inWords(wrong)))
	return outcome
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "crdconform",
		Short: "Check CRD versioning and conversion webhooks against the Kubernetes documentation",
		Long: `crdconform answers two questions with evidence. Does this Kubernetes API server treat versions of
CustomResourceDefinitions as the documentation says? Does this conversion webhook keep its contract with API servers, for every
object and under load?

` + exitCodes,
		Example: `  crdconform run                       check the built-in API server
  crdconform check URL --ca-file FILE  check a conversion webhook
  crdconform load URL --ca-file FILE   load a conversion webhook
  crdconform explain webhook.response.uid`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if all := cmd.Root().PersistentFlags().Lookup(allFlags); all.Changed && all == cmd.Flags().Lookup(allFlags) {
				return errors.New("--all is only valid with --help, of which it shows all flags")
			}
			path := commandOf(cmd)
			reads := func(command string) bool { return path == command || strings.HasPrefix(path, command+" ") }
			if !slices.ContainsFunc(readFirst(), reads) {
				s.act()
			}
			return nil
		},
	}
	root.CompletionOptions.DisableNoDescFlag = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(root))
	root.Version = toolVersion()
	root.SetVersionTemplate("crdconform {{.Version}}\n")
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.AddCommand(newRun(s), newMatrix(s), newColumn(s, os.Stdin), newCleanup(s), newCheck(s), newRehearse(s, os.Stdin), newDisrupt(s), newLoad(s), newWorker(s, os.Stdin), newReport(s), newServe(s), newRecord(s), newDiff(s), newConvert(s), newStorage(s), newDoctor(s), newList(s), newExplain(s), newLint(s), newInit(s), newConfig(s), newVersion(s), newMan())
	if s.plugin {
		asPlugin(root)
	} else {
		group(root)
	}
	limitHelp(root, s)
	suggestForKubectl(root)
	completeFlags(root)
	return root
}

// groups are the headings of the commands in the help.
func groups() []struct{ title, commands string } {
	return []struct{ title, commands string }{
		{"Check a webhook", "check load disrupt convert diff"},
		{"Check an API server", "run matrix"},
		{"Prepare and upgrade", "lint rehearse storage doctor"},
		{"Reports", "report list explain"},
		{"Settings", "init config completion"},
		{"Advanced", "record serve cleanup"},
	}
}

// group puts the commands below their headings.
func group(root *cobra.Command) {
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for name := range strings.FieldsSeq(g.commands) {
			if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
				cmd.GroupID = g.title
			}
		}
	}
	root.SetCompletionCommandGroupID("Settings")
}

// newHelp is the command help. That of the library shows its own usage for commands that do not exist, and succeeds.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command", Hidden: true,
		Long: "help shows what a command does, its flags, and examples, as --help does.",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
			}
			if err != nil {
				return err
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, one := range root.Commands() {
				if one.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(one.Name(), one.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// finish returns the outcome as an exit code.
func finish(r *reports.Report) error {
	switch r.Outcome {
	case reports.Conformant, reports.Partial:
		return nil
	case reports.NonConformant:
		return &exitError{code: exitViolates}
	case reports.Interrupted:
		return &exitError{code: exitInterrupted}
	default:
		return &exitError{code: exitUnjudged}
	}
}
