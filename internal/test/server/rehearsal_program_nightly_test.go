//go:build nightly

package server_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/needs"
	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// executed is what a command line of crdconform comes to.
func executed(t *testing.T, program string, arguments ...string) (code int, out, said string) {
	t.Helper()
	var written, complained bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Stdout, cmd.Stderr = &written, &complained
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), written.String(), complained.String()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRehearsalProgramSnapshot rehearses with a snapshot of etcd, whole, damaged, and with an object that is encrypted.
func TestRehearsalProgramSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, crdconform := subjects.BuildReleases(t, dir), compiled(t)
	rehearse := func(snapshot, text string, flags ...string) (int, string) {
		t.Helper()
		put(t, filepath.Join(dir, snapshot), text)
		code, out, said := executed(t, crdconform, slices.Concat([]string{
			"rehearse", "--seed", "1", "--report-dir", filepath.Join(dir, "report"), "--old", filepath.Join(dir, "old.yaml"), "--crd", filepath.Join(dir, "new.yaml"),
			"--objects", filepath.Join(dir, snapshot), "--old-program", strings.Join(program.Serve(), " "),
		}, flags, []string{"--"}, program.Serve())...)
		return code, out + said
	}
	etcd := newLab(t).etcd(t)
	store := func(name, value string) {
		t.Helper()
		if _, err := etcd.Put(t.Context(), "/registry/factory.example.org/widgets/prod/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := func() string {
		t.Helper()
		stream, err := etcd.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		data, err := io.ReadAll(stream)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, version := range map[string]string{"1": "v1beta1", "2": "v1"} {
		store(name, fmt.Sprintf(`{"apiVersion":"factory.example.org/%s","kind":"Widget","metadata":{"name":"%s","namespace":"prod",`+
			`"uid":"00000000-0000-4000-8000-00000000000%s","creationTimestamp":"2024-01-01T00:00:00Z","generation":1},"spec":{"replicas":1}}`, version, name, name))
	}
	whole := snapshot()
	store("3", "k8s:enc:aescbc:v1:key1:secret")
	encrypted := snapshot()
	for name, test := range map[string]struct{ snapshot, want string }{
		"damaged.db":   {whole[:len(whole)-sha256.Size] + strings.Repeat("x", sha256.Size), "does not have the SHA-256 that it ends with: it is truncated or damaged"},
		"cut.db":       {whole[:len(whole)/2], "does not end with a SHA-256"},
		"encrypted.db": {encrypted, "the API server stores it encrypted (k8s:enc:aescbc:v1)"},
	} {
		if code, said := rehearse(name, test.snapshot); code != 2 || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, said %q, want %q", name, code, said, test.want)
		}
	}
	if code, said := rehearse("whole.db", whole, "--filter", "upgrade.read"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	report, err := reports.ReadFile(filepath.Join(dir, "report"))
	if err != nil {
		t.Fatal(err)
	}
	if stored := report.Upgrade[0].Kinds[0].Stored; stored["v1"] != 1 || stored["v1beta1"] != 1 {
		t.Errorf("the objects were stored at %v, want one at v1 and one at v1beta1, as in the snapshot", stored)
	}
}

// TestRehearsalProgramOperator rehearses an upgrade to an operator that lists its own kind before it serves, to its corrected twin, and as
// docs/upgrades.md shows it.
func TestRehearsalProgramOperator(t *testing.T) {
	t.Parallel()
	u, crdconform := subjects.BuildUpgrade(t), compiled(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "crdconform.yaml")
	rehearse := func(more string) (int, string, *reports.Report) {
		t.Helper()
		put(t, config, "apiVersion: crdconform.dev/v1alpha1\nkind: Config\nold: ["+u.Old+"]\ncrds: ["+u.New+"]\nrehearse: {objects: ["+u.Objects+"], programs: [\""+u.Program+
			" --port={port} --certs={certs}\"]}\nwebhook: {command: {args: ["+u.Program+", '--port={port}', '--certs={certs}', '--kubeconfig={kubeconfig}'"+more+"], readyTimeout: 20s}}\n")
		code, out, _ := executed(t, crdconform, "rehearse", "--config", config, "--seed", "1", "--report-dir", filepath.Join(dir, "report"), "--filter", "upgrade.webhook,upgrade.read")
		report, err := reports.ReadFile(filepath.Join(dir, "report"))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return code, out, report
	}
	code, out, report := rehearse(", --lists-first")
	failed := report.With(requirement.Failed, requirement.Tolerated, requirement.Errored)
	if code != 1 || len(failed) != 1 || failed[0].ID != requirement.UpgradeWebhookStarts || !strings.Contains(failed[0].Reason, "the new program waits for itself: it does not serve conversions before it has read its own kind") {
		t.Errorf("exit code %d, %+v\n%s", code, failed, out)
	}
	// Once it is helped, the rest is judged.
	if passed := report.With(requirement.Passed); len(passed) != 6 {
		t.Errorf("%d requirements passed: %+v", len(passed), passed)
	}
	if code, out, _ = rehearse(""); code != 0 {
		t.Errorf("the corrected twin: exit code %d\n%s", code, out)
	}
	serves := []string{u.Program, "--port={port}", "--certs={certs}"}
	_, out, _ = executed(t, crdconform, append([]string{
		"rehearse", "--seed", "1", "--report-dir", filepath.Join(dir, "report"), "--old", u.Old, "--crd", u.New, "--objects", u.Objects, "--old-program", strings.Join(serves, " "), "--",
	}, append(serves, "--drops-memory")...)...)
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "upgrades.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(guide), "```\ncrdconform (devel): ")
	shown, _, _ = strings.Cut(shown, "```\n")
	here := strings.NewReplacer(filepath.Dir(u.Old)+string(filepath.Separator), "", filepath.Join(dir, "report"), "crdconform-report")
	timeless := func(out string) string { // without what differs from run to run
		out, _, _ = strings.Cut(out, "\nReport: ")
		return regexp.MustCompile(`[0-9.]+ s\b`).ReplaceAllString(out, "* s")
	}
	if got, want := timeless(here.Replace(out)), timeless("crdconform (devel): "+shown); got != want {
		t.Errorf("docs/upgrades.md shows another output:\n%s\nwant\n%s", got, want)
	}
}

// TestRehearsalProgramEnvtest rehearses an upgrade on a whole API server whose etcd is a process of its own, from a kubeconfig on.
func TestRehearsalProgramEnvtest(t *testing.T) {
	needs.APIServer(t)
	u := subjects.BuildUpgrade(t)
	dir := t.TempDir()
	serves := []string{u.Program, "--port={port}", "--certs={certs}", "--kubeconfig={kubeconfig}"}
	t.Setenv("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT", "3m") // the machine may be busy
	code, out, said := executed(t, compiled(t), append([]string{
		"rehearse", "--api-server", "envtest", "--seed", "1", "--report-dir", dir, "--old", u.Old, "--crd", u.New, "--objects", u.Objects, "--old-program", strings.Join(serves, " "), "--",
	}, serves...)...)
	if code != 0 || said != "" {
		t.Errorf("exit code %d, said %q, wrote\n%s", code, said, out)
	}
	report, err := reports.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	if report.Cluster == nil || report.Cluster.Name != "envtest" || len(report.Upgrade) != 1 || report.Upgrade[0].Kinds[0].Objects != 2 || report.Upgrade[0].Kinds[0].Stored["v1beta1"] != 2 {
		t.Errorf("the report has %+v of %+v", report.Upgrade, report.Cluster)
	}
	for _, r := range report.With(requirement.NotApplicable) {
		if r.ID == requirement.UpgradeUseCollected && !strings.Contains(r.Reason, "garbage collector") {
			t.Errorf("%s is not judged: %s", r.ID, r.Reason)
		}
	}
}
