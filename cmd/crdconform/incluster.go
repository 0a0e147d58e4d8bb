package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/engine"
)

// inClusterFlags say which webhook to deploy as pods of the cluster.
type inClusterFlags struct{ *optionFlags }

// deploying are the flags that say what to deploy.
func deploying() []string {
	return []string{"webhook-image", "webhook-image-archive", "webhook-manifests"}
}

// any reports whether one of the flags is given that say what to deploy.
func (f inClusterFlags) any() bool {
	return slices.ContainsFunc(deploying(), f.flags.Changed)
}

// check fails for flags that say more of a webhook than they say what to deploy, unless that is said elsewhere.
func (f inClusterFlags) check(said bool) error {
	var more []string
	for _, o := range f.options {
		if strings.HasPrefix(o.Key, "webhook.inCluster.") && f.flags.Changed(o.Flag) {
			more = append(more, o.Flag)
		}
	}
	if len(more) > 0 && !said {
		return fmt.Errorf("--%s: no webhook to deploy specified; give --webhook-image, --webhook-image-archive or --webhook-manifests", slices.Max(more))
	}
	return nil
}

// first is the first of the flags that say what to deploy.
func (f inClusterFlags) first() string {
	return deploying()[slices.IndexFunc(deploying(), f.flags.Changed)]
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
		w.flags.over(&w.checked)
		return nil
	}
	inPlaceOf(&w.checked, config.Config{Webhook: config.Webhook{InCluster: &config.InCluster{}}}, "inCluster", "--"+w.flags.first())
	w.flags.over(&w.checked)
	if err := w.checked.Validate(); err != nil {
		return err
	}
	return engine.Deployable(w.checked, from)
}
