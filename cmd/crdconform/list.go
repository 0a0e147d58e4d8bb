package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/requirement"
)

func newList(s streams) *cobra.Command {
	var filter []string
	var output string
	var showCoverage bool
	cmd := &cobra.Command{
		Use:   "list [ID...]",
		Short: "List the requirements",
		Long: `list prints every requirement in the catalogue with its level and whom it binds. Requirements that commands other than run,
check and lint check are marked with the command. Requirements that are not checked are marked as untested, or as obsolete if
the documentation no longer applies. Arguments select requirements, as --filter does.

With --coverage, list prints the number of sentences for every document and its headings, and how they are covered: by a
requirement that is checked, by requirements that are untested or obsolete, or by no requirement, with the reason.`,
		Example: `  crdconform list
  crdconform list webhook.response
  crdconform list --coverage
  crdconform list --output json`,
		ValidArgsFunction: completeID(),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := selected(args, filter)
			if err != nil {
				return err
			}
			switch {
			case output == "text" && showCoverage:
				return write(s.out, explanation.CoverageText(all))
			case output == "text":
				return write(s.out, explanation.List(all))
			case output == "json" && showCoverage:
				return writeJSON(s.out, explanation.Covered(all))
			case output == "json":
				return writeJSON(s.out, all)
			case output == "markdown" && showCoverage:
				return write(s.out, explanation.CoverageMarkdown(all))
			case output == "markdown":
				return write(s.out, explanation.ListMarkdown(all))
			}
			return knownFormat(output, "text", "json", "markdown")
		},
	}
	cmd.Flags().StringSliceVar(&filter, "filter", nil, "list only these: IDs, prefixes of IDs, or patterns such as *.uid")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format: text, json or markdown")
	cmd.Flags().BoolVar(&showCoverage, "coverage", false, "count the sentences of the documentation by how they are covered")
	_ = cmd.RegisterFlagCompletionFunc("filter", completeID())
	return cmd
}

// selected returns the requirements that match one of the patterns, which are given as arguments or by --filter, or all if there are none.
func selected(args, filter []string) ([]requirement.Requirement, error) {
	all := requirement.All()
	if len(args)+len(filter) == 0 {
		return all, nil
	}
	var ids []requirement.ID
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	wanted, err := expand("", args, ids)
	if err != nil {
		return nil, err
	}
	filtered, err := expand("--filter", filter, ids)
	if err != nil {
		return nil, err
	}
	maps.Copy(wanted, filtered)
	return slices.DeleteFunc(all, func(r requirement.Requirement) bool { return !wanted[r.ID] }), nil
}

// writeJSON writes what a command is asked for as JSON.
func writeJSON(out io.Writer, value any) error {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return unjudged(err)
	}
	return write(out, b.String())
}

// knownFormat fails unless the format of --output is one of those that there are.
func knownFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("--output %s: unknown format (want %s)", format, listOf(known))
}
