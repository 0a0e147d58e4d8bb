// Package reports is what a run came to, as data and in the forms in which people and machines read it.
package reports

//go:generate go run ./generate

import (
	"fmt"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// The type of Report, as Kubernetes names types. A change that readers have to know of changes the version.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	ReportKind = "Report"
)

// Report is what a run came to. It is written as report.json, and every other form is made from it.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Tool    string    `json:"tool"`    // version of crdconform
	Command string    `json:"command"` // that was run
	Started time.Time `json:"started"` // in UTC
	Seconds float64   `json:"seconds"` // that the run took

	// HarnessSeconds is how much of Seconds was crdconform's own work, waiting neither for the webhook nor for the API
	// server; 0 when it was not measured.
	HarnessSeconds float64 `json:"harnessSeconds"`

	Seed        int64    `json:"seed"`                  // of random choices
	Strict      bool     `json:"strict,omitempty"`      // Tolerated counts as failed
	Interrupted bool     `json:"interrupted,omitempty"` // somebody stopped it
	Error       string   `json:"error,omitempty"`       // why the run could not judge all that it was to
	Cluster     *Cluster `json:"cluster,omitempty"`     // absent when none was needed
	Webhook     *Webhook `json:"webhook,omitempty"`     // absent when none was judged
	Notes       []string `json:"notes,omitempty"`       // what to know that is no result, such as a definition that was left out

	Outcome Outcome                     `json:"outcome"`          // see Conclude
	Counts  map[requirement.Verdict]int `json:"counts,omitempty"` // of results by verdict
	Results []Result                    `json:"results"`          // by subject, each in the order of the catalogue
	Load    *loadgen.Load               `json:"load,omitempty"`   // absent when there was none

	Artifacts []File      `json:"artifacts,omitempty"` // what the cluster told when something failed, such as logs
	Merged    []MergedRun `json:"merged,omitempty"`    // the runs that it was made from, if there were several; see Merge
	Changes   *Changes    `json:"changes,omitempty"`   // from an earlier run; absent when it was compared with none
}

// Cluster is the API server that was checked.
type Cluster struct {
	Name       string `json:"name"`       // sort of cluster, such as embedded
	Version    string `json:"version"`    // of Kubernetes, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // whether reads could come from one
}

// String says which API server it is, such as "v1.37.2 (embedded, without a watch cache)".
func (c *Cluster) String() string {
	cache := "without a watch cache"
	if c.WatchCache {
		cache = "with a watch cache"
	}
	return visible.Text(fmt.Sprintf("%s (%s, %s)", c.Version, c.Name, cache))
}

// Webhook is the conversion webhook that was judged.
type Webhook struct {
	URL   string `json:"url"`
	Kinds []Kind `json:"kinds"` // that it was judged with
}

// Kind is a definition that a webhook was judged with, and what with.
type Kind struct {
	Definition string   `json:"definition"`      // its name, such as widgets.example.com
	Group      string   `json:"group"`           //
	Kind       string   `json:"kind"`            //
	Versions   []string `json:"versions"`        //
	Samples    int      `json:"samples"`         // objects that were given
	Generated  int      `json:"generated"`       // objects for each version that were made from its schema; 0 when none were
	Lossy      []string `json:"lossy,omitempty"` // paths declared to get lost, each with the reason: "spec.x: reason"
	Gaps       []string `json:"gaps,omitempty"`  // what cannot be generated, and why
}

// MergedRun is one of the runs that a report was made from.
type MergedRun struct {
	Report  string    `json:"report"`  // its file or folder, as it was given
	Tool    string    `json:"tool"`    // version of crdconform
	Command string    `json:"command"` // that was run
	Started time.Time `json:"started"` // in UTC
	Seconds float64   `json:"seconds"` // that the run took
	Seed    int64     `json:"seed"`    // of random choices
	Outcome Outcome   `json:"outcome"` //
}

// Result is what one requirement came to.
type Result struct {
	requirement.Requirement

	// Subject is the definition that the result is about, such as widgets.example.com. It is empty for the conformance of
	// the API server, and when the webhook was judged with the documents' CronTabs only.
	Subject string `json:"subject,omitempty"`

	Spec     string              `json:"spec"`     // what the spec does
	Location string              `json:"location"` // file and line of the spec, or of what failed in it
	Verdict  requirement.Verdict `json:"verdict"`  //

	// Immaterial is set on a NotApplicable result that takes nothing from the outcome, since the subject can't have what the
	// requirement is about: one that needs three versions, of a definition with two.
	Immaterial bool `json:"immaterial,omitempty"`

	Reason  string  `json:"reason,omitempty"` // why the verdict is not Passed
	Seconds float64 `json:"seconds"`          // that the spec took
	Rerun   string  `json:"rerun"`            // command that runs just this spec again
	Output  string  `json:"output,omitempty"` // what the spec logged
	Files   []File  `json:"files,omitempty"`  // evidence
	Curl    string  `json:"curl,omitempty"`   // command that sends the request again, run in the report folder
}

// File is a file in the report folder.
type File = loadgen.File
