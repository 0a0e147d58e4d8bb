package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/test/subjects"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// upgrade is a folder with the definitions of two releases of the sample operator, which store at v1beta1 and at v1, and with a program
// that converts their objects.
type upgrade struct {
	*subjects.Program
	*testing.T

	dir string
}

func newUpgrade(t *testing.T) upgrade {
	t.Helper()
	u := upgrade{Program: subjects.Build(t, subjects.Kubebuilder), T: t, dir: t.TempDir()}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(read(t, u.CRD), &crd); err != nil {
		t.Fatal(err)
	}
	for file, stored := range map[string]string{"old.yaml": "v1beta1", "new.yaml": "v1"} {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == stored
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		put(t, u.in(file), string(text))
	}
	return u
}

// in is the path of a file of the folder.
func (u upgrade) in(name string) string { return filepath.Join(u.dir, name) }

// rehearse rehearses the upgrade of objects to a program with other arguments.
func (u upgrade) rehearse(objects string, arguments []string, program ...string) (code int, out, said string) {
	u.Helper()
	base := []string{
		"rehearse", "--seed", "1", "--report-dir", u.in("report"), "--old", u.in("old.yaml"), "--new", u.in("new.yaml"), "--objects", objects,
		"--old-program", strings.Join(u.Serve(), " "),
	}
	return executed(u.T, slices.Concat(base, arguments, []string{"--"}, u.Serve(program...))...)
}

func (u upgrade) report() *reports.Report {
	u.Helper()
	report, err := reports.ReadFile(u.in("report"))
	if err != nil {
		u.Fatal(err)
	}
	return report
}

// executed is what a command line comes to.
func executed(t *testing.T, arguments ...string) (code int, out, errors string) {
	t.Helper()
	var written, said strings.Builder
	code = execute(t.Context(), arguments, streams{out: &written, err: &said})
	return code, written.String(), said.String()
}

// TestRehearse rehearses an upgrade with real programs, of which the new one has a bug, and reads the report.
func TestRehearse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade with real programs")
	}
	u := newUpgrade(t)
	objects := u.in("objects.yaml")
	put(t, objects, `apiVersion: factory.example.org/v1beta1
kind: Widget
metadata: {name: a, namespace: prod, resourceVersion: "12"}
spec: {enabled: false}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
`)
	code, out, said := u.rehearse(objects, nil, "--bug", "drops-false")
	if code != exitViolates || said != "" {
		t.Fatalf("exit code %d, said %q, wrote\n%s", code, said, out)
	}
	for _, want := range []string{
		"note: " + objects + ": objects of other definitions were left out: 1 of ConfigMap",
		"the upgrade from ", ", with 1 object, seed 1", "\nread         Failed: 1 finding of 1 object (", "\nread         Failed 1 of 1",
		"FAILED upgrade.read.content (read)\n    widgets.factory.example.org prod/a: read at v1 after the upgrade: spec.enabled: expected false, got nothing, which becomes the default true",
		"        kubectl get widgets.v1.factory.example.org a -n prod -o yaml\n    why it matters: " + why(t, requirement.UpgradeReadContent) + "\n    again: crdconform rehearse --filter=upgrade.read.content --seed=1 --",
		"before anything is written, the old definition can be put back.",
		"\nDoes not conform: 2 of 27 requirements failed, in ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	report := u.report()
	if len(report.Upgrade) != 1 || len(report.Upgrade[0].Steps) != 14 || report.Upgrade[0].Kinds[0].Stored["v1beta1"] != 1 || report.Cluster == nil {
		t.Errorf("the report has %+v", report)
	}
	for _, r := range report.Results {
		if r.ID == requirement.UpgradeReadContent && !strings.Contains(r.Rerun, "crdconform rehearse --filter=upgrade.read.content --seed=1 --") {
			t.Errorf("it is rehearsed again by %s", r.Rerun)
		}
	}
	if code, out, _ = u.rehearse(objects, nil); code != exitConforms {
		t.Errorf("without a bug the exit code is %d:\n%s", code, out)
	}
	if code, out, _ = executed(t, "report", u.in("report"), "--baseline", u.in("report")); code != exitConforms {
		t.Errorf("compared with itself: %d\n%s", code, out)
	}
	code, _, said = executed(t, "report", u.in("report"), u.in("report"), "--side-by-side")
	if code != exitUsage || !strings.Contains(said, "is the report of a rehearsal; compare two with --baseline") {
		t.Errorf("side by side: %d, said %q", code, said)
	}
}
