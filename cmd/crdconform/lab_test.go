package main

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

// lab is an API server, by default with the definition crontabs.example.com, and what is in its etcd.
type lab struct {
	failer

	config      *rest.Config
	kubeconfig  string // with the context lab, which is not the current one
	endpoint    string // of etcd
	etcd        *clientv3.Client
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
}

// newLab starts an embedded API server, which ends in what is given to cleanup.
func newLab(t failer, cleanup func(func())) *lab {
	check(t, embedded.LogTo(io.Discard))
	dir, err := os.MkdirTemp("", "lab-") // sockets have short names
	check(t, err)
	cleanup(func() { check(t, os.RemoveAll(dir)) })
	server, err := embedded.Start(context.Background(), embedded.Options{Dir: dir})
	check(t, err)
	cleanup(func() { check(t, server.Stop(context.Background())) })
	l := labOf(t, server.Config(), dir, "unix://"+filepath.Join(dir, "etcd", "sockets", "client.sock"))
	cleanup(func() { l.etcd.Close() })
	return l
}

// labOf is the lab of an API server and its etcd.
func labOf(t failer, config *rest.Config, dir, endpoint string) *lab {
	l := &lab{failer: t, config: config, kubeconfig: kubeconfigOf(t, config, dir), endpoint: endpoint}
	crds, err := clientset.NewForConfig(config)
	check(t, err)
	l.definitions = crds.ApiextensionsV1().CustomResourceDefinitions()
	l.objects, err = dynamic.NewForConfig(config)
	check(t, err)
	l.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	check(t, err)
	return l
}

// kubeconfigOf writes a kubeconfig with the context lab, and returns its path.
func kubeconfigOf(t failer, config *rest.Config, dir string) string {
	file, path := api.NewConfig(), filepath.Join(dir, "kubeconfig")
	file.Clusters["lab"] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["lab"] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: "lab"}
	check(t, clientcmd.WriteToFile(*file, path))
	return path
}

// install creates a definition, or replaces it.
func (l *lab) install(crd *apiextensionsv1.CustomResourceDefinition) {
	_, err := l.definitions.Create(context.Background(), crd, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = l.change(crd.Name, func(now *apiextensionsv1.CustomResourceDefinition) { now.Spec = crd.Spec })
	}
	check(l, err)
}

// change changes a definition, whose conditions may change at the same time.
func (l *lab) change(name string, how func(*apiextensionsv1.CustomResourceDefinition)) error {
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
func (l *lab) crontabs(group, version string) dynamic.ResourceInterface {
	return l.objects.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "crontabs"}).Namespace("default")
}

// store writes an object at a version, again and again until it is stored at another: the API server takes a moment to serve a definition
// and to store at another version.
func (l *lab) store(group, name, at, stored string) {
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
		if err == nil && l.stored(key, group+"/"+stored) == 1 {
			return
		}
		if time.Now().After(end) {
			l.Fatalf("%s is not stored at %s: %v", name, stored, err)
		}
	}
}

// stored counts what is at an apiVersion below a key of etcd.
func (l *lab) stored(key, apiVersion string) int {
	all, err := l.etcd.Get(context.Background(), key, clientv3.WithPrefix())
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
func (l *lab) revisions() map[string]int64 {
	response, err := l.etcd.Get(context.Background(), "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
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
func (l *lab) compact() {
	now, err := l.etcd.Get(context.Background(), "/")
	check(l, err)
	_, err = l.etcd.Compact(context.Background(), now.Header.Revision)
	check(l, err)
}

// listed returns the versions that the status of the definition lists.
func (l *lab) listed() []string {
	crd, err := l.definitions.Get(context.Background(), crontabsCRD, metav1.GetOptions{})
	check(l, err)
	return crd.Status.StoredVersions
}

// numbered is the name of one of many objects.
func numbered(i int) string { return fmt.Sprintf("crontab-%03d", i) }
