// Package lab is an API server for tests that look behind it: into its etcd, and at what its definitions say of themselves.
package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// failer is a test or a script.
type failer interface {
	Fatalf(format string, args ...any)
}

func check(t failer, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Definition is the definition that the objects of a lab are of, unless they are in another group.
const Definition = "crontabs.example.com"

// Lab is an API server, and what is in its etcd.
type Lab struct {
	failer

	Config      *rest.Config
	Kubeconfig  string // with the context lab, which is not the current one
	Endpoint    string // of etcd
	Etcd        *clientv3.Client
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
}

// New starts an embedded API server, which ends in what is given to cleanup.
func New(t failer, cleanup func(func())) *Lab {
	check(t, embedded.LogTo(io.Discard))
	dir, err := os.MkdirTemp("", "lab-") // sockets have short names
	check(t, err)
	cleanup(func() { check(t, os.RemoveAll(dir)) })
	server, err := embedded.Start(context.Background(), embedded.Options{Dir: dir})
	check(t, err)
	cleanup(func() { check(t, server.Stop(context.Background())) })
	l := &Lab{failer: t, Config: server.Config(), Kubeconfig: filepath.Join(dir, "kubeconfig"), Endpoint: "unix://" + filepath.Join(dir, "etcd", "sockets", "client.sock")}
	check(t, WriteKubeconfig(l.Config, l.Kubeconfig))
	crds, err := clientset.NewForConfig(l.Config)
	check(t, err)
	l.definitions = crds.ApiextensionsV1().CustomResourceDefinitions()
	l.objects, err = dynamic.NewForConfig(l.Config)
	check(t, err)
	l.Etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{l.Endpoint}, Logger: zap.NewNop()})
	check(t, err)
	cleanup(func() { check(t, l.Etcd.Close()) })
	return l
}

// WriteKubeconfig writes a kubeconfig with the context lab, which is not the current one.
func WriteKubeconfig(config *rest.Config, path string) error {
	file := api.NewConfig()
	file.Clusters["lab"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["lab"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: "lab"}
	return clientcmd.WriteToFile(*file, path)
}

// Install creates a definition, or replaces it.
func (l *Lab) Install(crd *apiextensionsv1.CustomResourceDefinition) {
	_, err := l.definitions.Create(context.Background(), crd, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = l.change(crd.Name, func(now *apiextensionsv1.CustomResourceDefinition) { now.Spec = crd.Spec })
	}
	check(l, err)
}

// change changes a definition, whose conditions may change at the same time.
func (l *Lab) change(name string, how func(*apiextensionsv1.CustomResourceDefinition)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := l.definitions.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := crd.Status.StoredVersions
		how(crd)
		if slices.Equal(status, crd.Status.StoredVersions) {
			_, err = l.definitions.Update(context.Background(), crd, metav1.UpdateOptions{})
		} else {
			_, err = l.definitions.UpdateStatus(context.Background(), crd, metav1.UpdateOptions{})
		}
		return err
	})
}

// crontabs are the objects of a group, at a version.
func (l *Lab) crontabs(group, version string) dynamic.ResourceInterface {
	return l.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "crontabs"}).Namespace("default")
}

// Store writes an object at a version, again and again until it is stored at another: the API server takes a moment to serve a definition
// and to store at another version.
func (l *Lab) Store(group, name, at, stored string) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/" + at, "kind": "CronTab", "host": "a", "port": "1"}}
	if at != "v1" {
		o.Object = map[string]any{"apiVersion": group + "/" + at, "kind": "CronTab", "hostPort": "a:1"}
	}
	o.SetName(name)
	objects, key := l.crontabs(group, at), "/registry/"+group+"/crontabs/default/"+name
	for end := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		_, err := objects.Create(context.Background(), o, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			var now *unstructured.Unstructured
			if now, err = objects.Get(context.Background(), name, metav1.GetOptions{}); err == nil {
				_, err = objects.Update(context.Background(), now, metav1.UpdateOptions{})
			}
		}
		if err == nil && l.Stored(key, group+"/"+stored) == 1 {
			return
		}
		if time.Now().After(end) {
			l.Fatalf("%s is not stored at %s: %v", name, stored, err)
		}
	}
}

// Stored counts what is at an apiVersion below a key of etcd.
func (l *Lab) Stored(key, apiVersion string) int {
	all, err := l.Etcd.Get(context.Background(), key, clientv3.WithPrefix())
	check(l, err)
	n := 0
	for _, kv := range all.Kvs {
		if strings.HasPrefix(string(kv.Value), fmt.Sprintf("{%q:%q", "apiVersion", apiVersion)) { // managed fields have one too
			n++
		}
	}
	return n
}

// revisions are those of the definitions and of their objects, by their keys in etcd. Of the rest, an API server writes much by itself.
func (l *Lab) revisions() map[string]int64 {
	response, err := l.Etcd.Get(context.Background(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	check(l, err)
	all := map[string]int64{}
	for _, kv := range response.Kvs {
		if key := string(kv.Key); strings.Contains(key, "/customresourcedefinitions/") || strings.Contains(key, "/crontabs/") {
			all[key] = kv.ModRevision
		}
	}
	return all
}

// compact has etcd forget what was before.
func (l *Lab) compact() {
	now, err := l.Etcd.Get(context.Background(), "/")
	check(l, err)
	_, err = l.Etcd.Compact(context.Background(), now.Header.Revision)
	check(l, err)
}

// Listed returns the versions that the status of the definition lists.
func (l *Lab) Listed() []string {
	crd, err := l.definitions.Get(context.Background(), Definition, metav1.GetOptions{})
	check(l, err)
	return crd.Status.StoredVersions
}
