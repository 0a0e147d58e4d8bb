// Package embedded runs a Kubernetes API server for custom resources inside the process: upstream's
// apiextensions-apiserver, which is what kube-apiserver uses for CustomResourceDefinitions, on an embedded etcd.
//
// It listens on loopback only, with certificates of its own. There are no controllers, namespaces are not enforced, and
// the list of groups at /apis, which the aggregator of a full control plane makes, is kept by this package.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	readyTimeout = time.Minute
	stopTimeout  = 30 * time.Second
)

// Options say how the API server is to run. The zero value is what the suites want.
type Options struct {
	// WatchCache makes the API server serve reads from a watch cache, as real ones do.
	WatchCache bool

	// Dir is where the data and the keys are kept. When it is empty, that is a temporary directory that Stop removes.
	Dir string
}

// Cluster is a running API server. It can be stopped once; until then it can be restarted or killed and brought back.
type Cluster struct {
	*storage.Etcd

	options   Options
	dir       string
	sockets   string // where etcd's sockets are
	authority *pki.Authority
	admin     pki.Pair
	port      int
	services  *services
	lines     lines

	mu     sync.Mutex
	server *server // nil while it is down
	etcd   *etcd   // nil while it is down
	gone   bool    // after Stop

	stop     sync.Once
	stopping atomic.Value  // what Stop is at, in words
	stopped  chan struct{} // closed when it is done
	stopErr  error         // what came of it
}

var (
	_ cluster.Cluster  = (*Cluster)(nil)
	_ cluster.Services = (*Cluster)(nil)
	_ cluster.Storage  = (*Cluster)(nil)
)

// Start brings an API server up and returns when it is ready. When it fails, nothing is left behind.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options, dir: options.Dir, services: newServices(), stopped: make(chan struct{})}
	c.Etcd = storage.New(c.client)
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded API server: %w", err), c.removeDirs())
	}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded API server: %w", err), c.removeDirs())
	}
	return c, nil
}

func (c *Cluster) prepare() error {
	var err error
	if c.dir == "" {
		if c.dir, err = files.TemporaryDir("", ""); err != nil {
			return err
		}
	}
	if err = checkLimits(c.dir); err != nil {
		return err
	}
	if c.sockets, err = SocketDir(filepath.Join(c.dir, "etcd"), "/tmp"); err != nil {
		return err
	}
	if c.authority, err = pki.NewAuthority("crdconform"); err != nil {
		return err
	}
	c.admin, err = c.authority.Client("crdconform", user.SystemPrivilegedGroup)
	return err
}

// up starts etcd and the API server on the data that is there, at the port that it had before if it had one.
func (c *Cluster) up(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.server != nil {
		return errors.New("already started or stopped")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
	if err != nil {
		return err
	}
	if c.etcd, err = startEtcd(ctx, filepath.Join(c.dir, "etcd"), c.sockets); err != nil {
		return errors.Join(err, listener.Close())
	}
	//nolint:contextcheck // the server lives on when this call is over
	if c.server, err = startServer(serverConfig{
		dir:        c.dir,
		authority:  c.authority,
		listener:   listener,
		etcd:       c.etcd.endpoint,
		watchCache: c.options.WatchCache,
		services:   c.services,
		lines:      &c.lines,
	}); err != nil {
		return errors.Join(err, listener.Close(), c.down((*server).kill))
	}
	c.port = listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // it is a TCP listener
	if err := c.ready(ctx); err != nil {
		return errors.Join(err, c.down((*server).stop))
	}
	return nil
}

// ready waits until the API server says that it is.
func (c *Cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var last error
	err = kube.Until(ctx, 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		select {
		case failed := <-c.server.done:
			c.server.done <- failed
			return false, fmt.Errorf("it ended while starting: %w", failed)
		default:
		}
		last = kube.Answers(ctx, client, c.Config().Host+"/readyz")
		return last == nil, nil
	})
	if err != nil && last != nil && ctx.Err() != nil {
		return fmt.Errorf("not ready: /readyz: %w (%w)", last, err)
	}
	return err
}

// down ends the API server, and etcd. The caller holds the lock.
func (c *Cluster) down(end func(*server) error) error {
	var err error
	if c.server != nil {
		err = end(c.server)
		c.server = nil
		c.HangUp()
	}
	if c.etcd != nil {
		c.stopping.Store("etcd")
		err = errors.Join(err, c.etcd.stop())
		c.etcd = nil
	}
	return err
}

// Stop takes the API server down and removes its files. When the context ends before that is done, Stop returns what still
// runs. It is still taken down, and another call waits for that. Later calls return the same result.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop.Do(func() {
		c.stopping.Store("the API server")
		go func() {
			defer close(c.stopped)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.gone = true
			end := (*server).stop
			if c.options.Dir == "" {
				end = (*server).kill // what goes with it need not be finished
			}
			err := c.down(end)
			c.stopping.Store("the removal of its files")
			c.stopErr = errors.Join(err, c.removeDirs())
		}()
	})
	select {
	case <-c.stopped:
		return c.stopErr
	case <-ctx.Done():
		return fmt.Errorf("embedded API server: not stopped yet, still running: %s: %w", c.stopping.Load(), context.Cause(ctx))
	}
}

// Restart takes the API server down and brings it up again on the same data, at the same URL.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	err := c.down((*server).stop)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("embedded API server: %w", err)
	}
	return c.Resume(ctx)
}

// Kill takes the API server down at once: connections break, nothing is finished or said goodbye to. Resume brings it
// back.
func (c *Cluster) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down((*server).kill)
}

// Resume brings a killed API server back on the same data, at the same URL.
func (c *Cluster) Resume(ctx context.Context) error {
	if err := c.up(ctx); err != nil {
		return fmt.Errorf("embedded API server: %w", err)
	}
	return nil
}

func (c *Cluster) removeDirs() error {
	var err error
	if c.sockets != "" {
		err = os.RemoveAll(c.sockets)
	}
	if c.options.Dir == "" && c.dir != "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// Name is "embedded".
func (c *Cluster) Name() string { return "embedded" }

// Dir is the folder of the data and the keys.
func (c *Cluster) Dir() string { return c.dir }

// Sockets is the folder of etcd's sockets.
func (c *Cluster) Sockets() string { return c.sockets }

// WatchCache reports whether the API server was started with one.
func (c *Cluster) WatchCache() bool { return c.options.WatchCache }

// Config returns how to reach the API server as a member of system:masters, by a client certificate that expires with
// the run.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", c.port),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.authority.PEM(),
			CertData: c.admin.Certificate,
			KeyData:  c.admin.Key,
		},
	}
}

// Listen opens a listener on loopback.
func (c *Cluster) Listen(ctx context.Context) (net.Listener, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	return listener, "127.0.0.1", err
}

// Route makes calls to a service go to an address. It always succeeds.
func (c *Cluster) Route(_ context.Context, namespace, name string, port int32, address string) error {
	c.services.route(namespace, name, port, address)
	return nil
}
