package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/pause"
)

// scene is a definition with objects that are stored at v1beta1, while v1 is the storage version.
type scene struct {
	*testing.T
	config      *rest.Config
	storage     cluster.Storage // nil if it cannot be read
	definitions clientset.Interface
	objects     dynamic.Interface
	name, group string
	convert     atomic.Pointer[http.Handler] // what the webhook does
}

// newScene installs the documents' definition with a webhook, or without one, stored at v1beta1.
func newScene(t *testing.T, definition fixtures.Definition, options ...fixtures.Option) *scene {
	t.Helper()
	c := shared.Cluster(t)
	return sceneOn(t, c.Config(), c, definition, options...)
}

func sceneOn(t *testing.T, config *rest.Config, storage cluster.Storage, definition fixtures.Definition, options ...fixtures.Option) *scene {
	t.Helper()
	group := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + ".example.com"
	s := &scene{T: t, config: config, storage: storage, group: group, name: "crontabs." + group}
	s.converts(webhook.Handler())
	s.definitions, s.objects = clientset.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	crd := definition.New(slices.Concat([]fixtures.Option{fixtures.InGroup(group), fixtures.StoredAt("v1beta1"), s.webhook}, options)...)
	if _, err := s.crds().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	s.eventually("the definition is established", func(ctx context.Context) bool {
		crd, err := s.crds().Get(ctx, s.name, metav1.GetOptions{})
		return err == nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
	})
	return s
}

// webhook starts what converts, and has the definition name it.
func (s *scene) webhook(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		return
	}
	server, err := webhook.Start(s.Context(), "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.convert.Load()).ServeHTTP(w, r) }))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { server.Close() })
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: server.CA}
}

func (s *scene) converts(handler http.Handler) { s.convert.Store(&handler) }

func (s *scene) crds() interface {
	Create(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o metav1.CreateOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	Get(ctx context.Context, name string, o metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	Update(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o metav1.UpdateOptions) (*apiextensionsv1.CustomResourceDefinition, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
} {
	return s.definitions.ApiextensionsV1().CustomResourceDefinitions()
}

func (s *scene) remove() {
	s.converts(webhook.Handler())
	ctx := context.WithoutCancel(s.Context())
	if err := s.crds().Delete(ctx, s.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		s.Error(err)
	}
	s.eventually("the definition is gone", func(ctx context.Context) bool {
		_, err := s.crds().Get(ctx, s.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func (s *scene) eventually(what string, is func(context.Context) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), patience)
	defer cancel()
	for !is(ctx) {
		if pause.For(ctx, 10*time.Millisecond) != nil {
			s.Fatalf("it did not come true: %s", what)
		}
	}
}

// at is the resource at a version.
func (s *scene) at(version string) dynamic.ResourceInterface {
	return s.objects.Resource(s.resource(version)).Namespace("default")
}

func (s *scene) resource(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.group, Version: version, Resource: "crontabs"}
}

// crontab is an object at v1beta1.
func (s *scene) crontab(name string) *unstructured.Unstructured {
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetAPIVersion(s.group + "/v1beta1")
	object.SetName(name)
	object.SetNamespace("default")
	return object
}

// populate creates objects at v1beta1, crontab-0000 and so on.
func (s *scene) populate(n int) {
	s.Helper()
	for i := range n {
		if _, err := s.at("v1beta1").Create(s.Context(), s.crontab(fmt.Sprintf("crontab-%04d", i)), metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

// change changes the definition, and waits until the API server stores objects at another storage version. v1beta1 must be served then.
func (s *scene) change(options ...fixtures.Option) {
	s.Helper()
	before := s.storageVersion()
	if err := s.tryChange(options...); err != nil {
		s.Fatal(err)
	}
	if now := s.storageVersion(); now != before && s.storage != nil {
		s.inForce(now)
	}
}

// storageVersion is the one that the definition says.
func (s *scene) storageVersion() string {
	s.Helper()
	crd, err := s.crds().Get(s.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

func (s *scene) tryChange(options ...fixtures.Option) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := s.crds().Get(s.Context(), s.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, option := range options {
			option(crd)
		}
		_, err = s.crds().Update(s.Context(), crd, metav1.UpdateOptions{})
		return err
	})
}

// inForce waits until the API server, which may store at the former version for a moment, stores objects at a version.
func (s *scene) inForce(version string) {
	s.Helper()
	began := time.Now()
	for is := false; !is; {
		if time.Since(began) > patience {
			s.Fatalf("no object is stored at %s", version)
		}
		before := s.stored()[version]
		if _, err := s.at("v1beta1").Create(s.Context(), s.crontab("probe"), metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
		is = s.stored()[version] == before+1
		if err := s.at("v1beta1").Delete(s.Context(), "probe", metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

// stored counts the objects in etcd by their version.
func (s *scene) stored() map[string]int {
	s.Helper()
	all, err := s.storage.StoredAll(s.Context(), s.group, "crontabs")
	if err != nil {
		s.Fatal(err)
	}
	counts := map[string]int{}
	for _, one := range all {
		object := &metav1.TypeMeta{}
		if err := json.Unmarshal(one.Data, object); err != nil {
			s.Fatal(err)
		}
		counts[strings.TrimPrefix(object.APIVersion, s.group+"/")]++
	}
	return counts
}

// storedVersions is what the status of the definition says.
func (s *scene) storedVersions() []string {
	s.Helper()
	crd, err := s.crds().Get(s.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return crd.Status.StoredVersions
}

// contents is all objects at a version without what a migration may change.
func (s *scene) contents(version string) map[string]any {
	s.Helper()
	list, err := s.objects.Resource(s.resource(version)).List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]any{}
	for _, object := range list.Items {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		all[object.GetName()] = object.Object
	}
	return all
}
