package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pumps.water.example.org"

// watch looks at the definition again and again. The channel says that the API server is away, if that ends the process.
func (f *frail) watch(ctx context.Context, kubeconfig string) (<-chan error, error) {
	if kubeconfig == "" {
		return nil, errors.New("no API server to ask; give its kubeconfig by --kubeconfig")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = time.Second
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	over := make(chan error, 1)
	go func() { f.look(ctx, client.RESTClient(), over) }()
	return over, nil
}

func (f *frail) look(ctx context.Context, client rest.Interface, over chan<- error) {
	const every = 200 * time.Millisecond
	var known string
	var refused time.Time // since when nothing listens; a server that is late is not away
	for wait(ctx, every) {
		versions, err := versions(ctx, client)
		switch {
		case !utilnet.IsConnectionRefused(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = time.Now()
		case f.bug == endsWithServer && time.Since(refused) > f.times.away:
			over <- fmt.Errorf("the API server is away: %w", err)
			return
		}
		if err != nil || versions == known {
			continue
		}
		if f.bug == readsDefinition && known != "" {
			f.reading.Store(true)
			wait(ctx, f.times.reading)
			f.reading.Store(false)
		}
		known = versions
	}
}

// versions returns those of the definition, with their schemas.
func versions(ctx context.Context, client rest.Interface) (string, error) {
	text, err := client.Get().AbsPath(definition).DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var object struct {
		Spec struct {
			Versions json.RawMessage `json:"versions"`
		} `json:"spec"`
	}
	err = json.Unmarshal(text, &object)
	return string(object.Spec.Versions), err
}
