package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// reporting is what commands that write reports have in common.
type reporting struct {
	dir     string
	folder  reporter.Folder
	began   time.Time
	command []string
	history string // folder of the nights
}

// bindHistory binds the flag of the commands that add to a history.
func (r *reporting) bindHistory(flags *pflag.FlagSet) {
	flags.StringVar(&r.history, "history", "", "folder to add this run to, with a page that shows all runs in it")
}

// begin opens the report folder, before anything else is done.
func (r *reporting) begin() error {
	r.began = time.Now()
	err := reporter.SetAside(r.dir)
	if err != nil {
		return err
	}
	r.folder, err = openFolder(r.dir)
	return err
}

// openFolder opens a report folder.
func openFolder(name string) (reporter.Folder, error) {
	folder, err := reporter.Open(name)
	if err != nil {
		return "", fmt.Errorf("%w; give another one with --report-dir", err)
	}
	return folder, nil
}

// newReport begins a report.
func (r *reporting) newReport() *reports.Report {
	return &reports.Report{Tool: toolVersion(), Command: strings.Join(append([]string{"crdconform"}, r.command...), " "), Started: r.began.UTC()}
}

// gather keeps what explains failures in the report folder.
func (r *reporting) gather(report *reports.Report, write func(dir string) error) error {
	return r.folder.Gather(report, write)
}

// end concludes the report, writes it, shows its summary and returns what the exit code follows from.
func (r *reporting) end(s streams, report *reports.Report) error {
	report.Seconds = time.Since(r.began).Seconds()
	reporter.Conclude(report)
	written := r.folder.Write(report)
	page := ""
	if written == nil {
		page, written = r.folder.Keep(report)
	}
	summarize(s, report)
	if written != nil {
		return unjudged(written)
	}
	fmt.Fprintf(s.out, "Report: %s\n", path.Join(string(r.folder), "report.html"))
	if page != "" {
		fmt.Fprintf(s.out, "The report of the last run that judged something: %s\n", filepath.ToSlash(page))
	}
	if r.history != "" {
		if err := keepNight(s, r.history, report); err != nil {
			return s.beside(finish(report), err)
		}
	}
	return finish(report)
}

// keepNight adds a report to a folder of nights, and writes their page.
func keepNight(s streams, dir string, report *reports.Report) error {
	if err := reporter.AddNight(dir, report); err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	return nightsPage(s, dir)
}

