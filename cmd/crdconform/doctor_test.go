package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// doctor looks at the cluster by every form, and by bad flags.
func (k *kept) doctor(t *testing.T) {
	t.Helper()
	run := func(args ...string) (out, errs string, code int) {
		var o, e strings.Builder
		code = execute(t.Context(), append([]string{"doctor", "--kubeconfig", k.kubeconfig}, args...), streams{out: &o, err: &e})
		return o.String(), e.String(), code
	}
	out, errs, code := run("--context", "lab")
	if code != exitConforms || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		"lab (Kubernetes v", "1 definition, 0 converted by 0 webhooks\n", "TOLERATED doctor.storage.stored-versions: crontabs.example.com\n",
		"1 object is stored at v1beta1", "To fix it: crdconform storage migrate crontabs.example.com --context lab\n", "Conforms: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if _, _, code := run("--context", "lab", "--strict"); code != exitViolates {
		t.Errorf("with --strict: exit code %d", code)
	}
	dir := t.TempDir()
	out, _, _ = run("--context", "lab", "-o", "json", "--report-dir", dir)
	report, err := reports.Read([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if report.Counts[requirement.Tolerated] != 1 || report.Cluster.Name != "existing" || report.Results[0].Subject != "crontabs.example.com" {
		t.Errorf("the report has %v", report.Counts)
	}
	if len(read(t, filepath.Join(dir, "report.html"))) == 0 {
		t.Error("there is no page")
	}
	for form, want := range map[string]string{"html": "<html", "junit": "<testsuites", "markdown": "doctor.storage.stored-versions", "sarif": `"level": "warning"`} {
		if out, errs, code := run("--context", "lab", "--output", form); code != exitConforms || !strings.Contains(out, want) || form == "sarif" && !json.Valid([]byte(out)) {
			t.Errorf("%s: exit code %d: %s%.500s", form, code, errs, out)
		}
	}
	for args, want := range map[string]string{
		"":                                    "no cluster specified; give --context NAME",
		"--context lab --output xml":          "--output xml: unknown format",
		"--context lab -n a -A":               "cannot be combined",
		"--context lab things.example.com":    "the cluster has no definition things.example.com",
		"--context lab things":                "things",
		"--context lab --namespace somewhere": "no definition has a webhook in the namespace somewhere",
		"--context nowhere":                   "unknown context nowhere",
	} {
		if _, errs, code := run(strings.Fields(args)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
}
