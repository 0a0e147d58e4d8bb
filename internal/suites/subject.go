package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/loopback"
	"github.com/crdconform/crdconform/requirement"
)

// Assumed is an annotation of definitions that names what is not in the user's file.
const Assumed = "crdconform.dev/assumed"

// Own prepares specs that need the subject's own definition, converted by the webhook under test.
type Own struct{ env *Env }

// Own prepares specs that need the subject's own definition. It is installed once for the Env, in the background, when
// such a spec is selected, and removed by Close. Specs share it, so each removes its objects. It is installed as it is in
// the file, but for where the webhook is and for the status.
func (e *Env) Own() Own { return Own{e} }

// It declares the spec that checks one requirement, with the subject's own definition. The spec is skipped where there is
// no such definition or an API server could not be made to call the webhook, and Errored when the definition could not be
// installed. See Env.It.
func (o Own) It(id requirement.ID, text string, body func(ctx ginkgo.SpecContext, crd *Resource), labels ...string) {
	if o.env.installer.wants(id) && o.env.readings == nil {
		o.env.installer.wantsOwn = true
	}
	o.env.declare(id, text, func(ctx ginkgo.SpecContext) {
		o.env.present(ctx)
		if reason := o.env.withoutOwn(); reason != "" {
			ginkgo.Skip(reason)
		}
		crd := o.env.installer.own.wait(ctx)
		defer func() {
			if ctx.Err() == nil { // otherwise the run was stopped, and Ginkgo may be at something else
				ginkgo.DeferCleanup(crd.show) // the last, so that it is done before the body's objects are removed
			}
		}()
		body(ctx, crd)
	}, labels)
}

// withoutOwn says why the subject's own definition cannot be had; empty when it can.
func (e *Env) withoutOwn() string {
	switch {
	case e.Subject == nil:
		return "needs a webhook to judge; there is none"
	case e.Subject.Corpus.Definition == nil:
		return "needs the CustomResourceDefinition of the webhook; give it in addition to the samples"
	case e.Cluster == nil:
		return "needs an API server; there is none"
	case e.readings != nil:
		return onlyReads
	}
	conversion := e.Subject.Corpus.Definition.CRD.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		return "the definition's spec.conversion.strategy is not Webhook, so API servers call no webhook for it"
	}
	if e.Subject.Client.Endpoint().ClientCertificate != nil {
		return "the webhook requires a client certificate, which this API server does not have"
	}
	_, _, reason := e.reference()
	return reason
}

// relayPath is where the webhook under test is reached that listens on loopback.
const relayPath = "/crdconform-subject"

// relay leads an API server that does not reach the loopback of this machine to the webhook under test, by the listener of the
// run's own webhooks.
func (e *Env) relay() (*apiextensionsv1.WebhookClientConfig, *route, string) {
	if e.host == nil {
		return nil, nil, "the webhook listens on loopback: " + e.hostless.Error()
	}
	hook := &Webhook{host: e.host, paths: []string{relayPath}}
	hook.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the API server has closed the connection
		}
		response := e.Subject.Client.Send(r.Context(), body)
		if response.Err != nil {
			panic(http.ErrAbortHandler) // to the API server it looks as if the webhook had closed the connection
		}
		if kind := response.ContentType; kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(response.Status)
		_, _ = w.Write(response.Body)
	}))
	hook.Also(relayPath)
	return hook.ClientConfig(), nil, ""
}

// route is how a service gets to the webhook under test.
type route struct {
	namespace, name string
	port            int32
	address         string // host:port
}

// reference returns how a definition refers to the webhook under test: by its URL, or by the service that its certificate
// is for, which needs a route then. It says why neither is possible.
func (e *Env) reference() (*apiextensionsv1.WebhookClientConfig, *route, string) {
	endpoint := e.Subject.Client.Endpoint()
	config := &apiextensionsv1.WebhookClientConfig{CABundle: endpoint.CA}
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return nil, nil, fmt.Sprintf("the URL of the webhook is malformed: %v", err)
	}
	if e.Subject.Reference != nil {
		return e.Subject.Reference.DeepCopy(), nil, ""
	}
	if loopback.Is(u.Hostname()) && (e.host == nil || !loopback.Is(e.host.names[0])) {
		return e.relay()
	}
	if endpoint.ServerName == "" || endpoint.ServerName == u.Hostname() {
		config.URL = &endpoint.URL
		return config, nil, ""
	}
	parts := strings.Split(endpoint.ServerName, ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return nil, nil, "API servers verify the webhook by the host of its URL or by <service>.<namespace>.svc, but its server name is " + endpoint.ServerName
	}
	if _, ok := e.Cluster.(cluster.Services); !ok {
		return nil, nil, fmt.Sprintf("the webhook's certificate is for the service %s, which a cluster of the kind %s does not route to it", endpoint.ServerName, e.Cluster.Name())
	}
	port, err := portOf(u)
	if err != nil {
		return nil, nil, err.Error()
	}
	below := path.Join("/", u.Path)
	config.Service = &apiextensionsv1.ServiceReference{Name: parts[0], Namespace: parts[1], Port: &port, Path: &below}
	return config, &route{parts[1], parts[0], port, net.JoinHostPort(u.Hostname(), strconv.Itoa(int(port)))}, ""
}

