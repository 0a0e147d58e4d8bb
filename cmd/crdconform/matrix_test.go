package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestMatrix puts an API server beside one that does not come up, which must not be taken for one that agrees.
func TestMatrix(t *testing.T) {
	t.Parallel()
	broken := assetsCalled(t, "broken")
	r := invoke(t, "matrix", "--assets", broken, "--filter", "versions.scope", "--seed", "42")
	r.exits(t, exitUnjudged)
	var m reporter.Matrix
	if err := json.Unmarshal(read(t, filepath.Join(r.dir, "crdconform-matrix", "matrix.json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Columns) != 2 || len(m.Rows) == 0 {
		t.Fatalf("got %+v", m)
	}
	none, whole := m.Columns[0], m.Columns[1]
	if none.Outcome != reports.Unjudged || !strings.Contains(none.Error, broken) || whole.Version != embedded.Release() || whole.Outcome != reports.Conformant {
		t.Errorf("the columns are %+v", m.Columns)
	}
	for _, row := range m.Rows {
		if row.Cells[0].Verdict != requirement.Unknown || row.Cells[1].Verdict != requirement.Passed {
			t.Errorf("%s came to %v", row.ID, row.Cells)
		}
	}
	for _, want := range []string{"== 1 of 2: 1-embedded-" + newest + " --cluster=embedded --kubernetes=" + newest + "\n", "\n== 2 of 2: 2-envtest", "\nversions.scope.cluster", "0 of ", "Matrix: crdconform-matrix/matrix.md\n"} {
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

// TestMatrixIsInterrupted interrupts a matrix between two API servers, when the first has a whole report.
func TestMatrixIsInterrupted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: whole columns")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var said bytes.Buffer
	out := watching{&said, func() {
		if strings.Contains(said.String(), "Report: ") {
			cancel()
		}
	}}
	dir := t.TempDir()
	args := []string{"matrix", "--parallel", "1", "--assets", assetsCalled(t, "broken"), "--filter", "versions.scope.cluster", "--report-dir", dir}
	if code := execute(ctx, args, streams{out: out, err: t.Output()}); code != exitInterrupted {
		t.Errorf("the exit code is %d", code)
	}
	var m reporter.Matrix
	if err := json.Unmarshal(read(t, filepath.Join(dir, "matrix.json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Columns) != 1 || m.Columns[0].Outcome != reports.Conformant || !slices.Equal(m.Missing, []string{"2-envtest"}) {
		t.Errorf("got %+v", m)
	}
	if !strings.Contains(said.String(), "Interrupted, so this is incomplete. 1 of 1 requirements gave the same result on all 1 API servers. Not checked: 2-envtest.") {
		t.Errorf("it says:\n%s", &said)
	}
}

// watching calls a function after whatever is written.
type watching struct {
	io.Writer
	then func()
}

func (w watching) Write(text []byte) (int, error) {
	defer w.then()
	return w.Writer.Write(text)
}

// TestMatrixKnowsFailures says of what passes that it is known to fail.
func TestMatrixKnowsFailures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: whole columns")
	}
	one := func(verdict requirement.Verdict) *reports.Report {
		known, _ := requirement.Lookup(requirement.VersionsScopeCluster)
		return &reports.Report{Results: []reports.Result{{Requirement: known, Verdict: verdict}}}
	}
	const fails, passes, away = requirement.KnownFailing, requirement.Passed, requirement.NotApplicable
	for name, test := range map[string]struct {
		verdicts []requirement.Verdict
		needless bool
	}{
		"fails on one": {[]requirement.Verdict{passes, fails}, false},
		"fails on all": {[]requirement.Verdict{fails, fails}, false},
		"passes":       {[]requirement.Verdict{passes, away}, true},
		"not judged":   {[]requirement.Verdict{away, away}, false},
	} {
		var said bytes.Buffer
		m := &matrix{streams: streams{err: &said}, known: map[requirement.ID]string{requirement.VersionsScopeCluster: "why"}}
		var all []*reports.Report
		for _, verdict := range test.verdicts {
			all = append(all, one(verdict))
		}
		if err := m.needless(all); (err != nil) != test.needless || strings.Contains(said.String(), "versions.scope.cluster passes wherever it was judged") != test.needless {
			t.Errorf("%s: %v, it says %q", name, err, &said)
		}
	}
	list := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(list, []byte("versions.scope.cluster: a reason\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := invoke(t, "matrix", "--assets", assetsCalled(t, "broken"), "--filter", "versions.scope.cluster", "--known-failing", list)
	r.exits(t, exitUnjudged)
	if !strings.Contains(r.out, "Passed        versions.scope.cluster") || !strings.Contains(r.err, "versions.scope.cluster passes wherever it was judged, but "+list+" says that it fails; remove it from the list") {
		t.Errorf("it says:\n%s%s", r.out, r.err)
	}
}

// newest is the minor that is built in.
var newest = minors.BuiltIn().String()

// knownMinors lists the minors of embedded API servers as errors do.
func knownMinors() string {
	var names []string
	for _, minor := range minors.All() {
		names = append(names, minor.String())
	}
	return strings.Join(append(names, newest), ", ")
}

// TestMinorsAreMissing asks for API servers of older minors that were not built.
func TestMinorsAreMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	variable := func(name string) (string, bool) { return dir, name == kinds.MinorsVariable }
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"matrix --embedded 1.31," + newest + " --report-dir " + dir, "crdconform minors build 1.31", exitUnjudged},
		{"run --kubernetes 1.28 --load-duration 0 --filter versions.scope.cluster --report-dir " + dir, "crdconform minors build 1.28", exitUnjudged},
		{"minors", "1.31   v1.31.14  not built yet\n", exitConforms},
		{"minors", newest + "   v" + newest + ".", exitConforms},
	} {
		var said bytes.Buffer
		if code := execute(t.Context(), strings.Fields(test.args), streams{out: &said, err: &said, variable: variable}); code != test.code || !strings.Contains(said.String(), test.want) {
			t.Errorf("%s: exit code %d, it says %q, want something with %q", test.args, code, &said, test.want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "1-embedded-1.31")); err == nil {
		t.Errorf("a matrix that lacks an API server began all the same: %v", left)
	}
}

// TestClusterFlags gives flags of one sort of cluster for another.
func TestClusterFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"matrix":                                            "a matrix requires at least two API servers, but there is only --cluster=embedded --kubernetes=" + newest,
		"matrix --embedded none":                            "a matrix requires at least two API servers, but there is none",
		"matrix --embedded 1.5," + newest:                   "--embedded 1.5: no such embedded API server (want " + knownMinors(),
		"matrix --embedded v1.31," + newest:                 "--embedded v1.31: no such embedded API server",
		"matrix --embedded new," + newest:                   "--embedded: \"new\" is not a Kubernetes version",
		"matrix --embedded " + newest + "," + newest:        "--embedded " + newest + ": given twice",
		"matrix --assets a,,b":                              "--assets \"a,,b\": one of them is empty",
		"matrix --assets a --kind-config b":                 "--kind-config b is only valid with --kind-image",
		"matrix --assets a --known-failing no-such-file":    "no-such-file",
		"minors build 1.5":                                  "minors build 1.5: no such embedded API server",
		"minors build " + newest:                            "minors build " + newest + ": that one is built in",
		"minors buidl":                                      "buidl",
		"run --kubernetes 1.5":                              "--kubernetes 1.5: no such embedded API server (want " + knownMinors(),
		"run --cluster envtest --kubernetes 1.36":           "--kubernetes is only valid with --cluster embedded or kind, not envtest",
		"matrix --assets a --filter no.such":                "no.such",
		"matrix --assets a --parallel -1":                   "--parallel -1: must be at least 1, or 0",
		"matrix --assets nowhere":                           "--assets nowhere: there is no kube-apiserver in ",
		"matrix --kind-image a:v1.36.3 --kind-config none":  "--kind-config: kind configuration none does not exist",
		"run --cluster nope":                                `--cluster: unknown cluster "nope" (want embedded, kind, envtest, existing`,
		"run --kind-image a":                                "--kind-image is only valid with --cluster kind, not embedded",
		"run --cluster kind --assets a":                     "--assets is only valid with --cluster envtest, not kind",
		"run --cluster existing":                            "requires --context NAME",
		"run --cluster existing --watch-cache":              "--watch-cache is only valid with --cluster embedded or kind or envtest",
		"run --cluster envtest --keep":                      "--keep is only valid with --cluster kind",
		"run --cluster envtest --kubeconfig a":              "--kubeconfig is only valid with --cluster existing",
		"run --cluster embedded --webhook-host a.b":         "--webhook-host is only valid with --cluster existing",
		"run --cluster kind --read-only":                    "--read-only is only valid with --cluster existing",
		"run --cluster existing --context a --kubeconfig b": "--kubeconfig b: the file does not exist",
		"run --cluster envtest --context production":        "--context is only valid with --cluster existing",

		"run --cluster kind --kubernetes 1.34 --kind-image a:v1.36.4": "--kind-image: the tag of the image a:v1.36.4 says Kubernetes 1.36",
	} {
		r := invoke(t, strings.Fields(args)...)
		r.exits(t, exitUsage)
		if !strings.Contains(r.err, want) {
			t.Errorf("%q says %q, want something with %q", args, r.err, want)
		}
		for _, folder := range []string{"crdconform-report", "crdconform-matrix"} {
			if _, err := os.Stat(filepath.Join(r.dir, folder)); err == nil {
				t.Errorf("%q began a report, and an earlier one would be gone", args)
			}
		}
	}
}
