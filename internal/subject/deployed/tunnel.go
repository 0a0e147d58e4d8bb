package deployed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/utils/ptr"
)

const (
	// targetsAge is how long it is taken for granted that the same pods are ready. A pod that is not there any more is found
	// out by the connection to it, too.
	targetsAge = time.Second

	// connectTimeout is how long a connection to a pod may take.
	connectTimeout = 15 * time.Second

	// complaintTimeout is how long the reason may come after the end of a connection.
	complaintTimeout = time.Second
)

// tunnel opens connections to the pods of a service, through the API server and the kubelets.
type tunnel struct {
	config  *rest.Config
	client  kubernetes.Interface
	service Service

	mu      sync.Mutex
	targets []target
	fresh   time.Time // when the targets were looked up
	turn    int
	failed  error // the last failure to connect
}

// target is a port of a pod that is ready.
type target struct {
	pod  string
	port int32
}

func newTunnel(config *rest.Config, client kubernetes.Interface, service Service) (*tunnel, error) {
	if _, _, err := spdy.RoundTripperFor(config); err != nil {
		return nil, err
	}
	return &tunnel{config: config, client: client, service: service}, nil
}

// dial opens a connection to a pod of the webhook that is ready, to another one each time. The connection goes through the API server,
// by WebSocket where that speaks it and by SPDY where not. It knows no deadlines: they are errors.
func (t *tunnel) dial(ctx context.Context) (net.Conn, error) {
	connection, err := t.tryAll(ctx)
	if err != nil {
		err = fmt.Errorf("a connection to the service %s through the API server: %w", t.service, err)
		t.mu.Lock()
		t.failed = err
		t.mu.Unlock()
	}
	return connection, err
}

// tryAll tries the pods in turn, and looks them up again when none of those that were known can be reached.
func (t *tunnel) tryAll(ctx context.Context) (net.Conn, error) {
	var errs []error
	for _, again := range []bool{false, true} {
		targets, known, err := t.next(ctx, again)
		if err != nil {
			return nil, err
		}
		for _, to := range targets {
			connection, err := t.connect(ctx, to)
			if err == nil {
				return connection, nil
			}
			errs = append(errs, fmt.Errorf("pod %s: %w", to.pod, err))
			if ctx.Err() != nil {
				return nil, errors.Join(errs...)
			}
		}
		if !known {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func (t *tunnel) lastError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// next returns the pods that are ready, another one first each time, and whether they were known already.
func (t *tunnel) next(ctx context.Context, anew bool) ([]target, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := !anew && len(t.targets) > 0 && time.Since(t.fresh) < targetsAge
	if !known {
		found, err := t.look(ctx)
		if err != nil {
			return nil, false, err
		}
		if len(found) == 0 {
			return nil, false, errors.New("none of its pods is ready")
		}
		t.targets, t.fresh = found, time.Now()
	}
	t.turn++
	first := t.turn % len(t.targets)
	return slices.Concat(t.targets[first:], t.targets[:first]), known, nil
}

// look finds the pods that are ready, with the port that the service leads to.
func (t *tunnel) look(ctx context.Context) ([]target, error) {
	service, err := t.client.CoreV1().Services(t.service.Namespace).Get(ctx, t.service.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == t.service.Port })
	if i < 0 {
		return nil, fmt.Errorf("the service has no port %d", t.service.Port)
	}
	all, err := t.client.DiscoveryV1().EndpointSlices(t.service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{discoveryv1.LabelServiceName: t.service.Name}.String(),
	})
	if err != nil {
		return nil, err
	}
	var found []target
	for _, one := range all.Items {
		for _, port := range one.Ports {
			if ptr.Deref(port.Name, "") != service.Spec.Ports[i].Name || port.Port == nil {
				continue
			}
			for _, e := range one.Endpoints {
				if ptr.Deref(e.Conditions.Ready, true) && e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
					found = append(found, target{e.TargetRef.Name, *port.Port})
				}
			}
		}
	}
	slices.SortFunc(found, func(x, y target) int { return strings.Compare(x.pod, y.pod) })
	return slices.Compact(found), nil
}

