package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/requirement"
)

// answering answers requests whose URI has a part with a status, the first time or always.
func answering(part string, once bool, status metav1.Status) func(*http.Request, http.RoundTripper) *http.Response {
	done := false
	return func(r *http.Request, _ http.RoundTripper) *http.Response {
		if done || !strings.Contains(r.URL.RequestURI(), part) {
			return nil
		}
		done = once
		status.Kind, status.APIVersion, status.Status = "Status", "v1", metav1.StatusFailure
		body, err := json.Marshal(status)
		if err != nil {
			return nil
		}
		return &http.Response{
			StatusCode: int(status.Code), Status: http.StatusText(int(status.Code)), Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		}
	}
}

// TestStorageBadClusters looks at a cluster that does not show everything, or changes meanwhile.
func TestStorageBadClusters(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "bad.example.com")
	other := l.define(t, "other.example.com")
	c.create("v1beta1", "one", "two", "three")
	c.store("v1")
	look := func(r *recorder, options storage.Options) (*storage.Inventory, error) {
		options.Drop = "v1beta1"
		inventory, _, err := storage.Inspect(t.Context(), r.wrap(l.cluster.Config()), []string{c.name}, options)
		return inventory, err
	}
	forbidden := metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `User "jane" cannot list resource`}

	t.Run("no right to another resource", func(t *testing.T) {
		inventory, err := look(&recorder{answer: answering("/apis/other.example.com/v1/crontabs", false, forbidden)}, storage.Options{Flags: "--context a"}) //nolint:bodyclose // client-go closes it
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		f := finding(t, storage.Judge(inventory, d, d.Version("v1beta1")), requirement.StorageDropOwnerReferences)
		want := storage.Gap{
			What: "crontabs.other.example.com", Why: "the user may not list it in all namespaces",
			Mend: "kubectl create clusterrole crdconform-list-crontabs-other-example-com --verb=list --resource=crontabs.other.example.com && " +
				"kubectl create clusterrolebinding crdconform-list-crontabs-other-example-com --clusterrole=crdconform-list-crontabs-other-example-com --user=jane",
		}
		if f.Answer != storage.CannotTell || len(f.Gaps) != 1 || f.Gaps[0] != want {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("skipped", func(t *testing.T) {
		inventory, err := look(&recorder{answer: answering("/apis/other.example.com/v1/crontabs", false, forbidden)}, storage.Options{Skip: []string{"crontabs.other.example.com"}}) //nolint:bodyclose // client-go closes it
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		f := finding(t, storage.Judge(inventory, d, d.Version("v1beta1")), requirement.StorageDropOwnerReferences)
		if f.Answer != storage.Safe || f.Text != "No owner reference names v1beta1; not looked at, as you asked: crontabs.other.example.com." {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("no right to its objects", func(t *testing.T) {
		inventory, err := look(&recorder{answer: answering("/apis/bad.example.com/v1/crontabs", false, forbidden)}, storage.Options{}) //nolint:bodyclose // client-go closes it
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		d.Version("v1beta1").Requests.Ignored = true
		v := storage.Judge(inventory, d, d.Version("v1beta1"))
		blocked(t, v, storage.NotSafe, requirement.StorageDropObjects, requirement.StorageDropStoredVersions, requirement.StorageDropManagedFields, requirement.StorageDropOwnerReferences,
			requirement.StorageDropManifests)
		if f := finding(t, v, requirement.StorageDropObjects); f.Answer != storage.CannotTell || f.Gaps[0].What != c.name || !d.Unseen {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("the rest of a list is forgotten", func(t *testing.T) {
		r := &recorder{answer: answering("continue=", true, metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired})} //nolint:bodyclose // client-go closes it
		inventory, err := look(r, storage.Options{PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		if d.Objects != 3 || d.Version("v1beta1").Stored != 3 || d.Version("v1beta1").ManagedFields != 3 || len(d.Gaps) != 0 {
			t.Errorf("it counted %d objects, %+v, %v", d.Objects, d.Version("v1beta1"), d.Gaps)
		}
	})
	t.Run("conversion fails", func(t *testing.T) {
		failed := metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError, Message: "conversion webhook for bad.example.com/v1beta1, Kind=CronTab failed:\nno such host"}
		inventory, err := look(&recorder{answer: answering("/apis/bad.example.com/v1/crontabs", false, failed)}, storage.Options{}) //nolint:bodyclose // client-go closes it
		if err != nil {
			t.Fatal(err)
		}
		want := "it cannot be listed: conversion webhook for bad.example.com/v1beta1, Kind=CronTab failed: no such host"
		if gaps := inventory.Definitions[0].Gaps; len(gaps) != 1 || gaps[0].Why != want {
			t.Errorf("got %+v", gaps)
		}
	})
	t.Run("the past cannot be read", func(t *testing.T) {
		inventory, err := look(&recorder{answer: answering("resourceVersionMatch=Exact", false, forbidden)}, storage.Options{}) //nolint:bodyclose // client-go closes it
		if err != nil {
			t.Fatal(err)
		}
		d := inventory.Definitions[0]
		want := `The API server does not show earlier states of the definition: User "jane" cannot list resource.`
		if d.Unknown != 3 || len(d.Notes) != 1 || d.Notes[0] != want {
			t.Errorf("got %d, %v", d.Unknown, d.Notes)
		}
	})
	t.Run("the past is the present", func(t *testing.T) { // as for Kubernetes before 1.19
		var r recorder
		r.answer = func(request *http.Request, next http.RoundTripper) *http.Response {
			if !strings.Contains(request.URL.RawQuery, "resourceVersionMatch=Exact") {
				return nil
			}
			now := request.Clone(request.Context())
			now.URL.RawQuery = "fieldSelector=metadata.name%3D" + c.name
			response, err := next.RoundTrip(now)
			if err != nil {
				return nil
			}
			return response
		}
		inventory, err := look(&r, storage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := inventory.Definitions[0]; d.Version("v1").Stored != 0 {
			t.Errorf("it takes %d of %d objects for stored at v1", d.Version("v1").Stored, d.Objects)
		}
	})
	t.Run("no such definition", func(t *testing.T) {
		_, _, err := storage.Inspect(t.Context(), l.cluster.Config(), []string{"crontabs.none.example.com"}, storage.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "the cluster has no definition crontabs.none.example.com;") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the definition is being deleted", func(t *testing.T) {
		going := l.define(t, "going.example.com")
		hold := func(finalizers ...string) {
			if err := going.change(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Finalizers = finalizers }); err != nil {
				t.Fatal(err)
			}
		}
		hold("example.com/hold")
		if err := l.definitions.Delete(t.Context(), going.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		_, _, err := storage.Inspect(t.Context(), l.cluster.Config(), []string{going.name}, storage.Options{Drop: "v1beta1"})
		if err == nil || !strings.HasPrefix(err.Error(), "crontabs.going.example.com is being deleted with all its objects, so there is no telling what is safe;") {
			t.Errorf("got %v", err)
		}
		inventory, _, err := storage.Inspect(t.Context(), l.cluster.Config(), []string{going.name}, storage.Options{})
		if err != nil || !slices.Contains(inventory.Definitions[0].Gaps, storage.Gap{What: going.name, Why: "the definition is being deleted"}) {
			t.Errorf("got %+v, %v", inventory, err)
		}
		hold()
	})
	t.Run("the definition changes", func(t *testing.T) {
		changed := false
		r := &recorder{answer: func(r *http.Request, _ http.RoundTripper) *http.Response {
			if !changed && strings.Contains(r.URL.Path, "/apis/bad.example.com/v1/crontabs") {
				changed = true
				if err := c.change(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Names.ShortNames = []string{"cts"} }); err != nil {
					t.Error(err)
				}
			}
			return nil
		}}
		if _, err := look(r, storage.Options{}); err == nil || !strings.Contains(err.Error(), "the definition crontabs.bad.example.com changed while crdconform looked (its generation was 2 and is 3); run the command again") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the definition goes", func(t *testing.T) {
		gone := false
		r := &recorder{answer: func(r *http.Request, _ http.RoundTripper) *http.Response {
			if !gone && strings.Contains(r.URL.Path, "/apis/other.example.com/v1beta1/crontabs") {
				gone = true
				if err := l.definitions.Delete(t.Context(), other.name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				other.wait(func() bool {
					_, err := l.definitions.Get(t.Context(), other.name, metav1.GetOptions{})
					return err != nil
				})
			}
			return nil
		}}
		_, _, err := storage.Inspect(t.Context(), r.wrap(l.cluster.Config()), []string{other.name}, storage.Options{})
		if err == nil || err.Error() != "the definition crontabs.other.example.com was deleted while crdconform looked" {
			t.Errorf("got %v", err)
		}
	})
}

// TestStorageBadBytes reads stored objects that are encrypted, CBOR or neither.
func TestStorageBadBytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	overwrite := func(t *testing.T, c *crontabs, name string, data []byte) {
		t.Helper()
		if err := l.cluster.Overwrite(t.Context(), cluster.Key{Group: c.group, Resource: "crontabs", Namespace: "default", Name: name}, data); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("encrypted", func(t *testing.T) {
		c := l.define(t, "encrypted.example.com")
		c.create("v1beta1", "one", "two")
		overwrite(t, c, "two", []byte("k8s:enc:aescbc:v1:key1:garbage"))
		_, d := c.inspect(storage.Options{Source: l.source(t)})
		want := "etcd was not used: the API server stores the objects encrypted (k8s:enc:aescbc:v1), so the bytes do not show their versions."
		if len(d.Notes) != 1 || d.Notes[0] != want || d.Bases[storage.Etcd] != 0 {
			t.Errorf("got %v, %v", d.Notes, d.Bases)
		}
	})
	t.Run("CBOR", func(t *testing.T) {
		c := l.define(t, "cbor.example.com")
		c.create("v1beta1", "one", "two")
		data, err := direct.Marshal(map[string]any{"apiVersion": "cbor.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "two", "namespace": "default"}})
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, c, "two", append([]byte{0xd9, 0xd9, 0xf7}, bytes.TrimPrefix(data, []byte{0xd9, 0xd9, 0xf7})...))
		_, d := c.inspect(storage.Options{Source: l.source(t)})
		if len(d.Notes) != 0 || d.Bases[storage.Etcd] != 2 || d.Version("v1").Stored != 1 || d.Version("v1beta1").Stored != 1 {
			t.Errorf("got %+v, %+v, %+v", d, d.Version("v1"), d.Version("v1beta1"))
		}
	})
	t.Run("neither", func(t *testing.T) {
		c := l.define(t, "neither.example.com")
		c.create("v1beta1", "one", "two")
		c.store("v1")
		overwrite(t, c, "two", []byte("\x00"))
		v := c.judge(storage.Options{Source: l.source(t)})
		f := finding(t, v, requirement.StorageDropObjects)
		if f.Answer != storage.NotSafe || f.Count != 1 { // one is left at v1beta1
			t.Errorf("got %+v", f)
		}
		_, d := c.inspect(storage.Options{Source: l.source(t)})
		if d.Unknown != 1 || len(d.Gaps) != 1 || d.Gaps[0].What != "/registry/neither.example.com/crontabs/default/two" || !strings.HasPrefix(d.Gaps[0].Why, "what is stored cannot be read: it is neither JSON nor CBOR") {
			t.Errorf("got %d, %+v", d.Unknown, d.Gaps)
		}
	})
}

// of is a snapshot as another version of etcd writes it.
func of(t *testing.T, snapshot []byte, version string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(name, snapshot[:len(snapshot)-sha256.Size], 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(name, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("storageVersion"), []byte(version))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(changed)
	return append(changed, sum[:]...)
}

// TestStorageBadSnapshots gives files that are no snapshot, or that of another cluster or time.
func TestStorageBadSnapshots(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "snapshots.example.com")
	c.create("v1beta1", "one")
	good := l.snapshot(t)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(data)
	damaged[len(damaged)/2] ^= 1
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"truncated":           {data[:len(data)/2+100], "does not end with a SHA-256, as those of \"etcdctl snapshot save\" do: it is truncated, or a copy of the database of a member"},
		"truncated at a page": {data[:len(data)-4096], "does not have the SHA-256 that it ends with: it is truncated or damaged; save another one"},
		"damaged":             {damaged, "does not have the SHA-256 that it ends with"},
		"of a member":         {data[:len(data)-32], "a copy of the database of a member"},
		"empty":               {nil, "does not end with a SHA-256"},
		"of a newer etcd":     {of(t, data, "3.99.0"), "is from etcd 3.99.0, and crdconform can read those of etcd 3.7 and earlier; update crdconform"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := storage.OpenSnapshot(t.Context(), path, ""); err == nil || !strings.Contains(err.Error(), "the snapshot "+path+" "+test.want) && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("not there", func(t *testing.T) {
		if _, err := storage.OpenSnapshot(t.Context(), "none.db", ""); err == nil || !strings.HasPrefix(err.Error(), "the snapshot none.db cannot be read:") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of another cluster", func(t *testing.T) {
		another := newLab(t).define(t, "snapshots.example.com")
		_, _, err := storage.Inspect(t.Context(), another.cluster.Config(), []string{c.name}, storage.Options{Source: openSnapshot(t, good)})
		if err == nil || !strings.HasPrefix(err.Error(), "the snapshot: its definition crontabs.snapshots.example.com has the UID ") || !strings.HasSuffix(err.Error(), ": it is of another cluster") {
			t.Errorf("got %v", err)
		}
		third := newLab(t).define(t, "third.example.com")
		_, _, err = storage.Inspect(t.Context(), third.cluster.Config(), []string{third.name}, storage.Options{Source: openSnapshot(t, good)})
		if err == nil || !strings.Contains(err.Error(), "it has no definition crontabs.third.example.com at /registry/apiextensions.k8s.io/customresourcedefinitions/crontabs.third.example.com") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too old", func(t *testing.T) {
		c.store("v1")
		_, d := c.inspect(storage.Options{Source: openSnapshot(t, good)})
		if len(d.Notes) != 1 || d.Notes[0] != "the snapshot was not used: the definition has changed since; give a new one." || d.Bases[storage.History] != 1 {
			t.Errorf("got %v, %v", d.Notes, d.Bases)
		}
	})
}

// TestStoragePromise relies on status.storedVersions only where nobody wrote it.
func TestStoragePromise(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "promise.example.com", fixtures.StoredAt("v1"))
	c.create("v1", "one")
	if err := c.change(fixtures.NotServed("v1beta1")); err != nil {
		t.Fatal(err)
	}
	l.forget(t)
	_, d := c.inspect(storage.Options{})
	if d.Unknown != 0 || d.Bases[storage.Promise] != 1 || d.Version("v1").Stored != 1 {
		t.Errorf("got %d, %v, %+v", d.Unknown, d.Bases, d.Version("v1"))
	}
	blocked(t, c.judge(storage.Options{}), storage.Safe)
	c.trim("v1\",\"v1beta1") // and back
	c.trim("v1")
	l.forget(t)
	blocked(t, c.judge(storage.Options{}), storage.CannotTell, requirement.StorageDropObjects)
	blocked(t, c.judge(storage.Options{Source: l.source(t)}), storage.Safe)
}

// TestStorageLeftBehind has an object that is older than its definition, which says nothing of it then.
func TestStorageLeftBehind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "behind.example.com", fixtures.StoredAt("v1"))
	c.create("v1", "one")
	left := `{"apiVersion":"behind.example.com/v1beta1","kind":"CronTab","metadata":{"name":"left","namespace":"default","uid":"1","creationTimestamp":"2020-01-01T00:00:00Z"}}`
	if _, err := l.etcd(t).Put(t.Context(), "/registry/behind.example.com/crontabs/default/left", left); err != nil {
		t.Fatal(err)
	}
	unknown := func() {
		t.Helper()
		_, d := c.inspect(storage.Options{})
		if d.Unknown == 0 || d.Version("v1beta1").Stored != 0 || !slices.Contains(d.Notes, "1 object is older than the definition: one of the same name left them behind when it was deleted.") {
			t.Errorf("%d of %d are not known: %v", d.Unknown, d.Objects, d.Notes)
		}
		blocked(t, c.judge(storage.Options{}), storage.CannotTell, requirement.StorageDropObjects)
		f := finding(t, c.judge(storage.Options{Source: l.source(t)}), requirement.StorageDropObjects)
		if f.Answer != storage.NotSafe || len(f.First) != 1 || f.First[0].Name != "left" {
			t.Errorf("got %+v", f)
		}
	}
	unknown() // though the definition never changed
	if err := c.change(fixtures.NotServed("v1beta1")); err != nil {
		t.Fatal(err)
	}
	l.forget(t)
	unknown() // though nobody wrote status.storedVersions
}
