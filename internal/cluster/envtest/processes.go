//go:build unix

package envtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	clientSocket   = "client.sock"
	servicesSocket = "services.sock"

	longestSocketName = servicesSocket

	// httpFlag makes etcd answer requests for its health, and no others, elsewhere than where its clients connect to.
	httpFlag = "listen-client-http-urls"

	// attempts is how often a program is started whose port was taken by another program since it was found free.
	attempts = 3

	// poll is how long to wait before a program is looked at again.
	poll = 20 * time.Millisecond
)

// startEtcd runs etcd on a Unix socket, so that no other user of the machine can read or write its data. One port serves only health
// checks, and one its peers: it has none, and nobody has a certificate to be one. For peers at a Unix socket etcd would listen at an
// abstract one, which all users of the machine can reach: it takes the host of a URL for the path.
func (c *Cluster) startEtcd(ctx context.Context, program string) error {
	clients := url.URL{Scheme: "unix", Path: filepath.Join(c.dir, clientSocket)}
	authority, pair, err := c.peerFiles()
	if err != nil {
		return fmt.Errorf("preparing etcd: %w", err)
	}
	if err := c.onFreePort(ctx, etcdName, program, func(path string, port int) (func() error, error) {
		data, err := c.makeDir("data")
		if err != nil {
			return nil, err
		}
		log, err := c.logs.open(etcdName)
		if err != nil {
			return nil, err
		}
		health := url.URL{Scheme: "http", Host: hostPort(port)}
		c.etcd = &upstream.Etcd{
			Path: path, URL: &health, DataDir: data, Out: log, Err: log,
			StartTimeout: c.limits.start, StopTimeout: c.limits.stop + grace,
		}
		c.etcd.Configure().
			Set("listen-client-urls", clients.String()).Set("listen-peer-urls", "https://"+hostPort(0)).
			Set("peer-client-cert-auth", "true").Set("peer-trusted-ca-file", authority).
			Set("peer-cert-file", pair+".crt").Set("peer-key-file", pair+".key").
			Set(httpFlag, health.String()).Set("enable-grpc-gateway", "false").
			// A member of its own can elect itself at once.
			Set("heartbeat-interval", "10").Set("election-timeout", "50")
		return c.etcd.Start, nil
	}); err != nil {
		return err
	}
	return c.connectStorage(clients.String())
}

// peerFiles writes the certificate that etcd shows its peers, and its key, to files that begin with pair, and the authority by which it
// verifies theirs. That has signed no other certificate, and its key is gone.
func (c *Cluster) peerFiles() (authority, pair string, err error) {
	signer, err := pki.NewAuthority("crdconform etcd peers")
	if err != nil {
		return "", "", err
	}
	issued, err := signer.Server(loopback)
	if err != nil {
		return "", "", err
	}
	authority, pair = filepath.Join(c.dir, "peers.crt"), filepath.Join(c.dir, "peer")
	return authority, pair, errors.Join(
		os.WriteFile(authority, signer.PEM(), 0o600),
		os.WriteFile(pair+".crt", issued.Certificate, 0o600),
		os.WriteFile(pair+".key", issued.Key, 0o600),
	)
}

