// Package existing checks an existing cluster, which others may use as well. Whatever it creates carries the label of the run,
// in API groups that no other run has; nothing else is changed or deleted.
//
// A kubeconfig and a context say which cluster that is. Before anything is created, the API server is asked whether the user
// may do what the run cannot do without; everything missing is reported at once.
package existing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/services"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// oldest is the first Kubernetes minor that the harness can work with: the one that brought apiextensions.k8s.io/v1.
var oldest = requirement.Minor{Major: 1, Minor: 16}

const (
	// versionTimeout is how long the API server has for its first answer.
	versionTimeout = 15 * time.Second

	// reachTimeout is how long the API server has to make its first call to this machine, or to a service.
	reachTimeout = 20 * time.Second
)

// Options say which cluster it is and what may be done with it.
type Options struct {
	// Kubeconfig is the file that says how to reach clusters, or a list of files as $KUBECONFIG has them. The environment is
	// not looked at.
	Kubeconfig string

	// Context is the context of the kubeconfig. Without one, Start fails.
	Context string

	// Current takes the current context of the kubeconfig where there is no Context.
	Current bool

	// Overrides replace what the context says, as kubectl's flags of the same names do.
	Overrides clientcmd.ConfigOverrides

	// Run is the ID of the run, a DNS label. Whatever is created has it as the value of cluster.RunLabel.
	Run string

	// WebhookHost is the IP address or the name by which the API server reaches this machine. Without one, Listen returns a
	// cluster.ErrNotReached. Services can be routed to an IP address only, and not to one of the loopback.
	WebhookHost string

	// WebhookListen is where webhooks listen, as host:port: a free port of all addresses if empty. With port 0 it is a free
	// port.
	WebhookListen string

	// Definitions are those that are checked, if that are the user's: the rights for their objects are needed then, rather than
	// those for the CronTabs of the documents.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	// ReadOnly makes every request fail that might change something in the cluster.
	ReadOnly bool
}

// UsageError is an error in what the user said, rather than one of the cluster.
type UsageError struct {
	Option string // that is to blame, such as cluster.webhookHost; may be empty
	Value  string // of the option
	text   string
}

func (e *UsageError) Error() string {
	if e.Option == "" {
		return e.text
	}
	return e.Option + " " + e.Value + ": " + e.text
}

// Unwrap returns the error without the option.
func (e *UsageError) Unwrap() error {
	if e.Option == "" {
		return nil
	}
	return errors.New(e.text)
}

func misused(format string, arguments ...any) error {
	return &UsageError{text: fmt.Sprintf(format, arguments...)}
}

// Cluster is a connection to a cluster.
type Cluster struct {
	options Options
	context string
	config  *rest.Config
	client  kubernetes.Interface
	probe   *probe
	router  *services.Router

	mu       sync.Mutex
	unrouted error // what came of the first attempt to route a service, once one failed
}

var (
	_ cluster.Cluster  = (*Cluster)(nil)
	_ cluster.Services = (*Cluster)(nil)
)

// Validate returns what is wrong with the options, without asking the cluster. Errors that are not about the files themselves
// are of the type UsageError.
func (o Options) Validate() error {
	if problems := validation.IsDNS1123Label(o.Run); len(problems) > 0 {
		return misused("the ID of the run, %q, must be a DNS label: %s", o.Run, strings.Join(problems, "; "))
	}
	if _, port, err := net.SplitHostPort(cmp.Or(o.WebhookListen, ":0")); err != nil || !isPort(port) {
		return &UsageError{"cluster.listen", o.WebhookListen, "write it as host:port, such as 0.0.0.0:9443"}
	}
	if _, port, err := net.SplitHostPort(o.WebhookHost); err == nil && !strings.Contains(port, "/") {
		return &UsageError{"cluster.webhookHost", o.WebhookHost, "give the address alone; cluster.listen is for the port"}
	}
	if o.WebhookHost != "" && net.ParseIP(o.WebhookHost) == nil && len(validation.IsDNS1123Subdomain(strings.ToLower(o.WebhookHost))) > 0 {
		return &UsageError{"cluster.webhookHost", o.WebhookHost, "it is neither an IP address nor the name of a host"}
	}
	_, _, err := load(o)
	return err
}

// isPort reports whether a text is the number of a port, or 0 for a free one.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// Start connects to a cluster, and makes sure of its version and of the rights that a run needs. It creates nothing. Errors
// about what the options say are of the type UsageError. No error has a credential in it.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	c, err := connect(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := c.preflight(ctx, Rights(options)); err != nil {
		return nil, fmt.Errorf("the cluster of the context %s: %w", c.context, err)
	}
	return c, nil
}

// Connect connects to a cluster for what is no run: it makes sure of the version, and of no rights. Errors are those of Start.
func Connect(ctx context.Context, options Options) (*Cluster, error) { return connect(ctx, options) }

