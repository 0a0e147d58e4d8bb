package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/goleak"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
)

func startEmbedded(t *testing.T, options embedded.Options) *embedded.Cluster {
	t.Helper()
	c, err := embedded.Start(t.Context(), options)
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

// installCronTabs installs the documents' definition with two versions and returns a client for its objects at v1.
func installCronTabs(t *testing.T, c *embedded.Cluster) dynamic.ResourceInterface {
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
	return cronTabs(t, c)
}

func cronTabs(t *testing.T, c *embedded.Cluster) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"}).Namespace("default")
}

var cronTabKey = cluster.Key{Group: "example.com", Resource: "crontabs", Namespace: "default", Name: "local-crontab"}

func TestEmbeddedNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	if !alone(t) {
		return
	}
	// What the first server leaves, such as caches of packages, a second one must not add to.
	once := func() (dir, address string) {
		c, err := embedded.Start(t.Context(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		installCronTabs(t, c)
		u, err := url.Parse(c.Config().Host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.Dir()); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Errorf("stopping it twice: %v", err)
		}
		return c.Dir(), u.Host
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

func TestEmbeddedVersion(t *testing.T) {
	t.Parallel()
	c := startEmbedded(t, embedded.Options{})
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
	if version.GitVersion != embedded.Release() {
		t.Errorf("/version says %s, Release %s", version.GitVersion, embedded.Release())
	}
}

func TestEmbeddedGroupList(t *testing.T) {
	t.Parallel()
	c := startEmbedded(t, embedded.Options{})
	installCronTabs(t, c)
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

func TestEmbeddedOnlyTheRunGetsIn(t *testing.T) {
	t.Parallel()
	c := startEmbedded(t, embedded.Options{})
	stranger := c.Config()
	stranger.CertData, stranger.KeyData = nil, nil
	crds, err := clientset.NewForConfig(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crds.ApiextensionsV1().CustomResourceDefinitions().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a client without a certificate got %v", err)
	}
	info, err := os.Stat(filepath.Join(c.Dir(), "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %s", info.Mode())
	}
	if info, err = os.Stat(c.Dir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %s, %v", info.Mode(), err)
	}
}

func TestEmbeddedStorage(t *testing.T) {
	t.Parallel()
	c := startEmbedded(t, embedded.Options{})
	crontabs := installCronTabs(t, c)
	if _, err := c.Stored(t.Context(), cronTabKey); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("before it was created: %v", err)
	}
	created := createCronTab(t, crontabs)
	stored, err := c.Stored(t.Context(), cronTabKey)
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
	if err := c.Overwrite(t.Context(), cronTabKey, []byte(changed)); err != nil {
		t.Fatal(err)
	}
	read, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err != nil || read.Object["host"] != "elsewhere" {
		t.Errorf("after it was overwritten: %v, %v", read, err)
	}
	other := cronTabKey
	other.Name = "no-such-crontab"
	if err := c.Overwrite(t.Context(), other, nil); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("overwriting what is not there: %v", err)
	}
}

func createCronTab(t *testing.T, crontabs dynamic.ResourceInterface) *unstructured.Unstructured {
	t.Helper()
	created, err := crontabs.Create(t.Context(), fixtures.LocalCronTab.At("v1"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestEmbeddedRestartKeepsTheData(t *testing.T) {
	t.Parallel()
	c := startEmbedded(t, embedded.Options{})
	crontabs := installCronTabs(t, c)
	created := createCronTab(t, crontabs)
	before := c.Config().Host

	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := c.Config().Host; after != before {
		t.Errorf("it moved from %s to %s", before, after)
	}
	sameCronTab(t, crontabs, created)

	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{}); err == nil {
		t.Error("a killed server answered")
	}
	if _, err := c.Stored(t.Context(), cronTabKey); err == nil {
		t.Error("a killed server's storage answered")
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameCronTab(t, crontabs, created)
	if err := c.Resume(t.Context()); err == nil {
		t.Error("it was brought back although it was there")
	}
}

func sameCronTab(t *testing.T, crontabs dynamic.ResourceInterface, created *unstructured.Unstructured) {
	t.Helper()
	eventually(t, func() error {
		read, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{})
		if err == nil && read.GetUID() != created.GetUID() {
			err = errors.New("the object is another one")
		}
		return err
	})
}

func TestEmbeddedSeveralAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	first, second := startEmbedded(t, embedded.Options{}), startEmbedded(t, embedded.Options{WatchCache: true})
	createCronTab(t, installCronTabs(t, first))
	installCronTabs(t, second)
	if _, err := second.Stored(t.Context(), cronTabKey); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("what one stores is in the other: %v", err)
	}
}

func TestEmbeddedStopGivesUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	c := startEmbedded(t, embedded.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still running: the API server") {
		t.Errorf("it did not wait: %v", err)
	}
	// It goes on nevertheless.
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
}

// TestEmbeddedEtcdClientIsQuiet looks whether package quiet is initialised before the API server makes its etcd client's logger, as Go traces it.
// Loggers that are made later write as ever.
func TestEmbeddedEtcdClientIsQuiet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
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

func BenchmarkEmbeddedStart(b *testing.B) {
	for b.Loop() {
		c, err := embedded.Start(b.Context(), embedded.Options{})
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

func BenchmarkEmbeddedStop(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		c, err := embedded.Start(b.Context(), embedded.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := c.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEmbeddedKilledWhileWritten kills API servers that are written to and watched. Etcd reads the state before each change for those that
// watch, and ends the process if its file is closed by then.
func TestEmbeddedKilledWhileWritten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	const writers, kills = 8, 5
	c := startEmbedded(t, embedded.Options{})
	crontabs := installCronTabs(t, c)
	createCronTab(t, crontabs)
	var done sync.WaitGroup
	defer done.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var written atomic.Int64
	for range writers {
		done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if watching, err := crontabs.Watch(ctx, metav1.ListOptions{}); err == nil {
					defer watching.Stop()
				}
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, n)
				if _, err := crontabs.Patch(ctx, "local-crontab", types.MergePatchType, patch, metav1.PatchOptions{}); err == nil {
					written.Add(1)
				}
			}
		})
	}
	for range kills {
		before := written.Load()
		eventually(t, func() error {
			if written.Load() < before+writers {
				return errors.New("nothing is written")
			}
			return nil
		})
		if err := c.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