// connect opens a connection to a port of a pod. The libraries cannot be interrupted, so connections that they open too late
// are closed.
func (t *tunnel) connect(ctx context.Context, to target) (net.Conn, error) {
	within, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no connection within %s", connectTimeout))
	defer cancel()
	type outcome struct {
		connection net.Conn
		err        error
	}
	done := make(chan outcome, 1)
	go func() {
		connection, err := t.open(to)
		done <- outcome{connection, err}
	}()
	select {
	case o := <-done:
		return o.connection, o.err
	case <-within.Done():
		go func() {
			if o := <-done; o.err == nil {
				o.connection.Close()
			}
		}()
		return nil, context.Cause(within)
	}
}

func (t *tunnel) open(to target) (net.Conn, error) {
	at := t.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(t.service.Namespace).Name(to.pod).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, t.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(t.config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	either := portforward.NewFallbackDialerForStreaming(dialer, old, func(error) bool { return true })
	session, _, err := either.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	return newStreams(to, session.CreateStream, session.Close)
}

// stream is one of the two that make a connection to a pod.
type stream interface {
	io.ReadWriteCloser
	Reset() error
}

// streams is a connection to a port of a pod.
type streams struct {
	data    stream
	to      target
	end     func() error // ends the session, which is of this connection alone
	problem chan error   // what the kubelet complained of, if it did; closed after that

	closing  sync.Once
	closeErr error
}

// newStreams opens the streams of a connection in a session of its own, and ends the session when it cannot.
func newStreams[S stream](to target, create func(http.Header) (S, error), end func() error) (net.Conn, error) {
	header := http.Header{}
	header.Set(corev1.PortHeader, strconv.Itoa(int(to.port)))
	header.Set(corev1.PortForwardRequestIDHeader, "0")
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	complaints, err := create(header)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	complaints.Close() //nolint:errcheck // nothing is said there from here
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := create(header)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	s := &streams{data: data, to: to, end: end, problem: make(chan error, 1)}
	go func() {
		defer close(s.problem)
		text, err := io.ReadAll(complaints)
		if err == nil && len(text) > 0 {
			s.problem <- errors.New(strings.TrimSpace(string(text)))
			data.Reset() //nolint:errcheck // so that who reads learns of it
		}
	}()
	return s, nil
}

// Read reads what the webhook says. When the kubelet could not connect, its reason is the error.
func (s *streams) Read(p []byte) (int, error) {
	n, err := s.data.Read(p)
	if err == nil || n > 0 {
		return n, err
	}
	// The kubelet ends both streams, in no particular order.
	patience := time.NewTimer(complaintTimeout)
	defer patience.Stop()
	select {
	case problem, is := <-s.problem:
		if is {
			return 0, fmt.Errorf("pod %s, port %d: %w", s.to.pod, s.to.port, problem)
		}
	case <-patience.C:
	}
	return 0, err
}

func (s *streams) Write(p []byte) (int, error) { return s.data.Write(p) }

// Close ends the connection. Calls after the first return the same.
func (s *streams) Close() error {
	s.closing.Do(func() {
		s.data.Reset() //nolint:errcheck // the session ends with it
		s.closeErr = s.end()
	})
	return s.closeErr
}

// podAddress is the address of a port of a pod.
type podAddress string

func (podAddress) Network() string { return "tcp" }

func (a podAddress) String() string { return string(a) }

func (s *streams) LocalAddr() net.Addr { return podAddress("here:0") }

func (s *streams) RemoteAddr() net.Addr {
	return podAddress(net.JoinHostPort(s.to.pod, strconv.Itoa(int(s.to.port))))
}

func (s *streams) SetDeadline(time.Time) error { return os.ErrNoDeadline }

func (s *streams) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

func (s *streams) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// Dial opens a connection to a pod of a service that is ready, through the API server.
func Dial(ctx context.Context, config *rest.Config, service Service) (net.Conn, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	t, err := newTunnel(config, client, service)
	if err != nil {
		return nil, err
	}
	return t.dial(ctx)
}
