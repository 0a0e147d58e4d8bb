package main

import (
	"fmt"
	"net/url"
	"sync"
)

// services resolves service references of webhooks, as the proxy and the DNS of a cluster would.
type services struct {
	mu     sync.RWMutex
	routes map[string]string // by service
}

func newServices() *services { return &services{routes: map[string]string{}} }

func key(namespace, name string, port int32) string {
	return fmt.Sprintf("%s/%s:%d", namespace, name, port)
}

func (s *services) route(r route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Address == "" {
		delete(s.routes, key(r.Namespace, r.Name, r.Port))
		return
	}
	s.routes[key(r.Namespace, r.Name, r.Port)] = r.Address
}

// ResolveEndpoint is what the API server calls for every new connection to a service.
func (s *services) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	address, found := s.routes[key(namespace, name, port)]
	if !found {
		return nil, fmt.Errorf("service %s/%s has no port %d", namespace, name, port)
	}
	return &url.URL{Scheme: "https", Host: address}, nil
}
