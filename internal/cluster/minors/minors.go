// Package minors runs embedded API servers of older Kubernetes minors. Modules of two minors cannot be in one program, so each is
// a program of its own, in the folder apiserver, which is built on the user's machine with the modules of the minor.
//
// The program is a child without flags that is talked to by its standard input and output, in JSON, one object on a line. Its log
// goes to its standard error. The first line of the input says how to run, and the answer says where the program serves:
//
//	{"protocol": 1, "dir": "/tmp/crdconform-123", "etcd": "unix:///tmp/crdconform-123/etcd/sockets/client.sock", "watchCache": false}
//	{"protocol": 1, "url": "https://127.0.0.1:41357"}
//
// dir has ca.crt, tls.crt and tls.key: the authority whose clients are accepted, and the certificate to serve. The API server is
// ready when /readyz says ok. Each further line leads calls of a service to an address, or no longer if that is empty. The answer,
// once it holds, is an empty object or one with error:
//
//	{"namespace": "default", "name": "webhook", "port": 443, "address": "127.0.0.1:9443"}
//
// The program ends when its input does, so it cannot outlive this process, however that ends, and removes dir then. If its first
// line is of another protocol, or the API server cannot run, it says why on standard error and ends with exit code 1. It has its
// own process group, so that Ctrl-C does not reach it before this process is done. etcd runs in this process.
package minors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/requirement"
)

// readyTimeout is how long the API server may take to be ready, which is half a second where nothing else runs.
const readyTimeout = time.Minute

// Options say what to run.
type Options struct {
	// Minor is one of All.
	Minor requirement.Minor
	// Programs is where the program of the minor is.
	Programs Programs
	// WatchCache makes the API server serve reads from a watch cache, as real ones do.
	WatchCache bool
	// Log receives what the API server logs. Nil discards it.
	Log io.Writer
}

// Cluster is a running API server.
type Cluster struct {
	*storage.Etcd

	watchCache bool
	dir        string // with everything that is the run's
	authority  *pki.Authority
	admin      pki.Pair
	etcd       *embedded.Etcd
	program    *program

	stop    sync.Once
	stopErr error
}

var (
	_ cluster.Cluster  = (*Cluster)(nil)
	_ cluster.Services = (*Cluster)(nil)
	_ cluster.Storage  = (*Cluster)(nil)
)

// Start brings an API server up and returns when it is ready. When it fails, or the context ends before that, nothing is left
// behind. When the program is not there, the error is an ErrNotBuilt.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	path, err := options.Programs.Find(options.Minor)
	if err != nil {
		return nil, err
	}
	return StartAt(ctx, path, options)
}

// StartAt runs the program at a path.
func StartAt(ctx context.Context, path string, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	c := &Cluster{watchCache: options.WatchCache}
	if err := c.up(ctx, path, options.Log); err != nil {
		err = fmt.Errorf("embedded API server of Kubernetes %s: %w", options.Minor, err)
		return nil, errors.Join(err, c.down())
	}
	return c, nil
}

func (c *Cluster) up(ctx context.Context, path string, log io.Writer) error {
	if err := c.prepare(); err != nil {
		return err
	}
	var err error
	if c.etcd, err = embedded.StartEtcd(ctx, c.dir); err != nil {
		return err
	}
	c.Etcd = c.etcd.Etcd
	if c.program, err = startProgram(path, log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := c.program.begin(ctx, order{protocol, c.dir, c.etcd.URL(), c.watchCache}); err != nil {
		return err
	}
	return c.ready(ctx)
}

// prepare makes the directory of the run, with what the program serves by.
func (c *Cluster) prepare() error {
	var err error
	if c.dir, err = shortDir(); err != nil {
		return err
	}
	if c.authority, err = pki.NewAuthority("crdconform"); err != nil {
		return err
	}
	if c.admin, err = c.authority.Client("crdconform", user.SystemPrivilegedGroup); err != nil {
		return err
	}
	pair, err := c.authority.Server("localhost", loopback, "::1", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"ca.crt": c.authority.PEM(), "tls.crt": pair.Certificate, "tls.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// longestDir is how long the path of a directory may be in which etcd's sockets are.
const longestDir = 70

// shortDir makes a temporary directory whose path is short enough.
func shortDir() (string, error) {
	in := ""
	if len(os.TempDir()) > longestDir-len("/crdconform-0123456789") {
		in = "/tmp"
	}
	return files.TemporaryDir(in, "")
}

// ready waits until the API server says that it is.
func (c *Cluster) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var last error
	err = kube.Until(ctx, 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		if failed := c.program.failed(); failed != nil {
			return false, failed
		}
		last = kube.Answers(ctx, client, c.Config().Host+"/readyz")
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("not ready: %w (%w)", err, last)
	}
	return err
}

// Stop takes the API server down and removes its files. An API server that ended by itself before is an error. Further calls
// return the same again.
func (c *Cluster) Stop(context.Context) error {
	c.stop.Do(func() {
		failed := c.program.failed()
		if c.stopErr = errors.Join(failed, c.down()); c.stopErr != nil {
			c.stopErr = fmt.Errorf("embedded API server: %w", c.stopErr)
		}
	})
	return c.stopErr
}

// down takes down whatever is up. The API server is killed: it keeps nothing, and etcd's data goes as well.
func (c *Cluster) down() error {
	var errs []error
	if c.program != nil {
		errs = append(errs, c.program.child.Kill(), c.program.child.Output.Close())
	}
	if c.etcd != nil {
		errs = append(errs, c.etcd.Stop())
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// Name is "embedded".
func (c *Cluster) Name() string { return "embedded" }

// Dir is the folder with everything that is the run's.
func (c *Cluster) Dir() string { return c.dir }

// Process is the process of the API server.
func (c *Cluster) Process() *process.Process { return c.program.child }

// WatchCache reports whether the API server was started with one.
func (c *Cluster) WatchCache() bool { return c.watchCache }

// Config returns how to reach the API server as a member of system:masters, by a client certificate that expires with the run.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host: c.program.url,
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.authority.PEM(),
			CertData: c.admin.Certificate,
			KeyData:  c.admin.Key,
		},
	}
}

const loopback = "127.0.0.1"

// Listen opens a listener on loopback.
func (c *Cluster) Listen(ctx context.Context) (net.Listener, string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback+":0")
	return listener, loopback, err
}

// Route makes calls to a service go to an address.
func (c *Cluster) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	if err := c.program.route(ctx, route{namespace, name, port, address}); err != nil {
		return fmt.Errorf("embedded API server: service %s/%s: %w", namespace, name, err)
	}
	return nil
}
