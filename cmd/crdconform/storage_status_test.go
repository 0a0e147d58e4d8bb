package main

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/storage"
)

// TestStatusOfWhatIsNotSeen says of objects that could not be read that nothing is known of them, rather than that there are none.
func TestStatusOfWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	d := &storage.Definition{Name: "crontabs.example.com", Versions: []*storage.Version{{Name: "v1", Defined: true, Served: true, Storage: true}}}
	inventory := &storage.Inventory{Definitions: []*storage.Definition{d}}
	if text := statusText(inventory); !strings.Contains(text, "crontabs.example.com: 0 objects\n") || strings.Contains(text, "not known  ") {
		t.Errorf("it says\n%s", text)
	}
	d.Unseen = true
	if text := statusText(inventory); !strings.HasPrefix(text, "crontabs.example.com: its objects could not be read\n") || strings.Count(text, "not known  ") != 2 {
		t.Errorf("it says\n%s", text)
	}
}

// TestStatusOfRemovedVersions names objects at a version that the definition no longer has.
func TestStatusOfRemovedVersions(t *testing.T) {
	t.Parallel()
	gone := &storage.Version{Name: "v1alpha1", Stored: 1, First: map[storage.Kind][]storage.Blocker{
		storage.StoredObject: {{Kind: storage.StoredObject, Resource: "crontabs.example.com", Namespace: "default", Name: "old"}},
	}}
	d := &storage.Definition{Name: "crontabs.example.com", Objects: 1, Versions: []*storage.Version{{Name: "v1", Defined: true, Served: true, Storage: true}, gone}}
	text := statusText(&storage.Inventory{Definitions: []*storage.Definition{d}})
	for _, want := range []string{"Already broken: objects are stored at v1alpha1, ", "unserved, and migrate. Objects: 1.\n", "For example stored at v1alpha1: crontabs.example.com default/old\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
