package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1alpha1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1beta1"
	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// poll is how often the server is asked whether it has started.
const poll = 10 * time.Millisecond

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for group, widget := range map[schema.GroupVersion]runtime.Object{
		v1.GroupVersion():       &v1.Widget{},
		v1beta1.GroupVersion():  &v1beta1.Widget{},
		v1alpha1.GroupVersion(): &v1alpha1.Widget{},
	} {
		scheme.AddKnownTypes(group, widget)
	}
	return scheme
}

// handler returns controller-runtime's handler. Without a bug it finds the methods of the types by itself; a bug comes in
// as a converter that is asked in their place.
func handler(name string) (http.Handler, error) {
	scheme, registry := newScheme(), conversion.NewRegistry()
	all := bugs()
	if i := slices.IndexFunc(all, func(b bug) bool { return b.Name == name }); i >= 0 {
		converter, err := spoiled(scheme, all[i])
		if err != nil {
			return nil, fmt.Errorf("bug %s: %w", name, err)
		}
		if err := registry.RegisterConverter(v1.GroupVersion().WithKind("Widget").GroupKind(), converter); err != nil {
			return nil, fmt.Errorf("bug %s: %w", name, err)
		}
	}
	return conversion.NewWebhookHandler(scheme, registry), nil
}

// serve serves by controller-runtime's server. That takes no listener and no port 0, so a free port is found beforehand.
func serve(ctx context.Context, s program.Settings) error {
	listener, port, err := program.Listen(ctx, s.Port)
	if err != nil {
		return err
	}
	if err := listener.Close(); err != nil {
		return err
	}
	server := crwebhook.NewServer(crwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: s.Certs})
	server.Register(program.Path, s.Handler)
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for started := server.StartedChecker(); started(nil) != nil; {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
		}
	}
	s.Ready(port)
	return <-ended
}