// nightsPage writes the page of a folder of nights.
func nightsPage(s streams, dir string) error {
	nights, err := reporter.ReadNights(dir)
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	for _, text := range nights.LeftOut {
		fmt.Fprintf(s.err, "crdconform: left out: %s\n", visible.Text(text))
	}
	page := filepath.Join(dir, "index.html")
	text, err := written(nights.HTML)
	if err == nil {
		err = os.WriteFile(page, []byte(text), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--history: %w", err)
	}
	fmt.Fprintf(s.out, "History of %s: %s\n", count(len(nights.Runs), "run"), filepath.ToSlash(page))
	return nil
}

// What a summary has room for, so that it fits on one screen with what is below it.
const (
	mostChapters = 14
	mostNotes    = 6
	mostChanges  = 12 // lines
	mostProblems = 10
	mostLosses   = 3
)

// summarize shows the outcome on one screen: what failed comes last, above the headline, where eyes are when a run ends.
func summarize(s streams, report *reports.Report) {
	fmt.Fprintln(s.out)
	s.chapters(report)
	s.notes(report)
	for _, line := range reporter.CoverageLines(report) {
		s.line("", "", line)
	}
	if l := report.Load; l != nil {
		for _, line := range reporter.LoadLines(l, s.columns()) {
			fmt.Fprintln(s.out, line)
		}
	}
	if c := report.Changes; c != nil {
		s.changes(c)
	}
	if len(report.Upgrade) > 0 {
		s.upgrades(report)
	} else {
		s.causes(report)
		s.losses(report)
	}
	color := map[reports.Outcome]string{reports.Conformant: green, reports.Partial: green, reports.NonConformant: red}[report.Outcome]
	if color == "" {
		color = yellow
	}
	fmt.Fprint(s.out, s.paint(color, visible.Text(reporter.Headline(report))))
	if report.Error == "" { // what went wrong has an end of its own
		fmt.Fprintf(s.out, ", in %.1f s", report.Seconds)
	}
	fmt.Fprintln(s.out)
	if _, more, found := strings.Cut(strings.TrimSpace(report.Error), "\n"); found { // such as the last output of a program
		fmt.Fprintf(s.out, "    %s\n", strings.ReplaceAll(visible.Text(more), "\n", "\n    "))
	}
}

// columns is how many characters a sentence may have in a line.
func (s streams) columns() int {
	if s.terminal && s.width > 0 {
		return s.width
	}
	return reporter.Columns
}

// line prints a line whose head has a color, as much of it as there is room for on a terminal. Nothing in it is obeyed there.
func (s streams) line(color, head, text string) {
	visible := []rune(strings.ReplaceAll(visible.Text(text), "\n", " "))
	if most := s.width - utf8.RuneCountInString(head); s.terminal && most > 1 && len(visible) > most {
		visible = append(visible[:most-1], '…')
	}
	if color != "" {
		head = s.paint(color, head)
	}
	fmt.Fprintln(s.out, head+string(visible))
}

// chapters shows how many results of each chapter came to what. Those of many definitions are added up, and of many areas it shows those
// with problems.
func (s streams) chapters(report *reports.Report) {
	chapters, width := reporter.Chapters(report), 12
	if len(chapters) > mostChapters {
		chapters = reporter.Areas(report)
	}
	shown := chapters
	if len(chapters) > mostChapters {
		shown = slices.DeleteFunc(slices.Clone(chapters), func(c reporter.Chapter) bool {
			return !slices.ContainsFunc(c.Results, func(result reports.Result) bool { return reporter.Problem(report, result) })
		})
		shown = shown[:min(len(shown), mostChapters)]
	}
	most := 0
	counts := make([]string, len(shown))
	for i, chapter := range shown {
		for _, v := range reporter.Verdicts(report) {
			if n := chapter.Count(v); n > 0 {
				counts[i] += fmt.Sprintf(" %3d %s", n, v)
			}
		}
		width, most = max(width, utf8.RuneCountInString(chapter.Name)), max(most, len(counts[i]))
	}
	if s.terminal { // what is cut, if anything, is the name
		width = min(width, max(s.width-most, 12))
	}
	for i, chapter := range shown {
		name := []rune(visible.Text(chapter.Name))
		if len(name) > width {
			name = append(name[:width-1], '…')
		}
		s.line("", "", fmt.Sprintf("%-*s%s", width, string(name), counts[i]))
	}
	if n := len(chapters) - len(shown); n > 0 {
		s.line("", "", fmt.Sprintf("and %d more chapters, in report.html", n))
	}
}

// notes lists what neither passed nor failed, with the reasons; a reason that many share is shown once.
func (s streams) notes(report *reports.Report) {
	type note struct {
		verdict requirement.Verdict
		reason  string
	}
	ids := map[note][]string{}
	var order []note
	for _, v := range []requirement.Verdict{requirement.Tolerated, requirement.NotApplicable, requirement.KnownFailing} {
		for _, result := range report.With(v) {
			if result.Immaterial || reporter.Problem(report, result) {
				continue // nobody can do anything about it, and the reports have it; or it is told as a problem
			}
			n := note{v, reporter.Brief(result)}
			if ids[n] == nil {
				order = append(order, n)
			}
			ids[n] = append(ids[n], string(result.ID))
		}
	}
	for _, n := range order[:min(len(order), mostNotes)] {
		which := ids[n][0]
		if more := len(ids[n]) - 1; more > 0 {
			which = fmt.Sprintf("%s and %d more", which, more)
		}
		s.line(yellow, n.verdict.String(), " "+which+": "+n.reason)
	}
	if n := len(order) - mostNotes; n > 0 {
		s.line("", "", fmt.Sprintf("and %d more notes, in report.html", n))
	}
}

// changes shows what differs from an earlier run, the worst first, and what it comes to. A terminal has no room for all of it.
func (s streams) changes(c *reports.Changes) {
	lines := reporter.ChangeLines(c, s.columns())
	if last := len(lines) - 1; s.terminal && len(lines) > mostChanges {
		more := fmt.Sprintf("and %d more lines, with --format markdown", last-(mostChanges-2))
		lines = append(slices.Clone(lines[:mostChanges-2]), more, lines[last])
	}
	for _, line := range lines {
		s.line("", "", line)
	}
}

// causes lists what counts against somebody or could not be judged, by cause: in a line each, or in more if they are few and the terminal
// is narrow. The problems were told when they came.
func (s streams) causes(report *reports.Report) {
	all := reporter.Causes(report)
	for _, c := range all[:min(len(all), mostProblems)] {
		verdict, which, extent := strings.ToUpper(c.Verdict.String()), " "+c.What, ""
		switch {
		case len(c.Pairs) > 0:
			extent = c.Extent()
		case c.Extent() != "" && len(reporter.Subjects(report)) > 1:
			which += " of " + c.Extent()
		}
		line := which + ": " + c.Example
		if extent != "" {
			line = which + " (" + extent + "): " + c.Example
		}
		if s.terminal && len(all) <= mostProblems/2 && utf8.RuneCountInString(verdict+line) > s.width {
			s.line(red, verdict, which+":")
			if extent != "" {
				s.line("", "    ", extent)
			}
			s.line("", "    ", c.Example)
			continue
		}
		s.line(red, verdict, line)
	}
	if n := len(all) - mostProblems; n > 0 {
		s.line("", "", fmt.Sprintf("and %d more causes, in report.html", n))
	}
}

// losses shows how to declare the fields that a conversion may be meant to lose.
func (s streams) losses(report *reports.Report) {
	meant := slices.DeleteFunc(reporter.Losses(report), func(l reporter.Loss) bool { return !l.Meant })
	if len(meant) == 0 {
		return
	}
	fmt.Fprintf(s.out, "To declare the losses that are intended, add this to crdconform.yaml; \"crdconform check --write-lossy FILE\" writes all %d:\nlossy:\n", len(meant))
	for _, l := range meant[:min(len(meant), mostLosses)] {
		fmt.Fprintln(s.out, l.Line())
	}
}

// toolVersion is that of the build: a tag, or what the go command makes of a commit.
func toolVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}
