package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
)

// reportCommand is the command report.
type reportCommand struct {
	streams
	format, output, dir, baseline string
	implementation                map[string]string
	regress                       []string
	sideBySide                    bool
	history                       string
}

func newReport(s streams) *cobra.Command {
	r := &reportCommand{streams: s}
	cmd := &cobra.Command{
		Use:   "report REPORT...",
		Short: "Show, merge and compare reports, in any format, and a history",
		Long: `report writes the report of a run again: REPORT is its folder, or the report.json in it. Nothing is run, and the same report
always produces the same output, byte for byte.

Several reports on the same API server and webhook are merged into one, for example those of jobs that each check some of the
requirements; if two contain the same requirement, the worse verdict is used. With --side-by-side, any reports are shown next
to each other.

With --baseline, the report shows what has changed since an earlier one: which requirements, loads and objectives newly fail or
pass, what is no longer judged, and which statistics of the load test are proved to be slower or faster. That takes reports of
"crdconform load" with --repeat, because a single measurement proves nothing: at least 5 repeats, and 10 detect more. A
statistic with a limit (--max-regress) has regressed only if two tests prove it: one of the measured values, and one that
removes the influence of the machine, which load measures with its own webhook after each repeat.

With --history, reports are added to a folder, and index.html there shows all of its runs: a row for each, the trend of
verdicts and of times with their noise, and since when each requirement fails, with broken ones separated from flaky ones.
Without a REPORT, the page is written again. Anything else in the folder is left out, with the reason.

Exit codes:
  0    the report was made; with --baseline, nothing got worse
  1    with --baseline: a requirement, the load or an objective newly fails, or the load regressed by more than --max-regress
  2    usage: bad flags, or files that are not reports or do not belong together
  3    the report could not be written; with --baseline: something is no longer judged, or a limit could not be judged`,
		Example: `  crdconform report crdconform-report
  crdconform report crdconform-report -o badge --file badge.svg
  crdconform report crdconform-report -o conformance --implementation project=widgets,version=v1.4.0
  crdconform report job-1 job-2 job-3 --report-dir merged
  crdconform report tonight --baseline last-night -o markdown --max-regress p99=10%
  crdconform report crdconform-report --history nights`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && r.history == "" {
				return errors.New("report requires the folder of a run, or several")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return r.run(args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&r.format, "output", "o", "text", "format: "+listOf(forms()))
	flags.StringVar(&r.output, "file", "", "file to write to, instead of standard output")
	flags.StringVar(&r.dir, "report-dir", "", "folder to write to as a run does, with the evidence, instead of a single format")
	flags.StringVar(&r.baseline, "baseline", "", "report of an earlier run to compare with: its folder, or the report.json in it")
	bindRegress(cmd, &r.regress)
	flags.BoolVar(&r.sideBySide, "side-by-side", false, "show the reports next to each other, as "+listOf(sideBySideForms()))
	flags.StringVar(&r.history, "history", "", "folder to add the reports to, with a page that shows all runs in it")
	flags.StringToStringVar(&r.implementation, "implementation", nil, "for --output conformance: the implementation that was judged, as organization, project, url, version and contact")
	// It fails for flags that do not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// forms are the forms of a report.
func forms() []string { return append([]string{"text"}, reporter.Names(reporter.Formats(nil))...) }

// sideBySideForms are the forms of reports beside each other.
func sideBySideForms() []string { return reporter.Names(reporter.MatrixFormats()) }

// listOf joins words as in a sentence.
func listOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (r *reportCommand) validate(args []string) ([]compare.Limit, error) {
	limits, err := parseRegress(r.regress)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(forms(), r.format):
		return nil, knownFormat(r.format, forms()...)
	case r.dir != "" && (r.format != "text" || r.output != "" || r.sideBySide):
		return nil, errors.New("--report-dir writes a folder as a run does; leave out --output, --file and --side-by-side")
	case r.sideBySide && len(args) < 2:
		return nil, errors.New("--side-by-side requires at least two reports")
	case r.sideBySide && !slices.Contains(sideBySideForms(), r.format):
		return nil, fmt.Errorf("--output %s: with --side-by-side, the format must be %s", r.format, listOf(sideBySideForms()))
	case r.sideBySide && r.baseline != "":
		return nil, errors.New("--side-by-side cannot be combined with --baseline")
	case len(limits) > 0 && r.baseline == "":
		return nil, errors.New("--max-regress is only valid with --baseline")
	case r.history != "" && (r.dir != "" || r.output != "" || r.sideBySide || r.baseline != "" || r.format != "text"):
		return nil, errors.New("--history writes a page of its own; leave out the flags for other output")
	case len(r.implementation) > 0 && r.format != "conformance":
		return nil, errors.New("--implementation is only valid with --output conformance")
	}
	return limits, nil
}

func (r *reportCommand) run(args []string) error {
	limits, err := r.validate(args)
	if err != nil {
		return err
	}
	implementation, err := reporter.ParseImplementation(r.implementation)
	if err != nil {
		return fmt.Errorf("--implementation: %w", err)
	}
	var all []*reports.Report
	for _, name := range args {
		var one *reports.Report
		if one, err = reports.ReadFile(name); err != nil {
			return err
		}
		all = append(all, one)
	}
	if r.history != "" {
		return r.addNights(all)
	}
	if r.sideBySide {
		return r.matrix(args, all)
	}
	report := all[0]
	if len(all) > 1 {
		if report, err = reporter.Merge(args, all); err != nil {
			return err
		}
	}
	if r.dir == "" && (len(all) > 1 || r.elsewhere(args[0])) {
		reporter.Detach(report)
	}
	if r.baseline != "" {
		if err := r.compare(report, limits); err != nil {
			return err
		}
	}
	if err := r.writeAs(report, implementation, args); err != nil {
		return err
	}
	return worsened(report.Changes, len(limits) > 0)
}

// addNights adds reports to the folder of the nights, and writes their page.
func (r *reportCommand) addNights(all []*reports.Report) error {
	for _, one := range all {
		if err := reporter.AddNight(r.history, one); err != nil {
			return unjudged(fmt.Errorf("--history: %w", err))
		}
	}
	return nightsPage(r.streams, r.history)
}

// compare has the report say what changed since the baseline.
func (r *reportCommand) compare(report *reports.Report, limits []compare.Limit) error {
	before, err := reports.ReadFile(r.baseline)
	if err != nil {
		return fmt.Errorf("--baseline: %w", err)
	}
	if report.Changes, err = reporter.Since(report, r.baseline, before); err != nil {
		return err
	}
	switch {
	case report.Load == nil && before.Load == nil && len(limits) > 0:
		return errors.New("--max-regress: neither of the reports has a load test")
	case report.Load != nil && report.Changes.LoadNote == "":
		load, err := engine.Compared(before.Load, report.Load, limits)
		reporter.AddComparison(report.Changes, load, err)
	}
	return nil
}

// worsened says by the exit code whether a run is worse than an earlier one, and whether there were limits that nothing could be
// compared by. Forms that do not say it themselves are no reason for nobody to say it.
func worsened(c *reports.Changes, limited bool) error {
	switch {
	case c == nil:
		return nil
	case reporter.Worse(c):
		return &exitError{exitViolates, fmt.Errorf("worse than %s: %s", c.Baseline, reporter.Summary(c))}
	case reporter.Undecided(c) != "":
		return unjudged(errors.New(reporter.Undecided(c)))
	case limited && c.Load == nil:
		return unjudged(fmt.Errorf("--max-regress: the load was not compared: %s", c.LoadNote))
	}
	return nil
}

// writeAs writes the report in the form that was asked for.
func (r *reportCommand) writeAs(report *reports.Report, implementation *reporter.Implementation, args []string) error {
	if r.dir != "" {
		return r.folder(report, args)
	}
	var b bytes.Buffer
	if r.format == "text" {
		s := r.streams
		s.out = &b
		if r.output != "" {
			s.terminal, s.color = false, false
		}
		s.screen().Summarize(report)
		return r.put(b.String())
	}
	format, _ := reporter.Named(reporter.Formats(implementation), r.format)
	if err := format.Write(report, &b); err != nil {
		return unjudged(err)
	}
	return r.put(b.String())
}

// elsewhere reports whether the form is written to another folder than that of the report, and so away from its evidence.
func (r *reportCommand) elsewhere(report string) bool {
	return r.output != "" && !same(filepath.Dir(r.output), folderOf(report))
}

// put writes to the file that was asked for, or else to the standard output.
func (r *reportCommand) put(text string) error {
	if r.output == "" {
		return write(r.out, text)
	}
	if err := os.WriteFile(r.output, []byte(text), 0o644); err != nil {
		return unjudged(fmt.Errorf("--file: %w", err))
	}
	return nil
}

// folder writes what a run does. A folder that is read from would lose what it has.
func (r *reportCommand) folder(report *reports.Report, args []string) error {
	for _, name := range append(slices.Clone(args), r.baseline) {
		if name != "" && same(folderOf(name), r.dir) {
			return fmt.Errorf("--report-dir %s: the report is read from this folder; give another", r.dir)
		}
	}
	folder, err := openFolder(r.dir)
	if err != nil {
		return err
	}
	if err := folder.Write(report); err != nil {
		return unjudged(err)
	}
	return write(r.out, "Report: "+path.Join(filepath.ToSlash(r.dir), "report.html")+"\n")
}

// folderOf is the folder that a report is read from.
func folderOf(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name
	}
	return filepath.Dir(name)
}

// same reports whether two names are of the same folder.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// matrix shows reports beside each other.
func (r *reportCommand) matrix(args []string, all []*reports.Report) error {
	for i, report := range all {
		if len(report.Upgrade) > 0 {
			return fmt.Errorf("--side-by-side: %s is the report of a rehearsal; compare two with --baseline", args[i])
		}
		if subjects := reporter.Subjects(report); len(subjects) > 1 {
			return fmt.Errorf("--side-by-side: %s is about several definitions, such as %s; give reports about one each", args[i], subjects[len(subjects)-1])
		}
	}
	format, _ := reporter.Named(reporter.MatrixFormats(), r.format)
	made, err := written(func(w io.Writer) error { return format.Write(reporter.NewMatrix(args, all), w) })
	if err != nil {
		return unjudged(err)
	}
	return r.put(made)
}

// written is what a form writes.
func written(form func(io.Writer) error) (string, error) {
	var b strings.Builder
	err := form(&b)
	return b.String(), err
}
