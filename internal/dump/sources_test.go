package dump_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/dump"
)

// snapshot writes what etcd would have after these values were stored in turn, and returns the name of the file.
func snapshot(tb testing.TB, values ...[2]string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "snapshot.db")
	db, err := bbolt.Open(file, 0o600, nil)
	if err != nil {
		tb.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		for i, value := range values {
			revision := append(binary.BigEndian.AppendUint64(nil, uint64(i)), "_00000000"...)
			data, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte(value[0]), Value: []byte(value[1])})
			if err != nil {
				return err
			}
			if err := bucket.Put(revision, data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if err := os.WriteFile(file, append(data, sum[:]...), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// TestSnapshot reads the latest of each object in a snapshot, and counts the rest by resource.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	const key = "/registry/example.com/widgets/default/"
	file := snapshot(t, [2]string{key + "a", widget("v1", "a")}, [2]string{key + "b", widget("v1", "b")}, [2]string{key + "a", widget("v2", "a")},
		[2]string{key + "c", "\xd9\xd9\xf7\xa3japiVersion\x6eexample.com/v1dkindfWidgethmetadata\xa1dnameac"},
		[2]string{"/registry/pods/default/p", "k8s\x00"}, [2]string{"/registry/other.com/gadgets/g", "{}"}, [2]string{"/else/x", "{}"})
	var found []string
	summary, err := dump.Read(t.Context(), file, widgets(), dump.Options{}, func(o dump.Object) error {
		found = append(found, o.Version+" "+o.Name+" "+o.From)
		if !o.Stored || !json.Valid(o.JSON) {
			t.Errorf("got %+v", o)
		}
		return nil
	})
	slices.Sort(found)
	want := []string{"v1 b key " + key + "b of " + file, "v1 c key " + key + "c of " + file, "v2 a key " + key + "a of " + file}
	if err != nil || !slices.Equal(found, want) || summary.CBOR != 1 || len(summary.Others) != 2 || summary.Others["pods"] != 1 || summary.Others["gadgets.other.com"] != 1 {
		t.Errorf("got %q, %+v, %v", found, summary, err)
	}
}

// TestBadSnapshots reads those of other clusters, and encrypted ones.
func TestBadSnapshots(t *testing.T) {
	t.Parallel()
	for want, file := range map[string]string{
		"there are no objects of Widget.example.com in it; it has 1 of gadgets.other.com": snapshot(t, [2]string{"/registry/other.com/gadgets/g", "{}"}),
		"there are no objects in it": snapshot(t, [2]string{"/else/x", "{}"}),
		`key /registry/example.com/widgets/a of FILE: the API server stores it encrypted (k8s:enc:aescbc:v1); take the objects by "kubectl get -o json"`: snapshot(t,
			[2]string{"/registry/example.com/widgets/a", "k8s:enc:aescbc:v1:key:xyz"}),
	} {
		if _, _, err := read(t, file, dump.Options{}); err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(want, "FILE", file)) {
			t.Errorf("got %v instead of %s", err, want)
		}
	}
}

// TestFromCluster reads pages, also when the list expires between them.
func TestFromCluster(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("continue"))
		w.Header().Set("Content-Type", "application/json")
		page := func(next string, items ...string) {
			fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
		}
		switch r.URL.Query().Get("continue") {
		case "":
			page("second", widget("v1", "a"), widget("v1", "b"))
		case "second":
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410,"metadata":{"continue":"late"}}`)
		case "late":
			page("", widget("v1", "c"))
		}
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	summary, err := dump.FromCluster(t.Context(), client, widgets(), dump.Options{}, func(o dump.Object) error {
		found = append(found, o.From)
		return nil
	})
	path := "GET /apis/example.com/v1/widgets "
	if err != nil || len(summary.Objects) != 1 || !slices.Equal(asked, []string{path, path + "second", path + "late"}) ||
		!slices.Equal(found, []string{"widgets.example.com default/a of the cluster", "widgets.example.com default/b of the cluster", "widgets.example.com default/c of the cluster"}) {
		t.Errorf("got %q, %q, %v", found, asked, err)
	}
	unserved := widgets()
	unserved[0].Spec.Versions[0].Served = false
	if _, err := dump.FromCluster(t.Context(), client, unserved, dump.Options{}, nil); err == nil || !strings.Contains(err.Error(), "the storage version v1 of widgets.example.com is not served") {
		t.Errorf("got %v", err)
	}
	missing := widgets()
	missing[0].Spec.Names.Plural = "gadgets"
	server.Config.Handler = http.NotFoundHandler()
	if _, err := dump.FromCluster(t.Context(), client, missing, dump.Options{}, nil); err == nil || !strings.HasPrefix(err.Error(), "listing gadgets.example.com at v1 in the cluster: ") {
		t.Errorf("got %v", err)
	}
}

const (
	definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, default: {a: 1}}}}
`
	beta = `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets}
  version: v1alpha1
  preserveUnknownFields: false
  additionalPrinterColumns: [{name: A, type: string, JSONPath: .spec.a}]
  subresources: {status: {}}
  validation: {openAPIV3Schema: {type: object}}
`
)

