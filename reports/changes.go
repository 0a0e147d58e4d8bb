package reports

import (
	"time"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// Changes is what differs from an earlier run.
type Changes struct {
	Baseline     string              `json:"baseline"`              // the file or folder that the earlier report was read from
	Started      time.Time           `json:"started"`               // the earlier run, in UTC
	Outcome      Outcome             `json:"outcome"`               // of the earlier run
	Headline     string              `json:"headline"`              // of the earlier run
	Notes        []string            `json:"notes,omitempty"`       // how the runs differ otherwise, such as in the version of Kubernetes
	Requirements []Change            `json:"requirements"`          // that came to something else, the worst first
	Same         int                 `json:"same"`                  // requirements that came to the same
	LoadChanges  []LoadChange        `json:"loadChanges,omitempty"` // what of the load tests came to something else, the worst first
	Load         *loadgen.Comparison `json:"load,omitempty"`        // of the load tests; absent when there are no two, or when they were not compared
	LoadNote     string              `json:"loadNote,omitempty"`    // why load tests were not compared
}

// ChangeSort is what a change amounts to.
type ChangeSort string

// The sorts of changes, the worst first.
const (
	NewlyFailing   ChangeSort = "newly failing"
	NoLongerJudged ChangeSort = "no longer judged"
	NewlyTolerated ChangeSort = "newly tolerated"
	NewlyJudged    ChangeSort = "newly judged"
	NewlyPassing   ChangeSort = "newly passing"
	OtherChange    ChangeSort = "other"
)

// Change is a requirement that came to something else than in an earlier run.
type Change struct {
	ID      requirement.ID `json:"id"`
	Subject string         `json:"subject,omitempty"` // see Result
	Sort    ChangeSort     `json:"sort"`
	Before  string         `json:"before,omitempty"` // verdict; absent when the earlier run does not have the requirement
	Now     string         `json:"now,omitempty"`    // verdict; absent when this run does not have it
	Reason  string         `json:"reason,omitempty"` // of the verdict now, or of the one before if it is absent now
}

// LoadChange is a part of the load test that came to something else than in an earlier run.
type LoadChange struct {
	What   string     `json:"what"`             // such as "batch 500: responses", "batch 500: p99" or "search"
	Sort   ChangeSort `json:"sort"`             //
	Before string     `json:"before,omitempty"` // such as good, met, missed or void; absent when the earlier run does not have it
	Now    string     `json:"now,omitempty"`    // such as failed; absent when this run does not have it
	Reason string     `json:"reason,omitempty"` // of what it is now
}
