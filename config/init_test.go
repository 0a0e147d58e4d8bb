package config

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/options"
)

// crd writes a definition with versions, "!" before those that are not served and "*" after the one that is stored.
func crd(name, conversion string, versions ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\nspec:\n  group: example.com\n  names: {kind: Widget}\n  versions:\n")
	for _, v := range versions {
		served, stored := !strings.HasPrefix(v, "!"), strings.HasSuffix(v, "*")
		fmt.Fprintf(&b, "  - {name: %s, served: %t, storage: %t}\n", strings.Trim(v, "!*"), served, stored)
	}
	return b.String() + conversion
}

func viaService(name, more string) string {
	return "  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig:\n        service: {namespace: system, name: " + name + ", path: /convert" + more + "}\n"
}

func viaURL(url string) string {
	return "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: '" + url + "'}}}\n"
}

func TestInit(t *testing.T) {
	t.Parallel()
	bundle := "        caBundle: " + base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----")) + "\n"
	for name, test := range map[string]struct {
		files  []File
		source string
		has    []string
		lacks  []string
	}{
		"service": {
			[]File{{Name: "crds/w.yaml", Data: []byte(crd("widgets.example.com", viaService("hooks", "")+bundle, "v1beta1", "v1*"))}},
			"fromCRD",
			[]string{"  - crds/w.yaml\n", "#   widgets.example.com: v1beta1, v1 (stored)\n", "  #   kubectl port-forward -n system service/hooks 9443:443\n", "  fromCRD:\n    address: localhost:9443\n"},
			[]string{"There are several", "has no caBundle"},
		},
		"samples": {
			[]File{
				{Name: "w.yaml", Data: []byte(crd("w", viaService("a", ""), "v1*", "v2"))},
				{Name: "samples/1.yaml", Entry: "samples", Data: []byte("resources: [2.yaml]\n")},
				{Name: "samples/2.yaml", Entry: "samples", Data: []byte("apiVersion: example.com/v1\nkind: Widget\nspec: {size: 1}\n")},
			},
			"fromCRD",
			[]string{"crds:\n  - w.yaml\n\n", "\nsamples:\n  - samples\n\n"},
			[]string{"# samples:"},
		},
		"port, and a certificate to be injected": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", viaService("hooks", ", port: 8443")+"        caBundle: Cg==\n", "v1*"))}},
			"fromCRD",
			[]string{"9443:8443", "  # A definition has no caBundle.", "  # caFile: ca.crt\n", "v1 (stored); there is nothing to convert with one version"},
			nil,
		},
		"several services": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", viaService("b", ""), "v1*") + "---\n" + crd("x", viaService("a", ""), "v1*", "v2") + "---\n" + crd("z", viaService("a", ""), "v1*", "v2"))}},
			"fromCRD",
			[]string{"  #   kubectl port-forward -n system service/a 9443:443\n  #   kubectl port-forward -n system service/b 9443:443\n  # There are several"},
			nil,
		},
		"URL": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", viaURL("https://hooks.example.com/convert"), "!v1alpha1", "!v1beta1*", "v1"))}},
			"url",
			[]string{"  url: https://hooks.example.com/convert\n", "v1alpha1 (not served), v1beta1 (stored, not served), v1\n"},
			[]string{"fromCRD:\n"},
		},
		"URLs": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", viaURL("https://a/convert"), "v1*"))}, {Name: "x.yaml", Data: []byte(crd("x", viaURL("https://b/convert"), "v1*"))}},
			"fromCRD",
			[]string{"  - w.yaml\n  - x.yaml\n", "  fromCRD: {}\n"},
			[]string{"port-forward"},
		},
		"a URL that API servers refuse": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", viaURL("http://me:secret@a/"), "v1*"))}},
			"fromCRD",
			[]string{"  fromCRD: {}\n"},
			[]string{"secret"},
		},
		"no webhook": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", "", "v1*", "v2"))}},
			"",
			[]string{"# These definitions name none", "# webhook:\n"},
			[]string{"\nwebhook:"},
		},
		"strategy None": {[]File{{Name: "w.yaml", Data: []byte(crd("w", "  conversion: {strategy: None}\n", "v1*", "v2"))}}, "", []string{"name none"}, nil},
		"webhook without a place": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", "  conversion: {strategy: Webhook, webhook: {}}\n", "v1*", "v2"))}}, "", []string{"name none"}, nil,
		},
		"service without a name": {
			[]File{{Name: "w.yaml", Data: []byte(crd("w", "  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {}}}}\n", "v1*"))}},
			"fromCRD",
			[]string{"kubectl port-forward -n NAMESPACE service/NAME 9443:443"},
			nil,
		},
		"a folder": {
			[]File{
				{Name: "crds/w.yaml", Entry: "crds", Data: []byte("\ufeff" + strings.ReplaceAll(crd("w", "", "v1*"), "\n", "\r\n"))},
				{Name: "crds/kustomization.yaml", Entry: "crds", Data: []byte("kind: Kustomization\n")},
			}, "", []string{"crds:\n  - crds\n"}, []string{"kustomization"},
		},
		"a list": {
			[]File{{Name: "w.json", Data: []byte(`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "ConfigMap"}, {"apiVersion": "apiextensions.k8s.io/v1",
				"kind": "CustomResourceDefinition", "metadata": {"name": "w"}, "spec": {"versions": [{"name": "v1"}]}}]}`)}},
			"",
			[]string{"#   w: v1 (not served); there"},
			nil,
		},
		"odd names": {
			[]File{{Name: "a: b #'\"\n\t.yaml", Data: []byte(crd(`"w\n- x"`, viaService(`"a\nb: c"`, ""), `"v1\nx"*`))}},
			"fromCRD",
			[]string{`  - "a: b #'\"\n\t.yaml"` + "\n", "#   w - x: "},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := Init(test.files)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.has {
				if !strings.Contains(string(text), want) {
					t.Errorf("got\n%s\nwant something with\n%s", text, want)
				}
			}
			for _, unwanted := range test.lacks {
				if strings.Contains(string(text), unwanted) {
					t.Errorf("got\n%s\nwant nothing with\n%s", text, unwanted)
				}
			}
			if !strings.HasPrefix(string(text), "# yaml-language-server: $schema="+SchemaURL+"\n") {
				t.Errorf("it begins with %.80s", text)
			}
			valid(t, string(text), test.source, test.files)
		})
	}
}

