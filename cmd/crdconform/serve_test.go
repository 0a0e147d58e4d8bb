package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/wire"
)

func TestServe(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]os.Signal{"interrupted": os.Interrupt, "terminated": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "serve", "--address", "127.0.0.1:0", "--ca-out", "ca.crt", "--fault", "wrong-uid,status-201")
			url := strings.TrimPrefix(p.await(t, "Serving "), "Serving ")
			if line := p.await(t, "Fault "); line != "Fault wrong-uid: it answers with a uid of its own" {
				t.Errorf("it says %q", line)
			}
			p.await(t, "Fault status-201: it answers with status 201")
			client, err := wire.Connect(wire.Endpoint{URL: url, CA: read(t, filepath.Join(p.dir, "ca.crt"))})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if response := client.Send(t.Context(), []byte("{}")); response.Err != nil || response.Status != 400 {
				t.Errorf("it answers %+v, want a refusal", response)
			}
			p.signal(t, sent)
			p.end().exits(t, exitConforms)
			if err := client.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

func TestServeThatCannotBegin(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	r := invoke(t, "serve", "--address", taken.Addr().String())
	r.exits(t, exitUnjudged)
	if !strings.HasPrefix(r.err, "crdconform: ") || !strings.HasSuffix(r.err, taken.Addr().String()+": bind: address already in use; give another host and port with --address\n") {
		t.Errorf("with a port that is taken it says %q", r.err)
	}
	r = invoke(t, "serve", "--address", "127.0.0.1:0", "--ca-out", "missing/ca.crt")
	r.exits(t, exitUsage)
	if !strings.HasPrefix(r.err, "crdconform: --ca-out: open missing/ca.crt: no such file or directory\n") || r.out != "" {
		t.Errorf("with a folder that is missing it says %q and %q", r.err, r.out)
	}
}
