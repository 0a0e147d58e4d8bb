package deployed

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// titles returns the titles of documents.
func titles(documents []document) []string {
	var all []string
	for _, d := range documents {
		all = append(all, title(d.Unstructured))
	}
	return all
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain/b.yaml"), []byte("# a comment\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b, namespace: system}\n---\n\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"))
	write(t, filepath.Join(dir, "plain/a.json"), []byte(`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "y"}}]}`))
	write(t, filepath.Join(dir, "plain/notes.txt"), []byte("not: [yaml"))
	write(t, filepath.Join(dir, "plain/deeper/d.yaml"), []byte("not: [yaml"))
	write(t, filepath.Join(dir, "base/service.yml"), []byte("apiVersion: v1\nkind: Service\nmetadata: {name: webhook}\nspec: {selector: {app: a}}\n"))
	write(t, filepath.Join(dir, "base/kustomization.yaml"), []byte("resources: [service.yml]\n"))
	write(t, filepath.Join(dir, "over/kustomization.yml"), []byte("namespace: factory\nnamePrefix: big-\nresources: [../base]\nconfigMapGenerator: [{name: settings, literals: ['docs=https://example.org/x.git?ref=1']}]\ngeneratorOptions: {disableNameSuffixHash: true}\n"))
	for path, want := range map[string][]string{
		"plain":                   {"Secret x", "Secret y", "Service system/b", "ConfigMap c"},
		"plain/b.yaml":            {"Service system/b", "ConfigMap c"},
		"base":                    {"Service webhook"},
		"over":                    {"Service factory/big-webhook", "ConfigMap factory/big-settings"},
		"over/kustomization.yml":  {"Service factory/big-webhook", "ConfigMap factory/big-settings"},
		"base/kustomization.yaml": {"Service webhook"},
	} {
		found, err := load([]string{filepath.Join(dir, path)})
		got := titles(found)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	found, err := load([]string{filepath.Join(dir, "plain/b.yaml")})
	if err != nil || !strings.HasSuffix(found[1].From, "b.yaml:9") {
		t.Errorf("the ConfigMap is from %+v, %v", found, err)
	}
}

func TestLoadWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"twice":    {"apiVersion: v1\nkind: Service\nkind: Service\nmetadata: {name: a}\n", "twice.yaml:3: the key kind is there twice; remove one"},
		"nameless": {"apiVersion: v1\nkind: Service\nmetadata: {generateName: a-}\n", "nameless.yaml:1: the Service has no metadata.name"},
		"kindless": {"apiVersion: v1\nmetadata: {name: a}\n", "not a Kubernetes object"},
		"version":  {"kind: Service\nmetadata: {name: a}\n", "version.yaml:1: not a Kubernetes object, which has an apiVersion and a kind"},
		"text":     {"hello", "text.yaml:1: "},
		"aliases":  {"a: &a [" + strings.Repeat("x,", 9000) + "]\nb: [" + strings.Repeat("*a,", 9000) + "]\n", "aliases.yaml:1: its aliases stand for more"},
		"second":   {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\na: [\n", "second.yaml:5: "},
		"nothing":  {"# only a comment\n---\n", "nothing.yaml contains no objects"},
	} {
		file := write(t, filepath.Join(dir, name+".yaml"), []byte(test.text))
		if found, err := load([]string{file}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want %q", name, titles(found), err, test.want)
		}
	}
	if _, err := load([]string{filepath.Join(dir, "none")}); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("no file: %v", err)
	}
	if _, err := load(nil); err == nil {
		t.Error("no manifests are fine")
	}
}

// TestNothingIsFetched has every way to name what is elsewhere end in an error that names it, before kustomize begins.
func TestNothingIsFetched(t *testing.T) {
	const elsewhere = "https://192.0.2.1/thing.yaml"
	for name, text := range map[string]string{
		"resources":     "resources: ['" + elsewhere + "']",
		"git":           "resources: ['192.0.2.1/a/b', 'git@192.0.2.1:a/b']",
		"github":        "resources: ['github.com/a/b//c?ref=v1']",
		"local github":  "resources: [github.com/a]",
		"upper case":    "resources: ['HTTPS://192.0.2.1/a/b']",
		"forced":        "resources: ['git::192.0.2.1/a/b']",
		"bases":         "bases: ['ssh://192.0.2.1/a']",
		"components":    "components: ['" + elsewhere + "']",
		"patches":       "patches: [{path: '" + elsewhere + "'}]",
		"strategic":     "patchesStrategicMerge: ['" + elsewhere + "']",
		"json":          "patchesJson6902: [{path: '" + elsewhere + "', target: {kind: Service, name: a, version: v1}}]",
		"replacements":  "replacements: [{path: '" + elsewhere + "'}]",
		"crds":          "crds: ['" + elsewhere + "']",
		"configuration": "configurations: ['" + elsewhere + "']",
		"generators":    "generators: ['" + elsewhere + "']",
		"transformers":  "transformers: ['" + elsewhere + "']",
		"validators":    "validators: ['" + elsewhere + "']",
		"openapi":       "openapi: {path: '" + elsewhere + "'}",
		"config map":    "configMapGenerator: [{name: a, files: ['key=" + elsewhere + "']}]",
		"secret":        "secretGenerator: [{name: a, envs: ['" + elsewhere + "']}]",
		"deeper":        "resources: [inner]",
		"file":          "resources: ['file:///tmp/a']",
		"helm":          "helmCharts: [{name: a, repo: 'https://192.0.2.1'}]",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "github.com/a/kustomization.yaml"), []byte("resources: []"))
		write(t, filepath.Join(dir, "inner/kustomization.yaml"), []byte("transformers: [deepest]"))
		write(t, filepath.Join(dir, "inner/deepest/Kustomization"), []byte("resources: ['"+elsewhere+"']"))
		file := write(t, filepath.Join(dir, "kustomization.yaml"), []byte(text))
		found, err := load([]string{file})
		if err == nil || !strings.Contains(err.Error(), "nothing is downloaded") && !strings.Contains(err.Error(), "Helm charts, which are not rendered") {
			t.Errorf("%s: got %v, %v", name, titles(found), err)
		}
	}
}
