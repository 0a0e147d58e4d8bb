package engine

import (
	"context"
	"errors"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/subject/deployed"
)

// subject says what is wrong with the webhook to disrupt.
func (d Disruption) subject() error {
	w := d.Webhook
	switch {
	case d.APIServer != config.Embedded && (d.Source == nil || !d.Source.Pods):
		return d.At("apiServer", "disruptions need another kind of cluster (want embedded, kind or existing, got %s)", d.APIServer)
	case w.URL != "", w.FromCRD != nil:
		return d.At("webhook."+w.Source(), "a webhook that is already running can't be disrupted; give the program or the image that serves it")
	case d.APIServer != config.Embedded:
		return d.deployable()
	case d.Disrupt.OldImage != "":
		return d.At("disrupt.oldImage", "only valid with %s, on kind or in an existing cluster", options.Key("webhook.inCluster.image"))
	case w.InCluster != nil:
		return Deployable(d.Config, nil)
	case w.Command == nil && len(d.CRDs) > 0:
		return errors.New("no program to disrupt; give it and its arguments after --, or as webhook.command in crdconform.yaml")
	}
	return nil
}

// deployable says what is wrong with a webhook that is to run as pods.
func (d Disruption) deployable() error {
	in := d.Webhook.InCluster
	switch {
	case !d.Source.Images && !d.Pods:
		return d.At("apiServer", "pods of a cluster that others may use are disrupted only if that is allowed%s: those of a webhook that the run deploys, and no others", d.PodsAdvice)
	case !d.Source.Images && in == nil:
		return d.At("apiServer", "no webhook to deploy and disrupt; give %s or %s", options.Key("webhook.inCluster.image"), options.Key("webhook.inCluster.manifests"))
	case !d.Source.Images && len(d.CRDs) == 0:
		return d.At("apiServer", "the CronTabs of the documents are not installed in a cluster that others may use; give your definition by %s", options.Key("crds"))
	case d.Webhook.Command != nil:
		return d.At("webhook.command", "programs are disrupted under the built-in API server only; give %s for pods", options.Key("webhook.inCluster.image"))
	case d.Disrupt.OldProgram != "":
		return d.At("disrupt.oldProgram", "only valid with a program, under the built-in API server")
	case d.Disrupt.OldImage != "" && (in == nil || in.Image == "" || len(in.Manifests) > 0):
		return d.At("disrupt.oldImage", "only valid with %s, the image that a rollout ends with", options.Key("webhook.inCluster.image"))
	case in == nil && len(d.CRDs) > 0:
		return d.At("crds", "no webhook to disrupt; give %s or %s", options.Key("webhook.inCluster.image"), options.Key("webhook.inCluster.manifests"))
	case in == nil:
		return nil
	case bundled(*in):
		return d.At("webhook.inCluster.manifests", "crdconform installs the definition, so it must know the certificate of the webhook; give %s or %s",
			options.Key("webhook.inCluster.secret"), options.Key("webhook.inCluster.caSecret"))
	}
	if err := d.oldImage(); err != nil {
		return err
	}
	return Deployable(d.Config, d.Source)
}

// oldImage says what is wrong with the image of the old release.
func (d Disruption) oldImage() error {
	old := d.Disrupt.OldImage
	if old == "" {
		return nil
	}
	if err := deployed.CheckImage(old); err != nil {
		return d.At("disrupt.oldImage", "%w", err)
	}
	if deployed.SameImage(old, d.Webhook.InCluster.Image) {
		return d.At("disrupt.oldImage", "it is the image under test, so a rollout would change nothing; give that of another release")
	}
	return nil
}

// builds are the images that a rollout of the webhook's pods begins and ends with; nil if there is no old one. If possible, that is loaded
// into the nodes.
func (s *session) builds(ctx context.Context, d config.Config, w *deployed.Webhook) (*disruption.Builds, error) {
	if d.Disrupt.OldImage == "" {
		return nil, nil //nolint:nilnil // as its doc says
	}
	s.progress.Note("loading the image of the old release into the nodes")
	in := *d.Webhook.InCluster
	in.Image, in.Archive = d.Disrupt.OldImage, ""
	d.Webhook.InCluster = &in
	old, err := loaded(ctx, d, s.api)
	if err != nil {
		return nil, err
	}
	b := &disruption.Builds{Old: deployed.Image{Reference: old.name, Loaded: old.loaded}, Advice: old.advice()}
	b.New, err = w.Image(ctx)
	return b, err
}

// serveReference returns the command of ServeReference with the faults of the reference webhook.
func (d Disruption) serveReference() func(address, certs string, drain time.Duration) ([]string, error) {
	if d.ServeReference == nil || d.Webhook.Reference == nil {
		return nil
	}
	return func(address, certs string, drain time.Duration) ([]string, error) {
		command, err := d.ServeReference(address, certs, drain)
		for _, fault := range d.Webhook.Reference.Faults {
			command = append(command, "--fault="+fault)
		}
		return command, err
	}
}

// pods reports whether the webhook runs as pods.
func (p *DisruptionPlan) pods() bool { return p.want.APIServer != config.Embedded }

// webhook reads what there is to know of the webhook before it is started.
func (p *DisruptionPlan) webhook() error {
	if p.pods() {
		return nil
	}
	return p.programs()
}

// name is what the webhook is called in a history.
func (p *DisruptionPlan) name() string {
	switch in := p.want.Webhook.InCluster; {
	case !p.pods():
		return p.lab.Program.Args[0]
	case in == nil:
		return "the reference webhook"
	case in.Image != "":
		return in.Image
	default:
		return in.Service
	}
}

// withPods deploys the webhook to disrupt, and removes it after use.
func (s *session) withPods(ctx context.Context, use func(*deployed.Webhook) error) (err error) {
	if err = s.deploying(ctx); err != nil {
		return err
	}
	w := s.pods.Webhook
	if w == nil {
		return errors.New(s.pods.Missing)
	}
	defer func() {
		s.progress.Note("removing the webhook")
		err = errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
	}()
	return use(w)
}