// connect loads the kubeconfig and asks the API server for its version.
func connect(ctx context.Context, options Options) (*Cluster, error) {
	config, name, err := load(options)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, context: name, config: config}
	if err := c.connect(ctx); err != nil {
		return nil, fmt.Errorf("the cluster of the context %s: %w", name, redacted(err, config))
	}
	return c, nil
}

func (c *Cluster) connect(ctx context.Context) error {
	clients, err := kube.Connect(c.Config())
	if err != nil {
		return err
	}
	everything, err := kubernetes.NewForConfigAndClient(c.Config(), clients.Once.HTTP())
	if err != nil {
		return err
	}
	if err := checkVersion(ctx, everything.Discovery().RESTClient(), c.config.Host); err != nil {
		return err
	}
	c.client = everything
	c.probe = newProbe(clients, c.options.Run, c.Domain())
	if reason := unroutable(c.options.WebhookHost); reason == "" {
		c.router = services.NewRouter(everything, c.options.Run, func(context.Context, string, int32) error { return nil }, nil)
	}
	return nil
}

// Name is "existing".
func (c *Cluster) Name() string { return "existing" }

// Context is the context of the kubeconfig.
func (c *Cluster) Context() string { return c.context }

// Domain is what the API groups of the run end with. No other run has it, and it cannot be registered.
func (c *Cluster) Domain() string { return "run-" + c.options.Run + ".example.com" }

// Config returns how to reach the API server as the user of the context. With ReadOnly, it lets no request through that
// might change something.
func (c *Cluster) Config() *rest.Config {
	config := rest.CopyConfig(c.config)
	if c.options.ReadOnly {
		base := ""
		if u, err := url.Parse(config.Host); err == nil {
			base = u.Path
		}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next, base} })
	}
	return config
}

// WatchCache is true: API servers have a watch cache by default, and this cannot be seen from outside.
func (c *Cluster) WatchCache() bool { return true }

// Listen opens a listener at WebhookListen, and has the API server call it as WebhookHost before it returns. Without a
// WebhookHost the error is a cluster.ErrNotReached. If a WebhookHost was given and no call arrives, it is another error,
// because the user expects the webhooks to be called.
func (c *Cluster) Listen(ctx context.Context) (net.Listener, string, error) {
	switch {
	case c.options.ReadOnly:
		return nil, "", fmt.Errorf("%w: no webhook is called in a read-only run", cluster.ErrNotReached)
	case c.options.WebhookHost == "":
		return nil, "", fmt.Errorf("%w, as far as is known; give cluster.webhookHost, the IP address or name by which it can, to have webhooks called", cluster.ErrNotReached)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(c.options.WebhookListen, ":0"))
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, "", errors.Join(errors.New("it does not listen on TCP"), listener.Close())
	}
	if err := c.probe.reaches(ctx, tcp, c.options.WebhookHost); err != nil {
		return nil, "", errors.Join(err, listener.Close())
	}
	return listener, c.options.WebhookHost, nil
}

// Route makes calls to a service of the run go to an address, and returns when the API server calls it there. The error is
// a cluster.ErrNotReached when services cannot be led out of this cluster. A service that the run did not make is left
// alone.
func (c *Cluster) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.router == nil {
		return fmt.Errorf("%w through a service: %s", cluster.ErrNotReached, unroutable(c.options.WebhookHost))
	}
	if address == "" {
		return c.router.Route(ctx, namespace, name, port, "")
	}
	if c.unrouted != nil {
		return c.unrouted
	}
	if err := c.router.Route(ctx, namespace, name, port, address); err != nil {
		return err
	}
	message, err := c.probe.arrives(ctx, namespace, name, port, address)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w through a service: calls to %s/%s, which leads to %s, did not arrive within %s; message of the API server: %s",
		cluster.ErrNotReached, namespace, name, address, c.probe.within, cmp.Or(message, err.Error()))
	if ctx.Err() == nil {
		c.unrouted = err
	}
	return errors.Join(err, c.router.Route(context.WithoutCancel(ctx), namespace, name, port, ""))
}

// unroutable says why services cannot be led to a host; empty if they can.
func unroutable(host string) string {
	switch ip := net.ParseIP(host); {
	case host == "":
		return "that needs cluster.webhookHost"
	case ip == nil:
		return "services lead to IP addresses, and cluster.webhookHost is the name " + host
	case ip.IsLoopback(), ip.IsLinkLocalUnicast(), ip.IsUnspecified():
		return "services cannot lead to " + host
	}
	return ""
}

// Stop removes what the connection created beside the definitions of the suites, and leaves the cluster alone. It may be
// called more than once.
func (c *Cluster) Stop(ctx context.Context) error {
	err := c.probe.remove(ctx)
	if c.router != nil {
		err = errors.Join(err, c.router.Close(ctx))
	}
	return err
}
