package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
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

func TestListAsText(t *testing.T) {
	t.Parallel()
	all := requirement.All()
	lines := strings.Split(strings.TrimSuffix(inside(t, "list"), "\n"), "\n")
	if len(lines) != len(all)+1 {
		t.Fatalf("%d lines for %d requirements", len(lines), len(all))
	}
	counts := map[string]int{"a spec": len(suites.Preview(append(areas(), resource.Area)))}
	for i, r := range all {
		fields := strings.Fields(lines[i])
		if !slices.Equal(fields[:3], []string{string(r.ID), string(r.Level), string(r.Binds)}) || !strings.HasSuffix(lines[i], "  "+mark(r)+r.Statement) {
			t.Errorf("%s is listed as %q", r.ID, lines[i])
		}
		switch {
		case r.Obsolete:
			counts["obsolete"]++
		case r.Untested != "":
			counts["untested"]++
		case r.Command != "":
			counts[r.Command]++
		case r.Binds == requirement.Author:
			counts["lint"]++
		}
	}
	want := fmt.Sprintf("%d requirements: %d checked by a spec, %d by lint, %d by storage safe-to-drop, %d by doctor, %d by rehearse, "+
		"%d by disrupt, %d untested with a reason, %d obsolete", len(all), counts["a spec"], counts["lint"], counts["storage safe-to-drop"],
		counts["doctor"], counts["rehearse"], counts["disrupt"], counts["untested"], counts["obsolete"])
	if got := lines[len(all)]; got != want || counts["untested"]*counts["obsolete"]*counts["lint"] == 0 {
		t.Errorf("it ends with %q, want %q", got, want)
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

func TestListAsJSON(t *testing.T) {
	t.Parallel()
	listed := func(args ...string) (all []requirement.Requirement) {
		text := inside(t, append([]string{"list", "-o", "json"}, args...)...)
		check(t, json.Unmarshal([]byte(text), &all))
		if strings.Contains(text, `\u003c`) {
			t.Error("angle brackets are hard to read")
		}
		return all
	}
	if got, want := listed(), requirement.All(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d requirements do not come back as the %d that they were", len(got), len(want))
	}
	for patterns, want := range map[string]string{
		"webhook":                   `^webhook\.`,
		"webhook.response.uid":      `^webhook\.response\.uid$`,
		"*.uid":                     `\.uid$`,
		"storage.update,versions.*": `^versions\.|^storage\.update\.`,
	} {
		selects := regexp.MustCompile(want)
		matching := slices.DeleteFunc(requirement.All(), func(r requirement.Requirement) bool { return !selects.MatchString(string(r.ID)) })
		if got := listed("--filter", patterns); len(got) == 0 || fmt.Sprint(got) != fmt.Sprint(matching) {
			t.Errorf("--filter %s lists %d requirements, want %d", patterns, len(got), len(matching))
		}
	}
}

// TestDocumentedRequirements holds docs/requirements.md to the catalogue.
func TestDocumentedRequirements(t *testing.T) {
	t.Parallel()
	want := inside(t, "list", "--output", "markdown")
	if string(read(t, "../../docs/requirements.md")) != want {
		t.Error("docs/requirements.md is not what crdconform list --output markdown prints; run make generate")
	}
	for _, r := range requirement.All() {
		has(t, want, "| `"+string(r.ID)+"` | "+string(r.Level)+" | ")
	}
	cells, severities := 5, 0
	for line := range strings.Lines(want) {
		if title, found := strings.CutPrefix(line, "## "); found {
			cells = 5
			if title == "Failed or Tolerated\n" {
				cells, severities = 4, severities+1
			}
		}
		if got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1; strings.HasPrefix(line, "| `") && got != cells {
			t.Errorf("%d cells, want %d: %s", got, cells, line)
		}
	}
	if severities != 1 {
		t.Errorf("%d tables of what is Failed or Tolerated, want 1", severities)
	}
}

func TestCell(t *testing.T) {
	if got, want := cell("a|b <c> *d*"), `a\|b &lt;c> \*d\*`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	specs := suites.Preview(append(areas(), resource.Area))
	said := func(name, text string) string {
		return strings.Repeat("\n"+name+"       "+text+"\n", min(1, len(text)))
	}
	for _, r := range requirement.All() {
		text := explain(explained(r, specs))
		want := []string{string(r.ID) + "\n\n" + r.Statement + "\n\n", "\nlevel      " + string(r.Level) + "\n", "\nbinds      " + string(r.Binds) + "\n", said("why ", r.Why), said("note", r.Note)}
		for _, source := range r.Source {
			want = append(want, "\nsource     "+source.String())
		}
		switch at := slices.IndexFunc(specs, func(s suites.Spec) bool { return s.Requirement == r.ID }); {
		case r.Obsolete:
			want = append(want, "\nobsolete   "+r.Untested+"\n")
		case r.Untested != "":
			want = append(want, "\nuntested   "+r.Untested+"\n")
		case r.Command != "":
			want = append(want, "\nchecked by crdconform "+r.Command+"\n", "\nrun it     crdconform "+r.Command+" ")
		case r.Binds == requirement.Author:
			want = append(want, "\nrun it     crdconform lint FILE\n")
			for _, rule := range lint.Rules() {
				if slices.Contains(rule.Requirements, r.ID) {
					want = append(want, "\nrule       "+string(rule.ID)+": "+rule.Summary+"\n")
				}
			}
		case at < 0:
			t.Errorf("%s has no spec", r.ID)
		default:
			want = append(want, "\nspec       "+specs[at].Text+"\n           "+specs[at].Location+"\n", "\nremedy     ")
			if !strings.HasSuffix(text, " --filter "+string(r.ID)+"\n") {
				t.Errorf("%s: it does not end with how to run it:\n%s", r.ID, text)
			}
		}
		for _, fault := range webhook.Faults() {
			if slices.Contains(fault.Breaks, r.ID) {
				want = append(want, fault.Name)
			}
		}
		has(t, text, want...)
	}
	var all []explanation.Explanation
	check(t, json.Unmarshal([]byte(inside(t, "explain", "--all", "--output", "json")), &all))
	i := slices.IndexFunc(all, func(e explanation.Explanation) bool { return e.ID == requirement.WebhookResponseUID })
	if len(all) != len(requirement.All()) || len(all[i].Specs) != 1 || len(all[i].Faults) != 2 || all[i].Faults[0].Summary == "" || all[i].Run == "" {
		t.Errorf("%d explanations, such as %+v", len(all), all[max(i, 0)])
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	want := fmt.Sprintf("crdconform %s\nKubernetes %s (embedded API server)\n%s %s/%s\n", toolVersion(), embedded.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if got := inside(t, "version"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, line := inside(t, "--version"), "crdconform "+toolVersion()+"\n"; got != line {
		t.Errorf("--version: %q, want %q", got, line)
	}
}

func TestLintRules(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(inside(t, "lint", "--rules")), "\n")
	var rules []lint.Rule
	check(t, json.Unmarshal([]byte(inside(t, "lint", "--rules", "--format", "json")), &rules))
	all := lint.Rules()
	if len(lines) != len(all) || len(rules) != len(all) {
		t.Fatalf("%d lines and %d rules, want %d", len(lines), len(rules), len(all))
	}
	for i, rule := range all {
		fields := strings.Fields(lines[i])
		if fields[0] != string(rule.ID) || fields[1] != string(rule.Level) || !strings.HasSuffix(lines[i], rule.Summary) || rules[i].ID != rule.ID || rules[i].Help != rule.Help {
			t.Errorf("%s is listed as %q and %+v", rule.ID, lines[i], rules[i])
		}
	}
}

// TestCoverage holds the three forms of the coverage to what the catalogue and the table of sentences say.
func TestCoverage(t *testing.T) {
	t.Parallel()
	var got explanation.Documents
	check(t, json.Unmarshal([]byte(inside(t, "list", "--coverage", "--output", "json")), &got))
	want := explanation.Covered(requirement.All()).Headings
	if !slices.Equal(got.Headings, want) {
		t.Errorf("as JSON there are %d headings, want %d", len(got.Headings), len(want))
	}
	text, markdown := inside(t, "list", "--coverage"), inside(t, "list", "--coverage", "--output", "markdown")
	for _, c := range want {
		has(t, markdown, fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", c.Document, cell(section(c)), c.Sentences(), c.Checked, c.Unchecked, c.None))
		has(t, text, "\n"+c.Document+"  ", "\n  "+section(c)+"  ")
	}
	without := slices.DeleteFunc(requirement.Sentences(), func(s requirement.Sentence) bool { return s.None == "" })
	for _, s := range without {
		if line := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(s.At[0].String()) + ` .*` + regexp.QuoteMeta(s.None) + `$`); !line.MatchString(text) {
			t.Errorf("%s is not in the text with its reason", s.At[0])
		}
	}
	if len(got.Without) != len(without) {
		t.Errorf("as JSON there are %d sentences without a requirement, want %d", len(got.Without), len(without))
	}
	if !strings.HasSuffix(text, tallied(requirement.All())+"\n") {
		t.Errorf("it does not end with all counts: %s", text)
	}
	has(t, inside(t, "list", "--output", "markdown"), markdown)
	some := inside(t, "list", "--coverage", "--filter", "publishing.categories")
	if has(t, some, "\n  Categories  "); strings.Contains(some, "versions-1.11") || strings.Contains(some, "without a requirement") {
		t.Errorf("the coverage of some is of all: %s", some)
	}
}
