package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

func newExplain(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement",
		Long: `explain prints everything in the catalogue about a requirement: its statement, why it matters, its source in the documents, how
it is checked, and which faults of the reference webhook break it.`,
		Example:           `  crdconform explain storage.update.rewrites`,
		ValidArgsFunction: completeID,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("explain requires the ID of one requirement, but got %d arguments; \"crdconform list\" shows them", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, found := requirement.Lookup(requirement.ID(args[0]))
			if !found {
				return fmt.Errorf("%s: %s", args[0], unknownID(args[0]))
			}
			return write(s.out, explain(r, suites.Preview(append(areas(), resource.Area))))
		},
	}
}

func explain(r requirement.Requirement, specs []suites.Spec) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, value)
		}
	}
	fmt.Fprintf(&b, "%s\n\n%s\n\n", r.ID, r.Statement)
	line("level", string(r.Level))
	line("binds", string(r.Binds))
	holds := "Kubernetes " + r.Since.String() + " and later"
	if (r.Until != requirement.Minor{}) {
		holds = "Kubernetes " + r.Since.String() + " to " + r.Until.String()
	}
	line("holds for", holds)
	for _, source := range r.Source {
		text := source.String()
		if i := slices.IndexFunc(requirement.Documents(), func(d requirement.Document) bool { return d.ID == source.Document }); i >= 0 {
			text += " (" + requirement.Documents()[i].Title + ")"
		}
		line("source", text)
	}
	line("why", r.Why)
	line("note", r.Note)
	switch {
	case r.Obsolete:
		line("obsolete", r.Untested)
	case r.Untested != "":
		line("untested", r.Untested)
	case r.Binds == requirement.Author:
		for _, rule := range lint.Rules() {
			if slices.Contains(rule.Requirements, r.ID) {
				line("rule", string(rule.ID)+": "+rule.Summary)
			}
		}
		line("run it", "crdconform lint FILE")
	default:
		for _, spec := range specs {
			if spec.Requirement == r.ID {
				line("spec", spec.Text)
				line("", spec.Location)
			}
		}
		var faults []string
		for _, f := range webhook.Faults() {
			if slices.Contains(f.Breaks, r.ID) {
				faults = append(faults, f.Name)
			}
		}
		line("faults", strings.Join(faults, ", "))
		command := "crdconform run --filter "
		switch {
		case r.ID.Area() == resource.Area.Name:
			command = "crdconform check URL --crd FILE --filter "
		case r.Binds == requirement.Webhook:
			command = "crdconform check URL --filter "
		}
		line("run it", command+string(r.ID))
	}
	return b.String()
}
