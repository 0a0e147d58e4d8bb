package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/test/needs"
	"github.com/crdconform/crdconform/requirement"
)

// TestStorageWholeAPIServer finds the owner reference of a built-in resource, on an API server with everything else.
func TestStorageWholeAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	needs.APIServer(t)
	whole, err := envtest.Start(t.Context(), envtest.Options{Variable: os.LookupEnv, WatchCache: true}) //nolint:forbidigo // envtest goes by it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := whole.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	crds, err := clientset.NewForConfig(whole.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{stored: whole, definitions: crds.ApiextensionsV1().CustomResourceDefinitions()}
	if l.objects, err = dynamic.NewForConfig(whole.Config()); err != nil {
		t.Fatal(err)
	}
	l.config = whole.Config
	c := l.define(t, "whole.example.com")
	c.create("v1beta1", "one")
	c.store("v1")
	c.migrate("one")
	c.trim("v1")
	owner, err := c.at("v1").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(whole.Config())
	if err != nil {
		t.Fatal(err)
	}
	dependent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "whole.example.com/v1beta1", Kind: "CronTab", Name: "one", UID: owner.GetUID()},
	}}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), dependent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	release := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.shop.v1", Labels: map[string]string{"owner": "helm", "status": "deployed"}},
		Data:       map[string][]byte{"release": helmRelease(t, "whole.example.com/v1beta1")},
	}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), release, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	v := c.judge(storage.Options{})
	blocked(t, v, storage.NotSafe, requirement.StorageDropManagedFields, requirement.StorageDropOwnerReferences, requirement.StorageDropManifests)
	if f := finding(t, v, requirement.StorageDropManifests); f.Count != 1 || f.First[0].By != "release shop in namespace default" {
		t.Errorf("got %+v", f)
	}
	if f := finding(t, v, requirement.StorageDropOwnerReferences); f.Count != 1 || f.First[0].String() != "secrets default/dependent" {
		t.Errorf("got %+v", f)
	}
	if f := finding(t, v, requirement.StorageDropObjects); !strings.Contains(f.Text, storage.History.Words()) {
		t.Errorf("got %+v", f)
	}
}

// helmRelease is what a Secret of Helm has of a release with a CronTab.
func helmRelease(t *testing.T, apiVersion string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]string{"name": "shop", "namespace": "default", "manifest": "apiVersion: " + apiVersion + "\nkind: CronTab\nmetadata: {name: web}\n"})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, wrote := w.Write(text)
	if err := errors.Join(wrote, w.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
}