func portOf(u *url.URL) (int32, error) {
	if u.Port() == "" {
		return 443, nil
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the URL of the webhook has the invalid port %s", u.Port())
	}
	return int32(port), nil
}

// startOwn begins to install the subject's own definition if a spec needs it and it is not installed yet.
func (i *installer) startOwn(ctx context.Context) {
	if !i.wantsOwn || i.env.withoutOwn() != "" || i.own != nil && i.own.err == nil {
		return
	}
	p := &pending{installer: i, done: make(chan struct{})}
	i.own = p
	i.running.Go(func() {
		defer close(p.done)
		p.resource, p.err = i.installOwn(ctx)
	})
}

func (i *installer) installOwn(ctx context.Context) (*Resource, error) {
	definition := i.env.Subject.Corpus.Definition.CRD.DeepCopy()
	definition.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	definition.ResourceVersion, definition.UID, definition.ManagedFields, definition.OwnerReferences, definition.Finalizers = "", "", nil, nil, nil
	hook := definition.Spec.Conversion.Webhook
	if err := knownReviews(hook); err != nil {
		return nil, err
	}
	config, route, _ := i.env.reference()
	hook.ClientConfig = config
	if route != nil {
		services, ok := i.env.Cluster.(cluster.Services)
		if !ok {
			return nil, fmt.Errorf("a cluster of the kind %s does not route services", i.env.Cluster.Name())
		}
		if err := services.Route(ctx, route.namespace, route.name, route.port, route.address); err != nil {
			return nil, err
		}
		i.unroute = func(ctx context.Context) error {
			return services.Route(ctx, route.namespace, route.name, route.port, "")
		}
	}
	r := i.resourceOf(definition)
	put := i.create
	if i.env.Subject.Installed {
		put = i.adopt
	}
	if err := put(ctx, definition); err != nil {
		return nil, err
	}
	return r, i.ready(ctx, r, definition)
}

// adopt gives a definition of the run that is in the cluster already the conversion of another, and takes it over.
func (i *installer) adopt(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := i.env.CRDs.Get(ctx, definition.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) { // this one was not among those that were installed
			return i.create(ctx, definition)
		}
		if err != nil {
			return err
		}
		if run := i.env.run; run != "" && there.Labels[cluster.RunLabel] != run {
			return fmt.Errorf("%s exists and does not belong to this run; delete it, or use another cluster", definition.Name)
		}
		i.mu.Lock()
		i.installed[definition.Name] = there
		i.mu.Unlock()
		there.Spec.Conversion = definition.Spec.Conversion
		_, err = i.env.CRDs.Update(ctx, there, metav1.UpdateOptions{})
		return err
	})
}

// knownReviews reports whether API servers know a version of ConversionReview that the definition lists. One that they
// do not know is refused with no word of what to write instead.
func knownReviews(hook *apiextensionsv1.WebhookConversion) error {
	if hook == nil {
		return errors.New("the definition has the conversion strategy Webhook and no spec.conversion.webhook; add it")
	}
	if !slices.Contains(hook.ConversionReviewVersions, "v1") && !slices.Contains(hook.ConversionReviewVersions, "v1beta1") {
		return fmt.Errorf("the definition's spec.conversion.webhook.conversionReviewVersions are %q, none of which API servers support; list v1 or v1beta1", hook.ConversionReviewVersions)
	}
	return nil
}

// StorageVersion is the version at which the definition in the cluster stores objects.
func (r *Resource) StorageVersion(ctx context.Context) string {
	return kube.StorageVersion(r.Definition(ctx))
}
