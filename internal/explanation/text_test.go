package explanation

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/requirement"
)

func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestText has each requirement with everything that there is about it, as if it had a spec.
func TestText(t *testing.T) {
	t.Parallel()
	said := func(name, text string) string {
		return strings.Repeat("\n"+name+"       "+text+"\n", min(1, len(text)))
	}
	for _, r := range requirement.All() {
		e := Of(r, []Named{{Name: "does it", Summary: "it.go:1"}})
		text := e.Text()
		want := []string{
			string(r.ID) + "\n\n" + r.Statement + "\n\n", "\nlevel      " + string(r.Level) + "\n", "\nbinds      " + string(r.Binds) + "\n",
			said("why ", r.Why), said("note", r.Note),
		}
		for _, source := range r.Source {
			want = append(want, "\nsource     "+source.String())
		}
		switch {
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
		default:
			want = append(want, "\nspec       does it\n           it.go:1\n", "\nremedy     ")
			if !strings.HasSuffix(text, " --filter "+string(r.ID)+"\n") {
				t.Errorf("%s: it does not end with how to run it:\n%s", r.ID, text)
			}
		}
		for _, fault := range e.Faults {
			want = append(want, fault.Name)
		}
		has(t, text, want...)
	}
}

// TestList has a line for each requirement, and counts them by what checks them.
func TestList(t *testing.T) {
	t.Parallel()
	all := requirement.All()
	lines := strings.Split(strings.TrimSuffix(List(all), "\n"), "\n")
	if len(lines) != len(all)+1 {
		t.Fatalf("%d lines for %d requirements", len(lines), len(all))
	}
	counts := map[string]int{}
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
		default:
			counts[Command(r)]++
		}
	}
	want := fmt.Sprintf("%d requirements: %d checked by a spec, %d by lint, %d by storage safe-to-drop, %d by doctor, %d by rehearse, "+
		"%d by disrupt, %d untested with a reason, %d obsolete", len(all), counts["run"]+counts["check"], counts["lint"], counts["storage safe-to-drop"],
		counts["doctor"], counts["rehearse"], counts["disrupt"], counts["untested"], counts["obsolete"])
	if got := lines[len(all)]; got != want || counts["untested"]*counts["obsolete"]*counts["lint"] == 0 {
		t.Errorf("it ends with %q, want %q", got, want)
	}
}

// TestListMarkdown holds docs/requirements.md to the catalogue.
func TestListMarkdown(t *testing.T) {
	t.Parallel()
	want := ListMarkdown(requirement.All())
	if got, err := os.ReadFile("../../docs/requirements.md"); err != nil || string(got) != want {
		t.Errorf("docs/requirements.md is not what crdconform list --output markdown prints; run make generate (%v)", err)
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
	if got, want := cell("a|b <c> *d*"), `a\|b &lt;c> \*d\*`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCoverage holds the forms of the coverage to what the catalogue and the table of sentences say.
func TestCoverage(t *testing.T) {
	t.Parallel()
	all := requirement.All()
	text, markdown := CoverageText(all), CoverageMarkdown(all)
	for _, c := range Covered(all).Headings {
		has(t, markdown, fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", c.Document, cell(section(c)), c.Sentences(), c.Checked, c.Unchecked, c.None))
		has(t, text, "\n"+c.Document+"  ", "\n  "+section(c)+"  ")
	}
	without := slices.DeleteFunc(requirement.Sentences(), func(s requirement.Sentence) bool { return s.None == "" })
	for _, s := range without {
		if line := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(s.At[0].String()) + ` .*` + regexp.QuoteMeta(s.None) + `$`); !line.MatchString(text) {
			t.Errorf("%s is not in the text with its reason", s.At[0])
		}
	}
	if got := Covered(all).Without; len(got) != len(without) {
		t.Errorf("there are %d sentences without a requirement, want %d", len(got), len(without))
	}
	if !strings.HasSuffix(text, tallied(all)+"\n") {
		t.Errorf("it does not end with all counts: %s", text)
	}
	has(t, ListMarkdown(all), markdown)
	some := CoverageText(slices.DeleteFunc(all, func(r requirement.Requirement) bool { return !strings.HasPrefix(string(r.ID), "publishing.categories") }))
	if has(t, some, "\n  Categories  "); strings.Contains(some, "versions-1.11") || strings.Contains(some, "without a requirement") {
		t.Errorf("the coverage of some is of all: %s", some)
	}
}
