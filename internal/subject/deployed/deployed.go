// Package deployed brings the webhook under test up in a cluster: as pods behind a service, from an image or from the user's
// own manifests, with a certificate of the run or one of the user's. It reports where the webhook is, forwards connections to
// it, and removes everything that it created. It judges nothing.
package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/wire"
)

const (
	defaultTimeout     = 2 * time.Minute
	defaultServicePort = 443
	defaultPort        = 9443
	defaultPath        = "/convert"

	// defaultCerts is where webhooks made with controller-runtime look for their certificate.
	defaultCerts = "/tmp/k8s-webhook-server/serving-certs"

	// artifactsTimeout is how long it may take to find out what explains a failure.
	artifactsTimeout = 30 * time.Second

	// stopTimeout is how long it may take until all is gone, with pods that take their time to stop.
	stopTimeout = time.Minute
)

// Options says in which cluster and for which run a webhook is deployed.
type Options struct {
	Config    *rest.Config      // of the cluster, with the rights to create whatever is deployed
	Run       string            // ID of the run, which labels whatever is created, under cluster.RunLabel
	Namespace string            // for what says none; empty for crdconform-<run>; created unless it is there
	Timeout   time.Duration     // until the webhook is ready; 0 for 2 min
	Artifacts string            // folder for logs and events of a webhook that does not get ready, unless it was interrupted; empty for none
	Progress  func(note string) // gets what is done, and what is waited for, whenever that changes; nil discards it
}

// check says what is wrong with the options.
func (o Options) check() error {
	if o.Config == nil {
		return errors.New("webhook in the cluster: there is no cluster")
	}
	if problems := validation.IsDNS1123Label(o.Run); len(problems) > 0 {
		return fmt.Errorf("webhook in the cluster: the run's ID %q is not a valid label: %s", o.Run, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Label(o.namespace()); len(problems) > 0 {
		return fmt.Errorf("webhook in the cluster: %q is not a valid namespace name: %s", o.namespace(), strings.Join(problems, "; "))
	}
	return nil
}

func (o Options) namespace() string { return cmp.Or(o.Namespace, "crdconform-"+o.Run) }

func (o Options) note(format string, arguments ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, arguments...))
	}
}

// Service is where API servers find a webhook.
type Service struct {
	Namespace, Name string
	Port            int32  // of the service
	Path            string // of the URL, beginning with a slash
}

// ServerName is the name that API servers want in the webhook's certificate.
func (s Service) ServerName() string { return s.Name + "." + s.Namespace + ".svc" }

// String says the service as kubectl does, with its port.
func (s Service) String() string { return fmt.Sprintf("%s/%s:%d", s.Namespace, s.Name, s.Port) }

// Webhook is a webhook that runs in a cluster. Its methods are safe for use by many goroutines.
type Webhook struct {
	Service  Service
	CA       []byte // PEM certificates to verify it by
	Replicas int    // pods that it has when it is whole

	options   Options
	client    kubernetes.Interface
	applier   *applier
	redactor  *redactor
	authority *pki.Authority // of a certificate of the run; nil for one that the manifests bring
	secret    string         // with that certificate
	remedy    string         // what to do when the certificate is another one
	tunnel    *tunnel
	forward   *forward

	stop    sync.Once
	stopErr error
}

// newWebhook returns a webhook of which nothing is there yet.
func newWebhook(o Options) (*Webhook, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Config = rest.CopyConfig(o.Config)
	o.Config.WarningHandler = rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	a, err := newApplier(o.Config, o.Run)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	return &Webhook{options: o, client: client, applier: a, redactor: new(redactor)}, nil
}

