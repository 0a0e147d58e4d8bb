// Package kube has what clients of an API server do, whatever they are for: they install definitions and wait until those are served, list
// page by page, remove what they created, find out what the API server reaches, and send requests exactly once.
package kube

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient/wait"
)

// LastApplied is the annotation in which kubectl apply keeps what it applied.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Clients are clients of an API server, which share their connections.
type Clients struct {
	Definitions Definitions
	Objects     dynamic.Interface
	Metadata    metadata.Interface
	Discovery   *discovery.DiscoveryClient
	Once        *Once
}

// Connect returns the clients of a configuration. It asks nothing yet.
func Connect(config *rest.Config) (*Clients, error) {
	once, err := NewOnce(config)
	if err != nil {
		return nil, err
	}
	crds, err1 := clientset.NewForConfigAndClient(config, once.client)
	objects, err2 := dynamic.NewForConfigAndClient(config, once.client)
	meta, err3 := metadata.NewForConfigAndClient(metadata.ConfigFor(config), once.client)
	documents, err4 := discovery.NewDiscoveryClientForConfigAndClient(config, once.client)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	v1 := crds.ApiextensionsV1()
	return &Clients{Definitions{Client: v1.CustomResourceDefinitions(), REST: v1.RESTClient()}, objects, meta, documents, once}, nil
}

// Until asks at an interval, at once for the first time, until the answer is yes or an error. When the context ends before that, its cause is
// the error.
func Until(ctx context.Context, interval time.Duration, ask func(context.Context) (bool, error)) error {
	err := wait.For(ask, wait.WithContext(ctx), wait.WithInterval(interval), wait.WithTimeout(0), wait.WithImmediate())
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Answers returns an error unless an API server answers a URL, such as that of its readiness, with OK.
func Answers(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
