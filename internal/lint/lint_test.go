package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/fixtures"
)

// files reads files of the tests.
func files(t *testing.T, pattern string) []File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	var all []File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, File{Name: filepath.Base(name), Data: data})
	}
	return all
}

// TestShapesOfTheWorld finds nothing in definitions of the shapes that known projects write.
func TestShapesOfTheWorld(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"testdata/cert-manager.yaml", "testdata/knative.yaml", "testdata/cluster-api.yaml", "testdata/crossplane.yaml", "testdata/kubebuilder/*.yaml"} {
		report, err := Check(t.Context(), files(t, pattern), Options{Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Findings) > 0 || report.Definitions != 1 {
			t.Errorf("%s: %d definitions, found %+v", pattern, report.Definitions, report.Findings)
		}
	}
}

// TestPatches shows that the base alone is judged as what it is, and that findings about a patch are placed there.
func TestPatches(t *testing.T) {
	t.Parallel()
	all := files(t, "testdata/kubebuilder/*.yaml")
	base := slices.DeleteFunc(slices.Clone(all), func(f File) bool { return f.Name != "base.yaml" })
	report, err := Check(t.Context(), base, Options{Now: now()})
	if err != nil || len(of(NoneLosesFields, report.Findings)) != 2 || !strings.HasSuffix(of(NoneLosesFields, report.Findings)[0].Message, "if kustomize adds a webhook, lint its output instead") {
		t.Errorf("the base alone: %+v, %v", report, err)
	}
	for i := range all {
		all[i].Data = []byte(strings.Replace(string(all[i].Data), "- v1\n", "- v1beta1\n", 1))
	}
	report, err = Check(t.Context(), all, Options{Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	if found := of(ReviewVersionsOld, report.Findings); len(found) != 1 || found[0].File != "webhook_in_backups.yaml" || found[0].Line != 15 {
		t.Errorf("found %+v", found)
	}
	patch := slices.DeleteFunc(all, func(f File) bool { return f.Name == "base.yaml" })
	if _, err := Check(t.Context(), patch, Options{}); err == nil || !strings.Contains(err.Error(), "this is a patch") {
		t.Errorf("patches alone: %v", err)
	}
}

// TestFixtures finds no error in the documents' definitions.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, d := range fixtures.Definitions() {
		text, err := yaml.Marshal(d.New())
		if err != nil {
			t.Fatal(err)
		}
		report, err := Check(t.Context(), []File{{Name: string(d), Data: text}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if report.Count(Error) > 0 {
			t.Errorf("%s: found %+v", d, report.Findings)
		}
	}
}

// TestForms finds the same in every form that a definition can have, at its line and column.
func TestForms(t *testing.T) {
	t.Parallel()
	const one = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
	"spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
	"versions": [{"name": "v1", "served": true, "storage": true,
		"additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": ".spec.a"}], "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`
	const other = "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"
	block, err := yaml.JSONToYAML([]byte(one))
	if err != nil {
		t.Fatal(err)
	}
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(string(block)), "\n", "\n  ")
	item := "- " + strings.TrimPrefix(indented, "  ") + "\n"
	for name, test := range map[string]struct {
		text         string
		line, column int
	}{
		"JSON with tabs":          {one, 4, 64},
		"a list in JSON":          {`{"apiVersion": "v1", "kind": "List", "items": [` + one + "]}", 4, 64},
		"block YAML":              {string(block), 13, 7},
		"with a byte order mark":  {"\ufeff" + string(block), 13, 7},
		"with carriage returns":   {strings.ReplaceAll(string(block), "\n", "\r\n"), 13, 7},
		"the second document":     {"---\n" + other + "---\n\n---  # empty\n---\n" + string(block), 13 + 8, 7},
		"after a directive":       {"%YAML 1.2\n---\n" + string(block), 13 + 2, 7},
		"a document in one line":  {other + "--- {}\n---\n" + string(block), 13 + 5, 7},
		"a list":                  {"apiVersion: v1\nkind: List\nitems:\n" + "- " + strings.ReplaceAll(other, "\n", "\n  ") + "\n" + item, 13 + 7, 9},
		"a list of definitions":   {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitionList\nitems:\n" + item, 13 + 3, 9},
		"after text with dashes":  {"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    ---\n    b\n---\n" + string(block), 13 + 7, 7},
		"after letters of a kind": {"# ünïcödé 漢字\n" + string(block), 13 + 1, 7},
	} {
		report, err := Check(t.Context(), []File{{Name: "a", Data: []byte(test.text)}}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f := report.Findings; report.Definitions != 1 || len(f) != 1 || f[0].Rule != ColumnPath || f[0].Line != test.line || f[0].Column != test.column {
			t.Errorf("%s: found %+v, want one at %d:%d", name, f, test.line, test.column)
		}
	}
}

// TestUnreadable says what is wrong with files, where, and what to do.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"empty":              {"", "a.yaml: it contains no CustomResourceDefinition"},
		"words":              {"some words\n", "contains no CustomResourceDefinition"},
		"another kind":       {"kind: ConfigMap\n", "contains no CustomResourceDefinition"},
		"an impostor":        {"apiVersion: example.com/v1\nkind: CustomResourceDefinition\n", "contains no CustomResourceDefinition"},
		"an empty list":      {"kind: List\nitems: []\n", "contains no CustomResourceDefinition"},
		"broken":             {"a: b\n---\na: b\nb: [\n", "a.yaml:"},
		"broken, the line":   {"a: b\n---\na: b: c\n", "a.yaml:3: not YAML or JSON: mapping values are not allowed"},
		"a template":         {"{{- if .Values.crds }}\n" + plainWidgets + "{{- end }}\n", "a.yaml:1: this is a template, not YAML; render it first"},
		"v2":                 {strings.Replace(plainWidgets, "k8s.io/v1", "k8s.io/v2", 1), "a.yaml:1: this definition has the apiVersion apiextensions.k8s.io/v2, which does not exist; write apiextensions.k8s.io/v1"},
		"v1beta1":            {strings.Replace(plainWidgets, "k8s.io/v1", "k8s.io/v1beta1", 1), "a.yaml:1: this definition has the apiVersion apiextensions.k8s.io/v1beta1"},
		"text for a boolean": {strings.Replace(plainWidgets, "served: true", `served: "true"`, 1), `a.yaml:13: this definition cannot be read: spec.versions[0].served: expected true or false, got the text "true"`},
		"a boolean for text": {strings.Replace(plainWidgets, "group: example.com", "group: yes", 1), "a.yaml:6: this definition cannot be read: spec.group: expected text, got true; quote it"},
		"a list for a map":   {strings.Replace(plainWidgets, "    kind: Widget", "    kind: [a]", 1), "spec.names.kind: expected text, got a list"},
		"binary":             {"\x00\x01\xff{{", "a.yaml:1: this is not text in UTF-8"},
	} {
		report, err := Check(t.Context(), []File{{Name: "a.yaml", Data: []byte(test.text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || report != nil {
			t.Errorf("%s: got %v, %+v, want %q", name, err, report, test.want)
		}
	}
	if _, err := Check(t.Context(), nil, Options{}); err == nil {
		t.Error("no file at all is fine")
	}
}

func TestOld(t *testing.T) {
	t.Parallel()
	other := strings.NewReplacer("widgets", "gadgets", "Widget", "Gadget").Replace(plainWidgets)
	now := []File{{Name: "new.yaml", Data: []byte(plainWidgets)}}
	for name, test := range map[string]struct{ old, want string }{
		"nothing in it": {"a: b\n", "old definitions: old.yaml: it contains no CustomResourceDefinition"},
		"another name":  {strings.ReplaceAll(other, "example.com", "example.org"), "the first old one is gadgets.example.org"},
	} {
		if _, err := Check(t.Context(), now, Options{Old: []File{{Name: "old.yaml", Data: []byte(test.old)}}}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if found := check(t, plainWidgets, other+"---\n"+plainWidgets); len(found) > 0 {
		t.Errorf("found %+v between equals", found)
	}
	if found := check(t, plainWidgets, other); len(found) != 1 || found[0].Rule != VersionRemovedStored || found[0].Definition != "gadgets.example.com" {
		t.Errorf("the only old definition is gone: found %+v", found)
	}
}

// TestDuplicates finds keys that are there twice, but none that override what an anchor brings along.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	twice := strings.Replace(plainWidgets, "    kind: Widget\n", "    kind: Widget\n    kind: Widget\n", 1)
	list := "kind: List\nitems:\n- " + strings.TrimSpace(strings.ReplaceAll(plainWidgets, "\n", "\n  ")) + "\n- " + strings.TrimSpace(strings.ReplaceAll(twice, "\n", "\n  ")) + "\n"
	for name, text := range map[string]string{"a document": twice, "an item": list} {
		found := of(DuplicateKey, check(t, text))
		if len(found) != 1 || found[0].Path != "spec.names.kind" || found[0].Column < 5 {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	if found := check(t, strings.Replace(plainWidgets, "    kind: Widget\n", "    <<: {kind: Gadget}\n    kind: Widget\n", 1)); len(found) > 0 {
		t.Errorf("found %+v in what overrides", found)
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	text := []File{{Name: "a", Data: []byte(strings.Replace(plainWidgets, "default: big", "default: small", 1))}}
	report, err := Check(t.Context(), text, Options{Disabled: []RuleID{DefaultDiffers}})
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("found %+v, %v", report, err)
	}
	for id, want := range map[RuleID]string{"default-differ": "did you mean", "url-localhst": "url-localhost", "zzz": "--rules", "": "--rules"} {
		if _, err := Check(t.Context(), text, Options{Disabled: []RuleID{id}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", id, err, want)
		}
	}
}

// TestUpstreamSaysNothingTwice wants one finding for what both a rule and API servers say.
func TestUpstreamSaysNothingTwice(t *testing.T) {
	t.Parallel()
	for rule, tests := range ruleTests(t) {
		level := func() Level { r, _ := Lookup(rule); return r.Level }()
		for _, test := range tests {
			if rule == Refused || level != Error {
				continue
			}
			var old []string
			if test.old != nil {
				old = append(old, test.old.apply(t, plainWidgets))
			}
			if found := of(Refused, check(t, test.found.apply(t, plainWidgets), old...)); len(found) > 0 {
				t.Errorf("%s: %+v as well", rule, found)
			}
		}
	}
}

// TestNothingInIt names what is missing once, at the beginning of the document.
func TestNothingInIt(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, f := range check(t, "# nothing\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n") {
		if f.Line != 2 || f.Column != 1 || f.Level != Error {
			t.Errorf("found %+v", f)
		}
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	if want := []string{"metadata.name", "spec.group", "spec.names.kind", "spec.names.plural", "spec.scope", "spec.versions"}; !slices.Equal(paths, want) {
		t.Errorf("found something at %v, want %v", paths, want)
	}
}

// FuzzCheck wants no panic, and findings at places that exist, whatever the file.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(plainWidgets))
	f.Add([]byte(strings.Replace(plainWidgets, "  versions:\n", hook, 1)))
	f.Add([]byte("kind: List\nitems:\n- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [null]}}\n"))
	f.Add([]byte("{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", \"spec\": {\"conversion\": {\"strategy\": \"Webhook\", \"webhook\": {}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Check(t.Context(), []File{{Name: "a", Data: data}}, Options{})
		if err != nil {
			return
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1 // both end lines in YAML
		for _, finding := range report.Findings {
			if finding.Line < 1 || finding.Line > lines || finding.Column < 1 || finding.Message == "" {
				t.Errorf("%+v in a file of %d lines", finding, lines)
			}
		}
	})
}
