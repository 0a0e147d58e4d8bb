package server_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/migrate"
)

// apply applies an object as a manager, without force.
func (s *scene) apply(version, manager string, change func(*unstructured.Unstructured), dryRun ...string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.group + "/" + version, "kind": "CronTab",
		"metadata": map[string]any{"name": "crontab-0000", "namespace": "default"},
	}}
	change(object)
	return s.at(version).Apply(s.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, DryRun: dryRun})
}

// owned is what the managers of an object own, such as "alice Apply v1: .host .port".
func (s *scene) owned() []string {
	s.Helper()
	object, err := s.at("v1").Get(s.Context(), "crontab-0000", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	var all []string
	for _, entry := range object.GetManagedFields() {
		line := entry.Manager + " " + string(entry.Operation) + " " + strings.TrimPrefix(entry.APIVersion, s.group+"/") + ":"
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			s.Fatal(err)
		}
		set.Leaves().Iterate(func(path fieldpath.Path) { line += " " + path.String() })
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// drop removes v1beta1 from the definition, and waits until the API server knows.
func (s *scene) drop() {
	s.Helper()
	s.change(fixtures.WithVersions("v1"))
	s.eventually("v1beta1 is gone", func(ctx context.Context) bool {
		_, err := s.at("v1beta1").List(ctx, metav1.ListOptions{})
		return err != nil
	})
}

func labelled(keys ...string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		labels := map[string]string{}
		for _, key := range keys {
			labels[key] = "x"
		}
		object.SetLabels(labels)
	}
}

// TestMigrateManagedFields drops a version that managed fields name. Without a migration of these, nobody can apply any more.
func TestMigrateManagedFields(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	for name, test := range map[string]struct {
		definition fixtures.Definition
		fields     map[string]any // that alice applies at v1beta1, the documents' only field there
		then       map[string]any // the same at v1
		want       []string       // who owns what after the migration
		orphans    []string
	}{
		"renamed": {
			fixtures.Webhook,
			map[string]any{"hostPort": "localhost:1234"},
			map[string]any{"host": "localhost", "port": "1234"},
			[]string{"alice Apply v1: .metadata.labels.kept .metadata.labels.removed", "bob Update v1: .metadata.annotations.bob"},
			[]string{".hostPort"},
		},
		"same": {
			fixtures.None,
			map[string]any{"host": "localhost"},
			map[string]any{"host": "localhost"},
			[]string{"alice Apply v1: .host .metadata.labels.kept .metadata.labels.removed", "bob Update v1: .metadata.annotations.bob"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.definition)
			with := func(fields map[string]any, labels ...string) func(*unstructured.Unstructured) {
				return func(object *unstructured.Unstructured) {
					labelled(labels...)(object)
					maps.Copy(object.Object, fields)
				}
			}
			if _, err := s.apply("v1beta1", "alice", with(test.fields, "kept", "removed")); err != nil {
				t.Fatal(err)
			}
			patch := []byte(`{"metadata":{"annotations":{"bob":"x"}}}`)
			if _, err := s.at("v1beta1").Patch(t.Context(), "crontab-0000", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bob"}); err != nil {
				t.Fatal(err)
			}
			s.change(fixtures.StoredAt("v1"))
			before := s.contents("v1")
			result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Drop: "v1beta1"})
			if err != nil || result.Mended != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			if diff := cmp.Diff(test.want, s.owned()); diff != "" {
				t.Errorf("owned are: %s", diff)
			}
			if diff := cmp.Diff(before, s.contents("v1")); diff != "" {
				t.Errorf("the content changed: %s", diff)
			}
			var orphans []string
			for _, one := range result.Orphans {
				orphans = append(orphans, one.Fields...)
			}
			if diff := cmp.Diff(test.orphans, orphans); diff != "" {
				t.Errorf("nobody owns: %s", diff)
			}
			s.drop()
			object, err := s.apply("v1", "alice", with(test.then, "kept"))
			if err != nil {
				t.Fatal(err)
			}
			if labels := object.GetLabels(); len(labels) != 1 || labels["kept"] == "" {
				t.Errorf("alice removed a label and it has %v", labels)
			}
			if owned := s.owned(); !strings.HasPrefix(owned[0], "alice Apply v1: .host") {
				t.Errorf("alice applied host, and owned are %q", owned)
			}
		})
	}
}

// TestMigrateUnmendedManagedFields shows what TestMigrateManagedFields is about: without the step, apply fails for ever.
func TestMigrateUnmendedManagedFields(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	if _, err := s.apply("v1beta1", "alice", func(o *unstructured.Unstructured) { o.Object["hostPort"] = "localhost:1234" }); err != nil {
		t.Fatal(err)
	}
	s.change(fixtures.StoredAt("v1"))
	before := s.owned()
	if _, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.owned()); diff != "" {
		t.Errorf("a write that changes nothing changed who owns what: %s", diff)
	}
	s.drop()
	apply := func(dryRun ...string) error {
		_, err := s.apply("v1", "alice", func(o *unstructured.Unstructured) { o.Object["host"] = "localhost" }, dryRun...)
		return err
	}
	// An apply before the API server knows that the version is gone would mend the managed fields.
	s.eventually("apply fails", func(context.Context) bool { return apply(metav1.DryRunAll) != nil })
	if err := apply(); err == nil || !strings.Contains(err.Error(), "invalid group/version") {
		t.Errorf("got %v", err)
	}
	// They stay even when the API server can't convert them any more.
	if _, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.Objects}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.owned()); diff != "" {
		t.Errorf("a write that changes nothing changed who owns what: %s", diff)
	}
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{})
	if err != nil || result.Mended != 1 || result.Orphaned != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := apply(); err != nil {
		t.Error(err)
	}
	if owned := s.owned(); len(owned) != 1 || owned[0] != "alice Apply v1: .host" {
		t.Errorf("owned are %q", owned)
	}
}
