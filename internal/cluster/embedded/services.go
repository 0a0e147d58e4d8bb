package embedded

import (
	"fmt"
	"net/url"
	"sync"
)

// services resolves service references of webhooks, as the proxy and the DNS of a cluster would.
type services struct {
	mu     sync.RWMutex
	routes map[service]string
}

type service struct {
	namespace, name string
	port            int32
}

func newServices() *services { return &services{routes: map[service]string{}} }

func (s *services) route(namespace, name string, port int32, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := service{namespace, name, port}
	if address == "" {
		delete(s.routes, key)
		return
	}
	s.routes[key] = address
}

// ResolveEndpoint is what the API server calls for every new connection to a service.
func (s *services) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	address, found := s.routes[service{namespace, name, port}]
	if !found {
		return nil, fmt.Errorf("service %s/%s has no port %d", namespace, name, port)
	}
	return &url.URL{Scheme: "https", Host: address}, nil
}
