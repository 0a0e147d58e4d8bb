package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// reporting is what commands that write reports have in common.
type reporting struct {
	dir     string
	folder  reporter.Folder
	began   time.Time
	command []string
	history string // folder of the nights
	said    verbosity
}

// verbosity is how much a run says, besides what fails and the verdict, which it says in any case.
type verbosity struct {
	quiet   bool // nothing else
	verbose int  // each requirement, step and stage as it is judged, with the reason, and each second of a load; more of it is the same
}

// bindVerbosity binds the flags of the commands that end with a verdict.
func (r *reporting) bindVerbosity(flags *pflag.FlagSet) {
	flags.BoolVarP(&r.said.quiet, "quiet", "q", false, "print only what fails, and the verdict")
	flags.CountVarP(&r.said.verbose, "verbose", "v", "print each requirement as it is judged, with the reason, also on a terminal, and each second of a load")
}

// bindHistory binds the flag of the commands that add to a history.
func (r *reporting) bindHistory(flags *pflag.FlagSet) {
	flags.StringVar(&r.history, "history", "", "folder to add this run to, with a page that shows all runs in it")
}

// begin opens the report folder, before anything else is done.
func (r *reporting) begin() error {
	if r.said.quiet && r.said.verbose > 0 {
		return errors.New("--quiet and --verbose: give only one of them")
	}
	r.began = time.Now()
	if r.history != "" {
		if err := reporter.Writable(r.history); err != nil {
			return fmt.Errorf("--history %w; give another folder", err)
		}
	}
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

// againDir is the folder for the report of what is judged again: inside that of the whole report, which it must not replace.
func (r *reporting) againDir() string {
	if filepath.Base(r.dir) == "again" {
		return r.dir
	}
	return filepath.Join(r.dir, "again")
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
	if r.said.quiet {
		s.screen().Failures(report)
	} else {
		screen := s.screen()
		screen.Stepped = true
		screen.Summarize(report)
	}
	if written != nil {
		return unjudged(written)
	}
	if !r.said.quiet {
		fmt.Fprintf(s.out, "Report: %s\n", path.Join(string(r.folder), "report.html"))
	}
	if page != "" && !r.said.quiet {
		fmt.Fprintf(s.out, "The report of the last run that judged something: %s\n", filepath.ToSlash(page))
	}
	if r.history != "" {
		if r.said.quiet {
			s.out = io.Discard // what fails goes to the other stream
		}
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
	fmt.Fprintf(s.out, "History of %s: %s\n", visible.Count(len(nights.Runs), "run", ""), filepath.ToSlash(page))
	return nil
}

// toolVersion is that of the build: a tag, or what the go command makes of a commit.
func toolVersion() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}
