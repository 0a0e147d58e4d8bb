package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// definitions serves the definition as it was changed last, and returns a kubeconfig for it.
func definitions(t *testing.T, changed, asked *atomic.Int64) (*httptest.Server, string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"spec":{"versions":[{"name":"v1","schema":{"description":"%d"}}]}}`, changed.Load())
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("clusters: [{name: a, cluster: {server: %q}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n", server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, file
}

func TestReadsDefinition(t *testing.T) {
	t.Parallel()
	var changed, asked atomic.Int64
	_, kubeconfig := definitions(t, &changed, &asked)
	f := newFrail(times{reading: time.Hour})
	f.bug = readsDefinition
	if _, err := f.watch(t.Context(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	for wait(t.Context(), 20*time.Millisecond) && asked.Load() < 2 { // by then it knows the first one
	}
	if why, status := f.refuses(nil); status != 0 {
		t.Errorf("before a change: %d, %s", status, why)
	}
	changed.Add(1)
	for wait(t.Context(), 20*time.Millisecond) && !f.reading.Load() {
	}
	if _, status := f.refuses(nil); status != http.StatusServiceUnavailable {
		t.Errorf("after a change: %d", status)
	}
}

func TestEndsWithServer(t *testing.T) {
	t.Parallel()
	server, kubeconfig := definitions(t, new(atomic.Int64), new(atomic.Int64))
	f := newFrail(times{})
	f.bug = endsWithServer
	over, err := f.watch(t.Context(), kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := <-over; !strings.Contains(err.Error(), "is away") {
		t.Errorf("got %v", err)
	}
	if _, err := f.watch(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("without a kubeconfig: %v", err)
	}
}
