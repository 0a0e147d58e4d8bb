package deployed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// kubelets is an API server that speaks SPDY alone, with pods of a service that answer a line with their names. Nothing listens in the pod "broken".
type kubelets struct {
	mu    sync.Mutex
	ready []string // pods
}

func (k *kubelets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, forwards := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/space/pods/")
	switch {
	case forwards && httpstream.IsUpgradeRequest(r) && r.Header.Get("Upgrade") != "websocket":
		k.forward(w, r, strings.TrimSuffix(pod, "/portforward"))
	case strings.HasSuffix(r.URL.Path, "/services/webhook"):
		answer(w, corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}})
	case strings.HasSuffix(r.URL.Path, "/endpointslices"):
		k.mu.Lock()
		defer k.mu.Unlock()
		one := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(8443))}}}
		for _, pod := range k.ready {
			one.Endpoints = append(one.Endpoints, discoveryv1.Endpoint{TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod}})
		}
		answer(w, discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{one}})
	default:
		http.Error(w, "there is no such pod", http.StatusNotFound)
	}
}

func answer(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(object)
}

// forward leads streams to a pod.
func (k *kubelets) forward(w http.ResponseWriter, r *http.Request, pod string) {
	k.mu.Lock()
	there := slices.Contains(k.ready, pod)
	k.mu.Unlock()
	if !there {
		http.Error(w, "there is no such pod", http.StatusNotFound)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	var complaints httpstream.Stream
	session := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		header := stream.Headers()
		if header.Get(corev1.StreamType) == corev1.StreamTypeError {
			complaints = stream
			return nil
		}
		go func() {
			<-replied
			defer complaints.Close()
			defer stream.Close()
			if pod == "broken" {
				fmt.Fprintf(complaints, "port %s: connection refused", header.Get(corev1.PortHeader))
				return
			}
			lines := bufio.NewScanner(stream)
			for lines.Scan() {
				fmt.Fprintf(stream, "%s, %s: %s\n", pod, header.Get(corev1.PortHeader), lines.Text())
			}
		}()
		return nil
	})
	if session != nil {
		<-session.CloseChan()
	}
}

// TestForward leads connections to the pods in turn, to those that are left when one is gone, and ends them all in the end.
func TestForward(t *testing.T) {
	t.Parallel()
	k := &kubelets{ready: []string{"a", "b"}}
	server := httptest.NewServer(k)
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	to, err := newTunnel(config, kubernetes.NewForConfigOrDie(config), Service{Namespace: "space", Name: "webhook", Port: 443})
	if err != nil {
		t.Fatal(err)
	}
	f, err := listen(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (net.Conn, string) {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { connection.Close() })
		fmt.Fprintln(connection, "hello")
		line, _ := bufio.NewReader(connection).ReadString('\n')
		return connection, line
	}
	open, first := ask()
	_, second := ask()
	if got := []string{first, second}; !slices.Contains(got, "a, 8443: hello\n") || !slices.Contains(got, "b, 8443: hello\n") {
		t.Errorf("got %q", got)
	}
	k.mu.Lock()
	k.ready = []string{"b"}
	k.mu.Unlock()
	for range 2 {
		if _, line := ask(); line != "b, 8443: hello\n" {
			t.Errorf("got %q where one pod is left", line)
		}
	}
	k.mu.Lock()
	k.ready = nil
	k.mu.Unlock()
	if _, line := ask(); line != "" || to.lastError() == nil || !strings.Contains(to.lastError().Error(), "none of its pods is ready") {
		t.Errorf("got %q, %v where no pod is left", line, to.lastError())
	}
	k.mu.Lock()
	k.ready = []string{"broken"}
	k.mu.Unlock()
	connection, err := to.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "pod broken, port 8443: port 8443: connection refused") {
		t.Errorf("got %v of a pod where nothing listens", err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if n, err := io.Copy(io.Discard, open); n > 0 {
		t.Errorf("%d bytes came after the end, %v", n, err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.address()); err == nil {
		t.Error("the port is still open")
	}
}
