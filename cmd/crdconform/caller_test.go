package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/crdconform/crdconform/internal/test/subjects"
)

// caller makes a cluster of the caller's, whichever way programs look for one: a kubeconfig in the home folder and one that KUBECONFIG names,
// and the address of the API server in pods. Nothing answers there, and the script command touched sees who connects. MANAGER and CRD become a
// program that looks for a cluster, and its definition.
func caller(ts *testscript.TestScript, _ bool, _ []string) {
	t := testOf(ts)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	touched := new(atomic.Int64)
	ts.Setenv("CALLER", listener.Addr().String())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			touched.Add(1)
			connection.Close()
		}
	}()
	ts.Defer(func() {
		listener.Close()
		<-ended
	})
	*ts.Value("touched").(*func() int64) = func() int64 { return touched.Swap(0) } //nolint:forcetypeassert // see scriptVariables
	text := fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: caller, contexts: [{name: caller, context: {cluster: caller}}],
clusters: [{name: caller, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]}`, listener.Addr())
	home, named := filepath.Join(ts.Getenv("HOME"), ".kube", "config"), ts.MkAbs("caller.kubeconfig")
	ts.Check(os.MkdirAll(filepath.Dir(home), 0o700))
	for _, file := range []string{home, named} {
		ts.Check(os.WriteFile(file, text, 0o600))
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	ts.Check(err)
	program, crd := subjects.BuildManager(t)
	for name, value := range map[string]string{
		"KUBECONFIG": named, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "MANAGER": program, "CRD": crd,
	} {
		ts.Setenv(name, value)
	}
}

// touched fails if nobody has connected to the caller's cluster since the last time, or with ! if anybody has.
func touched(ts *testscript.TestScript, neg bool, _ []string) {
	if n := (*ts.Value("touched").(*func() int64))(); (n > 0) == neg { //nolint:forcetypeassert // see scriptVariables
		ts.Fatalf("%d connections to the caller's cluster", n)
	}
}
