package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
)

// TestHold has the program go on after all is judged: the scripts of the report reach it until the interruption, which takes
// nothing from the verdict.
func TestHold(t *testing.T) {
	t.Parallel()
	p := start(t, append([]string{"check", "--generate", few, "--hold", "--filter", "webhook.response.uid"}, webhookProgram(t, "serve")...)...)
	p.Await(t, "The webhook keeps running")
	served, err := filepath.Glob(filepath.Join(p.Temporary, "crdconform-certs-*", "ca.crt"))
	if err != nil || len(served) != 1 {
		t.Fatalf("the program's certificates: %v, %v", served, err)
	}
	url := regexp.MustCompile(`https://127\.0\.0\.1:[0-9]+/convert`).FindString(p.Out.String())
	ca, err := os.ReadFile(served[0])
	check(t, err)
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca})
	check(t, err)
	defer client.Close()
	if err := client.Reach(t.Context()); err != nil {
		t.Errorf("it does not go on: %v", err)
	}
	p.Signal(t, os.Interrupt)
	r := p.End()
	r.Exits(t, exitConforms)
	if got := reportOf(t, r).Outcome; got != reports.Conformant {
		t.Errorf("the report says %s", got)
	}
	executable.Gone(t, p.Temporary)
}

func TestServe(t *testing.T) {
	t.Parallel()
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--ca-out", "ca.crt", "--fault", "wrong-uid,status-201")
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
