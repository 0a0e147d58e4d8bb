package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crdconform/crdconform/internal/load/compare"
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
