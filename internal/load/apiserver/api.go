package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
)

// api makes requests to the API server as clients do, but once only.
type api struct {
	kube.Resource

	once        *kube.Once
	timeout     time.Duration
	documents   discovery.DiscoveryInterface
	definitions kube.Definitions
}

func newAPI(config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, namespace string, timeout time.Duration) (*api, error) {
	clients, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	return &api{kube.ResourceOf(crd, namespace), clients.Once, timeout, clients.Discovery, clients.Definitions}, nil
}

// Media types of requests.
const (
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// do makes a request and returns the body of the response.
func (a *api) do(ctx context.Context, q kube.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, fmt.Errorf("no response within %s", a.timeout))
	defer cancel()
	body, err := a.once.Do(ctx, q)
	if err != nil {
		return nil, explained(ctx, err)
	}
	return body, nil
}

// explained puts the reason why a context ended in the place of an error that comes from it.
func explained(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && kube.StatusOf(err) == 0 {
		return cause
	}
	return err
}

// object makes a request whose response is an object.
func (a *api) object(ctx context.Context, q kube.Request) (*unstructured.Unstructured, error) {
	body, err := a.do(ctx, q)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(body); err != nil {
		return nil, fmt.Errorf("%s %s: the response is not an object: %w", cmp.Or(q.Method, http.MethodGet), q.Path, err)
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
func (a *api) list(ctx context.Context, q kube.Request) (listed, error) {
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
	return a.object(ctx, kube.Request{Path: a.Path(version, name)})
}

// create creates an object, which says at what version.
func (a *api) create(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return a.object(ctx, kube.Request{Method: http.MethodPost, Path: a.Path(object.GroupVersionKind().Version), Body: body})
}

// delete deletes an object at a version.
func (a *api) delete(ctx context.Context, version, name string) error {
	_, err := a.do(ctx, kube.Request{Method: http.MethodDelete, Path: a.Path(version, name)})
	return err
}
