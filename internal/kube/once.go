package kube

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Media types of requests.
const (
	TypeJSON  = "application/json"
	TypeMerge = "application/merge-patch+json"
	TypeApply = "application/apply-patch+yaml" // of which JSON is a subset
)

// Once makes requests to an API server as clients do, but exactly once: the clients of client-go ask again when the server refuses a request,
// and hide it.
type Once struct {
	client *http.Client
	host   string
}

// NewOnce returns a client for the API server of a configuration.
func NewOnce(config *rest.Config) (*Once, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(config) // that of a kubeconfig may have no scheme
	if err != nil {
		return nil, err
	}
	return &Once{client, strings.TrimSuffix(host.String(), "/")}, nil
}

// HTTP returns the client that the requests are made with.
func (o *Once) HTTP() *http.Client { return o.client }

// Close closes connections that are not in use.
func (o *Once) Close() { o.client.CloseIdleConnections() }

// Request is a request.
type Request struct {
	Method      string // GET if empty
	Path        string
	Query       url.Values
	Accept      string // JSON if empty
	ContentType string // of the body; JSON if empty
	Body        []byte
}

// String returns what is asked, in short.
func (q Request) String() string { return cmp.Or(q.Method, http.MethodGet) + " " + q.Path }

// RefusedError is a response that is no success.
type RefusedError struct {
	Code   int // HTTP status
	Status metav1.Status
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("HTTP status %d: %s", e.Code, e.Status.Message)
}

// Unwrap returns the error that client-go would have returned, so that a Pager knows a list whose revision is forgotten.
func (e *RefusedError) Unwrap() error { return &apierrors.StatusError{ErrStatus: e.Status} }

// StatusOf returns the HTTP status of a refusal; 0 if the error is none, so that there was no response.
func StatusOf(err error) int {
	if refused, is := errors.AsType[*RefusedError](err); is {
		return refused.Code
	}
	return 0
}

// Open makes a request whose response, a success, the caller reads and closes. The error is a RefusedError if the response is no success.
func (o *Once) Open(ctx context.Context, q Request) (*http.Response, error) {
	address := o.host + q.Path
	if len(q.Query) > 0 {
		address += "?" + q.Query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, cmp.Or(q.Method, http.MethodGet), address, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", cmp.Or(q.Accept, TypeJSON))
	if q.Body != nil {
		request.Header.Set("Content-Type", cmp.Or(q.ContentType, TypeJSON))
	}
	response, err := o.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	refused := &RefusedError{response.StatusCode, metav1.Status{}}
	_ = json.Unmarshal(body, &refused.Status) // of proxies, say, it is text
	refused.Status.Message = cmp.Or(refused.Status.Message, strings.TrimSpace(string(body)))
	return nil, refused
}

// Do makes a request and returns the body of the response.
func (o *Once) Do(ctx context.Context, q Request) ([]byte, error) {
	response, err := o.Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// Now returns the time by the clock of the API server, in full seconds, to compare with other times of it.
func (o *Once) Now(ctx context.Context) (time.Time, error) {
	response, err := o.Open(ctx, Request{Path: "/version"})
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}

// Resource is where the objects of a definition are.
type Resource struct {
	Group     string
	Plural    string
	Namespace string // empty for objects outside of namespaces
}

// ResourceOf returns where the objects of a definition are, those with a namespace in the given one.
func ResourceOf(crd *apiextensionsv1.CustomResourceDefinition, namespace string) Resource {
	r := Resource{Group: crd.Spec.Group, Plural: crd.Spec.Names.Plural}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		r.Namespace = namespace
	}
	return r
}

// Key returns the key of an object of a name.
func (r Resource) Key(name string) string { return Key(r.Namespace, name) }

// Path returns the path of the objects at a version or, with a name, of one of them or a subresource of it.
func (r Resource) Path(version string, name ...string) string {
	parts := []string{"/apis", r.Group, version}
	if r.Namespace != "" {
		parts = append(parts, "namespaces", r.Namespace)
	}
	return strings.Join(slices.Concat(parts, []string{r.Plural}, name), "/")
}
