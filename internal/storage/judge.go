package storage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// Version returns what was found of a version, or nil if the definition never had it, as far as is known.
func (d *Definition) Version(name string) *Version {
	for _, v := range d.Versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// StorageVersion returns the storage version.
func (d *Definition) StorageVersion() string {
	for _, v := range d.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// Resource is the resource of its objects, as kubectl takes it.
func (d *Definition) Resource() string { return d.Plural + "." + d.Group }

// judgement is the question whether a version can be dropped.
type judgement struct {
	inventory  *Inventory
	definition *Definition
	version    *Version
}

// Judge says whether a version of a definition, both of which the inventory must have, can be dropped.
func Judge(inventory *Inventory, definition *Definition, version *Version) Removal {
	j := judgement{inventory, definition, version}
	verdict := Removal{Definition: definition.Name, Version: version.Name, Answer: Safe}
	conditions := []Condition{j.storage(), j.objects(), j.storedVersions(), j.managedFields(), j.ownerReferences()}
	for _, f := range slices.Concat(conditions, j.manifests(), []Condition{j.requested()}) {
		verdict.Findings = append(verdict.Findings, f)
		if f.Answer == NotSafe || f.Answer == CannotTell && verdict.Answer == Safe {
			verdict.Answer = f.Answer
		}
	}
	return verdict
}

func (j judgement) storage() Condition {
	f := Condition{Requirement: requirement.StorageDropStorageVersion, Answer: Safe, Text: fmt.Sprintf("The storage version is %s.", j.definition.StorageVersion())}
	if j.version.Storage {
		f.Answer = NotSafe
		f.Text = j.version.Name + " is the storage version."
		f.Mend = elsewhere + " in the definition, and migrate the objects to it"
	}
	return f
}

func (j judgement) objects() Condition {
	d, v := j.definition, j.version
	f := Condition{Requirement: requirement.StorageDropObjects, Kind: StoredObject, Count: v.Stored, First: v.First[StoredObject]}
	switch {
	case v.Stored > 0:
		f.Answer = NotSafe
		f.Text = fmt.Sprintf("%s stored at %s%s.", visible.Count(v.Stored, "object is", "objects are"), v.Name, inBrackets(d.Evidence()))
		f.Mend = j.migrate()
	case d.Unknown > 0:
		f.Answer = CannotTell
		f.Text = fmt.Sprintf("For %d of %s, it is not known at which version they are stored.", d.Unknown, visible.Count(d.Objects, "object", "objects"))
		f.Gaps = d.Gaps
		if d.Bases[Etcd]+d.Bases[Snapshot] == 0 {
			f.Gaps = append(slices.Clone(d.Gaps), Gap{
				What: "stored objects",
				Why:  "the API does not show the version of stored objects, and the definition changed too long ago for the API server to remember; give access to etcd, or a snapshot of it",
			})
		}
	case len(d.Gaps) > 0:
		f.Answer, f.Text, f.Gaps = CannotTell, "Not all objects could be seen.", d.Gaps
	case d.Objects == 0:
		f.Answer, f.Text = Safe, "There are no objects."
	default:
		f.Answer, f.Text = Safe, fmt.Sprintf("Of %s, none is stored at %s%s.", visible.Count(d.Objects, "object", "objects"), v.Name, inBrackets(d.Evidence()))
	}
	return f
}

// elsewhere is what comes before a migration away from the storage version, which goes nowhere until then.
const elsewhere = "first make another version the storage version"

// migrate is the command that migrates the objects, and has managed fields name the version no more.
func (j judgement) migrate() string {
	if j.version.Storage {
		return elsewhere
	}
	return migration(j.definition, j.version, j.inventory.Flags)
}

// migration is the command that migrates a definition in the cluster of some flags, by all steps or some. Managed fields name the version
// no more then, which may be nil if the definition never had it.
func migration(d *Definition, v *Version, flags string, steps ...string) string {
	command := []string{"crdconform storage migrate", d.Name}
	if len(steps) > 0 {
		command = append(command, "--steps", strings.Join(steps, ","))
	}
	if v != nil && v.Defined && !v.Storage {
		command = append(command, "--drop", v.Name)
	}
	return strings.TrimSpace(strings.Join(append(command, flags), " "))
}

// inBrackets puts text in brackets behind something, if there is any.
func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// Evidence says how the versions of the stored objects are known, in words; it is empty if they are not.
func (d *Definition) Evidence() string {
	var ways []string
	for _, basis := range []Basis{Etcd, Snapshot, NeverChanged, History, Times, Promise} {
		if d.Bases[basis] > 0 {
			ways = append(ways, basis.Words())
		}
	}
	return strings.Join(ways, "; ")
}

// Words says what a basis is.
func (b Basis) Words() string {
	switch b {
	case Etcd:
		return "read from etcd"
	case Snapshot:
		return "read from the snapshot"
	case NeverChanged:
		return "the definition has never changed"
	case History:
		return "the API server remembers the definition of the time when they were written"
	case Times:
		return "they were changed after the versions of the definition were"
	case Promise:
		return "status.storedVersions says so, and no client wrote it"
	}
	return string(b)
}

func (j judgement) storedVersions() Condition {
	d, v := j.definition, j.version
	f := Condition{Requirement: requirement.StorageDropStoredVersions, Answer: Safe, Text: fmt.Sprintf("status.storedVersions is %s.", strings.Join(d.StoredVersions, ", "))}
	if !v.Listed {
		return f
	}
	f.Answer = NotSafe
	f.Text = fmt.Sprintf("status.storedVersions still has %s, so the API server refuses a definition without it.", v.Name)
	left := slices.DeleteFunc(slices.Clone(d.StoredVersions), func(name string) bool { return name == v.Name })
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": left}})
	switch {
	case err != nil || v.Storage || len(left) == 0:
		f.Mend = elsewhere
	case v.Stored > 0 || d.Unknown > 0:
		f.Mend = j.migrate()
	default:
		f.Mend = fmt.Sprintf("%s patch crd %s --subresource=status --type=merge -p '%s'", kubectl(j.inventory.Flags), d.Name, patch)
	}
	return f
}

func (j judgement) managedFields() Condition {
	d, v := j.definition, j.version
	f := Condition{Requirement: requirement.StorageDropManagedFields, Kind: ManagedFields, Count: v.ManagedFields, First: v.First[ManagedFields]}
	switch {
	case v.ManagedFields > 0:
		f.Answer = NotSafe
		f.Text = fmt.Sprintf("The managed fields of %s name %s; server-side apply would fail.", visible.Count(v.ManagedFields, "object", "objects"), v.Name)
		f.Mend = j.migrate()
	case len(d.Gaps) > 0:
		f.Answer, f.Text, f.Gaps = CannotTell, "Not all managed fields could be seen.", d.Gaps
	default:
		f.Answer, f.Text = Safe, fmt.Sprintf("No managed fields name %s.", v.Name)
	}
	return f
}

func (j judgement) ownerReferences() Condition {
	d, v := j.definition, j.version
	f := Condition{Requirement: requirement.StorageDropOwnerReferences, Kind: OwnerReference, Count: v.OwnerReferences, First: v.First[OwnerReference]}
	gaps := slices.Concat(j.inventory.Gaps, d.Gaps)
	switch {
	case v.OwnerReferences > 0:
		f.Answer = NotSafe
		f.Text = fmt.Sprintf("%s owner references that name %s; the garbage collector could not collect them.", visible.Count(v.OwnerReferences, "object has", "objects have"), v.Name)
		f.Mend = "change the apiVersion of these owner references with the command shown for each"
	case len(gaps) > 0:
		f.Answer, f.Gaps = CannotTell, gaps
		f.Text = visible.Count(len(gaps), "resource", "resources") + " could not be looked at for owner references."
	default:
		f.Answer, f.Text = Safe, fmt.Sprintf("No owner reference names %s.", v.Name)
		if len(j.inventory.Skipped) > 0 {
			f.Text = fmt.Sprintf("No owner reference names %s; not looked at, as you asked: %s.", v.Name, strings.Join(j.inventory.Skipped, ", "))
		}
	}
	return f
}

func (j judgement) requested() Condition {
	d, v := j.definition, j.version
	f := Condition{Requirement: requirement.StorageDropRequests, Answer: Safe}
	switch {
	case !v.Served:
		f.Text = v.Name + " is not served, so no client can request it."
	case v.Requests.Ignored:
		f.Text = v.Name + " is still served; who asks for it was not looked at, as you asked."
	case len(v.Requests.Asked) > 0:
		f.Answer, f.Count = NotSafe, max(v.Requests.Total, int64(len(v.Requests.Asked)))
		f.Text = fmt.Sprintf("%s is still asked for (%s).", v.Name, v.Requests.Basis)
		f.Mend = "have these clients use " + d.successor(v.Name)
		if v.Requests.Total == 0 {
			f.Mend += `; "crdconform storage migrate" asks for it too and is counted, and only an audit log distinguishes that from other requests`
		}
	case v.Requests.Known:
		f.Text = fmt.Sprintf("No client requested %s (%s).", v.Name, v.Requests.Basis)
	default:
		f.Answer, f.Gaps = CannotTell, v.Requests.Gaps
		f.Text = v.Name + " is still served, and it is not known who asks for it."
		f.Mend = "set served to false for it first, as the Kubernetes documentation says, or give an audit log"
	}
	return f
}
