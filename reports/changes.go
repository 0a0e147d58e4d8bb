package reports

import (
	"time"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// Changes holds the differences from an earlier run.
type Changes struct {
	Baseline     string              `json:"baseline"`              // file or folder that the earlier report was read from
	Started      time.Time           `json:"started"`               // when the earlier run started, in UTC
	Outcome      Outcome             `json:"outcome"`               // of the earlier run
	Headline     string              `json:"headline"`              // of the earlier run
	Notes        []string            `json:"notes,omitempty"`       // other differences between the runs, such as the version of Kubernetes
	Requirements []Change            `json:"requirements"`          // requirements with a different result, worst first
	Same         int                 `json:"same"`                  // number of requirements with the same result
	LoadChanges  []LoadChange        `json:"loadChanges,omitempty"` // parts of the load tests with a different result, worst first
	Load         *loadgen.Comparison `json:"load,omitempty"`        // of the load tests; absent unless two were compared
	LoadNote     string              `json:"loadNote,omitempty"`    // why load tests were not compared
}

// ChangeSort is the kind of a change.
type ChangeSort string

// The kinds of changes, worst first.
const (
	NewlyFailing   ChangeSort = "newly failing"
	NoLongerJudged ChangeSort = "no longer judged"
	NewlyTolerated ChangeSort = "newly tolerated"
	NewlyJudged    ChangeSort = "newly judged"
	NewlyPassing   ChangeSort = "newly passing"
	OtherChange    ChangeSort = "other"
)

// Change is a requirement whose result differs from that in an earlier run: its verdict, whether that verdict fails the run, or whether
// there is a result at all.
type Change struct {
	ID      requirement.ID `json:"id"`
	Subject string         `json:"subject,omitempty"` // see Result
	Sort    ChangeSort     `json:"sort"`
	Before  string         `json:"before,omitempty"` // earlier verdict; absent if the earlier run does not have the requirement
	Now     string         `json:"now,omitempty"`    // verdict; absent if this run does not have the requirement
	Reason  string         `json:"reason,omitempty"` // for the verdict Now or, if that is absent, why it is absent
}

// LoadChange is a part of the load test whose result differs from that in an earlier run.
type LoadChange struct {
	What   string     `json:"what"`             // such as "batch 500: responses", "batch 500: p99" or "search"
	Sort   ChangeSort `json:"sort"`             //
	Before string     `json:"before,omitempty"` // such as good, met, missed or void; absent if the earlier run does not have it
	Now    string     `json:"now,omitempty"`    // such as failed; absent if this run does not have it
	Reason string     `json:"reason,omitempty"` // for the result Now
}