// startAPIServer runs kube-apiserver, which reaches what is in the cluster through a proxy on a Unix socket.
func (c *Cluster) startAPIServer(ctx context.Context, program, proxy string) error {
	egress := filepath.Join(c.dir, "egress.yaml")
	if err := os.WriteFile(egress, egressThrough(proxy), 0o600); err != nil {
		return err
	}
	err := c.onFreePort(ctx, apiServerName, program, func(path string, port int) (func() error, error) {
		keys, err := c.makeDir("keys")
		if err != nil {
			return nil, err
		}
		log, err := c.logs.open(apiServerName)
		if err != nil {
			return nil, err
		}
		c.server = &upstream.APIServer{
			Path: path, CertDir: keys, Out: log, Err: log,
			EtcdURL:      &url.URL{Scheme: "unix", Path: filepath.Join(c.dir, clientSocket)},
			StartTimeout: c.limits.start, StopTimeout: c.limits.stop + grace,
		}
		c.server.ListenAddr = upstream.ListenAddr{Address: loopback, Port: strconv.Itoa(port)}
		flags := c.server.Configure().Set("egress-selector-config-file", egress)
		if !c.watchCache {
			flags.Set("watch-cache", "false")
		}
		return c.server.Start, nil
	})
	if err != nil {
		return err
	}
	user := upstream.User{Name: "crdconform", Groups: []string{"system:masters"}}
	if c.admin, err = c.server.AddUser(user, &rest.Config{QPS: -1}); err != nil {
		return fmt.Errorf("creating a user: %w", err)
	}
	c.admin.Host = "https://" + c.server.HostPort()
	c.admin.CAData = c.server.CA
	return nil
}

// grace is how much longer than this package envtest waits for a program to stop, for where this package cannot kill it.
const grace = 10 * time.Second

// onFreePort starts a program on a port that is free. The function prepares that for the path to run and the port, and
// returns what starts it. Nothing keeps the port free until the program has it, so there may be several attempts.
func (c *Cluster) onFreePort(ctx context.Context, name, program string, prepare func(path string, port int) (func() error, error)) error {
	path := c.guard.launcher(name, program)
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx)
		if err != nil {
			return fmt.Errorf("finding a port for %s: %w", name, err)
		}
		start, err := prepare(path, port)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", name, err)
		}
		began := time.Now()
		err = c.launch(ctx, name, start)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.guard.kill(name) // envtest does not wait for one that is not ready in time
		said := c.logs.lastWords(name)
		switch {
		case strings.Contains(said, "address already in use") && attempt < attempts:
			continue
		case strings.Contains(said, "address already in use"):
			return fmt.Errorf("%s could not be started: each of %d free ports was taken by another program first: %s", name, attempts, said)
		case time.Since(began) >= c.limits.start:
			return fmt.Errorf("%s was not ready within %s, which KUBEBUILDER_CONTROLPLANE_START_TIMEOUT can change: %s", name, c.limits.start, said)
		}
		return fmt.Errorf("%s ended while it was starting: %s", name, said)
	}
}

func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback+":0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // it is a TCP listener
	return port, listener.Close()
}

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// makeDir makes an empty directory below the run's own, in place of what an earlier attempt left.
func (c *Cluster) makeDir(name string) (string, error) {
	dir := filepath.Join(c.dir, name)
	return dir, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
}

// launch starts a program. It breaks that off when the context ends, which envtest does not do by itself.
func (c *Cluster) launch(ctx context.Context, name string, start func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- start() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		_ = c.killUntil(name, done) // it did not start
		return context.Cause(ctx)
	}
}

// end stops a program, and kills it when the context ends before it has stopped.
func (c *Cluster) end(ctx context.Context, name string, stop func() error) error {
	done := make(chan error, 1)
	go func() { done <- stop() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = c.killUntil(name, done)
	}
	// What is gone already need not be stopped.
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// killUntil kills a program, which may be just starting, until something is done that waits for it to be gone.
func (c *Cluster) killUntil(name string, done <-chan error) error {
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		c.guard.kill(name)
		select {
		case err := <-done:
			return err
		case <-again.C:
		}
	}
}

// ready waits until the API server says that it is, and has the namespaces that it makes by itself.
func (c *Cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limits.start)
	defer cancel()
	client, err := rest.HTTPClientFor(c.Config())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
		var last error
		err := kube.Until(ctx, poll, func(ctx context.Context) (bool, error) {
			last = kube.Answers(ctx, client, c.admin.Host+path)
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("kube-apiserver is not ready: %s: %w (%w)", path, last, err)
		}
	}
	return nil
}
