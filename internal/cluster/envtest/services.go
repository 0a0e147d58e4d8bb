//go:build unix

package envtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// dialTimeout is how long the API server waits for a connection that cannot be made.
	dialTimeout = 10 * time.Second

	// askingTimeout is how long the API server may take to say where it wants to be connected to.
	askingTimeout = 10 * time.Second

	// learning is how long API servers are given to learn of a new service. They watch services, which takes a few
	// milliseconds, and there is no signal when one has.
	learning = 100 * time.Millisecond
)

// services leads calls of the API server to services to listeners on this machine.
//
// The API server looks a service up and connects to its cluster IP, behind which is nothing here. But it can be configured to
// reach the cluster through a proxy, as it does where it is in another network than its nodes. This is that proxy. It listens
// on a Unix socket, so that it needs no port, and no address by which others could come in.
type services struct {
	listener net.Listener
	run      string
	client   kubernetes.Interface // set by connect
	serving  sync.WaitGroup

	mu      sync.Mutex
	routes  map[string]string               // addresses of listeners by <cluster IP>:<port>
	made    map[serviceName]*corev1.Service // as they are in the cluster
	open    map[net.Conn]struct{}           // connections of the API server, and those they lead to
	closing bool
}

type serviceName struct{ namespace, name string }

// egressThrough is the configuration of an API server that reaches what is in the cluster through a socket.
func egressThrough(socket string) []byte {
	return fmt.Appendf(nil, `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %q
`, socket)
}

// serveServices begins to serve the API server on a socket. What it makes in the cluster gets the ID of the run as a label.
func serveServices(ctx context.Context, socket, run string) (*services, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	s := &services{
		listener: listener,
		run:      run,
		routes:   map[string]string{},
		made:     map[serviceName]*corev1.Service{},
		open:     map[net.Conn]struct{}{},
	}
	s.serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			s.serving.Go(func() { s.serve(connection) })
		}
	})
	return s, nil
}

// connect makes it possible to make services.
func (s *services) connect(config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to create services: %w", err)
	}
	s.client = client
	return nil
}

// serve connects one connection of the API server to the listener that it wants to reach.
func (s *services) serve(from net.Conn) {
	defer s.drop(from)
	if !s.keep(from) || from.SetDeadline(time.Now().Add(askingTimeout)) != nil {
		return
	}
	request, err := http.ReadRequest(bufio.NewReader(from))
	if err != nil || request.Method != http.MethodConnect {
		refuse(from, "this proxy supports only CONNECT")
		return
	}
	address, found := s.target(request.Host)
	if !found {
		refuse(from, "no service has the address "+request.Host)
		return
	}
	to, err := (&net.Dialer{Timeout: dialTimeout}).Dial("tcp", address)
	if err != nil {
		refuse(from, err.Error())
		return
	}
	defer s.drop(to)
	if !s.keep(to) || from.SetDeadline(time.Time{}) != nil {
		return
	}
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		return
	}
	join(from, to)
}

// refuse answers the API server why there is no connection. It passes only the status line on to its clients.
func refuse(to io.Writer, reason string) {
	reason = strings.Join(strings.Fields(reason), " ")
	_, _ = fmt.Fprintf(to, "HTTP/1.1 502 %s\r\nContent-Length: 0\r\n\r\n", reason) // it may be gone
}

// join passes on what comes from either side, until one of them ends.
func join(a, b net.Conn) {
	var ended sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // the other side learns of it by the end of its connection
		to.Close()
		from.Close()
	}
	ended.Go(func() { pass(a, b) })
	ended.Go(func() { pass(b, a) })
	ended.Wait()
}

func (s *services) target(wanted string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, found := s.routes[wanted]
	return address, found
}

// keep notes a connection, so that it can be broken. It returns false when everything ends.
func (s *services) keep(connection net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[connection] = struct{}{}
	return !s.closing
}

func (s *services) drop(connection net.Conn) {
	connection.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, connection)
}

// close breaks all connections. The services go with the cluster.
func (s *services) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	s.closing = true
	for connection := range s.open {
		connection.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
	return err
}

// route makes calls to a port of a service go to an address, <host>:<port>, or takes the route away when that is empty.
func (s *services) route(ctx context.Context, namespace, name string, port int32, address string) error {
	if address == "" {
		s.unroute(serviceName{namespace, name}, port)
		return nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	if err := s.ensureNamespace(ctx, namespace); err != nil {
		return err
	}
	service, isNew, err := s.ensurePort(ctx, serviceName{namespace, name}, port)
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	s.mu.Lock()
	s.routes[reached(service, port)] = address
	s.mu.Unlock()
	if !isNew {
		return nil
	}
	return pause.For(ctx, learning)
}

// unroute takes a route away. The service stays, with nothing behind it, until the cluster goes.
func (s *services) unroute(of serviceName, port int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if service := s.made[of]; service != nil {
		delete(s.routes, reached(service, port))
	}
}

// reached is where the API server connects to for a port of a service.
func reached(service *corev1.Service, port int32) string {
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port)))
}

func (s *services) ensureNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: s.meta(name)}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

// ensurePort makes a service with a port, or gives a service that was made before one more. It reports whether anything had to
// be done.
func (s *services) ensurePort(ctx context.Context, of serviceName, number int32) (service *corev1.Service, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	port := corev1.ServicePort{Name: fmt.Sprintf("port-%d", number), Port: number}
	all := s.client.CoreV1().Services(of.namespace)
	before := s.made[of]
	switch {
	case before == nil:
		service, err = all.Create(ctx, &corev1.Service{
			ObjectMeta: s.meta(of.name),
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{port}},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil, false, errors.New("it exists and does not belong to this run")
		}
	case hasPort(before, number):
		return before, false, nil
	default:
		service = before.DeepCopy()
		service.Spec.Ports = append(service.Spec.Ports, port)
		service, err = all.Update(ctx, service, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, false, err
	}
	s.made[of] = service
	return service, true, nil
}

func hasPort(service *corev1.Service, number int32) bool {
	for _, port := range service.Spec.Ports {
		if port.Port == number {
			return true
		}
	}
	return false
}

func (s *services) meta(name string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: name}
	if s.run != "" {
		meta.Labels = map[string]string{cluster.RunLabel: s.run}
	}
	return meta
}
