//go:build unix

package envtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crdconform/crdconform/cluster"
	_ "github.com/crdconform/crdconform/internal/cluster/envtest/folder" // for its effect on envtest's own packages
	"github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/files"
)

// Cluster is a running API server with its etcd.
type Cluster struct {
	*storage.Etcd

	watchCache bool
	limits     limits
	dir        string // with everything that is the run's
	guard      *guard
	logs       logs
	services   *services

	etcd   *upstream.Etcd      // nil unless it was started
	server *upstream.APIServer // nil unless it was started
	stored *clientv3.Client    // nil unless etcd runs
	admin  *rest.Config

	stop    sync.Once
	stopErr error
}

var (
	_ cluster.Cluster           = (*Cluster)(nil)
	_ cluster.Services          = (*Cluster)(nil)
	_ cluster.Storage           = (*Cluster)(nil)
	_ cluster.ArtifactCollector = (*Cluster)(nil)
)

// Start brings an API server up and returns when it is ready. When it fails, or the context ends before that, nothing is
// left behind.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("envtest: %w", err)
	}
	return c, nil
}

func start(ctx context.Context, options Options) (*Cluster, error) {
	within, err := limitsOf(options.Variable)
	if err != nil {
		return nil, err
	}
	programs, err := find(ctx, options)
	if err != nil {
		return nil, err
	}
	dir, err := shortDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		watchCache: options.WatchCache,
		limits:     within,
		dir:        dir,
		logs:       logs{dir: dir, also: options.Log},
	}
	c.Etcd = storage.New(c.client)
	if err := c.up(ctx, programs, options.Run); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// longestSocket is how long the path of a Unix socket may be on any system: BSD has 104 bytes for it with the zero at its
// end, Linux 108.
const longestSocket = 103

// shortDir makes a temporary directory whose path is short enough for the sockets that will be in it.
func shortDir() (string, error) {
	for _, in := range []string{"", "/tmp"} {
		dir, err := files.TemporaryDir(in, "envtest-")
		if err != nil {
			return "", err
		}
		if len(filepath.Join(dir, longestSocketName)) <= longestSocket {
			return dir, nil
		}
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the path %s is too long for sockets; set TMPDIR to a shorter path", os.TempDir())
}

func (c *Cluster) up(ctx context.Context, programs assets, run string) error {
	var err error
	if c.guard, err = newGuard(c.dir); err != nil {
		return err
	}
	if err = c.startEtcd(ctx, programs.etcd); err != nil {
		return err
	}
	socket := filepath.Join(c.dir, servicesSocket)
	if c.services, err = serveServices(ctx, socket, run); err != nil {
		return err
	}
	if err = c.startAPIServer(ctx, programs.apiServer, socket); err != nil {
		return err
	}
	if err = c.services.connect(c.Config()); err != nil {
		return err
	}
	return c.ready(ctx)
}

// limits are how long the programs may take. One that ends is noticed at once.
type limits struct{ start, stop time.Duration }

// limitsOf reads what the environment says of envtest, apart from where the programs are.
func limitsOf(variable func(string) (string, bool)) (limits, error) {
	read := limits{start: 2 * time.Minute, stop: 20 * time.Second}
	if variable == nil {
		return read, nil
	}
	for name, limit := range map[string]*time.Duration{
		"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": &read.start,
		"KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT":  &read.stop,
	} {
		value, set := variable(name)
		if !set || value == "" {
			continue
		}
		duration, err := time.ParseDuration(value)
		if err != nil || duration <= 0 {
			return read, fmt.Errorf("%s is %q; it must be a duration such as 30s", name, value)
		}
		*limit = duration
	}
	const existing = "USE_EXISTING_CLUSTER"
	if value, _ := variable(existing); strings.EqualFold(value, "true") {
		return read, fmt.Errorf("%s=%s asks for a cluster that is there already: unset it, or check that cluster, of the kind existing, by its context", existing, value)
	}
	return read, nil
}

// client returns the client of etcd while it runs.
func (c *Cluster) client() (*clientv3.Client, error) {
	if c.stored == nil {
		return nil, errors.New("storage: etcd is down")
	}
	return c.stored, nil
}

// connectStorage connects to etcd, which no other user can: its socket is in a directory of the run's user.
func (c *Cluster) connectStorage(endpoint string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	c.stored = client
	return nil
}

// Stop takes the API server down and removes its files. It is killed when it is not down before the context ends, or
// within envtest's own limit, which is 20 s unless the environment says otherwise. Further calls return the same again.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop.Do(func() { c.stopErr = c.down(ctx) })
	return c.stopErr
}

func (c *Cluster) down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.stop)
	defer cancel()
	var errs []error
	if c.stored != nil {
		if err := c.stored.Close(); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if c.server != nil {
		errs = append(errs, c.end(ctx, apiServerName, c.server.Stop))
	}
	if c.services != nil {
		errs = append(errs, c.services.close())
	}
	if c.etcd != nil {
		errs = append(errs, c.end(ctx, etcdName, c.etcd.Stop))
	}
	errs = append(errs, c.logs.close(), os.RemoveAll(c.dir))
	if c.guard != nil {
		errs = append(errs, c.guard.close(context.WithoutCancel(ctx)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping envtest: %w", err)
	}
	return nil
}

// Name is "envtest".
func (c *Cluster) Name() string { return "envtest" }

// WatchCache reports whether the API server was started with one.
func (c *Cluster) WatchCache() bool { return c.watchCache }

// Config returns how to reach the API server as a member of system:masters, by a client certificate that is of no use after
// the run.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Listen opens a listener on loopback, where the API server runs too.
func (c *Cluster) Listen(ctx context.Context) (net.Listener, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback+":0")
	return listener, loopback, err
}

const loopback = "127.0.0.1"

// Route makes calls to a service go to an address. It makes the service, and its namespace if there is none; a service that
// was created by others is an error. An empty address removes the route.
func (c *Cluster) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	return c.services.route(ctx, namespace, name, port, address)
}

// Artifacts writes the logs of kube-apiserver and etcd into a directory, while both run.
func (c *Cluster) Artifacts(_ context.Context, dir string) error { return c.logs.copyTo(dir) }
