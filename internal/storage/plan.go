package storage

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/crdconform/crdconform/requirement"
)

// Step is one on the way to a definition without a version.
type Step struct {
	Text string `json:"text"`           // what is to be done, in a sentence
	How  string `json:"how,omitempty"`  // a command, if there is one
	Undo string `json:"undo,omitempty"` // what takes it back; empty if there is nothing to take back
	Done bool   `json:"done"`           // the gate before the next step
}

// plan returns the steps from what was found to a definition without a version, in the order of the Kubernetes documentation, and of what
// breaks otherwise. It returns none for versions that are removed already, and for the one that clients get by default.
func (inventory *Inventory) plan(d *Definition, v *Version) []Step {
	if !v.Defined || v.Name == d.preferred() {
		return nil
	}
	to := d.successor(v.Name)
	again := strings.Join(nonempty("crdconform storage safe-to-drop", d.Name, v.Name, inventory.Flags, inventory.Looked), " ")
	met := map[requirement.ID]bool{}
	for _, c := range Judge(inventory, d, v).Findings {
		met[c.Requirement] = c.Answer == Safe
	}
	return []Step{
		{
			Text: fmt.Sprintf("Store new objects at %s: storage: true there, and false at %s.", to, v.Name),
			Undo: "make " + v.Name + " the storage version again",
			Done: met[requirement.StorageDropStorageVersion],
		},
		{
			Text: fmt.Sprintf("Rewrite the objects stored at %s, and take it out of status.storedVersions and managed fields.", v.Name),
			How:  strings.Join(nonempty("crdconform storage migrate", d.Name, "--drop", v.Name, inventory.Flags), " "),
			Undo: fmt.Sprintf("make %s the storage version again, and migrate", v.Name),
			Done: !v.Storage && !d.Unseen && met[requirement.StorageDropObjects] && met[requirement.StorageDropStoredVersions] && met[requirement.StorageDropManagedFields],
		},
		{
			Text: fmt.Sprintf("Have owner references, manifests and releases of Helm name %s; safe-to-drop lists those that do not.", to),
			How:  again,
			Done: met[requirement.StorageDropOwnerReferences] && met[requirement.StorageDropManifests],
		},
		{
			Text: fmt.Sprintf("Stop serving it: served: false at %s, when no client asks for it any more.", v.Name),
			Undo: "set served: true again",
			Done: !v.Served,
		},
		{
			Text: "When safe-to-drop says SAFE, remove it from the definition, and then from the webhook.",
			How:  again,
			Undo: "put it back into the definition, unserved, as long as the webhook converts it",
		},
	}
}

// nonempty returns the words that are not empty.
func nonempty(words ...string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return word == "" })
}

// successor is the version that takes the place of another one.
func (d *Definition) successor(version string) string {
	for _, candidate := range []string{d.StorageVersion(), d.preferred()} {
		if candidate != version {
			return candidate
		}
	}
	return "another version"
}

// preferred is the version of the highest priority.
func (d *Definition) preferred() string {
	best := ""
	for _, v := range d.Versions {
		if v.Defined && (best == "" || version.CompareKubeAwareVersionStrings(v.Name, best) > 0) {
			best = v.Name
		}
	}
	return best
}

// PlanText shows the steps to a definition without a version, for each that may go.
func (d *Definition) PlanText() string {
	var b strings.Builder
	for _, v := range d.Versions {
		next := "next"
		for n, step := range v.Plan {
			if n == 0 {
				fmt.Fprintf(&b, "To remove %s:\n", v.Name)
			}
			mark := "done"
			if !step.Done {
				mark, next = next, "then"
			}
			fmt.Fprintf(&b, "  %d %s: %s\n", n+1, mark, step.Text)
			if step.Done {
				continue
			}
			if step.How != "" {
				fmt.Fprintf(&b, "    %s\n", step.How)
			}
			if step.Undo != "" {
				fmt.Fprintf(&b, "    To undo it: %s\n", step.Undo)
			}
		}
	}
	return b.String()
}
