package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
)

// api makes requests to the API server as clients do, but once only: the clients of client-go hide it when the server refuses
// a request, and ask again.
type api struct {
	http      *http.Client
	host      string
	group     string
	plural    string
	namespace string // empty for objects outside of namespaces
	timeout   time.Duration
	documents discovery.DiscoveryInterface

	definitions kube.Definitions
}

func newAPI(config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, namespace string, timeout time.Duration) (*api, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	crds, err1 := clientset.NewForConfigAndClient(config, client)
	documents, err2 := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	a := &api{
		http: client, host: strings.TrimSuffix(config.Host, "/"), group: crd.Spec.Group, plural: crd.Spec.Names.Plural,
		timeout: timeout, documents: documents,
		definitions: kube.Definitions{Client: crds.ApiextensionsV1().CustomResourceDefinitions(), REST: crds.ApiextensionsV1().RESTClient()},
	}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		a.namespace = namespace
	}
	return a, nil
}

func (a *api) close() { a.http.CloseIdleConnections() }

// path is that of the objects at a version, or of one if a name is given, or of a subresource of that.
func (a *api) path(version string, name ...string) string {
	parts := []string{"/apis", a.group, version}
	if a.namespace != "" {
		parts = append(parts, "namespaces", a.namespace)
	}
	return strings.Join(slices.Concat(parts, []string{a.plural}, name), "/")
}

// ask is a request. The method is GET, and what is accepted JSON, unless it says otherwise.
type ask struct {
	method      string
	path        string
	query       url.Values
	accept      string
	contentType string // of the body
	body        []byte
}

// Media types of requests.
const (
	typeJSON     = "application/json"
	typeMerge    = "application/merge-patch+json"
	typeApply    = "application/apply-patch+yaml" // of which JSON is a subset
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// refusedError is a response that is no success.
type refusedError struct {
	status  int
	message string
}

func (e *refusedError) Error() string { return fmt.Sprintf("HTTP status %d: %s", e.status, e.message) }

// statusOf is the HTTP status of a refusal; 0 if there was no response.
func statusOf(err error) int {
	if refused, is := errors.AsType[*refusedError](err); is {
		return refused.status
	}
	return 0
}

// do makes a request and returns the body of the response.
func (a *api) do(ctx context.Context, q ask) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("no response within %s", a.timeout))
	defer cancel()
	response, err := a.open(ctx, q)
	if err != nil {
		return nil, explained(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", explained(ctx, err))
	}
	return body, nil
}

// explained puts the reason why a context ended in the place of an error that comes from it.
func explained(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && statusOf(err) == 0 {
		return cause
	}
	return err
}

// open makes a request whose response, a success, the caller reads and closes.
func (a *api) open(ctx context.Context, q ask) (*http.Response, error) {
	address := a.host + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, cmp.Or(q.method, http.MethodGet), address, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", cmp.Or(q.accept, typeJSON))
	if q.body != nil {
		request.Header.Set("Content-Type", cmp.Or(q.contentType, typeJSON))
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	refused := &refusedError{response.StatusCode, strings.TrimSpace(string(body))}
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		refused.message = status.Message
	}
	return nil, refused
}

// object makes a request whose response is an object.
func (a *api) object(ctx context.Context, q ask) (*unstructured.Unstructured, error) {
	body, err := a.do(ctx, q)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("%s %s: the response is not an object: %w", cmp.Or(q.method, http.MethodGet), q.path, err)
	}
	return object, nil
}

// listed is what matters of a list.
type listed struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []struct{} `json:"items"`
}

// list makes a request whose response is a list.
func (a *api) list(ctx context.Context, q ask) (listed, error) {
	body, err := a.do(ctx, q)
	if err != nil {
		return listed{}, err
	}
	return parseList(body)
}

func parseList(body []byte) (listed, error) {
	var l listed
	if err := json.Unmarshal(body, &l); err != nil {
		return listed{}, fmt.Errorf("the response is not a list: %w", err)
	}
	return l, nil
}

// get reads an object at a version.
func (a *api) get(ctx context.Context, version, name string) (*unstructured.Unstructured, error) {
	return a.object(ctx, ask{path: a.path(version, name)})
}

// create creates an object, which says at what version.
func (a *api) create(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return a.object(ctx, ask{method: http.MethodPost, path: a.path(object.GroupVersionKind().Version), body: body})
}

// delete deletes an object at a version.
func (a *api) delete(ctx context.Context, version, name string) error {
	_, err := a.do(ctx, ask{method: http.MethodDelete, path: a.path(version, name)})
	return err
}

// pause waits. It is false when the context ends before that.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
