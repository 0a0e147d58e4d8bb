package main

import (
	"errors"
	"slices"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/engine"
)

// inClusterFlags say which webhook to deploy as pods of the cluster.
type inClusterFlags struct{ *optionFlags }

// deploying are the keys that say what to deploy.
func deploying() []string {
	return []string{"webhook.inCluster.image", "webhook.inCluster.archive", "webhook.inCluster.manifests"}
}

// any reports whether it is said what to deploy.
func (f inClusterFlags) any() bool { return slices.ContainsFunc(deploying(), f.says) }

// check fails for settings of a webhook to deploy if nothing says which, unless that is said elsewhere.
func (f inClusterFlags) check(said bool) error {
	if f.says("webhook.inCluster") && !said {
		return errors.New("--set webhook.inCluster: no webhook to deploy specified; give --webhook-image or --webhook-manifests, or archive")
	}
	return nil
}

// first is what is given first of what says what to deploy.
func (f inClusterFlags) first() string {
	return f.name(deploying()[slices.IndexFunc(deploying(), f.says)])
}

// inCluster is the webhook that run deploys.
type inCluster struct {
	flags   inClusterFlags
	checked config.Config // with webhook.inCluster when the flags say one
}

// users reports whether it is the user's own webhook.
func (w *inCluster) users() bool { return w.checked.Webhook.InCluster != nil }

// validate reports whether the flags go together, for a configuration. All that they say is of this machine.
func (w *inCluster) validate(c config.Config, from *source.Source) error {
	w.checked = c
	if err := w.flags.check(w.flags.any()); err != nil {
		return err
	}
	if !w.flags.any() {
		return w.flags.over(&w.checked)
	}
	inPlaceOf(&w.checked, config.Config{Webhook: config.Webhook{InCluster: &config.InCluster{}}}, "inCluster", w.flags.first())
	if err := w.flags.over(&w.checked); err != nil {
		return err
	}
	if err := w.checked.Validate(); err != nil {
		return err
	}
	return engine.Deployable(w.checked, from)
}
