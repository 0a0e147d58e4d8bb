// Package spectest runs specs under the go command. It links no API server; package suitetest has one.
package spectest

import (
	"context"
	"net"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// Subject starts the reference webhook, with faults if any are given, as the webhook under test. It listens on loopback.
func Subject(t *testing.T, faults ...webhook.Fault) *suites.Subject {
	t.Helper()
	return SubjectAt(t, "127.0.0.1", faults...)
}

// SubjectAt starts the reference webhook as the webhook under test on a host.
func SubjectAt(t *testing.T, host string, faults ...webhook.Fault) *suites.Subject {
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
