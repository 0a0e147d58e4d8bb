package server_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/migrate"
)

// TestMigrate migrates objects page by page, and a second time.
func TestMigrate(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixtures.Webhook)
	s.populate(25)
	before := s.contents("v1beta1")
	s.change(fixtures.StoredAt("v1"))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 25}) {
		t.Errorf("stored are %v", got)
	}
	if got := s.storedVersions(); !slices.Equal(got, []string{"v1"}) {
		t.Errorf("the status lists %v", got)
	}
	if diff := cmp.Diff(before, s.contents("v1beta1")); diff != "" {
		t.Errorf("the content changed: %s", diff)
	}
	if result.Objects != 25 || result.Rewritten != 25 || !result.Trimmed || result.NoLock == "" {
		t.Errorf("the result is %+v", result)
	}
	again, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{PageSize: 10})
	if err != nil || again.Trimmed {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}
