package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// bindRegress binds the flag for limits on how much worse a load test may be than its baseline.
func bindRegress(cmd *cobra.Command, r *[]string) {
	cmd.Flags().StringArrayVar(r, "max-regress", nil,
		"how much worse a statistic may be than in the baseline, such as p99=10% or objects/s=5%, or *=10% for all; can be repeated")
}

func parseRegress(r []string) ([]compare.Limit, error) {
	var limits []compare.Limit
	for _, text := range r {
		limit, err := compare.ParseLimit(text)
		if err != nil {
			return nil, fmt.Errorf("--max-regress: %w", err)
		}
		limits = append(limits, limit)
	}
	return limits, nil
}

func newCompare(s streams) *cobra.Command {
	var limits []string
	var output string
	cmd := &cobra.Command{
		Use:   "compare BASELINE REPORT",
		Short: "Compare two load tests",
		Long: `compare reports whether a load test was slower than an earlier one. Specify each by the folder of its report, or by the
report.json in it. Both must be from "crdconform load" with --repeat, because a single measurement proves nothing: at least 5
repeats are required, and 10 detect more.

A statistic with a limit (--max-regress) is Regressed only if two tests prove it: one of the measured values, and one that
removes the influence of the machine, which load measures with its own webhook after each repeat. If only one of the tests
shows a regression, the runs are Incomparable, and nothing is proved.

` + exitCodes,
		Example: `  crdconform load URL --ca-file ca.crt --repeat 10 --report-dir last-night
  crdconform load URL --ca-file ca.crt --repeat 10 --report-dir tonight
  crdconform compare last-night tonight --max-regress p99=10% --max-regress objects/s=5%`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("compare requires two reports, the baseline and the run, each as a folder or report.json, but got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			parsed, err := parseRegress(limits)
			if err != nil {
				return err
			}
			if err := knownFormat("output", output, "text", "json"); err != nil {
				return err
			}
			return compared(s, args[0], args[1], parsed, output)
		},
	}
	bindRegress(cmd, &limits)
	cmd.Flags().StringVar(&output, "output", "text", "text or json")
	return cmd
}

// printed is a comparison with a baseline for people or for programs. Nothing in it is obeyed by a terminal.
func printed(baseline string, c loadgen.Comparison, output string) (string, error) {
	if output == "json" {
		return written(func(w io.Writer) error {
			c.Baseline = baseline
			return reporter.JSON(&c, w)
		})
	}
	text, err := written(func(w io.Writer) error { return compare.WriteText(w, c) })
	return visible.Text(text), err
}

func compared(s streams, baseline, report string, limits []compare.Limit, output string) error {
	before, err1 := engine.ReadBaseline(baseline)
	now, err2 := engine.ReadBaseline(report)
	if err := errors.Join(err1, err2); err != nil {
		if unfit := (*engine.UnfitError)(nil); errors.As(err, &unfit) {
			return unjudged(err) // the files are what was asked for, and say nothing
		}
		return err
	}
	c, err := engine.Compared(before, now, limits)
	if err != nil {
		return unjudged(err)
	}
	text, err := printed(baseline, c, output)
	if err != nil {
		return unjudged(err)
	}
	if err := write(s.out, text); err != nil {
		return err
	}
	switch {
	case len(compare.RegressedRows(c)) > 0:
		return &exitError{code: exitViolates}
	case len(compare.UndecidedRows(c)) > 0:
		return unjudged(errors.New("not everything that has a limit could be compared; see above"))
	}
	return nil
}
