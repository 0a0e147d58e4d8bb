package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// inside runs a command line in this process, for commands that only print, and returns what it prints.
func inside(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := execute(t.Context(), args, streams{out: &out, err: &errs}); code != exitConforms || errs.String() != "" {
		t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

// TestPrinted has commands that only print do so.
func TestPrinted(t *testing.T) {
	t.Parallel()
	all := requirement.All()
	var explanations []explanation.Explanation
	for _, r := range all {
		explanations = append(explanations, explained(r, suites.Preview(append(areas(), resource.Area))))
	}
	one := slices.IndexFunc(explanations, func(e explanation.Explanation) bool { return e.ID == requirement.WebhookResponseUID })
	if e := explanations[one]; len(e.Specs) != 1 || len(e.Faults) != 2 || e.Run == "" {
		t.Errorf("got %+v", e)
	}
	asJSON := func(value any) string {
		text, err := listJSON(value)
		check(t, err)
		return text
	}
	for line, want := range map[string]string{
		"list":                              explanation.List(all),
		"list --output json":                asJSON(all),
		"list --output markdown":            explanation.ListMarkdown(all),
		"list --coverage":                   explanation.CoverageText(all),
		"list --coverage --output json":     asJSON(explanation.Covered(all)),
		"list --coverage --output markdown": explanation.CoverageMarkdown(all),
		"explain webhook.response.uid":      explanations[one].Text(),
		"explain --all --output json":       asJSON(explanations),
		"lint --rules --format json":        asJSON(lint.Rules()),
		"--version":                         "crdconform " + toolVersion() + "\n",
		"version": fmt.Sprintf("crdconform %s\nKubernetes %s (embedded API server)\n%s %s/%s\n",
			toolVersion(), embedded.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
	} {
		if got := inside(t, strings.Fields(line)...); got != want || strings.Contains(got, `\u003c`) {
			t.Errorf("%s prints\n%s\nand not\n%s", line, got, want)
		}
	}
	rules := strings.Split(inside(t, "lint", "--rules"), "\n")
	for i, rule := range lint.Rules() {
		if got := rules[i]; !slices.Equal(strings.Fields(got)[:2], []string{string(rule.ID), string(rule.Level)}) || !strings.HasSuffix(got, "  "+rule.Summary) {
			t.Errorf("%s is listed as %q", rule.ID, got)
		}
	}
}

// TestCommandsOfRequirements holds the commands that the catalogue names to those that there are, and to what they check.
func TestCommandsOfRequirements(t *testing.T) {
	t.Parallel()
	all := map[string][]requirement.ID{}
	for _, r := range requirement.All() {
		if r.Command != "" {
			all[r.Command] = append(all[r.Command], r.ID)
		}
	}
	root := newRoot(streams{})
	for command := range all {
		if found, rest, err := root.Find(strings.Fields(command)); err != nil || len(rest) > 0 || found.CommandPath() != "crdconform "+command {
			t.Errorf("the catalogue names crdconform %s: %v", command, err)
		}
	}
	for command, checks := range map[string][]requirement.ID{"rehearse": rehearsal.IDs(), "disrupt": disruption.IDs()} {
		if got, want := slices.Sorted(slices.Values(all[command])), slices.Sorted(slices.Values(checks)); !slices.Equal(got, want) {
			t.Errorf("by the catalogue crdconform %s checks %v, want %v", command, got, want)
		}
	}
}
