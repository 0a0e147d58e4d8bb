package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/goleak"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
)

func TestMain(m *testing.M) {
	if err := LogTo(io.Discard); err != nil {
		panic(err)
	}
	m.Run()
}

func start(t *testing.T, options Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// install installs the documents' definition with two versions and returns a client for its objects at v1.
func install(t *testing.T, c *Cluster) dynamic.ResourceInterface {
	t.Helper()
	crds, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := crds.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := definitions.Create(t.Context(), fixtures.None.New(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		crd, err = definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
		if err == nil && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			err = errors.New("not established")
		}
		return err
	})
	return objects(t, c)
}

func objects(t *testing.T, c *Cluster) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"}).Namespace("default")
}

func eventually(t *testing.T, condition func() error) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

var key = cluster.Key{Group: "example.com", Resource: "crontabs", Namespace: "default", Name: "local-crontab"}

func TestNothingIsLeftBehind(t *testing.T) {
	// What the first server leaves, such as caches of packages, a second one must not add to.
	once := func() (dir, address string) {
		c, err := Start(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		install(t, c)
		u, err := url.Parse(c.Config().Host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.dir); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Errorf("stopping it twice: %v", err)
		}
		return c.dir, u.Host
	}
	once()
	before := goleak.IgnoreCurrent()
	dir, address := once()
	goleak.VerifyNone(t, before)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		connection.Close()
		t.Errorf("%s is still listened on", address)
	}
}

func TestVersion(t *testing.T) {
	c := start(t, Options{})
	client, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" || version.Minor == "" || !strings.HasPrefix(version.GitVersion, "v1."+version.Minor+".") {
		t.Errorf("got %+v", version)
	}
	if version.GitVersion != Release() {
		t.Errorf("/version says %s, Release %s", version.GitVersion, Release())
	}
}

func TestGroupList(t *testing.T) {
	c := start(t, Options{})
	install(t, c)
	client, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		groups, err := client.WithLegacy().ServerGroups()
		if err != nil {
			return err
		}
		for _, group := range groups.Groups {
			if group.Name == "example.com" && group.PreferredVersion.Version == "v1" && len(group.Versions) == 2 {
				return nil
			}
		}
		return errors.New("example.com is not listed with v1 and v1beta1")
	})
	crds, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := crds.ApiextensionsV1().CustomResourceDefinitions().Delete(t.Context(), "crontabs.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		groups, err := client.WithLegacy().ServerGroups()
		if err != nil {
			return err
		}
		for _, group := range groups.Groups {
			if group.Name == "example.com" {
				return errors.New("example.com is still listed")
			}
		}
		return nil
	})
}

func TestOnlyTheRunGetsIn(t *testing.T) {
	c := start(t, Options{})
	stranger := c.Config()
	stranger.CertData, stranger.KeyData = nil, nil
	crds, err := clientset.NewForConfig(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crds.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a client without a certificate got %v", err)
	}
	info, err := os.Stat(filepath.Join(c.dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %s", info.Mode())
	}
	if info, err = os.Stat(c.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %s, %v", info.Mode(), err)
	}
}

func TestStorage(t *testing.T) {
	c := start(t, Options{})
	crontabs := install(t, c)
	if _, err := c.Stored(t.Context(), key); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("before it was created: %v", err)
	}
	created := create(t, crontabs)
	stored, err := c.Stored(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(stored.Data, &object.Object); err != nil {
		t.Fatal(err)
	}
	if object.GetAPIVersion() != "example.com/v1beta1" || object.GetUID() != created.GetUID() {
		t.Errorf("stored is %s", stored.Data)
	}
	all, err := c.StoredAll(t.Context(), "example.com", "crontabs")
	if err != nil || len(all) != 1 || all[0].Revision != stored.Revision {
		t.Errorf("all that is stored: %v, %v", all, err)
	}
	changed := strings.Replace(string(stored.Data), `"localhost"`, `"elsewhere"`, 1)
	if err := c.Overwrite(t.Context(), key, []byte(changed)); err != nil {
		t.Fatal(err)
	}
	read, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err != nil || read.Object["host"] != "elsewhere" {
		t.Errorf("after it was overwritten: %v, %v", read, err)
	}
	other := key
	other.Name = "no-such-crontab"
	if err := c.Overwrite(t.Context(), other, nil); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("overwriting what is not there: %v", err)
	}
}

func create(t *testing.T, crontabs dynamic.ResourceInterface) *unstructured.Unstructured {
	t.Helper()
	created, err := crontabs.Create(t.Context(), fixtures.LocalCronTab.At("v1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestRestartKeepsTheData(t *testing.T) {
	c := start(t, Options{})
	crontabs := install(t, c)
	created := create(t, crontabs)
	before := c.Config().Host

	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := c.Config().Host; after != before {
		t.Errorf("it moved from %s to %s", before, after)
	}
	same(t, crontabs, created)

	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{}); err == nil {
		t.Error("a killed server answered")
	}
	if _, err := c.Stored(t.Context(), key); err == nil {
		t.Error("a killed server's storage answered")
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, crontabs, created)
	if err := c.Resume(t.Context()); err == nil {
		t.Error("it was brought back although it was there")
	}
}

func same(t *testing.T, crontabs dynamic.ResourceInterface, created *unstructured.Unstructured) {
	t.Helper()
	eventually(t, func() error {
		read, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{})
		if err == nil && read.GetUID() != created.GetUID() {
			err = errors.New("the object is another one")
		}
		return err
	})
}

func TestSeveralAtOnce(t *testing.T) {
	first, second := start(t, Options{}), start(t, Options{WatchCache: true})
	create(t, install(t, first))
	install(t, second)
	if _, err := second.Stored(t.Context(), key); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("what one stores is in the other: %v", err)
	}
}

func TestStopGivesUp(t *testing.T) {
	c := start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still running: the API server") {
		t.Errorf("it did not wait: %v", err)
	}
	// It goes on nevertheless.
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.dir, err)
	}
}

// TestEtcdClientIsQuiet looks whether package quiet is initialised before the API server makes its etcd client's logger, as Go traces it.
// Loggers that are made later write as ever.
func TestEtcdClientIsQuiet(t *testing.T) {
	t.Parallel()
	if paths := logutil.DefaultZapLoggerConfig.OutputPaths; len(paths) != 1 || paths[0] != "stderr" {
		t.Errorf("other etcd clients log to %v", paths)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, "-test.run=^$")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := command.CombinedOutput()
	quiet := bytes.Index(out, []byte("\ninit github.com/crdconform/crdconform/internal/cluster/embedded/quiet @"))
	client := bytes.Index(out, []byte("\ninit k8s.io/apiserver/pkg/storage/storagebackend/factory @"))
	if err != nil || quiet < 0 || client < quiet {
		t.Errorf("quiet is initialised at %d, and the client at %d, %v:\n%s", quiet, client, err, out)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c, err := Start(b.Context(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := c.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkStop(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c, err := Start(b.Context(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := c.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
