package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

func newExplain(s streams) *cobra.Command {
	var all bool
	var output string
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement",
		Long: `explain prints everything in the catalogue about a requirement: its statement, why it matters, its source in the
documentation, how it is checked, what a failure looks like, which faults of the reference webhook break it, and what
to do about it.`,
		Example: `  crdconform explain storage.update.rewrites
  crdconform explain --all --output json`,
		ValidArgsFunction: completeID(),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return fmt.Errorf("--all explains every requirement; leave out %s", strings.Join(args, " "))
			case !all && len(args) != 1:
				return fmt.Errorf("explain requires the ID of one requirement, but got %d arguments; \"crdconform list\" shows them", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := knownFormat(output, "text", "json"); err != nil {
				return err
			}
			chosen := requirement.All()
			if !all {
				r, found := requirement.Lookup(requirement.ID(args[0]))
				if !found {
					return fmt.Errorf("%s: %s", args[0], explanation.Unknown(args[0]))
				}
				chosen = []requirement.Requirement{r}
			}
			return explainAll(s, chosen, output)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "explain every requirement")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "format: text or json")
	return cmd
}

// explainAll explains requirements, one below the other or as a list.
func explainAll(s streams, chosen []requirement.Requirement, output string) error {
	specs := suites.Preview(append(areas(), resource.Area))
	var all []explanation.Explanation
	var texts []string
	for _, r := range chosen {
		e := explained(r, specs)
		all = append(all, e)
		texts = append(texts, e.Text())
	}
	if output == "text" {
		return write(s.out, strings.Join(texts, "\n"))
	}
	return writeJSON(s.out, all)
}

// explained is what there is to say about a requirement.
func explained(r requirement.Requirement, specs []suites.Spec) explanation.Explanation {
	var checking []explanation.Named
	for _, spec := range specs {
		if spec.Requirement == r.ID {
			checking = append(checking, explanation.Named{Name: spec.Text, Summary: spec.Location})
		}
	}
	return explanation.Of(r, checking)
}
