// Package suitetest has API servers for tests that run specs: embedded ones, and ones that seem to have a fault. What needs none is in
// package spectest.
package suitetest

import (
	"context"
	"io"
	"testing"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
)

// Cluster starts an embedded API server that stops with the test.
func Cluster(t *testing.T, options embedded.Options) *embedded.Cluster {
	t.Helper()
	if err := embedded.LogTo(io.Discard); err != nil {
		t.Fatal(err)
	}
	c, err := embedded.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Subject starts the reference webhook, with faults if any are given, as the webhook under test. It listens on loopback.
func Subject(t *testing.T, faults ...webhook.Fault) *suites.Subject {
	t.Helper()
	return spectest.Subject(t, faults...)
}

// SubjectFor starts the reference webhook as the webhook under test where the API server of a cluster can reach it.
func SubjectFor(t *testing.T, c cluster.Cluster) *suites.Subject {
	t.Helper()
	listener, host, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// It shows the host by which this machine is reached.
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return spectest.SubjectAt(t, host)
}

// Env builds an Env that closes with the test.
func Env(t *testing.T, options suites.Options) *suites.Env {
	t.Helper()
	return spectest.Env(t, options)
}

// Quiet is a Progress that discards everything.
type Quiet = spectest.Quiet
