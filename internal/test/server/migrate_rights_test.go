package server_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/test/manifest"
)

// grants returns what a role of deploy/storage-rbac.yaml allows, such as "get crontabs.stable.example.com".
func grants(t *testing.T, role string) []string {
	t.Helper()
	var all []string
	for _, object := range manifest.Objects(t, "../../../deploy/storage-rbac.yaml") {
		of, is := object.(*rbacv1.ClusterRole)
		if !is || of.Name != role {
			continue
		}
		for _, rule := range of.Rules {
			for _, verb := range rule.Verbs {
				all = append(all, verb+" "+rule.Resources[0]+"."+rule.APIGroups[0])
			}
		}
	}
	slices.Sort(all)
	return all
}

// right is what a request needs, as grants has it; empty for what everybody may do, and for leases, which have a role of their own.
func right(r *http.Request, group string) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 4 || parts[0] != "apis" || parts[1] == "authorization.k8s.io" || parts[1] == "coordination.k8s.io" {
		return ""
	}
	at, parts := parts[1], parts[3:]
	if at == group {
		at = "stable.example.com"
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	verb := strings.ToLower(r.Method)
	if verb == "get" && len(parts) == 1 {
		verb = "list"
	}
	if len(parts) > 2 {
		parts[0] += "/" + parts[2]
	}
	return verb + " " + parts[0] + "." + at
}

// TestMigrateRole wants the role for migrations to allow what one asks for, and no more. The lease and the proof are not compared.
func TestMigrateRole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(2)
	s.change(fixtures.StoredAt("v1"))
	var mu sync.Mutex
	asked := map[string]bool{}
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[right(r, s.group)] = true
			return next.RoundTrip(r)
		})
	})
	if _, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Drop: "v1beta1"}); err != nil {
		t.Fatal(err)
	}
	for _, granted := range grants(t, "crdconform-storage-migrate") {
		if !asked[granted] && granted != "list customresourcedefinitions.apiextensions.k8s.io" && !strings.HasSuffix(granted, ".storagemigration.k8s.io") {
			t.Errorf("nothing needs the right to %s", granted)
		}
		delete(asked, granted)
	}
	delete(asked, "")
	for missing := range asked {
		t.Errorf("the role does not allow to %s", missing)
	}
}
