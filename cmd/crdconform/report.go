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

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/loadgen/compare"
	"github.com/crdconform/crdconform/reports"
)

// reporter is the command report.
type reporter struct {
	streams
	format, output, dir, baseline string
	implementation                map[string]string
	regress                       []string
	sideBySide                    bool
}

func newReport(s streams) *cobra.Command {
	r := &reporter{streams: s}
	cmd := &cobra.Command{
		Use:   "report REPORT...",
		Short: "Show a report again in any form, merge several, or compare two",
		Long: `report makes a report again from what a run has recorded: REPORT is its folder, or the report.json in it. Nothing is run, and
the same report gives the same bytes each time.

Several reports on the same API server and webhook are merged into one, as for jobs that share the requirements; where two have
judged the same requirement, the worse verdict holds. With --side-by-side they are shown beside each other, whatever they are
about.

With --baseline the report says what has changed since an earlier one: what newly fails and passes, of the requirements, the load
and its objectives; what is no longer judged; and which statistics of the load test are proved to be slower or faster, as by
"crdconform compare".

Exit codes:
  0    the report was made; with --baseline, nothing got worse
  1    with --baseline: a requirement, the load or an objective newly fails, or the load regressed by more than --max-regress
  2    usage: bad flags, or files that are no reports or do not go together
  3    it could not be written; with --baseline: something is no longer judged, or a limit could not be`,
		Example: `  crdconform report crdconform-report
  crdconform report crdconform-report --format badge --output badge.svg
  crdconform report crdconform-report --format conformance --implementation project=widgets,version=v1.4.0
  crdconform report job-1 job-2 job-3 --report-dir merged
  crdconform report tonight --baseline last-night --format markdown --max-regress p99=10%`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("report wants the folder of a run, or several")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return r.run(args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.format, "format", "text", "form: "+listOf(forms()))
	flags.StringVarP(&r.output, "output", "o", "", "file to write to, instead of the standard output")
	flags.StringVar(&r.dir, "report-dir", "", "folder to write to as a run does, with the evidence, instead of one form")
	flags.StringVar(&r.baseline, "baseline", "", "report of an earlier run to compare with: its folder, or the report.json in it")
	bindRegress(cmd, &r.regress)
	flags.BoolVar(&r.sideBySide, "side-by-side", false, "show the reports beside each other, as text, markdown, html or json")
	flags.StringToStringVar(&r.implementation, "implementation", nil, "for --format conformance: who was judged, as organization, project, url, version and contact")
	// It fails for flags that do not exist only.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(forms(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// forms are the forms of a report.
func forms() []string {
	return []string{"text", "html", "junit", "markdown", "json", "conformance", "prometheus", "badge"}
}

// listOf joins words as in a sentence.
func listOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (r *reporter) validate(args []string) ([]compare.Limit, error) {
	limits, err := parseRegress(r.regress)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(forms(), r.format):
		return nil, fmt.Errorf("--format %s: there is no such form; use %s", r.format, listOf(forms()))
	case r.dir != "" && (r.format != "text" || r.output != "" || r.sideBySide):
		return nil, errors.New("--report-dir writes a folder as a run does; leave out --format, --output and --side-by-side")
	case r.sideBySide && len(args) < 2:
		return nil, errors.New("--side-by-side wants two reports or more")
	case r.sideBySide && !slices.Contains([]string{"text", "markdown", "html", "json"}, r.format):
		return nil, fmt.Errorf("--format %s: reports are side by side as text, markdown, html or json", r.format)
	case r.sideBySide && r.baseline != "":
		return nil, errors.New("--side-by-side shows the reports beside each other; leave out --baseline, or it")
	case len(limits) > 0 && r.baseline == "":
		return nil, errors.New("--max-regress goes with --baseline")
	case len(r.implementation) > 0 && r.format != "conformance":
		return nil, errors.New("--implementation goes with --format conformance")
	}
	return limits, nil
}

func (r *reporter) run(args []string) error {
	limits, err := r.validate(args)
	if err != nil {
		return err
	}
	implementation, err := reports.ParseImplementation(r.implementation)
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
	if r.sideBySide {
		return r.matrix(args, all)
	}
	report := all[0]
	if len(all) > 1 {
		if report, err = reports.Merge(args, all); err != nil {
			return err
		}
	}
	if r.dir == "" && (len(all) > 1 || r.elsewhere(args[0])) {
		report.Detach()
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

// compare has the report say what changed since the baseline.
func (r *reporter) compare(report *reports.Report, limits []compare.Limit) error {
	before, err := reports.ReadFile(r.baseline)
	if err != nil {
		return fmt.Errorf("--baseline: %w", err)
	}
	if report.Changes, err = report.Since(r.baseline, before); err != nil {
		return err
	}
	switch {
	case report.Load == nil && before.Load == nil && len(limits) > 0:
		return errors.New("--max-regress: neither of the reports has a load test")
	case report.Load != nil && report.Changes.LoadNote == "":
		report.Changes.Compared(crdconform.Compared(before.Load, report.Load, limits))
	}
	return nil
}

// worsened tells by the exit code whether a run is worse than an earlier one, and whether there were limits that nothing could be
// compared by. Forms that do not say it themselves are no reason for nobody to say it.
func worsened(c *reports.Changes, limited bool) error {
	switch {
	case c == nil:
		return nil
	case c.Worse():
		return &exitError{exitViolates, fmt.Errorf("worse than %s: %s", c.Baseline, c.Summary())}
	case c.Open() != "":
		return unjudged(errors.New(c.Open()))
	case limited && c.Load == nil:
		return unjudged(fmt.Errorf("--max-regress: the load was not compared: %s", c.LoadNote))
	}
	return nil
}

// writeAs writes the report in the form that was asked for.
func (r *reporter) writeAs(report *reports.Report, implementation *reports.Implementation, args []string) error {
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
		summarize(s, report)
		return r.put(b.String())
	}
	write := map[string]func(io.Writer) error{
		"html": report.HTML, "junit": report.JUnit, "markdown": report.Markdown, "json": report.JSON,
		"conformance": report.Conformance(implementation).YAML, "prometheus": report.Prometheus, "badge": report.Badge,
	}[r.format]
	if err := write(&b); err != nil {
		return unjudged(err)
	}
	return r.put(b.String())
}

// elsewhere tells whether the form is written to another folder than that of the report, and so away from its evidence.
func (r *reporter) elsewhere(report string) bool {
	return r.output != "" && !same(filepath.Dir(r.output), folderOf(report))
}

// put writes to the file that was asked for, or else to the standard output.
func (r *reporter) put(text string) error {
	if r.output == "" {
		return write(r.out, text)
	}
	if err := os.WriteFile(r.output, []byte(text), 0o644); err != nil {
		return unjudged(fmt.Errorf("--output: %w", err))
	}
	return nil
}

// folder writes what a run does. A folder that is read from would lose what it has.
func (r *reporter) folder(report *reports.Report, args []string) error {
	for _, name := range append(slices.Clone(args), r.baseline) {
		if name != "" && same(folderOf(name), r.dir) {
			return fmt.Errorf("--report-dir %s: the report is read from there; give another folder", r.dir)
		}
	}
	folder, err := reports.Open(r.dir)
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

// same tells whether two names are of the same folder.
func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// matrix shows reports beside each other.
func (r *reporter) matrix(args []string, all []*reports.Report) error {
	for i, report := range all {
		if subjects := report.Subjects(); len(subjects) > 1 {
			return fmt.Errorf("--side-by-side: %s is about several definitions, such as %s; give reports about one each", args[i], subjects[len(subjects)-1])
		}
	}
	m := reports.NewMatrix(args, all)
	text := map[string]func() (string, error){
		"text":     func() (string, error) { return m.Text(), nil },
		"markdown": func() (string, error) { return m.Markdown(), nil },
		"html":     func() (string, error) { return written(m.HTML) },
		"json":     func() (string, error) { return written(m.JSON) },
	}[r.format]
	made, err := text()
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
