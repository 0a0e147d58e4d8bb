package server_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
)

// TestMigrateDefaults has the dry run show defaults that any write stores, and the proof not hold them against the migration.
func TestMigrateDefaults(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixtures.Webhook, fixtures.WithProperty("v1", "extra", apiextensionsv1.JSONSchemaProps{Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("179")}}))
	s.populate(3)
	s.change(fixtures.StoredAt("v1"))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.DryRun}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Changes) != 1 || result.Harmed != 0 || !strings.HasPrefix(result.Changes[0].String(), ".extra (nothing, now 179) at v1: 3 objects, such as default/crontab-000") || !result.Changes[0].Default {
		t.Errorf("got %+v", result)
	}
	proving, err := proof.Begin(t.Context(), s.config, s.name, proof.Options{Storage: s.storage})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{}); err != nil {
		t.Error(err)
	}
	verdict, err := proving.End(t.Context())
	if err != nil || !verdict.Proved() {
		t.Errorf("got %v, %v", verdict.Findings, err)
	}
}

// TestMigrateStopsBeforeALoss has the dry run find what a conversion loses, before anything is written.
func TestMigrateStopsBeforeALoss(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixtures.Webhook)
	s.populate(3)
	s.change(fixtures.StoredAt("v1"))
	s.converts(rehearsaltest.Serve(func(object map[string]any, _, _ string) error {
		delete(object, "hostPort")
		return nil
	}))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{})
	incomplete := (*migrate.IncompleteError)(nil)
	if !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "nothing was written") || result.Harmed != 3 {
		t.Errorf("got %v, %+v", err, result)
	}
	if len(result.Changes) != 1 || !strings.HasPrefix(result.Changes[0].String(), ".hostPort (\"localhost:1234\", now nothing) at v1beta1: 3 objects") {
		t.Errorf("got %v", result.Changes)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1beta1": 3}) {
		t.Errorf("stored are %v", got)
	}
}
