package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
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
	var untested, obsolete, linted int
	others := map[string]int{}
	for i, r := range all {
		fields := strings.Fields(lines[i])
		if fields[0] != string(r.ID) || fields[1] != string(r.Level) || fields[2] != string(r.Binds) || !strings.HasSuffix(lines[i], "  "+mark(r)+r.Statement) {
			t.Errorf("%s is listed as %q", r.ID, lines[i])
		}
		switch {
		case r.Obsolete:
			obsolete++
		case r.Untested != "":
			untested++
		case r.Command != "":
			others[r.Command]++
		case r.Binds == requirement.Author:
			linted++
		}
	}
	tested := len(suites.Preview(append(areas(), resource.Area)))
	want := fmt.Sprintf("%d requirements: %d checked by a spec, %d by lint, %d by storage safe-to-drop, %d by doctor, %d by rehearse, %d by disrupt, %d untested with a reason, %d obsolete",
		len(all), tested, linted, others["storage safe-to-drop"], others["doctor"], others["rehearse"], others["disrupt"], untested, obsolete)
	if got := lines[len(all)]; got != want || untested == 0 || obsolete == 0 || linted == 0 {
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
	for pattern, want := range map[string]string{
		"disruption":                  "28 requirements: 28 checked by disrupt",
		"doctor":                      "15 requirements: 15 checked by doctor",
		"upgrade":                     fmt.Sprintf("%d requirements: %[1]d checked by rehearse", len(rehearsal.IDs())),
		"storage.drop":                "6 requirements: 6 checked by storage safe-to-drop",
		"doctor,*.graceful":           "16 requirements: 15 checked by doctor, 1 by disrupt",
		"disruption.restart.graceful": "1 requirement: 1 checked by disrupt",
	} {
		if got := inside(t, "list", "--filter", pattern); !strings.HasSuffix(got, "\n"+want+"\n") || strings.Contains(got, "untested") || !strings.Contains(got, "  (checked by ") {
			t.Errorf("--filter %s: %s, want %s at the end", pattern, got, want)
		}
	}
	if got := inside(t, "list", "--filter", "disruption.restart.graceful", "--output", "json"); !strings.Contains(got, "\"command\": \"disrupt\"") {
		t.Errorf("as JSON: %s", got)
	}
}

func TestListOfSome(t *testing.T) {
	t.Parallel()
	for patterns, want := range map[string]func(requirement.ID) bool{
		"webhook":              func(id requirement.ID) bool { return id.Area() == "webhook" },
		"webhook.response.uid": func(id requirement.ID) bool { return id == "webhook.response.uid" },
		"*.uid":                func(id requirement.ID) bool { return strings.HasSuffix(string(id), ".uid") },
		"storage.update,versions.*": func(id requirement.ID) bool {
			return id.Area() == "versions" || strings.HasPrefix(string(id), "storage.update.")
		},
	} {
		var got []requirement.Requirement
		if err := json.Unmarshal([]byte(inside(t, "list", "--output", "json", "--filter", patterns)), &got); err != nil {
			t.Fatal(err)
		}
		matching := slices.DeleteFunc(requirement.All(), func(r requirement.Requirement) bool { return !want(r.ID) })
		if len(got) == 0 || !slices.EqualFunc(got, matching, func(a, b requirement.Requirement) bool { return a.ID == b.ID }) {
			t.Errorf("--filter %s lists %d requirements, want %d", patterns, len(got), len(matching))
		}
	}
}

func TestListAsJSON(t *testing.T) {
	t.Parallel()
	text := inside(t, "list", "-o", "json")
	var got []requirement.Requirement
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := requirement.All()
	if !slices.EqualFunc(got, want, func(a, b requirement.Requirement) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("%d requirements do not come back as the %d that they were", len(got), len(want))
	}
	if strings.Contains(text, `\u003c`) {
		t.Error("angle brackets are hard to read")
	}
}

