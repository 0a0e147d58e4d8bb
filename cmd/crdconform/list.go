package main

import (
	"encoding/json"
	"fmt"
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
		ValidArgsFunction: completeID,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := selected(args, filter)
			if err != nil {
				return err
			}
			switch {
			case output == "text" && showCoverage:
				return write(s.out, coverageText(all))
			case output == "text":
				return write(s.out, listText(all))
			case output == "json":
				var text string
				if showCoverage {
					text, err = listJSON(explanation.Covered(all))
				} else {
					text, err = listJSON(all)
				}
				if err != nil {
					return unjudged(err)
				}
				return write(s.out, text)
			case output == "markdown" && showCoverage:
				return write(s.out, coverageMarkdown(all))
			case output == "markdown":
				return write(s.out, listMarkdown(all))
			}
			return fmt.Errorf("--output %s: unknown format (want text, json or markdown)", output)
		},
	}
	cmd.Flags().StringSliceVar(&filter, "filter", nil, "list only these: IDs, prefixes of IDs, or patterns such as *.uid")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format: text, json or markdown")
	cmd.Flags().BoolVar(&showCoverage, "coverage", false, "count the sentences of the documentation by how they are covered")
	_ = cmd.RegisterFlagCompletionFunc("filter", completeID)
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

func listJSON(all any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(all)
	return b.String(), err
}

func listText(all []requirement.Requirement) string {
	var b strings.Builder
	width := 0
	for _, r := range all {
		width = max(width, len(r.ID))
	}
	for _, r := range all {
		fmt.Fprintf(&b, "%-*s  %-6s  %-7s  %s%s\n", width, r.ID, r.Level, r.Binds, mark(r), r.Statement)
	}
	return b.String() + tallied(all) + "\n"
}

func mark(r requirement.Requirement) string {
	switch {
	case r.Obsolete:
		return "(obsolete) "
	case r.Untested != "":
		return "(untested) "
	case r.Command != "":
		return "(checked by " + r.Command + ") "
	}
	return ""
}

// tallied counts the requirements by what checks them: specs, lint, other commands in the order of the catalogue, or nothing.
func tallied(all []requirement.Requirement) string {
	order := []string{"a spec", "lint"}
	counts := map[string]int{}
	var untested, obsolete int
	for _, r := range all {
		by := "a spec"
		switch {
		case r.Obsolete:
			obsolete++
			continue
		case r.Untested != "":
			untested++
			continue
		case r.Command != "":
			by = r.Command
		case r.Binds == requirement.Author:
			by = "lint"
		}
		if !slices.Contains(order, by) {
			order = append(order, by)
		}
		counts[by]++
	}
	var parts []string
	checked := "checked by "
	for _, by := range order {
		if counts[by] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", counts[by], checked, by))
			checked = "by "
		}
	}
	if untested > 0 {
		parts = append(parts, fmt.Sprintf("%d untested with a reason", untested))
	}
	if obsolete > 0 {
		parts = append(parts, fmt.Sprintf("%d obsolete", obsolete))
	}
	return count(len(all), "requirement") + ": " + strings.Join(parts, ", ")
}

func listMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("# Requirements\n\nWritten by `crdconform list --output markdown` from requirement/catalogue.yaml; a test keeps it up to date.\n\n")
	b.WriteString(tallied(all) + ".\n\n## Documents\n\n| ID | document |\n| --- | --- |\n")
	for _, d := range requirement.Documents() {
		fmt.Fprintf(&b, "| %s | %s |\n", d.ID, d.Title)
	}
	b.WriteString("\n## Coverage\n\n" + coverageMarkdown(all))
	b.WriteString("\n## Failed or Tolerated\n\n" + severityMarkdown(all))
	area := ""
	for _, r := range all {
		if r.ID.Area() != area {
			area = r.ID.Area()
			fmt.Fprintf(&b, "\n## %s\n\n| ID | level | binds | statement | source |\n| --- | --- | --- | --- | --- |\n", area)
		}
		statement := cell(r.Statement)
		if mark(r) != "" {
			statement += strings.TrimSpace(fmt.Sprintf("<br>*%s* %s", strings.TrimSpace(mark(r)), cell(r.Untested)))
		}
		if r.Note != "" {
			statement += "<br>*Note:* " + cell(r.Note)
		}
		var sources []string
		for _, s := range r.Source {
			sources = append(sources, s.String())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.ID, r.Level, r.Binds, statement, cell(strings.Join(sources, "; ")))
	}
	return b.String()
}

// severityMarkdown lists the requirements and the parts of requirements that are Tolerated, and what fails of the former.
func severityMarkdown(all []requirement.Requirement) string {
	var b strings.Builder
	b.WriteString("What violates a requirement is Failed, but for these:\n\n| requirement | part | severity | because |\n| --- | --- | --- | --- |\n")
	for _, r := range all {
		if r.Severity == requirement.Tolerated {
			fmt.Fprintf(&b, "| `%s` | | %s | %s |\n", r.ID, r.Severity, cell(r.Because))
		}
		for _, part := range r.Parts {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, part.Name, part.Severity, cell(part.Because))
		}
	}
	return b.String()
}

// cell keeps text from ending a cell or being taken for markup.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(s)
}
