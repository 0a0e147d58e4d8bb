package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/requirement"
)

// finding returns what became of a requirement.
func finding(t *testing.T, v storage.Removal, id requirement.ID) storage.Condition {
	t.Helper()
	for _, f := range v.Findings {
		if f.Requirement == id {
			return f
		}
	}
	t.Fatalf("the verdict has no %s", id)
	return storage.Condition{}
}

// blocked wants a verdict to have the answer, and exactly these requirements not to be met.
func blocked(t *testing.T, v storage.Removal, answer storage.Answer, want ...requirement.ID) {
	t.Helper()
	if v.Answer != answer {
		t.Errorf("the answer is %q, want %q", v.Answer, answer)
	}
	wanted := map[requirement.ID]bool{}
	for _, id := range want {
		wanted[id] = true
	}
	for _, f := range v.Findings {
		if (f.Answer != storage.Safe) != wanted[f.Requirement] {
			t.Errorf("%s: %s: %s %+v", f.Requirement, f.Answer, f.Text, f.Gaps)
		}
	}
}

// TestStorageStoredVersions determines the stored versions in every way, and finds the object that was left.
func TestStorageStoredVersions(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.define(t, "ways.example.com")
	c.create("v1beta1", "old", "older")
	c.store("v1")
	c.create("v1", "new")
	c.migrate("older")

	for basis, options := range map[storage.Basis]storage.Options{
		storage.History:  {},
		storage.Etcd:     {Source: l.source(t)},
		storage.Snapshot: {Source: openSnapshot(t, l.snapshot(t))},
	} {
		t.Run(string(basis), func(t *testing.T) {
			_, d := c.inspect(options)
			v1, old := d.Version("v1"), d.Version("v1beta1")
			if v1.Stored != 2 || old.Stored != 1 || d.Objects != 3 || d.Unknown != 0 || d.Bases[basis] != 3 {
				t.Errorf("stored: %d at v1, %d at v1beta1, %d unknown of %d, by %v", v1.Stored, old.Stored, d.Unknown, d.Objects, d.Bases)
			}
			if first := old.First[storage.StoredObject]; len(first) != 1 || first[0].String() != "crontabs.ways.example.com default/old" {
				t.Errorf("it found %v", first)
			}
		})
	}

	// Somebody says that all is done, and it is not.
	c.trim("v1")
	for _, options := range []storage.Options{{}, {Source: l.source(t)}, {Source: openSnapshot(t, l.snapshot(t))}} {
		v := c.judge(options)
		blocked(t, v, storage.NotSafe, requirement.StorageDropObjects, requirement.StorageDropManagedFields)
	}
	// The managed fields still name v1beta1, as those who created at it left them.
	v := c.judge(storage.Options{})
	fields := finding(t, v, requirement.StorageDropManagedFields)
	if fields.Count != 2 || fields.First[0].Name != "old" || fields.First[0].By != "lab" {
		t.Errorf("managed fields: %+v", fields)
	}
	t.Run("forgotten", func(t *testing.T) {
		l.forget(t)
		v := c.judge(storage.Options{})
		blocked(t, v, storage.NotSafe, requirement.StorageDropObjects, requirement.StorageDropManagedFields)
		f := finding(t, v, requirement.StorageDropObjects)
		if f.Answer != storage.CannotTell || len(f.Gaps) != 1 || !strings.Contains(f.Gaps[0].Why, "give access to etcd, or a snapshot of it") {
			t.Errorf("the objects: %+v", f)
		}
	})
}

// TestStorageClean drops a version after it was said to be safe, and all goes on.
func TestStorageClean(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "clean.example.com")
	c.create("v1beta1", "one", "two")
	c.store("v1")
	c.create("v1", "three")
	blocked(t, c.judge(storage.Options{}), storage.NotSafe, requirement.StorageDropObjects, requirement.StorageDropStoredVersions, requirement.StorageDropManagedFields)
	// The commands that it gives mend it.
	_, d := c.inspect(storage.Options{})
	for _, b := range d.Version("v1beta1").First[storage.ManagedFields] {
		_, patch, _ := strings.Cut(b.Mend, "--type=json -p ")
		if _, err := c.at("v1").Patch(t.Context(), b.Name, types.JSONPatchType, []byte(strings.Trim(patch, "'")), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.migrate("one", "two")
	blocked(t, c.judge(storage.Options{}), storage.NotSafe, requirement.StorageDropStoredVersions)
	c.trim("v1")
	for _, options := range []storage.Options{{}, {Source: l.source(t)}, {Source: openSnapshot(t, l.snapshot(t))}} {
		blocked(t, c.judge(options), storage.Safe)
	}
	if err := c.drop("v1beta1"); err != nil {
		t.Fatal(err)
	}
	c.wait(func() bool { _, err := c.at("v1beta1").List(t.Context(), metav1.ListOptions{}); return err != nil })
	all, err := c.at("v1").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 3 {
		t.Fatalf("listing: %v", err)
	}
	for _, o := range all.Items {
		if _, err := c.at("v1").Get(t.Context(), o.GetName(), metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.apply("v1", o.GetName()); err != nil {
			t.Error(err)
		}
		c.delete(o.GetName(), "v1")
	}
}

// TestStorageReadsOnly looks at what is sent.
func TestStorageReadsOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	c := l.define(t, "reads.example.com")
	c.create("v1beta1", "one")
	c.store("v1")
	var r recorder
	if _, _, err := storage.Inspect(t.Context(), r.wrap(l.cluster.Config()), []string{c.name}, storage.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, request := range r.seen {
		if !strings.HasPrefix(request, http.MethodGet+" ") {
			t.Errorf("it sent %s", request)
		}
	}
	if len(r.seen) < 10 {
		t.Errorf("it sent %d requests", len(r.seen))
	}
}
