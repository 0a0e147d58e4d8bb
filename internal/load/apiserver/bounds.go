package apiserver

import (
	_ "embed" // for the table of bounds
	"fmt"

	"sigs.k8s.io/yaml"
)

// Verb is something that clients do.
type Verb = string

// The verbs.
const (
	Get              Verb = "get"
	GetCached        Verb = "get-cached" // with resourceVersion=0
	GetMetadata      Verb = "get-metadata"
	List             Verb = "list"
	ListPaged        Verb = "list-paged"    // by limit and continue, all pages
	ListMetadata     Verb = "list-metadata" // as PartialObjectMetadataList
	ListExact        Verb = "list-exact"    // with resourceVersionMatch=Exact
	WatchEvent       Verb = "watch"         // an event for each of two watches
	Create           Verb = "create"
	CreateDryRun     Verb = "create-dry-run"
	Update           Verb = "update"
	Patch            Verb = "patch"       // a merge patch
	PatchMixed       Verb = "patch-mixed" // the same, of an object that a manager applied at the version that is not asked at
	UpdateStatus     Verb = "update-status"
	PatchStatus      Verb = "patch-status"
	ApplyNew         Verb = "apply-new"
	ApplyNoOp        Verb = "apply-no-op"    // the same again
	ApplyRemoving    Verb = "apply-removing" // without a label that the manager applied before
	ApplySecond      Verb = "apply-second"   // by another manager than the one that applied at the storage version
	ApplyMoved       Verb = "apply-moved"    // by the manager that applied at the storage version
	Delete           Verb = "delete"
	DeleteCollection Verb = "delete-collection"

	// Apply is the verb of a load: an object is applied with an annotation that is another each time.
	Apply Verb = "apply"
)

// Verbs are those that have a budget, in the order in which they are measured.
func Verbs() []Verb {
	return []Verb{
		Get, GetCached, GetMetadata, List, ListPaged, ListMetadata, ListExact, WatchEvent, Create, CreateDryRun, Update, Patch, PatchMixed,
		UpdateStatus, PatchStatus, ApplyNew, ApplyNoOp, ApplyRemoving, ApplySecond, ApplyMoved, Delete, DeleteCollection,
	}
}

// Bounds are upper bounds on the webhook calls of each verb for one Kubernetes minor.
type Bounds struct {
	Minor      string         `json:"minor"`      // such as 1.37
	WatchCache bool           `json:"watchCache"` // whether the API server serves reads from one
	Storage    map[Verb]Bound `json:"storage"`    // at the storage version
	Other      map[Verb]Bound `json:"other"`      // at another version
}

// Bound is how many times the webhook is called at most.
type Bound struct {
	// Calls is the number of calls before the response: for a request, and for each object in lists and deletions of several.
	Calls float64 `json:"calls"`

	// Events is the number of events that it causes. Each costs a call for every served version but the one stored.
	Events float64 `json:"events,omitempty"`
}

// of is the bound where a number of versions is served.
func (b Bound) of(served int) float64 { return b.Calls + b.Events*float64(served-1) }

//go:embed bounds.yaml
var boundsYAML []byte

// DefaultBounds returns the bounds that were measured for this project.
func DefaultBounds() ([]Bounds, error) {
	var all []Bounds
	if err := yaml.UnmarshalStrict(boundsYAML, &all); err != nil {
		return nil, fmt.Errorf("bounds.yaml: %w", err)
	}
	return all, nil
}

// boundsOf returns the bounds of a minor; nil where none were measured. Minors differ, and none stands for another.
func boundsOf(all []Bounds, minor string, watchCache bool) *Bounds {
	for i := range all {
		if all[i].Minor == minor && all[i].WatchCache == watchCache {
			return &all[i]
		}
	}
	return nil
}
