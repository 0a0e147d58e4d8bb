package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// reporting is what commands that write reports have in common.
type reporting struct {
	dir     string
	folder  reports.Folder
	began   time.Time
	command []string
}

// begin opens the report folder, before anything else is done.
func (r *reporting) begin() error {
	r.began = time.Now()
	var err error
	r.folder, err = reports.Open(r.dir)
	return err
}

// newReport begins a report.
func (r *reporting) newReport() *reports.Report {
	return &reports.Report{Tool: toolVersion(), Command: strings.Join(append([]string{"crdconform"}, r.command...), " "), Started: r.began.UTC()}
}

// unlessStopped returns the error, or nil where it is only that somebody stopped the run.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// end concludes the report, writes it, shows its summary and returns what the exit code follows from.
func (r *reporting) end(s streams, report *reports.Report) error {
	report.Seconds = time.Since(r.began).Seconds()
	report.Conclude()
	written := r.folder.Write(report)
	summarize(s, report)
	if written != nil {
		return unjudged(written)
	}
	fmt.Fprintf(s.out, "Report: %s\n", path.Join(string(r.folder), "report.html"))
	return finish(report)
}

// summarize shows the outcome on one screen.
func summarize(s streams, report *reports.Report) {
	fmt.Fprintln(s.out)
	for _, chapter := range report.Chapters() {
		fmt.Fprintf(s.out, "%-12s", chapter.Name)
		for _, v := range report.Verdicts() {
			if n := chapter.Count(v); n > 0 {
				fmt.Fprintf(s.out, " %3d %s", n, v)
			}
		}
		fmt.Fprintln(s.out)
	}
	notes(s, report)
	if l := report.Load; l != nil {
		for _, line := range l.Lines() {
			fmt.Fprintln(s.out, line)
		}
	}
	color := map[reports.Outcome]string{reports.Conformant: green, reports.Partial: green, reports.NonConformant: red}[report.Outcome]
	if color == "" {
		color = yellow
	}
	fmt.Fprintf(s.out, "%s, in %.1f s\n", s.paint(color, reports.Visible(report.Headline())), report.Seconds)
	if _, more, found := strings.Cut(strings.TrimSpace(report.Error), "\n"); found { // such as the last output of a program
		fmt.Fprintf(s.out, "    %s\n", strings.ReplaceAll(reports.Visible(more), "\n", "\n    "))
	}
}

// notes lists what neither passed nor failed, with the reasons; a reason that many share is shown once.
func notes(s streams, report *reports.Report) {
	for _, v := range []requirement.Verdict{requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing} {
		byReason := map[string][]string{}
		var order []string
		for _, result := range report.With(v) {
			if result.Immaterial {
				continue // there is nothing that anybody could do about it; the reports have it
			}
			reason, _, _ := strings.Cut(result.Reason, "\n")
			if byReason[reason] == nil {
				order = append(order, reason)
			}
			byReason[reason] = append(byReason[reason], string(result.ID))
		}
		for _, reason := range order {
			ids := byReason[reason]
			which := ids[0]
			if len(ids) > 1 {
				which = fmt.Sprintf("%s and %d more", ids[0], len(ids)-1)
			}
			fmt.Fprintf(s.out, "%s %s: %s\n", s.paint(yellow, v.String()), which, reports.Visible(reason))
		}
	}
}

// toolVersion is that of the build: a tag, or what the go command makes of a commit.
func toolVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}
