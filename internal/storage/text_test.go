package storage

import (
	"strings"
	"testing"
)

// TestStatusOfWhatIsNotSeen says of objects that could not be read that nothing is known of them, rather than that there are none.
func TestStatusOfWhatIsNotSeen(t *testing.T) {
	t.Parallel()
	d := &Definition{Name: "crontabs.example.com", Versions: []*Version{{Name: "v1", Defined: true, Served: true, Storage: true}}}
	inventory := &Inventory{Definitions: []*Definition{d}}
	if text := inventory.Text(""); !strings.Contains(text, "crontabs.example.com: 0 objects\n") || strings.Contains(text, "not known  ") {
		t.Errorf("it says\n%s", text)
	}
	d.Unseen = true
	if text := inventory.Text(""); !strings.HasPrefix(text, "crontabs.example.com: its objects could not be read\n") || strings.Count(text, "not known  ") != 2 {
		t.Errorf("it says\n%s", text)
	}
}

// TestStatusOfRemovedVersions names objects at a version that the definition no longer has.
func TestStatusOfRemovedVersions(t *testing.T) {
	t.Parallel()
	gone := &Version{Name: "v1alpha1", Stored: 1, First: map[Kind][]Blocker{
		StoredObject: {{Kind: StoredObject, Resource: "crontabs.example.com", Namespace: "default", Name: "old"}},
	}}
	d := &Definition{Name: "crontabs.example.com", Objects: 1, Versions: []*Version{{Name: "v1", Defined: true, Served: true, Storage: true}, gone}}
	text := (&Inventory{Definitions: []*Definition{d}}).Text("")
	for _, want := range []string{"Already broken: objects are stored at v1alpha1, ", "unserved, and migrate. Objects: 1.\n", "For example stored at v1alpha1: crontabs.example.com default/old\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}
