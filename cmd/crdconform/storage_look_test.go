package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// kept is an API server behind a kubeconfig with a definition whose storage version has changed: one object was stored before.
type kept struct {
	kubeconfig  string
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.NamespaceableResourceInterface // at v1
}

func keeps(t *testing.T) *kept {
	t.Helper()
	server := suitetest.Cluster(t, embedded.Options{})
	k := keepsOn(t, server.Config())
	// The API server goes on to store at v1beta1 for a moment.
	for end := time.Now().Add(20 * time.Second); ; {
		k.create(t, "new")
		stored, err := server.Stored(t.Context(), cluster.Key{Group: "example.com", Resource: "crontabs", Namespace: "default", Name: "new"})
		if err != nil || time.Now().After(end) {
			t.Fatalf("it is not stored at v1: %s, %v", stored.Data, err)
		}
		if strings.Contains(string(stored.Data), `"apiVersion":"example.com/v1"`) {
			return k
		}
		if err := k.objects.Namespace("default").Delete(t.Context(), "new", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// keepsOn makes the definition on an API server, with an object that was stored before its storage version changed.
func keepsOn(t *testing.T, config *rest.Config) *kept {
	t.Helper()
	k := &kept{kubeconfig: lab(t, config)}
	crds, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	k.definitions = crds.ApiextensionsV1().CustomResourceDefinitions()
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	k.objects = all.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"})
	if _, err := k.definitions.Create(t.Context(), fixtures.None.New(fixtures.StoredAt("v1beta1")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	k.create(t, "old")
	k.change(t, fixtures.StoredAt("v1"))
	return k
}

// lab writes a kubeconfig with the context lab, and returns its path.
func lab(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["lab"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["lab"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: "lab"}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// create makes an object.
func (k *kept) create(t *testing.T, name string) {
	t.Helper()
	createSoon(t, k.objects, name, map[string]any{"apiVersion": "example.com/v1", "kind": "CronTab", "host": "a", "port": "1"})
}

// createSoon makes an object in the namespace default, as soon as the API server lets it.
func createSoon(t *testing.T, objects dynamic.NamespaceableResourceInterface, name string, content map[string]any) {
	t.Helper()
	o := &unstructured.Unstructured{Object: content}
	o.SetName(name)
	for end := time.Now().Add(20 * time.Second); ; {
		_, err := objects.Namespace("default").Create(t.Context(), o, metav1.CreateOptions{})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (k *kept) change(t *testing.T, how fixtures.Option) {
	t.Helper()
	crd, err := k.definitions.Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
	if err == nil {
		how(crd)
		_, err = k.definitions.Update(t.Context(), crd, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ran runs a command of storage on the API server, and returns what it wrote and the exit code.
func (k *kept) ran(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), append([]string{"storage"}, append(args, "--kubeconfig", k.kubeconfig)...), streams{out: &o, err: &e})
	return o.String(), e.String(), code
}

// TestStorageLooks shows and judges, by text, JSON and exit code.
func TestStorageLooks(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it looks at an API server again and again")
	}
	k := keeps(t)
	t.Run("doctor", func(t *testing.T) { k.doctor(t) })
	t.Run("status", func(t *testing.T) {
		out, errs, code := k.ran(t, "status", "crontabs.example.com", "--context", "lab")
		if code != 0 || errs != "" {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		for _, want := range []string{
			"crontabs.example.com: 2 objects\n",
			"VERSION  SERVED  STORAGE  IN STOREDVERSIONS  OBJECTS STORED  MANAGED FIELDS  OWNER REFERENCES  REQUESTS\n",
			"v1beta1  yes     no       yes                1               0               0                 not known\n",
			"v1       yes     yes      yes                1               2               0                 not known\n",
			"Stored versions: the API server remembers the definition of the time when they were written.\n",
			"For example stored at v1beta1: crontabs.example.com default/old\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
	t.Run("status as JSON", func(t *testing.T) {
		out, _, code := k.ran(t, "status", "crontabs.example.com", "--context", "lab", "-o", "json")
		var inventory storage.Inventory
		if err := json.Unmarshal([]byte(out), &inventory); err != nil || code != 0 {
			t.Fatalf("exit code %d: %v: %s", code, err, out)
		}
		if v := inventory.Definitions[0].Version("v1beta1"); v.Stored != 1 || !v.Served || v.Storage || !v.Listed {
			t.Errorf("got %+v", v)
		}
	})
	t.Run("status as HTML", func(t *testing.T) {
		out, errs, code := k.ran(t, "status", "crontabs.example.com", "--context", "lab", "-o", "html")
		if code != 0 || errs != "" {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		for _, want := range []string{
			"<h2>crontabs.example.com: 2 objects</h2>", `<tr><th scope="row">v1beta1</th><td>yes</td><td>no</td><td>yes</td><td>1</td><td>0</td><td>0</td><td>not known</td></tr>`,
			"For example stored at v1beta1: crontabs.example.com default/old\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
	t.Run("not safe", func(t *testing.T) {
		out, errs, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1beta1", "--context", "lab", "--ignore-requests")
		if code != 1 || errs != "" {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		for _, want := range []string{
			"NOT SAFE to drop v1beta1 of crontabs.example.com\n",
			"BLOCKED  storage.drop.objects\n         1 object is stored at v1beta1 (the API server remembers the definition of the time when they were written).\n",
			"To fix it: crdconform storage migrate crontabs.example.com --drop v1beta1 --context lab --kubeconfig " + k.kubeconfig + "\n",
			"- crontabs.example.com default/old\n           kubectl --context lab --kubeconfig " + k.kubeconfig + " patch crontabs.example.com old -n default --type=merge -p '{}'\n",
			"BLOCKED  storage.drop.stored-versions\n", "ok       storage.drop.managed-fields\n         No managed fields name v1beta1.\n", "ok       storage.drop.requests\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	})
	t.Run("not safe as JSON", func(t *testing.T) {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		out, _, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1beta1", "--context", "lab", "--output", "json")
		var verdict struct {
			storage.Verdict
			Blockers []storage.Blocker `json:"blockers"`
		}
		if err := json.Unmarshal([]byte(out), &verdict); err != nil || code != 1 {
			t.Fatalf("exit code %d: %v: %s", code, err, out)
		}
		if len(verdict.Blockers) != 1 || verdict.Blockers[0].Name != "old" || verdict.Answer != storage.NotSafe || len(verdict.Findings) != 6 {
			t.Errorf("got %+v", verdict)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("it left %v, %v", left, err)
		}
	})
	t.Run("usage", func(t *testing.T) {
		for args, want := range map[string]string{
			"status":                                                                               "status takes names of definitions, such as crontabs.stable.example.com",
			"status crontabs --context lab":                                                        `"crontabs" is not the name of a definition, such as crontabs.stable.example.com`,
			"status crontabs.example.com":                                                          "no cluster specified; give --context NAME",
			"status crontabs.example.com --context other":                                          "unknown context other; there are lab",
			"status crontabs.none.com --context lab":                                               "the cluster has no definition crontabs.none.com;",
			"status crontabs.example.com --context lab -o xml":                                     "--output xml: unknown format (want text, json or html)",
			"safe-to-drop crontabs.example.com v1 --context lab -o html":                           "--output html: unknown format (want text or json)",
			"status crontabs.example.com --context lab --page-size 0":                              "--page-size 0: must be from 1 to 10000",
			"status crontabs.example.com --context lab --etcd-cert a --etcd-key b":                 "--etcd-ca-file, --etcd-cert and --etcd-key need --etcd-endpoints",
			"status crontabs.example.com --context lab --etcd-endpoints https://a --etcd-cert a":   "--etcd-cert and --etcd-key must be given together",
			"status crontabs.example.com --context lab --etcd-endpoints https://a --snapshot a.db": "--etcd-endpoints and --snapshot cannot be combined",
			"status crontabs.example.com --context lab --etcd-endpoints a:2379":                    `the etcd endpoint "a:2379" is not a URL such as https://127.0.0.1:2379`,
			"safe-to-drop crontabs.example.com --context lab":                                      "safe-to-drop takes the name of a definition and a version",
			"safe-to-drop crontabs.example.com v1 --context lab --resume a --snapshot a.db":        "--resume continues lists of the API server, and cannot be combined with --etcd-endpoints or --snapshot",
			"safe-to-drop crontabs.example.com v2 --context lab":                                   "crontabs.example.com has no version v2; it has v1beta1, v1",
		} {
			out, errs, code := k.ran(t, strings.Fields(args)...)
			if code != 2 || !strings.Contains(errs, want) || out != "" {
				t.Errorf("%s: exit code %d: %s%s", args, code, out, errs)
			}
		}
	})
	t.Run("unjudged", func(t *testing.T) {
		for args, want := range map[string]string{
			"--snapshot none.db":              "the snapshot none.db cannot be read: open none.db: no such file or directory",
			"--audit-log none.log":            "the audit log: open none.log: no such file or directory",
			"--etcd-endpoints unix:///no/one": "etcd at unix:///no/one cannot be read: ",
		} {
			_, errs, code := k.ran(t, append([]string{"safe-to-drop", "crontabs.example.com", "v1beta1", "--context", "lab"}, strings.Fields(args)...)...)
			if code != 3 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s: exit code %d: %s", args, code, errs)
			}
		}
	})
	t.Run("the storage version", func(t *testing.T) {
		out, _, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1", "--context", "lab", "--ignore-requests")
		if code != 1 || !strings.Contains(out, "BLOCKED  storage.drop.storage-version\n         v1 is the storage version.\n         To fix it: first make another version the storage version in the definition") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("cannot tell, then safe", func(t *testing.T) {
		if err := k.objects.Namespace("default").Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		crd, err := k.definitions.Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
		if err == nil {
			crd.Status.StoredVersions = []string{"v1"}
			_, err = k.definitions.UpdateStatus(t.Context(), crd, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		out, _, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1beta1", "--context", "lab")
		if code != 3 || !strings.HasPrefix(out, "CANNOT TELL whether it is safe to drop v1beta1 of crontabs.example.com\n") || !strings.Contains(out, "give an audit log") {
			t.Errorf("exit code %d: %s", code, out)
		}
		k.change(t, fixtures.Served("v1beta1", false))
		out, errs, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1beta1", "--context", "lab")
		if code != 0 || errs != "" || !strings.HasPrefix(out, "SAFE to drop v1beta1 of crontabs.example.com\n") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("the only version", func(t *testing.T) {
		k.change(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1beta1" })
		})
		_, errs, code := k.ran(t, "safe-to-drop", "crontabs.example.com", "v1", "--context", "lab")
		if code != 2 || !strings.Contains(errs, "v1 is the only version of crontabs.example.com, and a definition needs one; add another version first, or delete the definition") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
}

// TestStatusOfWhatIsNotSeen says of objects that could not be read that nothing is known of them, rather than that there are none.
func TestStatusOfWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	d := &storage.Definition{Name: "crontabs.example.com", Versions: []*storage.Version{{Name: "v1", Defined: true, Served: true, Storage: true}}}
	inventory := &storage.Inventory{Definitions: []*storage.Definition{d}}
	if text := statusText(inventory); !strings.Contains(text, "crontabs.example.com: 0 objects\n") || strings.Contains(text, "not known  ") {
		t.Errorf("it says\n%s", text)
	}
	d.Unseen = true
	if text := statusText(inventory); !strings.HasPrefix(text, "crontabs.example.com: its objects could not be read\n") || strings.Count(text, "not known  ") != 2 {
		t.Errorf("it says\n%s", text)
	}
}

// TestStatusOfRemovedVersions names objects at a version that the definition no longer has.
func TestStatusOfRemovedVersions(t *testing.T) {
	t.Parallel()
	gone := &storage.Version{Name: "v1alpha1", Stored: 1, First: map[storage.Kind][]storage.Blocker{
		storage.StoredObject: {{Kind: storage.StoredObject, Resource: "crontabs.example.com", Namespace: "default", Name: "old"}},
	}}
	d := &storage.Definition{Name: "crontabs.example.com", Objects: 1, Versions: []*storage.Version{{Name: "v1", Defined: true, Served: true, Storage: true}, gone}}
	text := statusText(&storage.Inventory{Definitions: []*storage.Definition{d}})
	for _, want := range []string{"Already broken: objects are stored at v1alpha1, ", "unserved, and migrate. Objects: 1.\n", "For example stored at v1alpha1: crontabs.example.com default/old\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
