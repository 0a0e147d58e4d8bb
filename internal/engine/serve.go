package engine

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/wire"
)

// served is a running webhook under test.
type served struct {
	*rehearsal.Webhook

	endpoint  func(corpus.Corpus) (wire.Endpoint, error) // where a kind is converted
	client    *apiextensionsv1.WebhookClientConfig       // how definitions refer to it; nil for its URL, or the service of its name
	installed bool                                       // whether definitions are in the cluster already
}

// serve starts the webhook under test, or finds out how to reach it.
func (s *session) serve(ctx context.Context) (*served, error) {
	w := s.want.Webhook
	switch {
	case s.want.Handler != nil:
		return s.serving(handlerBuild{s.want.Handler, s.want.HandlerPath}.Start(ctx, s.api, nil))
	case w.Reference != nil:
		return s.serveReference(ctx)
	case w.Command != nil:
		s.progress.Note(fmt.Sprintf("starting %s and waiting until it responds", w.Command.Args[0]))
		return s.serveCommand(ctx, s.api)
	case w.InCluster != nil:
		return s.serveDeployed(ctx)
	case w.FromCRD != nil:
		return s.existing(func(kind corpus.Corpus) (wire.Endpoint, error) {
			return subject.FromDefinition(kind.Definition.CRD, subject.FromOptions{Address: w.FromCRD.Address, CA: s.ca})
		}), nil
	}
	return s.existing(func(corpus.Corpus) (wire.Endpoint, error) {
		return wire.Endpoint{URL: w.URL, CA: s.ca}, nil
	}), nil
}

// existing returns a webhook that already runs.
func (p *Plan) existing(endpoint func(corpus.Corpus) (wire.Endpoint, error)) *served {
	return &served{
		endpoint: func(kind corpus.Corpus) (wire.Endpoint, error) {
			e, err := endpoint(kind)
			if p.want.Webhook.ServerName != "" {
				e.ServerName = p.want.Webhook.ServerName
			}
			e.HTTP2 = e.HTTP2 || p.want.Webhook.HTTP2
			e.CAOption, e.ServerNameOption = p.called("webhook.caFile"), p.called("webhook.serverName")
			e.ClientCertificate, e.Timeout = p.client, p.want.Webhook.Timeout.Duration
			return e, err
		},
		Webhook: &rehearsal.Webhook{Stop: func(context.Context) error { return nil }},
	}
}

// called returns the name of an option, in the form in which the user specified the webhook: as a flag or as a key.
func (p *Plan) called(key options.Key) string {
	problem, _ := errors.AsType[*config.ProblemError](p.want.At("webhook."+p.want.Webhook.Source(), "%s", key))
	return problem.Message
}

func (p *Plan) serveReference(ctx context.Context) (*served, error) {
	var faults []webhook.Fault
	for i, name := range p.want.Webhook.Reference.Faults {
		fault, found := webhook.FaultNamed(name)
		if !found {
			return nil, p.want.At(fmt.Sprintf("webhook.reference.faults[%d]", i), "unknown fault %q; \"crdconform serve --help\" lists all", name)
		}
		faults = append(faults, fault)
	}
	return p.serving(handlerBuild{webhook.Handler(faults...), webhook.Path}.Start(ctx, nil, nil))
}

// serving returns a webhook that a build has started.
func (p *Plan) serving(w *rehearsal.Webhook, err error) (*served, error) {
	if err != nil {
		return nil, err
	}
	return &served{Webhook: w, endpoint: func(corpus.Corpus) (wire.Endpoint, error) {
		e := w.Endpoint
		e.HTTP2, e.Timeout = e.HTTP2 && p.want.Webhook.HTTP2, p.want.Webhook.Timeout.Duration
		return e, nil
	}}, nil
}

// usesKubeconfig reports whether a program gets a kubeconfig of the run's API server: each does, so that none finds another cluster.
func (p *Plan) usesKubeconfig() bool {
	return p.want.Webhook.Command != nil && p.want.Handler == nil && p.want.Source != nil
}

// serveCommand starts the user's program. If there is an API server, the definitions are installed there first.
func (p *Plan) serveCommand(ctx context.Context, api cluster.Cluster) (*served, error) {
	var definitions installed
	var err error
	var w *rehearsal.Webhook
	if p.usesKubeconfig() {
		err = p.install(ctx, api, &definitions)
	}
	if err == nil {
		w, err = programBuild{p.program(), mostRestarts, p.memory}.Start(ctx, api, nil)
	}
	if err != nil {
		return nil, errors.Join(err, definitions.remove(context.WithoutCancel(ctx)))
	}
	started := w.Stop
	w.Stop = func(ctx context.Context) error { return errors.Join(started(ctx), definitions.remove(ctx)) }
	return p.serving(w, nil)
}

// program is the user's program.
func (p *Plan) program() subject.Command {
	c := p.want.Webhook.Command
	return subject.Command{
		Args: c.Args, Env: c.Env, Dir: p.want.Path(c.Dir), Path: c.Path, ServerName: c.ServerName, ReadyTimeout: c.ReadyTimeout.Duration,
	}
}

// installed are definitions that were created for a program, in a cluster that outlives the run.
type installed struct {
	definitions kube.Definitions
	all         []*apiextensionsv1.CustomResourceDefinition
}

// remove deletes the definitions that still exist. Specs delete those that they took over.
func (i *installed) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var errs []error
	for _, crd := range i.all {
		errs = append(errs, i.definitions.Remove(ctx, crd, nil))
	}
	return errors.Join(errs...)
}

// install creates the definitions without a webhook, for a program that looks for them when it starts. It adds what must be removed
// at the end to created.
func (p *Plan) install(ctx context.Context, api cluster.Cluster, created *installed) error {
	clients, err := kube.Connect(api.Config())
	if err != nil {
		return err
	}
	definitions := clients.Definitions
	created.definitions = definitions
	for _, kind := range p.kinds {
		if kind.Definition == nil || kind.Documented {
			continue
		}
		crd := kube.Fresh(kind.Definition.CRD)
		if p.want.Source.Labels {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, cluster.RunLabel, p.run)
		}
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		there, err := definitions.Create(ctx, crd)
		if err != nil {
			return fmt.Errorf("installing %s: %w", crd.Name, err)
		}
		if _, shared := api.(cluster.Shared); shared { // others go with all that is in them
			created.all = append(created.all, there)
		}
		// The program looks for it only once.
		if _, err = definitions.Established(ctx, crd.Name); err == nil {
			err = definitions.Served(ctx, crd, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
