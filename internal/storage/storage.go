// Package storage finds out what is stored at which version of a definition, and who still names it.
//
// Inspect reads a cluster and changes nothing. Judge says from what it found whether a version can be dropped. The judge performs
// no I/O, and what reads judges nothing.
package storage

import (
	"time"

	"github.com/crdconform/crdconform/requirement"
)

// Inventory is what a cluster has of some definitions.
type Inventory struct {
	// Flags say which cluster it is, for commands that mend something, such as "--context staging". It may be empty.
	Flags string `json:"-"`

	// Looked are flags that say where else versions may be named, for commands that look again.
	Looked string `json:"-"`

	Definitions []*Definition `json:"definitions"`

	// Gaps are resources that could not be looked at. Their objects may have owner references to any version.
	Gaps []Gap `json:"gaps,omitempty"`

	// Skipped are resources that were not looked at because the user wanted it so.
	Skipped []string `json:"skipped,omitempty"`

	// HelmGaps are releases of Helm that could not be read.
	HelmGaps []Gap `json:"helmGaps,omitempty"`
}

// Gap is something that could not be looked at.
type Gap struct {
	What string `json:"what"`           // a resource, or a file
	Why  string `json:"why"`            // in a sentence, without a full stop
	Mend string `json:"mend,omitempty"` // a command that gives the missing right, if one does
}

// Definition is what was found of a definition.
type Definition struct {
	Name       string `json:"name"`
	Group      string `json:"group"`
	Kind       string `json:"kind"`
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`

	StoredVersions []string `json:"storedVersions"` // of its status

	// Objects is the number of objects that were seen. Of these, the version that they are stored at is not known for Unknown.
	Objects int64 `json:"objects"`
	Unknown int64 `json:"unknown"`

	// Unseen says that the objects could not be looked at, so that the numbers of them, and of their managed fields, mean nothing.
	Unseen bool `json:"unseen,omitempty"`

	// Bases says for how many objects each way showed at which version they are stored.
	Bases map[Basis]int64 `json:"bases,omitempty"`

	// Versions are those that it has, in its order, and then those that it no longer has and something names.
	Versions []*Version `json:"versions"`

	// Manifests is how many of the user's manifests are of its kind; nil if there were none to look at.
	Manifests *int64 `json:"manifests,omitempty"`

	// ManifestGaps are manifests that may be of its kind and could not be read.
	ManifestGaps []Gap `json:"manifestGaps,omitempty"`

	// Gaps are what could not be looked at for this definition alone.
	Gaps []Gap `json:"gaps,omitempty"`

	// Notes are what to know about how the versions were found.
	Notes []string `json:"notes,omitempty"`
}

// Version is what was found of a version of a definition.
type Version struct {
	Name       string `json:"name"`
	Defined    bool   `json:"defined"` // in spec.versions
	Served     bool   `json:"served"`
	Storage    bool   `json:"storage"`
	Deprecated bool   `json:"deprecated"`
	Listed     bool   `json:"inStoredVersions"`

	Stored          int64 `json:"stored"`          // objects that are known to be stored at it
	ManagedFields   int64 `json:"managedFields"`   // objects whose managed fields name it
	OwnerReferences int64 `json:"ownerReferences"` // objects with an owner reference that names it

	// LastApplied is the number of objects that kubectl apply was last given at it.
	LastApplied int64 `json:"lastApplied,omitempty"`

	HelmReleases int64 `json:"helmReleases,omitempty"` // objects of deployed releases of Helm that name it
	Manifests    int64 `json:"manifests,omitempty"`    // the user's manifests that name it

	Requests Requests `json:"requests"`

	// Plan has the steps to a definition without the version; none if it is gone, or the one that clients get by default.
	Plan []Step `json:"plan,omitempty"`

	// First are the first blockers of each kind, at most Shown.
	First map[Kind][]Blocker `json:"-"`
}

// Shown is the number of blockers of a kind that are kept as examples.
const Shown = 20

// Basis is a way to find out at which version an object is stored.
type Basis string

// The ways, the strongest first.
const (
	Etcd         Basis = "etcd"           // the stored bytes
	Snapshot     Basis = "snapshot"       // the stored bytes in a snapshot of etcd
	NeverChanged Basis = "generation"     // the definition has never changed, so there was one storage version only
	History      Basis = "history"        // how the API server remembers the definition when the object was written
	Times        Basis = "times"          // the object was changed after the versions of the definition were
	Promise      Basis = "storedVersions" // status.storedVersions, which no client wrote
)

// Kind is what something does to a version.
type Kind string

// The kinds.
const (
	StoredObject   Kind = "stored-object"
	ManagedFields  Kind = "managed-fields"
	OwnerReference Kind = "owner-reference"
	LastApplied    Kind = "last-applied"
	HelmRelease    Kind = "helm-release"
	Manifest       Kind = "manifest"
)

// Blocker is an object that a version cannot be dropped for.
type Blocker struct {
	Kind      Kind   `json:"kind"`
	Resource  string `json:"resource"` // such as deployments.apps
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	By        string `json:"by,omitempty"`   // the field manager, the owner, the release, or the file
	Mend      string `json:"mend,omitempty"` // a command that mends it
}

// String names the object; one of a template has no name yet.
func (b Blocker) String() string {
	if b.Name == "" {
		return b.Resource
	}
	if b.Namespace == "" {
		return b.Resource + " " + b.Name
	}
	return b.Resource + " " + b.Namespace + "/" + b.Name
}

// Requests is what is known of those who still ask for a version.
type Requests struct {
	Known bool      `json:"known"`
	Basis string    `json:"basis,omitempty"` // where that is known from, in words
	Gaps  []Gap     `json:"gaps,omitempty"`  // why it is not known
	Total int64     `json:"total"`           // requests; 0 with Asked if they were not counted
	Asked []Request `json:"asked,omitempty"`

	Ignored bool `json:"-"` // it does not matter who asks
}

// Request is those requests for a version that have a user and a user agent in common.
type Request struct {
	User      string    `json:"user,omitempty"` // empty where that is not known
	UserAgent string    `json:"userAgent,omitempty"`
	Resource  string    `json:"resource"`
	Count     int64     `json:"count,omitempty"` // 0 where they were not counted
	Last      time.Time `json:"last,omitzero"`
}

// Answer is what is to be said of dropping a version.
type Answer string

// The answers.
const (
	Safe       Answer = "safe"
	NotSafe    Answer = "not safe"
	CannotTell Answer = "cannot tell"
)

// Removal is whether a version can be removed from a definition. It is no requirement.Verdict: that objects are still stored at a version
// speaks against nobody.
type Removal struct {
	Definition string      `json:"definition"`
	Version    string      `json:"version"`
	Answer     Answer      `json:"answer"`
	Findings   []Condition `json:"findings"`
}

// Condition is whether one requirement of a removal is met, and what stands in its way.
type Condition struct {
	Requirement requirement.ID `json:"requirement"`
	Answer      Answer         `json:"answer"`
	Text        string         `json:"text"` // what was found, and how that is known
	Kind        Kind           `json:"kind,omitempty"`
	Count       int64          `json:"count,omitempty"` // of the blockers
	Gaps        []Gap          `json:"gaps,omitempty"`  // why it is not known
	Mend        string         `json:"mend,omitempty"`  // a command, or what to do

	First []Blocker `json:"-"`
}
