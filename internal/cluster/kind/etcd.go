package kind

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/crdconform/crdconform/internal/cluster/storage"
)

const (
	etcdPort = 2379

	// etcdTimeout is how long etcd has to answer the first request.
	etcdTimeout = 10 * time.Second

	// dialTimeout is how long connecting to a node may take before the connection goes through the API server.
	dialTimeout = time.Second

	// redial is how long to wait before a forwarding that broke is set up again.
	redial = 200 * time.Millisecond
)

// etcd is the connection to the storage of a cluster.
type etcd struct {
	client  *clientv3.Client
	forward *forward // nil when the node is reached directly
	err     error    // why there is no client
}

func (e *etcd) get() (*clientv3.Client, error) {
	if e.err != nil {
		return nil, fmt.Errorf("storage: %w", e.err)
	}
	return e.client, nil
}

func (e *etcd) close() error {
	if e == nil {
		return nil
	}
	var err error
	if e.client != nil {
		err = e.client.Close()
	}
	if e.forward != nil {
		e.forward.close()
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// openEtcd connects to the etcd beside the API server: directly where this machine reaches the node, or else by a forwarding
// through the API server. A configuration may have etcd elsewhere; then looking into storage fails.
func (c *Cluster) openEtcd(ctx context.Context) *etcd {
	ip, ip6, err := c.control.IP()
	if err != nil {
		return &etcd{err: explain(err)}
	}
	if ip == "" {
		ip = ip6
	}
	direct := net.JoinHostPort(ip, strconv.Itoa(etcdPort))
	dialer := net.Dialer{Timeout: dialTimeout}
	if connection, err := dialer.DialContext(ctx, "tcp", direct); err == nil {
		connection.Close()
		return c.openEtcdAt(ctx, direct, nil)
	}
	return c.openEtcdForwarded(ctx)
}

func (c *Cluster) openEtcdForwarded(ctx context.Context) *etcd {
	forward, err := c.forwardEtcd(ctx)
	if err != nil {
		return &etcd{err: err}
	}
	return c.openEtcdAt(ctx, forward.address, forward)
}

func (c *Cluster) openEtcdAt(ctx context.Context, address string, forward *forward) *etcd {
	e := &etcd{forward: forward}
	config, err := c.etcdTLS(ctx)
	if err != nil {
		return &etcd{forward: forward, err: err}
	}
	if e.client, err = clientv3.New(clientv3.Config{Endpoints: []string{"https://" + address}, TLS: config, Logger: zap.NewNop()}); err != nil {
		return &etcd{forward: forward, err: err}
	}
	limit, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	if _, err := e.client.Get(limit, storage.Prefix+"/namespaces/default", clientv3.WithCountOnly()); err != nil {
		e.err = fmt.Errorf("etcd at %s: %w", address, err)
	}
	return e
}

// etcdTLS returns what etcd and the API server know each other by. The key stays in memory.
func (c *Cluster) etcdTLS(ctx context.Context) (*tls.Config, error) {
	const dir = "/etc/kubernetes/pki/"
	read := func(file string) ([]byte, error) {
		text, err := c.inNode(ctx, "cat", dir+file)
		if err != nil {
			return nil, fmt.Errorf("the certificates of etcd: %w", err)
		}
		return []byte(text), nil
	}
	ca, err1 := read("etcd/ca.crt")
	certificate, err2 := read("apiserver-etcd-client.crt")
	key, err3 := read("apiserver-etcd-client.key")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for etcd: %w", err)
	}
	roots := x509.NewCertPool()
	block, _ := pem.Decode(ca)
	if block == nil || !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority of etcd is not a certificate")
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// forward is a port of this machine's loopback that leads to a pod. When the API server drops it, it is set up again.
type forward struct {
	address string
	stop    chan struct{}
	once    sync.Once
	done    chan struct{}
}

func (f *forward) close() {
	f.once.Do(func() { close(f.stop) })
	<-f.done
}

// forwardEtcd leads a port to the pod of etcd.
func (c *Cluster) forwardEtcd(ctx context.Context) (*forward, error) {
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "component=etcd"})
	if err != nil {
		return nil, err
	}
	if len(pods.Items) == 0 {
		return nil, errors.New("the cluster has no etcd pod")
	}
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	target := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(metav1.NamespaceSystem).Name(pods.Items[0].Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	f := &forward{stop: make(chan struct{}), done: make(chan struct{})}
	run := func(local uint16) (*portforward.PortForwarder, <-chan struct{}, error) {
		ready := make(chan struct{})
		ports := []string{fmt.Sprintf("%d:%d", local, etcdPort)}
		forwarder, bad := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, ports, f.stop, ready, io.Discard, io.Discard)
		if bad != nil {
			return nil, nil, bad
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			bad = forwarder.ForwardPorts()
		}()
		select {
		case <-ready:
			return forwarder, ended, nil
		case <-ended:
			return nil, nil, fmt.Errorf("forwarding a port to %s: %w", pods.Items[0].Name, bad)
		}
	}
	forwarder, ended, err := run(0)
	if err != nil {
		return nil, err
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(f.stop)
		return nil, err
	}
	local := ports[0].Local
	f.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(local)))
	go f.keep(ended, func() (<-chan struct{}, error) {
		_, ended, err := run(local)
		return ended, err
	})
	return f, nil
}

// keep sets the forwarding up again whenever it has ended, until it is closed.
func (f *forward) keep(ended <-chan struct{}, again func() (<-chan struct{}, error)) {
	defer close(f.done)
	for {
		select {
		case <-ended:
		case <-f.stop:
			<-ended
			return
		}
		for {
			select {
			case <-f.stop:
				return
			default:
			}
			next, err := again()
			if err == nil {
				ended = next
				break
			}
			pause := time.NewTimer(redial)
			select {
			case <-pause.C:
			case <-f.stop:
				pause.Stop()
				return
			}
		}
	}
}
