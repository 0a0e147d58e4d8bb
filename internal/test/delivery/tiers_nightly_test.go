//go:build nightly

package delivery

import (
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestTiersListAllTests counts what go test lists for each tier: every test of the sources is in one.
func TestTiersListAllTests(t *testing.T) {
	listed := map[string]bool{}
	for _, tier := range tiers {
		out := goCommand(t, "test", "-vet=off", "-ldflags=-w", "-tags", "kustomize_disable_go_plugin_support,"+tier, "-list", ".", "./...")
		var tests []string
		for line := range strings.Lines(out) {
			fields := strings.Fields(line)
			if len(fields) == 1 {
				tests = append(tests, fields[0])
				continue
			}
			for _, test := range tests {
				listed[fields[1]+" "+test] = true
			}
			tests = nil
		}
	}
	for file, tests := range testsBySource(t) {
		dir, err := filepath.Rel(absolute(t), filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		compiled := onlyCompiled(t, file)
		for _, test := range tests {
			if at := filepath.ToSlash(filepath.Join("github.com/crdconform/crdconform", dir)); !listed[at+" "+test] && !compiled[test] {
				t.Errorf("no tier runs %s of %s", test, dir)
			}
		}
	}
}

// onlyCompiled returns the examples of a file that Go compiles and does not run, as they say no output.
func onlyCompiled(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]bool{}
	for _, example := range doc.Examples(parsed) {
		compiled["Example"+example.Name] = example.Output == "" && !example.EmptyOutput
	}
	return compiled
}
