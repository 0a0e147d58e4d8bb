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

// TestMigrateDefaults has the dry run show defaults that any write stores, and the proof hold neither them nor their owner against the
// migration.
func TestMigrateDefaults(t *testing.T) {
	t.Parallel()
	filled := apiextensionsv1.JSONSchemaProps{Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("179")}}
	bare := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	for name, test := range map[string]struct {
		definition fixtures.Definition
		options    []fixtures.Option
	}{
		"webhook":         {fixtures.Webhook, nil},
		"none":            {fixtures.None, nil},
		"none at both":    {fixtures.None, []fixtures.Option{fixtures.WithProperty("v1beta1", "extra", bare)}},
		"webhook at both": {fixtures.Webhook, []fixtures.Option{fixtures.WithProperty("v1beta1", "extra", bare)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.definition, append(test.options, fixtures.WithProperty("v1", "extra", filled))...)
			s.populate(3)
			s.change(fixtures.StoredAt("v1"))
			s.migratesDefaults()
		})
	}
}

func (s *scene) migratesDefaults() {
	s.Helper()
	result, err := migrate.Run(s.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.DryRun}})
	if err != nil {
		s.Fatal(err)
	}
	if len(result.Changes) == 0 || result.Harmed != 0 {
		s.Errorf("got %+v", result)
	}
	for _, one := range result.Changes {
		if !strings.HasPrefix(one.String(), ".extra (nothing, now 179) at "+one.Version+": 3 objects, such as default/crontab-000") || !one.Default {
			s.Errorf("got %s", one)
		}
	}
	proving, err := proof.Begin(s.Context(), s.config, s.name, proof.Options{Storage: s.storage, Retired: "v1beta1"})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := migrate.Run(s.Context(), s.config, s.name, migrate.Options{Drop: "v1beta1"}); err != nil {
		s.Error(err)
	}
	verdict, err := proving.End(s.Context())
	if err != nil || !verdict.Proved() {
		s.Errorf("got %v, %v", verdict.Findings, err)
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
