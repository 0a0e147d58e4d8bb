package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/wire"
)

func TestServe(t *testing.T) {
	t.Parallel()
	p := start(t, "serve", "--address", "127.0.0.1:0", "--ca-out", "ca.crt", "--fault", "wrong-uid,status-201")
	url := strings.TrimPrefix(p.Await(t, "Serving "), "Serving ")
	if line := p.Await(t, "Fault "); line != "Fault wrong-uid: it answers with a uid of its own" {
		t.Errorf("it says %q", line)
	}
	p.Await(t, "Fault status-201: it answers with status 201")
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: read(t, filepath.Join(p.Dir, "ca.crt"))})
	check(t, err)
	defer client.Close()
	if response := client.Send(t.Context(), []byte("{}")); response.Err != nil || response.Status != 400 {
		t.Errorf("it answers %+v, want a refusal", response)
	}
	p.Signal(t, syscall.SIGTERM)
	if r := p.End(); r.Code != exitConforms || r.Err != "" {
		t.Errorf("serve ended with %d: %s", r.Code, r.Err)
	}
	if err := client.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("after its end: %v", err)
	}
}
