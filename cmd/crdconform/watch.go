package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// watchMode is how check goes on when files change.
type watchMode struct {
	on    bool
	build string // a shell command; empty for none

	last *reports.Report // of the last run; nil before the first has ended
}

func (w *watchMode) bind(flags *pflag.FlagSet) {
	flags.BoolVar(&w.on, "watch", false, "check again when the PROGRAM, the definitions or samples change, until Ctrl-C; the exit code is that of the last run")
	flags.StringVar(&w.build, "build", "", "shell command that builds the PROGRAM before each run of --watch, such as 'go build -o bin/manager .'; then every file below this folder is watched")
}

// watch checks again and again, until the context ends. Its error is that of the last run.
func (c *checker) watch(ctx context.Context, check engine.Description) (err error) {
	if err = c.watchable(check); err != nil {
		return err
	}
	seen, err := look(c.watched(check))
	if err != nil {
		return fmt.Errorf("--watch: %w", err)
	}
	defer seen.close()
	c.act()
	kept := engine.Keep(check.Source)
	defer func() { err = c.beside(err, kept.Stop(context.WithoutCancel(ctx))) }()
	var ended error = &exitError{code: exitInterrupted}
	for first := true; ; first = false {
		state := "the build failed"
		switch built := c.rebuild(ctx, seen); {
		case built:
			ended = c.once(ctx, kept)
			state = stateOf(c.watching.last)
		case ctx.Err() == nil:
			ended = unjudged(nil)
		}
		if isUsage := exitCodeOf(ended) == exitUsage; first && isUsage {
			return ended
		}
		if ended = c.pardoned(ended); ctx.Err() != nil {
			return ended
		}
		fmt.Fprintf(c.out, "waiting for changes; %s\n", state)
		if !seen.wait(ctx) {
			return ended
		}
	}
}

// exitCodeOf is the exit code that the error of a command amounts to.
func exitCodeOf(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitConforms
	case errors.As(err, &exit):
		return exit.code
	}
	return exitUsage
}

// pardoned shows why a run could not begin or end as it should, and returns what its exit code follows from. The files may be half changed,
// so that is no mistake in the command line.
func (c *checker) pardoned(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) && exit.err == nil {
		return err
	}
	fmt.Fprintf(c.err, "crdconform: %s\n", oneLine(inWords(err)))
	return unjudged(nil)
}

// watchable fails if what is to be checked, or a flag, leaves nothing to watch.
func (c *checker) watchable(check engine.Description) error {
	if check.Webhook.Command == nil {
		return errors.New("--watch: only valid with a program; nothing says when the webhook at a URL changes")
	}
	for _, flag := range []string{"hold", "record-expected", "write-lossy", "history"} {
		if c.flags.Changed(flag) {
			return fmt.Errorf("--watch and --%s: give only one of them", flag)
		}
	}
	for _, name := range slices.Concat(check.CRDs, check.Samples, check.Old) {
		if name == orInput(standardInput) {
			return errors.New("--watch: standard input cannot be read again; give files")
		}
	}
	return nil
}

// once checks what the files say now.
func (c *checker) once(ctx context.Context, kept *engine.Kept) error {
	c.watching.last = nil
	check, err := c.describe()
	if err != nil {
		return err
	}
	check.Source = kept.Source()
	if check.Generate.Seed == 0 {
		check.Generate.Seed = c.seed // so that what failed is asked for again
	}
	return c.judge(ctx, check)
}

// stateOf says what a run came to; the report is nil if there was none.
func stateOf(r *reports.Report) string {
	if r == nil {
		return "nothing was judged"
	}
	failed := 0
	for _, result := range r.Results {
		if r.Failing(result) {
			failed++
		}
	}
	switch {
	case failed > 0:
		return fmt.Sprintf("%d failed", failed)
	case r.Error != "", len(r.With(requirement.Errored, requirement.Unknown)) > 0:
		return "not everything was judged"
	}
	return "nothing failed"
}

// buildGrace is how long a build has to end when it is stopped.
const buildGrace = 5 * time.Second

// rebuild builds the program, if there is a command for that, and reports whether there is one to check. What a failed build wrote is shown.
func (c *checker) rebuild(ctx context.Context, seen *watched) bool {
	defer seen.busy(c.watching.build != "")()
	if c.watching.build == "" {
		return true
	}
	output := &process.Tail{}
	command := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", c.watching.build)
	command.Stdout, command.Stderr = output, output
	build, err := process.Start(command, process.Options{})
	if err == nil {
		select {
		case <-build.Exited():
			err = build.Err()
		case <-ctx.Done():
			err = build.Stop(context.WithoutCancel(ctx), buildGrace)
		}
	}
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		fmt.Fprintf(c.out, "FAILED %s: %s\n", visible.Text(c.watching.build), visible.Text(err.Error()))
		if text := output.Text(math.MaxInt); text != "" {
			fmt.Fprintf(c.out, "    %s\n", strings.ReplaceAll(text, "\n", "\n    "))
		}
	}
	return err == nil
}
