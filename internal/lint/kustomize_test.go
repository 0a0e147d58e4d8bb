package lint

import (
	"errors"
	"strings"
	"testing"
)

// TestKustomization judges what a kustomization builds, and places what is found in the files that it is made of.
func TestKustomization(t *testing.T) {
	t.Parallel()
	const patch = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\n"
	differing := edits{size, size + "              old: {type: string}\n"}.apply(t, plainWidgets)
	base := File{Name: "base.yaml", Data: []byte(differing)}
	webhook := File{Name: "webhook.yaml", Data: []byte(patch + "spec:\n" + strings.TrimSuffix(hook, "  versions:\n"))}
	injection := File{Name: "injection.yaml", Data: []byte(patch + "  annotations: {cert-manager.io/inject-ca-from: NAMESPACE/NAME}\n")}
	built := func(text string) *Kustomization {
		return &Kustomization{Name: "kustomization.yaml", Resources: []File{base}, Patches: []File{webhook, injection}, Built: []byte(text)}
	}
	withHook := edits{"  versions:\n", hook}.apply(t, differing)
	scaffold := strings.Replace(withHook, "{namespace: system, name: widgets}", "{namespace: system, name: webhook-service}", 1)
	injected := edits{"metadata:\n", strings.Replace(injected, "system/serving-cert", "NAMESPACE/NAME", 1)}.apply(t, withHook)
	installed := edits{"metadata:\n", "metadata:\n  uid: 8c4f\n"}.apply(t, withHook)
	for name, test := range map[string]struct {
		file File
		from *Kustomization
		want []Diagnostic
	}{
		"no kustomization":  {base, nil, []Diagnostic{{Rule: NoneLosesFields, Level: Error, File: "base.yaml", Line: 29}}},
		"another file":      {File{Name: "other.yaml", Data: base.Data}, built(injected), []Diagnostic{{Rule: NoneLosesFields, Level: Error, File: "other.yaml", Line: 29}}},
		"no webhook":        {base, built(differing), []Diagnostic{{Rule: NoneLosesFields, Level: Error, File: "base.yaml", Line: 29}}},
		"a webhook":         {base, built(withHook), []Diagnostic{{Rule: CABundleMissing, Level: Note, File: "webhook.yaml", Line: 10}}},
		"installed":         {base, built(installed), []Diagnostic{{Rule: CABundleMissing, Level: Warning, File: "webhook.yaml", Line: 10}}},
		"the scaffold":      {base, built(scaffold), nil},
		"an annotation":     {base, built(injected), nil},
		"a patch":           {webhook, built(withHook), []Diagnostic{{Rule: CABundleMissing, Level: Note, File: "webhook.yaml", Line: 10}}},
		"labels":            {File{Name: "injection.yaml", Data: []byte(patch + "  labels: {a: b}\n")}, built(injected), nil},
		"what is preserved": {File{Name: "injection.yaml", Data: []byte(patch + "spec: {preserveUnknownFields: false}\n")}, built(injected), nil},
		"not built": {base, &Kustomization{Name: "kustomization.yaml", Resources: []File{base}, Err: errors.New("no such file")}, []Diagnostic{
			{Rule: KustomizationUnbuilt, Level: Warning, File: "base.yaml", Line: 3}, {Rule: NoneLosesFields, Level: Error, File: "base.yaml", Line: 29},
		}},
	} {
		test.file.Kustomization = test.from
		report, err := Check(t.Context(), []File{test.file, test.file}, Options{Now: now()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same := len(report.Findings) == len(test.want)
		for i := 0; same && i < len(test.want); i++ {
			f := report.Findings[i]
			same = f.Rule == test.want[i].Rule && f.Level == test.want[i].Level && f.File == test.want[i].File && f.Line == test.want[i].Line
		}
		if !same {
			t.Errorf("%s: found %+v, want %+v", name, report.Findings, test.want)
		}
	}
	unlisted := File{Name: "unlisted.yaml", Data: webhook.Data, Kustomization: built(differing)}
	if _, err := Check(t.Context(), []File{unlisted}, Options{}); err == nil || !strings.Contains(err.Error(), "a patch that kustomization.yaml does not list") {
		t.Errorf("an unlisted patch: %v", err)
	}
}

// TestPatchesOfRevisions takes no patch of a revision of git to be in force there: which are listed is not known.
func TestPatchesOfRevisions(t *testing.T) {
	t.Parallel()
	const patch = "\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\nspec:\n"
	old := File{Name: "main:crd.yaml", Data: []byte(plainWidgets + patch + strings.TrimSuffix(hook, "  versions:\n"))}
	for partial, want := range map[bool]int{true: 0, false: 1} {
		report, err := Check(t.Context(), []File{{Name: "crd.yaml", Data: []byte(plainWidgets)}}, Options{Old: []File{old}, Partial: partial})
		if err != nil {
			t.Fatal(err)
		}
		if found := of(ConversionRemoved, report.Findings); len(found) != want {
			t.Errorf("partial %v: found %+v", partial, found)
		}
	}
}
