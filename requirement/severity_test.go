package requirement_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

func TestSeverities(t *testing.T) {
	t.Parallel()
	severities := []requirement.Verdict{requirement.Failed, requirement.Tolerated}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, r := range requirement.All() {
		if !slices.Contains(severities, r.Severity) || (r.Severity == requirement.Tolerated) != (r.Because != "") {
			t.Errorf("%s: severity %s because %q", r.ID, r.Severity, r.Because)
		}
		if got := requirement.SeverityOf(r.ID, ""); got != r.Severity {
			t.Errorf("%s is %s, want %s", r.ID, got, r.Severity)
		}
		if got := requirement.SeverityOf(r.ID, "no-such-part"); got != r.Severity {
			t.Errorf("%s: a part that it does not have is %s, want %s", r.ID, got, r.Severity)
		}
		seen := map[requirement.PartName]bool{}
		for _, part := range r.Parts {
			if !name.MatchString(string(part.Name)) || seen[part.Name] || part.Because == "" {
				t.Errorf("%s: part %q, because %q", r.ID, part.Name, part.Because)
			}
			seen[part.Name] = true
			if !slices.Contains(severities, part.Severity) || part.Severity == r.Severity {
				t.Errorf("%s: part %s is %s, as the requirement is", r.ID, part.Name, part.Severity)
			}
			if got := requirement.SeverityOf(r.ID, part.Name); got != part.Severity {
				t.Errorf("%s: part %s is %s, want %s", r.ID, part.Name, got, part.Severity)
			}
		}
		if (r.Severity == requirement.Tolerated || len(r.Parts) > 0) && r.Binds == requirement.Server {
			t.Errorf("%s: what a server does is Failed or Passed", r.ID)
		}
	}
}

// TestPartsAreUsed holds the names of parts to what judges: code that names one, and one that code names.
func TestPartsAreUsed(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	ids, err := os.ReadFile("ids.go") // which follows from the catalogue
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^\t(Part\w+) +PartName = `).FindAllSubmatch(ids, -1) {
		known[string(match[1])] = true
	}
	if len(known) == 0 {
		t.Fatal("ids.go has no part")
	}
	used := map[string]bool{}
	for _, dir := range []string{"../contract", "../suites", "../internal/doctor", "../internal/rehearsal"} {
		for _, name := range partsNamedIn(t, dir) {
			used[name] = true
			if !known[name] {
				t.Errorf("%s names requirement.%s, which the catalogue does not have", dir, name)
			}
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("the catalogue has a part for requirement.%s, which nothing that judges names", name)
		}
	}
}

// partsNamedIn returns the constants of parts that the production code below a directory names.
func partsNamedIn(t *testing.T, dir string) []string {
	t.Helper()
	constant := regexp.MustCompile(`\brequirement\.(Part[A-Z0-9]\w*)`)
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range constant.FindAllStringSubmatch(string(source), -1) {
			if match[1] != "PartName" {
				names = append(names, match[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestSeverityAllocatesNothing is for the judge, which asks for every violation under load.
func TestSeverityAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		if requirement.SeverityOf(requirement.WebhookResponseUID, requirement.PartUIDInV1beta1) != requirement.Tolerated {
			t.Error("it is not Tolerated")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
