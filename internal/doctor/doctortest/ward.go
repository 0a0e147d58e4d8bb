// Package doctortest plants defects in clusters, and wants them to be found.
package doctortest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Ward is an API server with definitions, of which the part that embedded ones lack is made up: namespaces, services and endpoints.
type Ward struct {
	Config  *rest.Config
	CRDs    clientset.Interface
	Objects dynamic.Interface
	client  kubernetes.Interface // of what is made up otherwise; nil on embedded API servers

	mu   sync.Mutex
	Sent []string
	Core map[string]any // by path
	Fail map[string]int // status by path
}

// New is an API server without what it is that is made up.
func New(config *rest.Config) (*Ward, error) {
	w := &Ward{Config: config, Core: map[string]any{}, Fail: map[string]int{}}
	var err error
	if w.CRDs, err = clientset.NewForConfig(config); err != nil {
		return nil, err
	}
	w.Objects, err = dynamic.NewForConfig(config)
	return w, err
}

// NewWhole is a whole cluster, in which nothing is made up.
func NewWhole(config *rest.Config) (*Ward, error) {
	w, err := New(config)
	if err != nil {
		return nil, err
	}
	w.client, err = kubernetes.NewForConfig(config)
	return w, err
}

// Seen is how to reach the API server so that what is sent is noted.
func (w *Ward) Seen() *rest.Config {
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.Sent = append(w.Sent, r.Method+" "+r.URL.Path)
			if status := w.Fail[r.URL.Path]; status != 0 {
				return answerWith(r, status, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: int32(status)}), nil //nolint:gosec // a status
			}
			path := r.URL.Path
			if _, name, of := strings.Cut(r.URL.Query().Get("labelSelector"), discoveryv1.LabelServiceName+"="); of && w.Core[path+"?"+name] != nil {
				path += "?" + name
			}
			if body, found := w.Core[path]; found {
				return answerWith(r, http.StatusOK, body), nil
			}
			w.mu.Unlock()
			defer w.mu.Lock()
			return next.RoundTrip(r)
		})
	})
	return config
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answerWith(r *http.Request, status int, body any) *http.Response {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(data))), ContentLength: int64(len(data)),
	}
}

// Wait waits until something succeeds.
func (w *Ward) Wait(tb testing.TB, do func() error) {
	tb.Helper()
	for end := time.Now().Add(5 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			tb.Fatal(err)
		}
	}
}

// Resource is what a definition defines, at a version.
func Resource(crd *apiextensionsv1.CustomResourceDefinition, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
}
