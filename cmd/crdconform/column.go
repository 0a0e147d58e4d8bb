package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
)

func newColumn(s streams, in io.Reader) *cobra.Command {
	r := &runner{streams: s, lenient: true}
	cmd := &cobra.Command{
		Use:    "column",
		Short:  "Check the API server of one column of a matrix",
		Hidden: true, // "matrix" starts it
		Long: `column is started by "crdconform matrix" for each API server, because specs cannot run side by side in one process. It does
what "crdconform run --load-duration 0" does, except that requirements known to fail may pass, and that matrix prints the
summary, from report.json. When its standard input ends, it stops as if interrupted, so it does not outlive a killed matrix.

` + exitCodes,
		Example: `  crdconform column --api-server embedded --kubernetes 1.36 --seed 42 --report-dir crdconform-matrix/1-embedded-1.36`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.take()
			r.command = append(r.command, "--load-duration=0")
			return r.untilEnd(cmd.Context(), in)
		},
	}
	r.bind(cmd)
	return cmd
}

// untilEnd checks the API server, and stops early when the input ends. Flags that are wrong are no matter of usage here: nobody has
// typed them.
func (r *runner) untilEnd(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // it ends, however it does
		cancel()
	}()
	report, err := r.check(ctx)
	if err != nil {
		return unjudged(err)
	}
	return r.end(streams{out: io.Discard}, report)
}

// column is an API server to check, by the flags that run would have.
type column struct {
	folder string
	flags  []string
	of     *kinds.Columns
	value  string // of the option that the columns differ in
}

// column checks one API server and returns the report, with what the exit code follows from. A process that ends without a report
// gets one that says so.
func (m *matrix) column(ctx context.Context, c column, l *columnProgress) (*reports.Report, error) {
	r := &reporting{dir: filepath.Join(m.dir, c.folder), began: time.Now(), command: append([]string{"run"}, c.flags...)}
	r.folder = reporter.Folder(r.dir)
	ended := m.process(ctx, c, l)
	data, err := files.Read(filepath.Join(r.dir, "report.json"), files.Reports)
	var report *reports.Report
	if err == nil {
		report, err = reports.Read(data)
	}
	outcome := outcomeOf(ended)
	if err != nil {
		report = r.newReport()
		report.Seed, report.Strict = m.seed, m.strict
		report.Error, report.Interrupted = l.why(ended, err), ctx.Err() != nil
		report.Seconds = time.Since(r.began).Seconds()
		reporter.Conclude(report)
		outcome = unjudged(errors.Join(errors.New(report.Error), r.folder.Write(report)))
	}
	l.end(r.folder, report)
	if exit, ok := errors.AsType[*exitError](outcome); ok && exit.err != nil {
		outcome = &exitError{exit.code, fmt.Errorf("%s: %w", c.folder, exit.err)} // to be reported last
	}
	return report, worse(outcome, finish(report))
}

// process runs the process of a column to its end. When the context ends the process is asked to stop, and not killed: it has an API
// server to take down.
func (m *matrix) process(ctx context.Context, c column, l *columnProgress) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, m.arguments(c)...)
	said, complained := &process.Lines{Say: l.say}, &process.Lines{Say: l.complain}
	cmd.Stdout, cmd.Stderr = said, complained
	child, err := process.Start(cmd, process.Options{Input: true})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = child.Input.Close() }) // it is closed already when the process has ended
	defer stop()
	<-child.Exited()
	said.Flush()
	complained.Flush()
	return child.Err()
}

// arguments are those of the process.
func (m *matrix) arguments(c column) []string {
	all := append([]string{"column"}, c.flags...)
	for flag, patterns := range map[string][]string{"filter": m.filter, "skip": m.skip} {
		if len(patterns) > 0 {
			all = append(all, "--"+flag+"="+strings.Join(patterns, ","))
		}
	}
	if m.knownFailing != "" {
		all = append(all, "--known-failing="+m.knownFailing)
	}
	if m.strict {
		all = append(all, "--strict")
	}
	if !m.deadline.IsZero() { // each has what is left of the time of all
		all = append(all, fmt.Sprintf("--set=runTimeout=%s", max(time.Until(m.deadline), time.Millisecond).Round(time.Millisecond)))
	}
	return append(all, fmt.Sprintf("--seed=%d", m.seed), "--report-dir="+filepath.Join(m.dir, c.folder))
}

// outcomeOf is what the end of a process amounts to. It has an error when the process did not end as it is meant to.
func outcomeOf(ended error) error {
	var exit *exec.ExitError
	switch {
	case ended == nil:
		return nil
	case errors.As(ended, &exit) && slices.Contains([]int{exitViolates, exitUnjudged, exitInterrupted}, exit.ExitCode()):
		return &exitError{code: exit.ExitCode()}
	}
	return unjudged(fmt.Errorf("its process ended early: %w", ended))
}

// why says why there is no report of a process that has ended.
func (l *columnProgress) why(ended, unread error) string {
	text := "its process ended without a report"
	if !errors.Is(unread, fs.ErrNotExist) {
		text = "its process ended without a readable report: report.json: " + unread.Error()
	}
	if ended != nil {
		text += fmt.Sprintf(" (%v)", ended)
	}
	if l.complaint != "" {
		text += ": " + l.complaint
	}
	return text
}