// TestDocumentedRequirements holds docs/requirements.md to the catalogue.
func TestDocumentedRequirements(t *testing.T) {
	t.Parallel()
	want := inside(t, "list", "--output", "markdown")
	got, err := os.ReadFile("../../docs/requirements.md")
	if err != nil {
		t.Fatalf("%v; run make generate", err)
	}
	if string(got) != want {
		t.Error("docs/requirements.md is not what crdconform list --output markdown prints; run make generate")
	}
	for _, r := range requirement.All() {
		if !strings.Contains(want, "| `"+string(r.ID)+"` | "+string(r.Level)+" | ") {
			t.Errorf("%s is not in it", r.ID)
		}
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
	locations := map[requirement.ID]suites.Spec{}
	specs := suites.Preview(append(areas(), resource.Area))
	for _, spec := range specs {
		locations[spec.Requirement] = spec
	}
	for _, r := range requirement.All() {
		text := explain(explained(r, specs))
		want := []string{string(r.ID) + "\n\n" + r.Statement + "\n\n", "\nlevel      " + string(r.Level) + "\n", "\nbinds      " + string(r.Binds) + "\n"}
		for _, source := range r.Source {
			want = append(want, "\nsource     "+source.String())
		}
		if r.Why != "" {
			want = append(want, "\nwhy        "+r.Why+"\n")
		}
		if r.Note != "" {
			want = append(want, "\nnote       "+r.Note+"\n")
		}
		switch spec, found := locations[r.ID]; {
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
		case !found:
			t.Errorf("%s has no spec", r.ID)
		default:
			want = append(want, "\nspec       "+spec.Text+"\n           "+spec.Location+"\n")
			if want = append(want, "\nremedy     "); !strings.HasSuffix(text, " --filter "+string(r.ID)+"\n") {
				t.Errorf("%s: it does not end with how to run it:\n%s", r.ID, text)
			}
		}
		for _, fault := range webhook.Faults() {
			if slices.Contains(fault.Breaks, r.ID) {
				want = append(want, fault.Name)
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: nothing of %q in\n%s", r.ID, w, text)
			}
		}
	}
	if got, want := inside(t, "explain", "webhook.response.uid"), "\nfaults     wrong-uid, no-uid\nremedy     Build the response from the request"; !strings.Contains(got, want) || !strings.HasSuffix(got, "\nrun it     crdconform check URL --filter webhook.response.uid\n") {
		t.Errorf("got %s, want something that has %s", got, want)
	}
}

// TestExplainAsData explains everything to programs.
func TestExplainAsData(t *testing.T) {
	t.Parallel()
	var all []explanation.Explanation
	if err := json.Unmarshal([]byte(inside(t, "explain", "--all", "--output", "json")), &all); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(e explanation.Explanation) bool { return e.ID == requirement.WebhookResponseUID })
	if len(all) != len(requirement.All()) || len(all[i].Specs) != 1 || len(all[i].Faults) != 2 || all[i].Faults[0].Summary == "" || all[i].Run == "" {
		t.Errorf("%d explanations, such as %+v", len(all), all[max(i, 0)])
	}
}

// TestPlacesOfSpecs goes to where explain says that a spec is.
func TestPlacesOfSpecs(t *testing.T) {
	t.Parallel()
	for _, spec := range suites.Preview(append(areas(), resource.Area)) {
		name, number, _ := strings.Cut(spec.Location, ":")
		n, err := strconv.Atoi(number)
		if err != nil || filepath.IsAbs(name) {
			t.Errorf("%s is at %s, want a file of the module and a line", spec.Requirement, spec.Location)
			continue
		}
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Error(err)
		} else if lines := strings.Count(string(data), "\n"); n < 1 || n > lines {
			t.Errorf("%s is at %s, which has %d lines", spec.Requirement, spec.Location, lines)
		}
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
	r := invoke(t, "version")
	r.exits(t, exitConforms)
	if lines := strings.Split(r.out, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "crdconform ") || len(lines[0]) == len("crdconform ") || lines[1] != strings.Split(want, "\n")[1] {
		t.Errorf("the program says %q", r.out)
	}
}

// TestCoverage holds the three forms of the coverage to what the catalogue and the table of sentences say.
func TestCoverage(t *testing.T) {
	t.Parallel()
	var got explanation.Documents
	if err := json.Unmarshal([]byte(inside(t, "list", "--coverage", "--output", "json")), &got); err != nil {
		t.Fatal(err)
	}
	want := explanation.Covered(requirement.All()).Headings
	if !slices.Equal(got.Headings, want) {
		t.Errorf("as JSON there are %d headings, want %d", len(got.Headings), len(want))
	}
	text, markdown := inside(t, "list", "--coverage"), inside(t, "list", "--coverage", "--output", "markdown")
	for _, c := range want {
		if counts := fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", c.Document, cell(section(c)), c.Sentences(), c.Checked, c.Unchecked, c.None); !strings.Contains(markdown, counts) {
			t.Errorf("the table lacks %s", counts)
		}
		if !strings.Contains(text, "\n"+c.Document+"  ") || !strings.Contains(text, "\n  "+section(c)+"  ") {
			t.Errorf("%s %s is not in the text", c.Document, c.Section)
		}
	}
	without := 0
	for _, s := range requirement.Sentences() {
		if s.None == "" {
			continue
		}
		without++
		if line := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(s.At[0].String()) + ` .*` + regexp.QuoteMeta(s.None) + `$`); !line.MatchString(text) {
			t.Errorf("%s is not in the text with its reason", s.At[0])
		}
	}
	if len(got.Without) != without {
		t.Errorf("as JSON there are %d sentences without a requirement, want %d", len(got.Without), without)
	}
	if !strings.HasSuffix(text, tallied(requirement.All())+"\n") {
		t.Errorf("it does not end with all counts: %s", text)
	}
	if !strings.Contains(inside(t, "list", "--output", "markdown"), markdown) {
		t.Error("the coverage is not in the list as markdown")
	}
	if some := inside(t, "list", "--coverage", "--filter", "publishing.categories"); strings.Contains(some, "versions-1.11") || !strings.Contains(some, "\n  Categories  ") || strings.Contains(some, "without a requirement") {
		t.Errorf("the coverage of some is of all: %s", some)
	}
}

// TestREADMECounts wants the README to have as many requirements as run and check judge.
func TestREADMECounts(t *testing.T) {
	t.Parallel()
	readme := string(read(t, filepath.Join("..", "..", "README.md")))
	for text, areas := range map[string][]suites.Area{"[%[1]d/%[1]d]": areas(), "of %d requirements failed": checked()} {
		if want := fmt.Sprintf(text, len(suites.Preview(areas))); !strings.Contains(readme, want) {
			t.Errorf("README.md lacks %q", want)
		}
	}
}
