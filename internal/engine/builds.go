package engine

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/wire"
)

// programBuild is a build that is a program.
type programBuild struct {
	command  subject.Command
	restarts int    // how often it may be started again when it ends
	memory   uint64 // see subject.Options
}

// Starts is true.
func (programBuild) Starts() bool { return true }

// movable fails if a program cannot run beside another build or replica.
func movable(c subject.Command) error {
	if c.Uses("port") {
		return nil
	}
	return errors.New("it is given no {port}, and more than one program runs at a time, which cannot share a port; give it that in an argument or a variable")
}

// Acts is true: every program gets a kubeconfig.
func (programBuild) Acts() bool { return true }

// Start starts the program. Definitions name it before it runs, so that it is there for those who ask as soon as it serves.
func (b programBuild) Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (_ *rehearsal.Webhook, err error) {
	folder, err := files.TemporaryDir("", "kubeconfig-")
	if err != nil {
		return nil, err
	}
	var through *relay
	var known wire.Endpoint
	defer func() {
		if err != nil {
			err = errors.Join(err, through.close(), os.RemoveAll(folder))
		}
	}()
	options := subject.Options{Restarts: b.restarts, Memory: b.memory}
	if api != nil {
		options.Kubeconfig = filepath.Join(folder, "kubeconfig")
		if err = kube.WriteConfig(options.Kubeconfig, api.Config()); err != nil {
			return nil, err
		}
	}
	name := func(endpoint wire.Endpoint) error {
		if failed := through.close(); failed != nil { // of the attempt before, or of the other address
			return failed
		}
		known = endpoint
		client, r, failed := reachable(ctx, api, endpoint)
		if failed != nil {
			return failed
		}
		through = r
		return at(client)
	}
	if at != nil {
		options.Before = name
	}
	process, err := subject.Start(ctx, b.command, options)
	if err != nil {
		return nil, err
	}
	if at != nil && process.Endpoint.URL != known.URL {
		if err = name(process.Endpoint); err != nil {
			return nil, errors.Join(err, process.Stop(context.WithoutCancel(ctx)))
		}
	}
	return &rehearsal.Webhook{Endpoint: process.Endpoint, Alive: process.Err, Revive: process.Revive, Usage: process.Usage, Stop: func(ctx context.Context) error {
		return errors.Join(process.Stop(ctx), through.close(), os.RemoveAll(folder))
	}}, nil
}

// handlerBuild is a build that is served in this process.
type handlerBuild struct {
	handler http.Handler
	path    string
}

// Starts is true.
func (handlerBuild) Starts() bool { return true }

// Acts is false: if it is a client of an API server, that is another one.
func (handlerBuild) Acts() bool { return false }

// Start serves it.
func (b handlerBuild) Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	server, err := webhook.StartAt(ctx, "127.0.0.1:0", cmp.Or(b.path, "/convert"), b.handler)
	if err != nil {
		return nil, err
	}
	through, err := named(ctx, api, wire.Endpoint{URL: server.URL, CA: server.CA}, at)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &rehearsal.Webhook{Endpoint: wire.Endpoint{URL: server.URL, CA: server.CA, HTTP2: true}, Stop: func(context.Context) error {
		return errors.Join(server.Close(), through.close())
	}}, nil
}

// runningBuild is a build that runs already.
type runningBuild struct{ endpoint wire.Endpoint }

// Starts is false.
func (runningBuild) Starts() bool { return false }

// Acts is false: whatever it is a client of, it is not the cluster of the run.
func (runningBuild) Acts() bool { return false }

// Start makes sure that it can be reached.
func (b runningBuild) Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	here, err := wire.Connect(b.endpoint)
	if err != nil {
		return nil, err
	}
	defer here.Close()
	if err = here.Reach(ctx); err != nil {
		return nil, err
	}
	through, err := named(ctx, api, b.endpoint, at)
	if err != nil {
		return nil, err
	}
	return &rehearsal.Webhook{Endpoint: b.endpoint, Stop: func(context.Context) error { return through.close() }}, nil
}

// named has definitions name a webhook, unless at is nil. The caller closes the relay, which is nil unless one is needed.
func named(ctx context.Context, api cluster.Cluster, endpoint wire.Endpoint, at func(apiextensionsv1.WebhookClientConfig) error) (*relay, error) {
	if at == nil {
		return nil, nil //nolint:nilnil // no definition is to name it
	}
	client, through, err := reachable(ctx, api, endpoint)
	if err == nil {
		err = at(client)
	}
	if err != nil {
		return nil, errors.Join(err, through.close())
	}
	return through, nil
}

// imageBuild is a build that runs as pods of the cluster.
type imageBuild struct {
	config config.Config
	run    string // ID, which is another one for each build
	note   func(string)
}

// Starts is true.
func (imageBuild) Starts() bool { return true }

// Acts is true: pods have the right to ask the API server.
func (imageBuild) Acts() bool { return true }

// Start deploys it. Its service is known once it is there.
func (b imageBuild) Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	w, err := deploy(ctx, b.config, api, deployed.Options{Config: api.Config(), Run: b.run, Progress: b.note})
	if err != nil {
		return nil, err
	}
	if err := at(w.ClientConfig()); err != nil {
		return nil, errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
	}
	return ofPods(ctx, w), nil
}

// aliveTimeout limits how long a cluster may take to report the state of the webhook.
const aliveTimeout = 10 * time.Second

// ofPods returns a webhook that runs as pods.
func ofPods(ctx context.Context, w *deployed.Webhook) *rehearsal.Webhook {
	endpoint := w.Endpoint()
	endpoint.HTTP2 = true
	return &rehearsal.Webhook{
		Endpoint: endpoint,
		Alive: func() error {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), aliveTimeout)
			defer cancel()
			return w.Check(within)
		},
		Stop: w.Stop,
	}
}
