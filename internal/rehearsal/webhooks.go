package rehearsal

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// hook is a build of a webhook, and where it is while it runs.
type hook struct {
	build   Build
	running *Webhook
	client  *apiextensionsv1.WebhookClientConfig // nil while it is not known
}

// webhooks convert: the builds of both releases, which are started and stopped.
type webhooks struct {
	*api

	old, new hook
	broken   bool // the new webhook does not start
}

// stop stops a webhook.
func (h *hook) stop(ctx context.Context) error {
	if h.running == nil {
		return nil
	}
	running := h.running
	h.running, h.client = nil, nil
	within, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return running.Stop(within)
}

const stopTimeout = time.Minute

// acts reports whether a webhook is a client of the API server itself.
func (h *hook) acts() bool { return h.build != nil && h.build.Acts() }

// retire stops a webhook that acts, so that the other release is alone.
func (h *hook) retire(ctx context.Context) error {
	if !h.acts() {
		return nil
	}
	return h.stop(ctx)
}

// converts reports whether what a release stores can be read at all versions.
func (h *hook) converts(s *side) bool { return !s.converts() || h.running != nil }

// start starts a webhook. The function is called when it is known how definitions refer to it; it may be nil.
func (w *webhooks) start(ctx context.Context, h *hook, at func(apiextensionsv1.WebhookClientConfig) error) error {
	if at == nil {
		at = func(apiextensionsv1.WebhookClientConfig) error { return nil }
	}
	if h.running != nil {
		return at(*h.client)
	}
	running, err := h.build.Start(ctx, w.cluster, func(client apiextensionsv1.WebhookClientConfig) error {
		h.client = &client
		return at(client)
	})
	if err != nil {
		h.client = nil
		return err
	}
	h.running = running
	return nil
}

// startFor starts a webhook that the definitions of a release name from then on.
func (w *webhooks) startFor(ctx context.Context, h *hook, kinds []*kind, of func(*kind) *side) error {
	return w.start(ctx, h, func(client apiextensionsv1.WebhookClientConfig) error { return w.point(ctx, kinds, of, &client) })
}

// point has the definitions of a release name a webhook, or nobody if it is nil.
func (w *webhooks) point(ctx context.Context, kinds []*kind, of func(*kind) *side, client *apiextensionsv1.WebhookClientConfig) error {
	for _, k := range kinds {
		if s := of(k); s != nil && s.converts() {
			if err := w.put(ctx, k, s, client); err != nil {
				return fmt.Errorf("the webhook of %s: %w", k.name, err)
			}
		}
	}
	return nil
}

// oldSide and newSide return what a definition is in a release; nil for a new one that is not looked at any further.
func (k *kind) oldSide() *side { return k.old }

func (k *kind) newSide() *side {
	if k.stopped != "" {
		return nil
	}
	return k.new
}

// any returns how to refer to a webhook that runs: that of the old release or, where there is none, the new one. It is nil if
// none is needed.
func (w *webhooks) any(ctx context.Context, s *side) (*apiextensionsv1.WebhookClientConfig, error) {
	switch {
	case !s.converts():
		return nil, nil //nolint:nilnil // nothing is converted
	case w.old.client != nil:
		return w.old.client, nil
	case w.new.build == nil:
		return nil, nil //nolint:nilnil // there is none
	}
	err := w.start(ctx, &w.new, nil)
	return w.new.client, err
}

// alive returns why the new webhook does not run any more.
func (w *webhooks) alive() error {
	if w.new.running == nil || w.new.running.Alive == nil {
		return nil
	}
	return w.new.running.Alive()
}
