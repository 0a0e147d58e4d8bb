package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadManifests finds what names a version in files, lists and templates, and what may but cannot be read.
func TestReadManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":              "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: ns}\n---\napiVersion: example.com/v2\nkind: Thing\nmetadata: {name: b}\n",
		"deep/er/list.json":   `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"c"}},{"apiVersion":"example.com/v1","kind":"Other"}]}`,
		"chart/template.yaml": "{{- if .Values.things }}\napiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: {{ .Release.Name }}\n{{- end }}\n",
		"chart/unclear.yaml":  "apiVersion: {{ .Values.version }}\nkind: Thing\n",
		"chart/others.yaml":   "apiVersion: {{ .Values.version }}\nkind: Things\n",
		"chart/values.yaml":   "version: example.com/v1\nthings: true\n",
		".git/a.yaml":         "apiVersion: example.com/v1\nkind: Thing\n",
		"readme.md":           "apiVersion: example.com/v1\nkind: Thing\n",
		"other/group.yaml":    "apiVersion: other.com/v1\nkind: Thing\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifests, err := ReadManifests([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	d := thing()
	i := &inspector{inventory: &Inventory{Definitions: []*Definition{d}}, options: Options{Manifests: manifests}, book: &book{counts: *newCounts(), pending: newCounts()}}
	if err := i.manifests(); err != nil {
		t.Fatal(err)
	}
	i.sum(d)
	v := d.Version("v1")
	var found []string
	for _, b := range v.First[Manifest] {
		found = append(found, b.String()+" "+strings.TrimPrefix(b.By, dir+"/"))
	}
	want := "things.example.com ns/a a.yaml:1, things.example.com c deep/er/list.json:1, item 1, things.example.com chart/template.yaml:1"
	if got := strings.Join(found, ", "); got != want || v.Manifests != 3 || *d.Manifests != 4 {
		t.Errorf("got %d of %d: %s\nwant %s", v.Manifests, *d.Manifests, got, want)
	}
	for version, want := range map[string]Answer{"v1": NotSafe, "v0": CannotTell} {
		removal := Judge(i.inventory, d, d.Version(version))
		if removal.Answer != want {
			t.Errorf("%s: %s: %+v", version, removal.Answer, removal.Findings)
		}
	}
	if gaps := d.ManifestGaps; len(gaps) != 1 || !strings.HasSuffix(gaps[0].What, "chart/unclear.yaml:1") {
		t.Errorf("got %+v", gaps)
	}
	for _, bad := range []string{filepath.Join(dir, "none"), filepath.Join(dir, ".git", "none.yaml"), t.TempDir()} {
		if _, err := ReadManifests([]string{bad}); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

// thing is a definition whose version v2 is stored.
func thing() *Definition {
	return &Definition{
		Name: "things.example.com", Group: "example.com", Kind: "Thing", Plural: "things", Objects: 1, StoredVersions: []string{"v2"},
		Versions: []*Version{{Name: "v2", Defined: true, Storage: true, Served: true}, {Name: "v1", Defined: true}, {Name: "v0", Defined: true}},
	}
}

// TestPlan has each gate open when what stands before it is done, and not before.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(d *Definition, v *Version)
		closed string // the numbers of the steps that are not done
	}{
		"all":                  {func(*Definition, *Version) {}, "5"},
		"storage version":      {func(d *Definition, v *Version) { v.Storage, d.Versions[0].Storage = true, false }, "125"},
		"stored":               {func(_ *Definition, v *Version) { v.Stored = 1 }, "25"},
		"not known":            {func(d *Definition, _ *Version) { d.Unknown = 1 }, "25"},
		"not seen":             {func(d *Definition, _ *Version) { d.Unseen = true }, "25"},
		"in storedVersions":    {func(_ *Definition, v *Version) { v.Listed = true }, "25"},
		"in managed fields":    {func(_ *Definition, v *Version) { v.ManagedFields = 1 }, "25"},
		"in owner references":  {func(_ *Definition, v *Version) { v.OwnerReferences = 1 }, "35"},
		"last applied":         {func(_ *Definition, v *Version) { v.LastApplied = 1 }, "35"},
		"in a release of Helm": {func(_ *Definition, v *Version) { v.HelmReleases = 1 }, "35"},
		"a resource not seen":  {func(d *Definition, _ *Version) { d.Gaps = []Gap{{What: "things"}} }, "235"},
		"a manifest unread":    {func(d *Definition, _ *Version) { d.ManifestGaps = []Gap{{What: "a.yaml:1"}} }, "35"},
		"in a manifest":        {func(_ *Definition, v *Version) { v.Manifests = 1 }, "35"},
		"served":               {func(_ *Definition, v *Version) { v.Served = true }, "45"},
		"removed":              {func(_ *Definition, v *Version) { v.Defined = false }, ""},
		"the only one":         {func(d *Definition, v *Version) { d.Versions = []*Version{v} }, ""},
	} {
		d := thing()
		v := d.Version("v1")
		test.change(d, v)
		v.Plan = (&Inventory{Flags: "--context a", Looked: "--manifests git"}).plan(d, v)
		for _, step := range v.Plan {
			if strings.HasPrefix(step.How, "crdconform storage safe-to-drop") && step.How != "crdconform storage safe-to-drop things.example.com v1 --context a --manifests git" {
				t.Errorf("%s: the command is %q", name, step.How)
			}
		}
		var numbers []byte
		for n, step := range v.Plan {
			if !step.Done {
				numbers = append(numbers, '1'+byte(n))
			}
		}
		closed := string(numbers)
		if closed != test.closed {
			t.Errorf("%s: steps %q are not done, want %q", name, closed, test.closed)
		}
		if text := d.PlanText(); strings.Count(text, " next: ") != min(1, len(closed)) || strings.Count(text, " then: ") != max(0, len(closed)-1) {
			t.Errorf("%s: %s", name, text)
		}
	}
	d := thing()
	if plan := (&Inventory{}).plan(d, d.Version("v2")); plan != nil {
		t.Errorf("the version that clients get is to go: %v", plan)
	}
}
