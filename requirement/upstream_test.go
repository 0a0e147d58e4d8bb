package requirement

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestUpstream holds docs/upstream.md to the catalogue: each of upstream's tests is there once, and has requirements that a spec
// checks, or a remark that says why there are none. What a remark leads to is there and checked as well.
func TestUpstream(t *testing.T) {
	text, err := os.ReadFile("../docs/upstream.md")
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile("`([a-z][^`]*)`") // and no flag
	seen := map[string]bool{}
	count := map[string]int{}
	section := ""
	for line := range strings.Lines(string(text)) {
		if title, found := strings.CutPrefix(line, "## "); found {
			section = strings.TrimSpace(title)
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || strings.Contains(cells[0], "---") || strings.TrimSpace(cells[0]) == "file" {
			continue
		}
		name, remark := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		count[section]++
		ids := id.FindAllStringSubmatch(cells[2]+cells[3], -1)
		if strings.TrimSpace(cells[2]) == "" && remark == "" {
			t.Errorf("%s has neither a requirement nor a reason", name)
		}
		for _, match := range ids {
			r, found := Lookup(ID(match[1]))
			switch {
			case !found:
				t.Errorf("%s: there is no requirement %s", name, match[1])
			case r.Command != "" || r.Untested != "" || r.Binds == Author:
				t.Errorf("%s: no spec checks %s", name, match[1])
			}
		}
	}
	// Upstream's functions were counted in the release that the document names.
	if n := count["Integration tests of apiextensions-apiserver"]; n != 83 {
		t.Errorf("%d integration tests, want 83", n)
	}
	if n := count["End-to-end tests"]; n != 59 {
		t.Errorf("%d end-to-end tests, want 59", n)
	}
	if n := count["Integration tests of the storage version migrator"]; n != 3 {
		t.Errorf("%d tests of the migrator, want 3", n)
	}
	if n := count["Integration tests of a control plane"]; n != 10 {
		t.Errorf("%d integration tests of a control plane, want 10", n)
	}
	if n := count["Tests of kubectl"]; n != 2 {
		t.Errorf("%d tests of kubectl, want 2", n)
	}
}
