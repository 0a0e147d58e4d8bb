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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crdconform/crdconform/cluster"
)

// served returns services in a cluster that gives each service an address of its own.
func served(t *testing.T) (s *services, socket string) {
	t.Helper()
	dir, err := shortDir()
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, servicesSocket)
	if s, err = serveServices(t.Context(), socket, "run-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	client := fake.NewClientset(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "foreign"}})
	addresses := 0
	client.PrependReactor("create", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
		service := action.(clienttesting.CreateAction).GetObject().(*corev1.Service)
		addresses++
		service.Spec.ClusterIP = fmt.Sprintf("10.0.0.%d", addresses)
		return false, nil, nil
	})
	s.client = client
	return s, socket
}

// echo serves a listener that sends a name, and then what it got.
func echo(t *testing.T, name string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				line, err := bufio.NewReader(connection).ReadString('\n')
				if err == nil {
					io.WriteString(connection, name+" "+line)
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// call connects to an address as the API server does, and returns the status line or, where there is a connection, what
// comes back over it.
func call(t *testing.T, socket, address string) string {
	t.Helper()
	connection, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(connection, "CONNECT %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", address)
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return response.Status
	}
	fmt.Fprintln(connection, "hello")
	answer, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(answer))
}

func TestServices(t *testing.T) {
	s, socket := served(t)
	route := func(name string, port int32, address string) {
		t.Helper()
		if err := s.route(t.Context(), "system", name, port, address); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(address, want string) {
		t.Helper()
		if got := call(t, socket, address); !strings.Contains(got, want) {
			t.Errorf("%s answers %q, want %q", address, got, want)
		}
	}
	a, b := echo(t, "a"), echo(t, "b")
	route("first", 443, a)
	route("second", 443, b)
	expect("10.0.0.1:443", "a hello")
	expect("10.0.0.2:443", "b hello")
	expect("10.0.0.1:1234", "502 no service has the address 10.0.0.1:1234")

	route("first", 1234, b)
	expect("10.0.0.1:1234", "b hello")
	expect("10.0.0.1:443", "a hello")

	route("first", 443, b)
	expect("10.0.0.1:443", "b hello")
	route("first", 443, "")
	expect("10.0.0.1:443", "502 no service has the address")
	route("never-made", 443, "")
	route("first", 443, loopback+":1")
	expect("10.0.0.1:443", "connection refused")

	service, err := s.client.CoreV1().Services("system").Get(t.Context(), "first", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(service.Spec.Ports) != 2 || service.Labels[cluster.RunLabel] != "run-1" {
		t.Errorf("the service is %+v", service)
	}
}

func TestForeignServices(t *testing.T) {
	s, _ := served(t)
	if err := s.route(t.Context(), "system", "foreign", 443, loopback+":1"); err == nil || !strings.Contains(err.Error(), "service system/foreign: it exists and does not belong to this run") {
		t.Errorf("the error is %v", err)
	}
	if err := s.route(t.Context(), "system", "first", 443, "no address"); err == nil {
		t.Error("a route without a port was made")
	}
}

// TestServicesEnd closes the services while connections are open, and such that do not say what they want.
func TestServicesEnd(t *testing.T) {
	s, socket := served(t)
	if err := s.route(t.Context(), "system", "first", 443, echo(t, "a")); err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n", ""} {
		connection, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		io.WriteString(connection, request)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("connections keep the services from ending")
	}
	if connection, err := new(net.Dialer).DialContext(t.Context(), "unix", socket); err == nil {
		connection.Close()
		t.Error("the socket is still served")
	}
}