// bringUp applies the objects, waits until the webhook is ready and API servers reach it, and opens a way to it from here. The
// certificates to verify it by are known when its pods are ready, and not before. On failure nothing is left behind.
func (w *Webhook) bringUp(ctx context.Context, documents []document, authority func(context.Context) ([]byte, error)) (err error) {
	limit := cmp.Or(w.options.Timeout, defaultTimeout)
	until, cancel := context.WithTimeoutCause(ctx, limit, errTooLate)
	defer cancel()
	defer func() {
		if err == nil {
			return
		}
		// What went wrong is to be seen before it is gone, and it must be removed even if the run was interrupted.
		after := context.WithoutCancel(ctx)
		if w.options.Artifacts != "" && ctx.Err() == nil {
			within, cancel := context.WithTimeout(after, artifactsTimeout)
			err = errors.Join(err, w.Artifacts(within, w.options.Artifacts))
			cancel()
		}
		err = fmt.Errorf("webhook in the cluster: %w", errors.Join(err, w.Stop(after)))
	}()
	w.options.note("deploying the webhook into the namespace %s", w.Service.Namespace)
	if err = w.applier.applyAll(until, w.options.namespace(), documents); err != nil {
		return err
	}
	if err = w.await(until, w.Replicas); err != nil {
		return w.explain(ctx, err, limit)
	}
	if w.CA, err = authority(until); err != nil {
		return err
	}
	if w.tunnel, err = newTunnel(w.options.Config, w.client, w.Service); err != nil {
		return err
	}
	if w.forward, err = listen(ctx, w.tunnel); err != nil {
		return err
	}
	return w.awaitCalls(until)
}

// awaitCalls waits until the webhook answers over TLS with the right certificate, from here and from the API server. Nodes
// take a moment until they lead calls of a service to a pod that is ready.
func (w *Webhook) awaitCalls(ctx context.Context) error {
	endpoint := w.Endpoint()
	client, err := wire.Connect(endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	var handshake wire.Handshake
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A pod that is ready may be not ready for a moment, on a node that is busy.
	_ = poll(within, func() (bool, error) {
		handshake, err = client.Handshake(within, wire.HandshakeOptions{})
		return err == nil, nil
	})
	if err != nil {
		if cause := w.tunnel.lastError(); cause != nil {
			err = fmt.Errorf("%w; the last connection to a pod: %w", err, cause)
		}
		return fmt.Errorf("its pods are ready, but it does not respond: %w", err)
	}
	if handshake.VerifyError != nil {
		leaf := handshake.Chain[0]
		return fmt.Errorf("its pods are ready, but API servers would not trust it (%w): it serves a certificate with subject %q and issuer %q; %s", handshake.VerifyError, leaf.Subject, leaf.Issuer, w.remedy)
	}
	w.options.note("waiting until the API server reaches the webhook")
	return awaitReachable(ctx, w.options.Config, w.options.Run, w.ClientConfig())
}

// ClientConfig is how a definition refers to the webhook.
func (w *Webhook) ClientConfig() apiextensionsv1.WebhookClientConfig {
	return apiextensionsv1.WebhookClientConfig{
		Service: &apiextensionsv1.ServiceReference{
			Namespace: w.Service.Namespace, Name: w.Service.Name, Port: new(w.Service.Port), Path: new(w.Service.Path),
		},
		CABundle: w.CA,
	}
}

// Endpoint is how to ask the webhook from here: at a port of this machine, from which connections are led to its pods in turn
// until Stop. It is verified by the name of its service, as API servers do.
func (w *Webhook) Endpoint() wire.Endpoint {
	return wire.Endpoint{URL: "https://" + w.forward.address() + w.Service.Path, CA: w.CA, ServerName: w.Service.ServerName()}
}

// Check says why the webhook is not whole any more, or nothing when as many of its pods are ready as there should be.
func (w *Webhook) Check(ctx context.Context) error {
	seen, err := w.look(ctx)
	if err != nil {
		return fmt.Errorf("webhook in the cluster: %w", err)
	}
	if seen.ready() >= w.Replicas {
		return nil
	}
	return fmt.Errorf("webhook in the cluster: %w", w.blame(ctx, seen, seen.summary(w.Replicas)))
}

// Await waits until as many pods as there should be are ready, for instance after one was killed.
func (w *Webhook) Await(ctx context.Context) error {
	limit := cmp.Or(w.options.Timeout, defaultTimeout)
	until, cancel := context.WithTimeoutCause(ctx, limit, errTooLate)
	defer cancel()
	if err := w.await(until, w.Replicas); err != nil {
		return fmt.Errorf("webhook in the cluster: %w", w.explain(ctx, err, limit))
	}
	return nil
}

// Stop closes the ways to the webhook and removes whatever was created for it, and waits until that is gone: a minute, or
// until the context ends. It may be called more than once, and does its work once.
func (w *Webhook) Stop(ctx context.Context) error {
	w.stop.Do(func() {
		var errs []error
		if w.forward != nil {
			errs = append(errs, w.forward.close())
		}
		until, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("it takes longer than %s", stopTimeout))
		defer cancel()
		w.stopErr = errors.Join(append(errs, w.applier.owned.Remove(until))...)
	})
	return w.stopErr
}
