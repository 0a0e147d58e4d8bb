//go:build nightly

package delivery

import (
	"os"
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
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range tests {
			// Examples without output are compiled only.
			unlisted := strings.HasPrefix(test, "Example") && !strings.Contains(string(source), "// Output:")
			if at := filepath.ToSlash(filepath.Join("github.com/crdconform/crdconform", dir)); !listed[at+" "+test] && !unlisted {
				t.Errorf("no tier runs %s of %s", test, dir)
			}
		}
	}
}
