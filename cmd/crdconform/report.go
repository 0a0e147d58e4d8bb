package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
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
		fmt.Fprintf(s.out, "%-12s %s\n", "load", l.Headline())
		fmt.Fprintf(s.out, "%-12s response p50 %.2f, p90 %.2f, p99 %.2f, p99.9 %.2f, max %.2f ms\n", "", l.Response.P50, l.Response.P90, l.Response.P99, l.Response.P999, l.Response.Max)
		for _, finding := range l.FirstFindings[:min(len(l.FirstFindings), 3)] {
			fmt.Fprintf(s.out, "%-12s %s\n", "", reports.Visible(finding))
		}
	}
	color := map[reports.Outcome]string{reports.Conformant: green, reports.Partial: green, reports.NonConformant: red}[report.Outcome]
	if color == "" {
		color = yellow
	}
	fmt.Fprintf(s.out, "%s, in %.1f s\n", s.paint(color, reports.Visible(report.Headline())), report.Seconds)
}

// notes lists what neither passed nor failed, with the reasons; a reason that many share is shown once.
func notes(s streams, report *reports.Report) {
	for _, v := range []requirement.Verdict{requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing} {
		byReason := map[string][]string{}
		var order []string
		for _, result := range report.With(v) {
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

// resultsOf translates the engine's results.
func resultsOf(results []suites.Result, revise func(*suites.Result), rerun func(requirement.ID) string, curl func(dir string) string) []reports.Result {
	translated := make([]reports.Result, 0, len(results))
	for _, r := range results {
		revise(&r)
		entry, _ := requirement.Lookup(r.Requirement) // specs of unknown requirements cannot be declared
		result := reports.Result{
			Requirement: entry,
			Spec:        r.Text,
			Location:    r.Location,
			Verdict:     r.Verdict,
			Reason:      r.Reason,
			Seconds:     r.Duration.Seconds(),
			Rerun:       rerun(r.Requirement),
			Output:      r.Output,
		}
		dir := path.Join("exchanges", string(r.Requirement))
		for _, attachment := range r.Attachments {
			result.Files = append(result.Files, reports.File{Path: path.Join(dir, attachment.Name), Data: attachment.Data})
		}
		if len(r.Attachments) > 0 {
			result.Curl = curl(dir)
		}
		translated = append(translated, result)
	}
	return translated
}

// loadOf translates the summary of a load test.
func loadOf(s loadgen.Summary) (*reports.Load, error) {
	response, err1 := reports.NewTimes(s.Response)
	service, err2 := reports.NewTimes(s.Service)
	lag, err3 := reports.NewTimes(s.Lag)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	l := &reports.Load{
		Rate: s.Workload.Rate, Duration: s.Workload.Duration.Seconds(), Batch: s.Workload.Batch,
		ReviewVersion: s.Workload.ReviewVersion, From: s.Workload.Pair.From, To: s.Workload.Pair.To, HTTP: cmp.Or(strings.TrimSuffix(s.Protocol, ".0"), "HTTP"),
		Seconds: s.Elapsed.Seconds(), Requests: s.Requests, Objects: s.Objects, Failed: s.Failed(),
		RequestsPerSecond: s.RequestRate(), ObjectsPerSecond: s.ObjectRate(), BytesSent: s.BytesOut, BytesReceived: s.BytesIn,
		Response: response, Service: service, Lag: lag,
		Late: s.Late, LateAfter: float64(s.LateAfter().Milliseconds()), Unsent: s.Unsent, Unanswered: s.Unanswered, VoidReason: s.VoidReason(), Partial: s.Partial,
		Errors: map[string]uint64{}, Violations: s.Violations,
	}
	for kind, n := range s.Errors {
		l.Errors[string(kind)] = n
	}
	for _, f := range s.Findings {
		l.FirstFindings = append(l.FirstFindings, fmt.Sprintf("request %d: %s: %s", f.Request, f.Violation.Requirement, f.Violation))
	}
	return l, nil
}

// toolVersion is that of the build: a tag, or what the go command makes of a commit.
func toolVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}

// quoted puts a word into single quotes for a shell if it needs them.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=,+") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
