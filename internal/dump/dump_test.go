package dump_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/dump"
)

func widgets() []apiextensionsv1.CustomResourceDefinition {
	return []apiextensionsv1.CustomResourceDefinition{{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}, {Name: "v2", Served: true}},
		},
	}}
}

// widget is an object in JSON.
func widget(version, name string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":%q,"namespace":"default"},"spec":{"text":"a \"]} b","size":1.0}}`, version, name)
}

const (
	secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`

	asYAML = `- apiVersion: example.com/v1
  kind: Widget
  metadata:
    name: NAME
    namespace: default
  spec:
    text: |
      items:
      - no item

      # no comment
`
)

func item(name string) string { return strings.ReplaceAll(asYAML, "NAME", name) }

// single is an item as a document.
func single(name string) string { return strings.ReplaceAll(item(name)[2:], "\n  ", "\n") }

// write writes a file in a new folder, and returns its name.
func write(tb testing.TB, name, data string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func zipped(tb testing.TB, data string) string {
	tb.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write([]byte(data)); err != nil {
		tb.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func archive(tb testing.TB, files map[string]string) string {
	tb.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(files[name]))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// read reads a source, and returns version, name and place of each object.
func read(t *testing.T, source string, options dump.Options) ([]string, dump.Summary, error) {
	t.Helper()
	var found []string
	summary, err := dump.Read(t.Context(), source, widgets(), options, func(o dump.Object) error {
		found = append(found, fmt.Sprintf("%s %s/%s %s", o.Version, o.Namespace, o.Name, strings.TrimPrefix(o.From, source)))
		if o.Group != "example.com" || o.Kind != "Widget" || o.Stored || !bytes.HasPrefix(o.JSON, []byte(`{"apiVersion":"example.com/`)) || bytes.Contains(o.JSON, []byte("\n")) {
			t.Errorf("got %+v with %s", o, o.JSON)
		}
		if strings.Contains(string(o.JSON), "no item") && !strings.Contains(string(o.JSON), `"items:\n- no item\n\n# no comment\n"`) {
			t.Errorf("the text of %s is another one: %s", o.From, o.JSON)
		}
		return nil
	})
	return found, summary, err
}

// TestFiles reads what kubectl and other programs write.
func TestFiles(t *testing.T) {
	t.Parallel()
	both := []string{"v1 default/a :3, item 1", "v1 default/b :14, item 2"}
	list := "apiVersion: v1\nitems:\n" + item("a") + item("b") + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	for name, test := range map[string]struct {
		data string
		want []string
	}{
		"a list in YAML":           {list, both},
		"with comments":            {strings.ReplaceAll(list, "- apiV", "# why\n- apiV"), []string{"v1 default/a :4, item 1", "v1 default/b :16, item 2"}},
		"with ends of Windows":     {strings.ReplaceAll(list, "    text: |\n      items:\n      - no item\n\n      # no comment\n", "    text: x\n\n\n\n\n\n"), []string{"v1 default/a :3, item 1", "v1 default/b :15, item 2"}},
		"indented items":           {"apiVersion: v1\nkind: List\nitems:\n  " + strings.ReplaceAll(item("a"), "\n", "\n  ") + "\n", []string{"v1 default/a :4, item 1"}},
		"compressed":               {zipped(t, list), both},
		"documents":                {"# first\n---\n" + single("a") + "---\n# nothing\n---\n" + single("b") + "...\n", []string{"v1 default/a :3", "v1 default/b :17"}},
		"a list and a document":    {list + "---\n" + single("c"), append(slices.Clone(both), "v1 default/c :29")},
		"a short list":             {"kind: List\napiVersion: v1\nitems: [" + widget("v2", "a") + "]\n", []string{"v2 default/a :1, item 1"}},
		"a list in JSON":           {`{"apiVersion":"v1","items":[` + widget("v1", "a") + ",\n" + secret + ",\n " + widget("v2", "b") + `],"kind":"List"}`, []string{"v1 default/a :1, item 1", "v2 default/b :3, item 3"}},
		"an array":                 {"[" + widget("v1", "a") + "]", []string{"v1 default/a :1, item 1"}},
		"a stream":                 {widget("v1", "a") + widget("v1", "b") + "\n" + widget("v1", "c"), []string{"v1 default/a :1", "v1 default/b :1", "v1 default/c :2"}},
		"documents in JSON":        {"---\n" + widget("v1", "a") + "\n---\n" + widget("v1", "b"), []string{"v1 default/a :2", "v1 default/b :4"}},
		"a field that is items":    {"kind: Widget\napiVersion: example.com/v1\nmetadata: {name: a}\nitems:\n- 1\n", []string{"v1 /a :1"}},
		"a mapping that is items":  {"apiVersion: example.com/v1\nitems:\n  b: c\nkind: Widget\nmetadata: {name: a}\n", []string{"v1 /a :1"}},
		"anchors":                  {"apiVersion: example.com/v1\nkind: Widget\nmetadata: &m {name: a}\nspec: {m: *m}\n", []string{"v1 /a :1"}},
		"UTF-8 with its mark":      {"\xef\xbb\xbf" + list, both},
		"UTF-16, as by PowerShell": {wide(widget("v1", "a")), []string{"v1 default/a :1"}},
		"an archive":               {archive(t, map[string]string{"../x/one.yaml": list, "README": "x"}), []string{"v1 default/a  ../x/one.yaml:3, item 1", "v1 default/b  ../x/one.yaml:14, item 2"}},
		"a backup of Velero": {zipped(t, archive(t, map[string]string{
			"metadata/version": "1.1.0",
			"resources/widgets.example.com/namespaces/default/a.json":                     widget("v1", "a"),
			"resources/widgets.example.com/v1-preferredversion/namespaces/default/a.json": widget("v1", "a"),
			"resources/widgets.example.com/v2/namespaces/default/a.json":                  widget("v2", "a"),
			"resources/secrets/namespaces/default/s.json":                                 secret,
			"resources/widgets.example.com/cluster/b.json":                                strings.Replace(widget("v1", "b"), `,"namespace":"default"`, "", 1),
		})), []string{"v1 /b  resources/widgets.example.com/cluster/b.json:1", "v1 default/a  resources/widgets.example.com/namespaces/default/a.json:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(name, "Windows") {
				test.data = strings.ReplaceAll(test.data, "\n", "\r\n")
			}
			found, summary, err := read(t, write(t, "file", test.data), dump.Options{})
			if err != nil || !slices.Equal(found, test.want) {
				t.Errorf("got %q, %v", found, err)
			}
			total := 0
			for _, n := range summary.Objects {
				total += n
			}
			if total != len(test.want) || strings.Contains(test.data, secret) && summary.Others["Secret"] != 1 {
				t.Errorf("got %v", summary)
			}
		})
	}
}

// wide is text in UTF-16.
func wide(text string) string {
	out := []byte{0xff, 0xfe}
	for _, c := range []byte(text) {
		out = append(out, c, 0)
	}
	return string(out)
}

// TestNumbers keeps numbers in JSON as they are written.
func TestNumbers(t *testing.T) {
	t.Parallel()
	var got string
	_, err := dump.Read(t.Context(), "-", widgets(), dump.Options{Stdin: strings.NewReader(widget("v1", "a"))}, func(o dump.Object) error {
		got = string(o.JSON)
		return nil
	})
	if err != nil || got != widget("v1", "a") {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestBad reads what is not as it should be.
func TestBad(t *testing.T) {
	t.Parallel()
	one := widget("v1", "a")
	list := "apiVersion: v1\nitems:\n" + item("a") + item("b")
	for name, test := range map[string]struct {
		data    string
		options dump.Options
		want    string
	}{
		"cut off gzip":           {zipped(t, one)[:40], dump.Options{}, "file: it is cut off; get a complete one"},
		"damaged gzip":           {zipped(t, one)[:len(zipped(t, one))-5] + "12345", dump.Options{}, "file: it is damaged (gzip: invalid checksum); get another one"},
		"cut off JSON":           {one[:50], dump.Options{}, "file: it is cut off; get a complete one"},
		"cut off list":           {`{"items":[` + one + ",", dump.Options{}, "file: it is cut off; get a complete one"},
		"cut off YAML":           {list, dump.Options{}, "file:25: the list ends without a kind, so it is cut off; get a complete one"},
		"cut off archive":        {archive(t, map[string]string{"a.json": one})[:600], dump.Options{}, "it is cut off"},
		"a key twice":            {"---\napiVersion: v1\nkind: A\nkind: B\n", dump.Options{}, "file:4: the key kind is there twice; remove one"},
		"tabs":                   {"---\napiVersion: v1\nmetadata:\n  a: b\n\tc: d\n", dump.Options{}, "file:5: not YAML or JSON: there is a tab; YAML is indented with spaces"},
		"a template":             {"apiVersion: v1\nname: {{ .Name }}\n", dump.Options{}, "render it first"},
		"two of the same":        {one + "\n" + widget("v2", "a"), dump.Options{}, "file:2: Widget default/a is there already at FILE:1; leave one of them out"},
		"no kind":                {`{"apiVersion":"example.com/v1"}`, dump.Options{}, "file:1: the object has no kind or no apiVersion; leave it out, or write what it is"},
		"no name":                {`[` + one + `,{"apiVersion":"example.com/v1","kind":"Widget","metadata":{}}]`, dump.Options{}, "file:1, item 2: this Widget has no metadata.name"},
		"no object":              {"[1]", dump.Options{}, "file:1, item 1: it is 1, and not an object"},
		"text":                   {"hello\n", dump.Options{}, `file:1: it is "hello", and not an object`},
		"a name that is no text": {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":1}}`, dump.Options{}, "file:1: it is not an object of Kubernetes in JSON"},
		"no version":             {`{"apiVersion":"a/b/c","kind":"Widget"}`, dump.Options{}, `file:1: the apiVersion "a/b/c" is not of the form group/version`},
		"no comma":               {`{"kind":"Widget" "a":1}`, dump.Options{}, `file:1: it is not JSON: '"' is not expected there`},
		"a comma too many":       {`[` + one + `,]`, dump.Options{}, "file:1, item 2: it is ], and not an object"},
		"no colon":               {`{"kind" 1}`, dump.Options{}, `it is not JSON: '1' is not expected there`},
		"brackets that cross":    {`[{"a":[}]]`, dump.Options{}, "file:1, item 1: it is not an object of Kubernetes in JSON"},
		"nothing":                {"", dump.Options{}, "file: there are no objects in it; it should have some of Widget.example.com"},
		"an empty list":          {"apiVersion: v1\nitems: []\nkind: List\n", dump.Options{}, "file: there are no objects in it"},
		"other kinds":            {"[" + secret + "," + secret + `,{"apiVersion":"apps/v1","kind":"Deployment"}]`, dump.Options{}, "file: there are no objects of Widget.example.com in it; it has 2 of Secret, 1 of Deployment.apps"},
		"many objects":           {one + widget("v1", "b"), dump.Options{Objects: 1}, "file:1: there are more than 1 objects of these definitions"},
		"a large object":         {strings.Replace(one, "a ", strings.Repeat("x", 2<<20), 1), dump.Options{ObjectBytes: 1 << 20}, "file:1: an object is larger than 1 MiB"},
		"a large line":           {"a: " + strings.Repeat("x", 2<<20), dump.Options{ObjectBytes: 1 << 20}, "file:1: an object is larger than 1 MiB"},
		"a large item":           {list + strings.Repeat("    - x\n", 1<<18), dump.Options{ObjectBytes: 1 << 20}, "an object is larger than 1 MiB"},
		"only spaces":            {strings.Repeat(" ", 2<<20), dump.Options{ObjectBytes: 1 << 20}, "an object is larger than 1 MiB"},
		"a bomb":                 {zipped(t, strings.Repeat("\n", 3<<20)), dump.Options{Bytes: 2 << 20}, "file: there are more than 2 MiB to read when all is decompressed; give less at a time"},
		"a bomb in tar":          {zipped(t, archive(t, map[string]string{"README": strings.Repeat("\x00", 3<<20)})), dump.Options{Bytes: 2 << 20}, "file: there are more than 2 MiB to read"},
		"a bomb of aliases":      {"a: &a " + strings.Repeat("x", 1<<16) + "\nb: [" + strings.Repeat("*a,", 100) + "]\n", dump.Options{ObjectBytes: 1 << 20}, "file:1: an object is larger than 1 MiB"},
		"aliases of aliases":     {"a: &a x\nb: &b [" + strings.Repeat("*a,", 99) + "]\nc: &c [" + strings.Repeat("*b,", 99) + "]\nd: &d [" + strings.Repeat("*c,", 99) + "]\n", dump.Options{ObjectBytes: 1 << 20}, "an object is larger than 1 MiB"},
		"an alias in itself":     {"a: &a [*a]\n", dump.Options{}, "file:1: not YAML or JSON"},
		"binary":                 {"a\x00b", dump.Options{}, "file: it is neither YAML, JSON, an archive of tar, nor a snapshot of etcd"},
		"other files":            {archive(t, map[string]string{"README": "x"}), dump.Options{}, "file: the archive has no .yaml, .yml or .json file"},
		"half a snapshot":        {strings.Repeat("\x00", 16) + "\xed\xda\x0c\xed" + strings.Repeat("\x00", 1000), dump.Options{}, "does not end with a SHA-256"},
		"a zipped snapshot":      {zipped(t, strings.Repeat("\x00", 16)+"\xed\xda\x0c\xed"+strings.Repeat("\x00", 1000)), dump.Options{}, "this is a snapshot of etcd, which has to be a file that is not compressed"},
		"a marker in spaces":     {"  --- x\n", dump.Options{}, "file:1: it is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "file", test.data)
			if _, _, err := read(t, file, test.options); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(test.want, "FILE", file)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestFolder reads the files of a folder and those below.
func TestFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(write(t, "a.yaml", single("a")))
	if err := os.Mkdir(filepath.Join(folder, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"below/b.json.gz": zipped(t, widget("v1", "b")), "notes.txt": "x", ".hidden.txt": "x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, _, err := read(t, folder, dump.Options{})
	if want := []string{"v1 default/a /a.yaml:1", "v1 default/b /below/b.json.gz:1"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %q, %v", found, err)
	}
	empty := t.TempDir()
	if _, _, err := read(t, empty, dump.Options{}); err == nil || err.Error() != "there is no .yaml, .yml or .json file in "+empty {
		t.Errorf("of an empty folder it says %v", err)
	}
	if _, _, err := read(t, filepath.Join(empty, "none"), dump.Options{}); !os.IsNotExist(err) {
		t.Errorf("of what is not there it says %v", err)
	}
}

// TestStops ends when the receiver or the context does.
func TestStops(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	_, err := dump.Read(t.Context(), "-", widgets(), dump.Options{Stdin: strings.NewReader(widget("v1", "a"))}, func(dump.Object) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	silent, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer end.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dump.Read(ctx, "-", widgets(), dump.Options{Stdin: silent}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("of standard input without an end it says %v", err)
	}
	if _, err := dump.Read(t.Context(), "-", widgets(), dump.Options{}, nil); err == nil || !strings.Contains(err.Error(), "there is no standard input") {
		t.Errorf("without standard input it says %v", err)
	}
}