// TestDefinitions reads definitions at both versions.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	folder := filepath.Dir(write(t, "a.yaml", definition+"---\n"+beta+"---\nkind: Secret\napiVersion: v1\n"))
	for _, source := range []string{folder, filepath.Join(folder, "a.yaml"), filepath.Join(folder, "*.yaml")} {
		all, err := dump.Definitions(t.Context(), source, nil)
		if err != nil || len(all) != 2 || all[0].Name != "widgets.example.com" || string(all[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Default.Raw) != `{"a":1}` {
			t.Fatalf("%s: got %+v, %v", source, all, err)
		}
		old := all[1]
		v := old.Spec.Versions
		if old.APIVersion != "apiextensions.k8s.io/v1" || len(v) != 1 || v[0].Name != "v1alpha1" || !v[0].Served || !v[0].Storage || v[0].Schema.OpenAPIV3Schema.Type != "object" ||
			v[0].Subresources.Status == nil || v[0].AdditionalPrinterColumns[0].JSONPath != ".spec.a" || old.Spec.Scope != "Namespaced" || old.Spec.PreserveUnknownFields {
			t.Errorf("converted to %+v", old)
		}
	}
	if all, err := dump.Definitions(t.Context(), "-", strings.NewReader(definition)); err != nil || len(all) != 1 {
		t.Errorf("got %v, %v", all, err)
	}
	for want, data := range map[string]string{
		"it has 1 of Secret":                        "kind: Secret\napiVersion: v1\n",
		"has no group, names or versions":           "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a}\n",
		"is at v2, which is neither v1 nor v1beta1": strings.Replace(definition, "io/v1", "io/v2", 1),
		"cannot be read":                            strings.Replace(definition, "scope: Namespaced", "scope: 1", 1),
		"is there already at ":                      definition + "---" + definition,
	} {
		if _, err := dump.Definitions(t.Context(), write(t, "a.yaml", data), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v instead of %s", err, want)
		}
	}
}

// TestGit reads definitions from a repository as they were.
func TestGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	repository := t.TempDir()
	t.Chdir(repository)
	write := func(name, data string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(arguments ...string) {
		t.Helper()
		arguments = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)
		if out, err := exec.CommandContext(t.Context(), "git", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	write("crds/a.yaml", definition)
	write("crds/notes.txt", "x")
	write("built/kustomization.yaml", "resources: [a.yaml]")
	write("empty/notes.txt", "x")
	git("add", ".")
	git("commit", "-qm", "one")
	git("tag", "v1")
	write("crds/a.yaml", beta)
	git("commit", "-qam", "two")
	for source, want := range map[string]string{"git://v1:crds": "widgets.example.com", "git://v1:crds/a.yaml": "widgets.example.com", "git://HEAD:./crds/": "gadgets.example.com"} {
		all, err := dump.Definitions(t.Context(), source, nil)
		if err != nil || len(all) != 1 || all[0].Name != want {
			t.Errorf("%s: got %v, %v", source, all, err)
		}
	}
	for source, want := range map[string]string{
		"git://v1":                "git://v1 is not of the form git://REF:PATH, such as git://v1.4.0:config/crd/bases",
		"git://--output=x:a":      "is not of the form",
		"git://v9:crds":           "git has no revision v9: ",
		"git://v1:none":           "there is no none at v1 in git: ",
		"git://v1:built":          "built at v1 has a kustomization, which is built from files only",
		"git://v1:empty":          "there is no .yaml, .yml or .json file in empty at v1 in git",
		"git://v1:crds/notes.txt": `v1:crds/notes.txt:1: it is "x", and not an object`,
	} {
		if _, err := dump.Definitions(t.Context(), source, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", source, err)
		}
	}
	t.Setenv("PATH", "")
	if _, err := dump.Definitions(t.Context(), "git://v1:crds", nil); err == nil || !strings.Contains(err.Error(), "git://v1:crds needs the program git, which is not installed") {
		t.Errorf("got %v", err)
	}
}
