package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// lab is an API server with its etcd.
type lab struct {
	cluster     *embedded.Cluster // nil if it is another
	stored      cluster.Storage
	config      func() *rest.Config
	endpoint    string // of etcd
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lab") //nolint:usetesting // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &lab{cluster: suitetest.Cluster(t, embedded.Options{Dir: dir}), endpoint: "unix://" + filepath.Join(dir, "etcd", "sockets", "client.sock")}
	l.stored, l.config = l.cluster, l.cluster.Config
	crds, err := clientset.NewForConfig(l.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	l.definitions = crds.ApiextensionsV1().CustomResourceDefinitions()
	if l.objects, err = dynamic.NewForConfig(l.cluster.Config()); err != nil {
		t.Fatal(err)
	}
	return l
}

// crontabs are the CronTabs of a group of the lab.
type crontabs struct {
	*lab
	t     *testing.T
	group string
	name  string
}

// define makes a definition with the versions v1 and v1beta1, the latter stored, in a group of its own.
func (l *lab) define(t *testing.T, group string, options ...fixtures.Option) *crontabs {
	t.Helper()
	options = append([]fixtures.Option{fixtures.InGroup(group), fixtures.StoredAt("v1beta1")}, options...)
	crd, err := l.definitions.Create(t.Context(), fixtures.None.New(options...), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := &crontabs{l, t, group, crd.Name}
	c.wait(func() bool { _, err := c.at("v1beta1").List(t.Context(), metav1.ListOptions{}); return err == nil })
	return c
}

// wait waits until something is so.
func (c *crontabs) wait(so func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			c.t.Fatal("it did not happen")
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (c *crontabs) at(version string) dynamic.ResourceInterface {
	return c.objects.Resource(schema.GroupVersionResource{Group: c.group, Version: version, Resource: "crontabs"}).Namespace("default")
}

func (c *crontabs) object(version, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": c.group + "/" + version, "kind": "CronTab", "host": "a", "port": "1"}}
	o.SetName(name)
	return o
}

func (c *crontabs) create(version string, names ...string) {
	c.t.Helper()
	for _, name := range names {
		var err error
		c.wait(func() bool {
			_, err = c.at(version).Create(c.t.Context(), c.object(version, name), metav1.CreateOptions{FieldManager: "lab"})
			return err == nil || !strings.Contains(err.Error(), "not find") && !strings.Contains(err.Error(), "not allowed")
		})
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// apply applies an object at a version, or tries to, as by dryRun metav1.DryRunAll.
func (c *crontabs) apply(version, name string, dryRun ...string) error {
	o := c.object(version, name)
	o.Object["host"] = "b"
	_, err := c.at(version).Apply(c.t.Context(), name, o, metav1.ApplyOptions{FieldManager: "applier", Force: true, DryRun: dryRun})
	return err
}

// change changes the definition, beside the API server's own controllers.
func (c *crontabs) change(how func(*apiextensionsv1.CustomResourceDefinition)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := c.definitions.Get(c.t.Context(), c.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		how(crd)
		_, err = c.definitions.Update(c.t.Context(), crd, metav1.UpdateOptions{FieldManager: "lab"})
		return err
	})
}

// store makes a version the storage version, and waits until objects are stored at it.
func (c *crontabs) store(version string) {
	c.t.Helper()
	if err := c.change(fixtures.StoredAt(version)); err != nil {
		c.t.Fatal(err)
	}
	c.wait(func() bool {
		c.create(version, "probe")
		all, err := c.stored.StoredAll(c.t.Context(), c.group, "crontabs")
		is := err == nil && slices.ContainsFunc(all, func(s cluster.Stored) bool {
			var object metav1.PartialObjectMetadata
			return json.Unmarshal(s.Data, &object) == nil && object.Name == "probe" && object.APIVersion == c.group+"/"+version
		})
		c.delete("probe", version)
		return is
	})
}

func (c *crontabs) delete(name, version string) {
	c.t.Helper()
	if err := c.at(version).Delete(c.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// drop removes a version from the definition.
func (c *crontabs) drop(version string) error {
	return c.change(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	})
}

// trim sets status.storedVersions.
func (c *crontabs) trim(versions string) {
	c.t.Helper()
	patch := `{"status":{"storedVersions":["` + versions + `"]}}`
	if _, err := c.definitions.Patch(c.t.Context(), c.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}, "status"); err != nil {
		c.t.Fatal(err)
	}
}

// migrate writes an object without a change.
func (c *crontabs) migrate(names ...string) {
	c.t.Helper()
	for _, name := range names {
		if _, err := c.at("v1").Patch(c.t.Context(), name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{FieldManager: "migrator"}); err != nil {
			c.t.Fatal(err)
		}
	}
}

// forget has etcd forget what was before.
func (l *lab) forget(t *testing.T) {
	t.Helper()
	client := l.etcd(t)
	now, err := client.Get(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) etcd(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{l.endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// source opens etcd.
func (l *lab) source(t *testing.T) storage.Source {
	t.Helper()
	s, err := storage.OpenEtcd(t.Context(), storage.EtcdOptions{Endpoints: []string{l.endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// snapshot saves a snapshot as etcdctl does, and returns its path.
func (l *lab) snapshot(t *testing.T) string {
	t.Helper()
	stream, err := l.etcd(t).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	name := filepath.Join(t.TempDir(), "snapshot.db")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, stream); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func openSnapshot(t *testing.T, name string) storage.Source {
	t.Helper()
	s, err := storage.OpenSnapshot(t.Context(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// inspect looks at the definition, and returns what was found.
func (c *crontabs) inspect(options storage.Options) (*storage.Inventory, *storage.Definition) {
	c.t.Helper()
	options.Drop = "v1beta1"
	inventory, _, err := storage.Inspect(c.t.Context(), c.config(), []string{c.name}, options)
	if err != nil {
		c.t.Fatal(err)
	}
	return inventory, inventory.Definitions[0]
}

// judge judges v1beta1.
func (c *crontabs) judge(options storage.Options) storage.Removal {
	c.t.Helper()
	inventory, d := c.inspect(options)
	d.Version("v1beta1").Requests.Ignored = true
	return storage.Judge(inventory, d, d.Version("v1beta1"))
}

// recorder notes the requests that go through it, and may answer them itself.
type recorder struct {
	mu     sync.Mutex
	seen   []string
	answer func(r *http.Request, next http.RoundTripper) *http.Response
}

func (r *recorder) wrap(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			r.mu.Lock()
			r.seen = append(r.seen, request.Method+" "+request.URL.RequestURI())
			r.mu.Unlock()
			if r.answer != nil {
				if response := r.answer(request, next); response != nil {
					return response, nil
				}
			}
			return next.RoundTrip(request)
		})
	})
	return config
}
