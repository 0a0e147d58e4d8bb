// Package suitetest runs the areas under the go command, on an embedded API server.
package suitetest

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// Run runs the specs of an area on a cluster as a test. The configuration is Ginkgo's own; the ginkgo command looks for tests that
// ask for it.
func Run(t *testing.T, c cluster.Cluster, area suites.Area, suite types.SuiteConfig, reporter types.ReporterConfig) {
	t.Helper()
	env := Env(t, suites.Options{Cluster: c, Subject: Subject(t)})
	suites.RunTest(t, env, area, suite, reporter)
}

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
	return subjectAt(t, "127.0.0.1", faults...)
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
	return subjectAt(t, host)
}

func subjectAt(t *testing.T, host string, faults ...webhook.Fault) *suites.Subject {
	t.Helper()
	server, err := webhook.Start(t.Context(), net.JoinHostPort(host, "0"), webhook.Handler(faults...))
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &suites.Subject{Client: client, Corpus: corpus.CronTabs("v1alpha1", "v1beta1", "v1")}
}

// Env builds an Env that closes with the test.
func Env(t *testing.T, options suites.Options) *suites.Env {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return env
}

// Quiet is a Progress that discards everything.
type Quiet struct{}

// Started does nothing.
func (Quiet) Started(int) {}

// SpecStarted does nothing.
func (Quiet) SpecStarted(requirement.ID, string) {}

// SpecDone does nothing.
func (Quiet) SpecDone(suites.Result) {}
