package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/loopback"
)

const (
	// routeTimeout is how long nodes may take until they lead calls of a service to a pod that is ready.
	routeTimeout = 20 * time.Second

	// probeTimeout bounds all of what it takes to find out whether an API server reaches a webhook: what API servers wait for
	// an answer, and some more.
	probeTimeout = 45 * time.Second

	// probeRemoval is how long it may take until the definition for that is gone.
	probeRemoval = 20 * time.Second
)

// Reachable reports why the API server of a cluster does not reach a webhook, in a sentence with what to do, or nothing when
// it does. The error wraps cluster.ErrNotReached when there is no connection at all; otherwise the webhook was reached and
// cannot be used, as for its certificate. The API server is made to convert an object: with a definition of a unique group,
// which is removed afterwards. The webhook gets one request for an object that it does not know; any answer to that will do.
func Reachable(ctx context.Context, c cluster.Cluster, run string, webhook apiextensionsv1.WebhookClientConfig) error {
	config := rest.CopyConfig(c.Config())
	config.WarningHandler = rest.NoWarnings{}
	return withProbe(ctx, config, run, webhook, func(ctx context.Context, ask func(context.Context) error) error { return ask(ctx) })
}

// awaitReachable waits until the API server reaches a webhook in the cluster, whose pods answer as they should.
func awaitReachable(ctx context.Context, config *rest.Config, run string, webhook apiextensionsv1.WebhookClientConfig) error {
	return withProbe(ctx, config, run, webhook, func(ctx context.Context, ask func(context.Context) error) error {
		until, cancel := context.WithTimeoutCause(ctx, routeTimeout, errTooLate)
		defer cancel()
		var last error
		err := poll(until, func() (bool, error) {
			err := ask(until)
			// Until a node knows where the address of a service leads, calls of it go wherever its routes say. Another server
			// with its own certificate may respond there.
			var odd *distrusted
			if (isUnreachable(err) || errors.As(err, &odd)) && until.Err() == nil {
				last = err
				return false, nil
			}
			return err == nil, err
		})
		var odd *distrusted
		switch {
		case errors.As(last, &odd) && errors.Is(err, errTooLate):
			return fmt.Errorf("the pods of the service %s/%s respond correctly, but through the service the API server reaches another server (%s); check the log of kube-proxy, or of whatever else routes services to pods",
				webhook.Service.Namespace, webhook.Service.Name, cmp.Or(odd.cause, "without TLS"))
		case errors.Is(err, errTooLate):
			return cmp.Or(last, err)
		}
		return err
	})
}

// unreachable is why an API server has no connection to a webhook.
type unreachable struct {
	webhook apiextensionsv1.WebhookClientConfig
	cause   string
}

// distrusted is why an API server does not talk to what it reaches. Without a cause that does not speak TLS.
type distrusted struct{ cause string }

func (d *distrusted) Error() string {
	if d.cause == "" {
		return "the API server reaches the webhook, but it does not use TLS; API servers call webhooks only over https, so give it a certificate"
	}
	return fmt.Sprintf("the API server reaches the webhook but does not trust it: %s; check that the caBundle contains its authority, and that its certificate is for the name that API servers use", d.cause)
}

func isUnreachable(err error) bool {
	var found *unreachable
	return errors.As(err, &found)
}

func (u *unreachable) Unwrap() error { return cluster.ErrNotReached }

func (u *unreachable) Error() string {
	if u.webhook.URL == nil {
		s := u.webhook.Service
		return fmt.Sprintf("the API server does not reach the service %s/%s at port %d: %s", s.Namespace, s.Name, ptr.Deref(s.Port, defaultServicePort), u.cause)
	}
	text := fmt.Sprintf("the API server does not reach the webhook at %s: %s", *u.webhook.URL, u.cause)
	at, err := url.Parse(*u.webhook.URL)
	if err != nil {
		return text
	}
	if loopback.Is(at.Hostname()) {
		return text + "; there " + at.Hostname() + " is the machine or the container of the API server itself; use an address at which the API server can reach this machine, and have the webhook listen on all addresses, or deploy it in the cluster"
	}
	return text + "; check that the webhook listens on that address and not only on localhost, that no firewall blocks it, and that the certificate is for that name, or deploy it in the cluster"
}

// withProbe does something with a function that makes the API server call a webhook once.
func withProbe(ctx context.Context, config *rest.Config, run string, webhook apiextensionsv1.WebhookClientConfig, do func(context.Context, func(context.Context) error) error) (err error) {
	clients, err := kube.Connect(config)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	group := fmt.Sprintf("probe%08x.crdconform.dev", rand.Uint32()) //nolint:gosec // it only needs to differ each time
	p := &kube.Probe{Definitions: clients.Definitions, Objects: clients.Objects, Run: run, Group: group, Plural: "probes"}
	defer func() {
		until, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), probeRemoval, fmt.Errorf("it takes longer than %s", probeRemoval))
		defer cancel()
		err = errors.Join(err, p.Remove(until))
	}()
	if err := p.Point(within, webhook); err != nil {
		return fmt.Errorf("testing whether the API server reaches the webhook: %w", err)
	}
	return do(within, func(ctx context.Context) error {
		err := poll(ctx, func() (bool, error) {
			err := p.Ask(ctx)
			if apierrors.IsNotFound(err) { // it is not served yet, at that version
				return false, nil
			}
			return err == nil, err
		})
		return classify(err, webhook)
	})
}

// classify derives from the error of a read that needs a conversion what is wrong with the connection to the webhook: nothing
// if any response came back.
func classify(err error, webhook apiextensionsv1.WebhookClientConfig) error {
	if err == nil {
		return nil
	}
	_, cause, found := strings.Cut(err.Error(), "conversion webhook for ")
	if !found {
		return fmt.Errorf("testing whether the API server reaches the webhook: %w", err)
	}
	if _, said, is := strings.Cut(cause, " failed: "); is {
		cause = said
	}
	// What comes before an answer has the URL of the call in front; whatever the webhook itself says has not.
	called := regexp.MustCompile(`^Post "[^"]*": `).FindString(cause)
	if called == "" {
		return nil
	}
	cause = strings.TrimPrefix(cause, called)
	has := func(words string) bool { return strings.Contains(strings.ToLower(cause), words) }
	switch {
	case has("x509:"), has("tls:"):
		return &distrusted{cause}
	case has("server gave http response to https client"):
		return &distrusted{}
	}
	return &unreachable{webhook, cause}
}