// valid wants a file that Init wrote to be a configuration as it stands, and with all that is in its comments.
func valid(t *testing.T, text, source string, files []File) {
	t.Helper()
	c, err := Parse(FileName, []byte(text))
	if err != nil {
		t.Errorf("%v\nin\n%s", err, text)
	}
	if got := c.Webhook.Source(); got != source {
		t.Errorf("the webhook is from %q, want %q", got, source)
	}
	named := slices.Concat(c.CRDs, c.Samples)
	for _, file := range files {
		if !slices.Contains(named, file.Name) && !slices.Contains(named, file.Entry) {
			t.Errorf("%s is not in %q", file.Name, named)
		}
	}
	if err := validator(t)(text); err != nil {
		t.Error(err)
	}
	_, rest, _ := strings.Cut(text, "\n# Fields that")
	var b strings.Builder
	for line := range strings.Lines("# Fields that" + rest) {
		// What is offered begins with a key in lower case, what explains it with a capital letter.
		if line = strings.TrimPrefix(line, "# "); line != "" && strings.ToUpper(line[:1]) != line[:1] || strings.HasPrefix(line, " ") {
			b.WriteString(line)
		}
	}
	c = parse(t, head+b.String())
	if len(c.Lossy) != 1 || len(c.KnownFailing) != 1 || c.Load.Profile != "batch" || len(c.Load.Batches) != 3 || c.Objectives.P999.Seconds() != 2 ||
		!slices.Equal(c.Objectives.Presets, []string{options.KEPPreset}) {
		t.Errorf("what is offered amounts to %+v", c)
	}
}

func TestInitThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no definition":      {"kind: ConfigMap\n", "dir/a.yaml: it contains no CustomResourceDefinition"},
		"nothing":            {"", "dir/a.yaml: it contains no CustomResourceDefinition"},
		"not YAML":           {"a: [\n", "dir/a.yaml:1: not YAML or JSON: "},
		"a template":         {crd("w", "", "v1") + "---\nkind: {{ .Values.kind }}\n", ": this is a template, not YAML; render it first"},
		"text":               {"hello", "dir/a.yaml:1: it is not a Kubernetes object"},
		"old":                {strings.Replace(crd("w", "", "v1"), "io/v1", "io/v1beta1", 1), `dir/a.yaml:1: definition "w" has the apiVersion "apiextensions.k8s.io/v1beta1"; since 1.22, API servers accept only`},
		"no versions":        {crd("w", ""), `definition "w" has no name or no spec.versions; "crdconform lint" reports what else is missing`},
		"odd versions":       {crd("w", "", "v1") + "  versions2: 1\n  conversion: 3\n", "it is not a CustomResourceDefinition that API servers would read: "},
		"odd caBundle":       {crd("w", viaService("a", "")+"        caBundle: '?'\n", "v1"), "it is not a CustomResourceDefinition that API servers would read: "},
		"old one in a list":  {"kind: List\nitems:\n- {}\n- kind: CustomResourceDefinition\n", "dir/a.yaml:1: item 2: definition"},
		"list that is wrong": {"kind: List\nitems: 3\n", "it is not a List that API servers would read: "},
		"list of nothing":    {"kind: List\nitems: [null]\n", "it contains no CustomResourceDefinition"},
	} {
		if text, err := Init([]File{{Name: "dir/a.yaml", Data: []byte(test.text)}}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v and\n%s\nwant something with %s", name, err, text, test.want)
		}
	}
	if _, err := Init(nil); err == nil || !strings.Contains(err.Error(), "no files; give those") {
		t.Errorf("without files: %v", err)
	}
	good := File{Name: "b.yaml", Data: []byte(crd("w", "", "v1"))}
	if _, err := Init([]File{good, {Name: "c/1.yaml", Entry: "c"}, {Name: "c/2.yaml", Entry: "c"}}); err == nil || err.Error() != "c: it contains no CustomResourceDefinition" {
		t.Errorf("with one folder that has none: %v", err)
	}
	for _, sample := range []string{"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec:\n", "apiVersion: example.org/v1\nkind: Widget\nspec: {size: 1}\n"} {
		if _, err := Init([]File{good, {Name: "s.yaml", Data: []byte(sample)}}); err == nil || err.Error() != "s.yaml: it contains no CustomResourceDefinition" {
			t.Errorf("with what is no sample: %v", err)
		}
	}
}

// FuzzInit wants whatever is written to be a configuration.
func FuzzInit(f *testing.F) {
	f.Add("a.yaml", crd("w", viaService("a", ""), "v1*", "v2"))
	f.Add("a: b", crd("w", viaURL("https://a/"), "v1*", "v2"))
	f.Fuzz(func(t *testing.T, name, text string) {
		made, err := Init([]File{{Name: name, Data: []byte(text)}})
		if err != nil || name == "" {
			return
		}
		if _, err := Parse(FileName, made); err != nil && len(made) < limit && !strings.Contains(err.Error(), "crds[0]") {
			t.Errorf("%v\nin\n%s", err, made)
		}
	})
}
