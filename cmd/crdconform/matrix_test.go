package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestMatrix puts an API server beside one that does not come up, which must not be taken for one that agrees.
func TestMatrix(t *testing.T) {
	t.Parallel()
	r := invoke(t, "matrix", "--assets", "nowhere", "--filter", "versions.scope", "--seed", "42")
	r.exits(t, exitUnjudged)
	var m reports.Matrix
	if err := json.Unmarshal(read(t, filepath.Join(r.dir, "crdconform-matrix", "matrix.json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Columns) != 2 || len(m.Rows) == 0 {
		t.Fatalf("got %+v", m)
	}
	broken, whole := m.Columns[0], m.Columns[1]
	if broken.Outcome != reports.Unjudged || !strings.Contains(broken.Error, "nowhere") || whole.Version != embedded.Release() || whole.Outcome != reports.Conformant {
		t.Errorf("the columns are %+v", m.Columns)
	}
	for _, row := range m.Rows {
		if row.Cells[0].Verdict != requirement.Unknown || row.Cells[1].Verdict != requirement.Passed {
			t.Errorf("%s came to %v", row.ID, row.Cells)
		}
	}
	for _, want := range []string{"== 1 of 2: ", "== 2 of 2: 2-embedded\n", "\nversions.scope.cluster", "0 of ", "Matrix: crdconform-matrix/matrix.md\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("it says:\n%swant something with %q", r.out, want)
		}
	}
	if !strings.Contains(string(read(t, filepath.Join(r.dir, "crdconform-matrix", "matrix.md"))), "| `versions.scope.cluster` | not run | Passed |") {
		t.Error("matrix.md has no row of versions.scope.cluster")
	}
	for _, c := range m.Columns {
		read(t, filepath.Join(r.dir, "crdconform-matrix", c.Report, "report.html"))
	}
}

// TestClusterFlags gives flags of one sort of cluster for another.
func TestClusterFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"matrix":                                            "a matrix wants two API servers or more",
		"matrix --assets a --kind-config b":                 "--kind-config is for --kind-image",
		"matrix --assets a --filter no.such":                "no.such",
		"run --cluster nope":                                "there is no such sort of cluster; there are embedded, kind, envtest, existing",
		"run --kubernetes 1.36":                             "--kubernetes is for --cluster kind, and this is embedded",
		"run --kind-image a":                                "--kind-image is for --cluster kind, and this is embedded",
		"run --cluster kind --assets a":                     "--assets is for --cluster envtest, and this is kind",
		"run --cluster existing":                            "wants --context NAME",
		"run --cluster existing --watch-cache":              "--watch-cache is for --cluster embedded or kind or envtest",
		"run --cluster envtest --keep":                      "--keep is for --cluster kind",
		"run --cluster envtest --kubeconfig a":              "--kubeconfig is for --cluster existing",
		"run --cluster embedded --webhook-host a.b":         "--webhook-host is for --cluster existing",
		"run --cluster kind --read-only":                    "--read-only is for --cluster existing",
		"run --cluster existing --context a --kubeconfig b": "the kubeconfig",
		"run --cluster envtest --context production":        "--context is for --cluster existing",
	} {
		r := invoke(t, strings.Fields(args)...)
		r.exits(t, exitUsage)
		if !strings.Contains(r.err, want) {
			t.Errorf("%q says %q, want something with %q", args, r.err, want)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "crdconform-report")); err == nil {
			t.Errorf("%q began a report, and an earlier one would be gone", args)
		}
	}
}
