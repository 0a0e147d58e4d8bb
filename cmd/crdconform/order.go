package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// bindFailFast binds the flag of the commands that can stop at the first failure.
func bindFailFast(flags *pflag.FlagSet, value *bool) {
	flags.BoolVar(value, "fail-fast", false, "stop at the first requirement that fails; the others are not judged then")
}

// failedBefore reports what failed in the last run whose report is in a folder. It must be called before that report is removed.
func failedBefore(dir string) func(definition string, id requirement.ID) bool {
	failed := reporter.FailedBefore(dir)
	return func(definition string, id requirement.ID) bool {
		return slices.ContainsFunc(failed, func(r reports.Result) bool { return r.ID == id && r.Subject == definition })
	}
}
