// Package reports defines the report of a run as data, and reads reports.
package reports

import (
	"fmt"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// The apiVersion and kind of Report. The version changes whenever readers must change.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	ReportKind = "Report"
)

// Report is the result of a run. It is written as report.json, from which every other format is made.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Tool    string    `json:"tool"`    // version of crdconform
	Command string    `json:"command"` // the command line
	Started time.Time `json:"started"` // in UTC
	Seconds float64   `json:"seconds"` // duration of the run

	// HarnessSeconds is the part of Seconds spent in crdconform itself rather than waiting for the webhook or the API server; 0 when
	// not measured.
	HarnessSeconds float64 `json:"harnessSeconds"`

	// Spent is what a check spent time on, in seconds: chapter.NAME for the specs of a chapter, starting and stopping; and what of that was
	// spent generating and shrinking objects, and waiting for the webhook and the apiServer, which overlap. Absent when not measured.
	Spent map[string]float64 `json:"spent,omitempty"`

	Seed        int64    `json:"seed"`                  // of random choices
	Strict      bool     `json:"strict,omitempty"`      // Tolerated counts as failed
	Interrupted bool     `json:"interrupted,omitempty"` // the run was stopped before its end
	Error       string   `json:"error,omitempty"`       // why the run could not judge everything
	Cluster     *Cluster `json:"cluster,omitempty"`     // absent when none was needed
	Webhook     *Webhook `json:"webhook,omitempty"`     // absent when none was judged
	Notes       []string `json:"notes,omitempty"`       // other facts about the run, such as a definition that was left out

	Outcome Outcome                     `json:"outcome"`          // see Conclude
	Counts  map[requirement.Verdict]int `json:"counts,omitempty"` // of results by verdict
	Results []Result                    `json:"results"`          // by subject, each in the order of the catalogue
	Load    *loadgen.Load               `json:"load,omitempty"`   // absent without a load test

	Upgrade []Leg `json:"upgrade,omitempty"` // rehearsed upgrades, in order

	Disruptions []Disruption `json:"disruptions,omitempty"` // disruptions of webhooks, in order

	Artifacts []File      `json:"artifacts,omitempty"` // collected from the cluster after a failure, such as logs
	Merged    []MergedRun `json:"merged,omitempty"`    // runs that the report was merged from
	Changes   *Changes    `json:"changes,omitempty"`   // differences from an earlier run; absent without a baseline

	Apart bool `json:"-"` // its files are named without links, because they are not beside the written report
}

// Cluster is the API server that was checked.
type Cluster struct {
	Name       string `json:"name"`       // kind of cluster, such as embedded
	Version    string `json:"version"`    // of Kubernetes, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // reads could come from a watch cache
}

// String describes the API server, such as "v1.37.2 (embedded, without a watch cache)".
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
	Kinds []Kind `json:"kinds"` // kinds that it was judged with

	// Program is the program that was started as the webhook, with its arguments; empty if none was.
	Program string `json:"program,omitempty"`

	// MinCoverage is the share of the fields of each kind that must be exercised, from 0 to 1; 0 if none was requested.
	MinCoverage float64 `json:"minCoverage,omitempty"`
}

// Kind is a definition that a webhook was judged with, and the objects used.
type Kind struct {
	Definition string   `json:"definition"`      // name, such as widgets.example.com
	Group      string   `json:"group"`           //
	Kind       string   `json:"kind"`            //
	Versions   []string `json:"versions"`        //
	Samples    int      `json:"samples"`         // number of objects given
	Generated  int      `json:"generated"`       // number of objects generated per version; 0 for none
	Cut        bool     `json:"cut,omitempty"`   // the time budget was used up before everything was judged
	Lossy      []string `json:"lossy,omitempty"` // paths declared lossy, each with the reason: "spec.x: reason"
	Gaps       []string `json:"gaps,omitempty"`  // what could not be generated, and why

	Coverage []Coverage `json:"coverage,omitempty"` // what was tried, for each pair of versions; absent when nothing was generated
	Written  []Coverage `json:"written,omitempty"`  // what clients of an API server wrote, for each version and verb; absent when none did
}

// Coverage is how much the objects cover of the schema of a version that the webhook converted to another version and back. A field
// is exercised if an object has it with a value whose loss would be noticed: not null, not the default and, unless a default would
// replace it, not empty.
type Coverage struct {
	From       string          `json:"from"`                 // version of the objects, and of the schema
	To         string          `json:"to,omitempty"`         // version that they were converted to and back from
	Verb       string          `json:"verb,omitempty"`       // of what clients of an API server wrote: create, update, json patch, merge patch, apply, status or scale
	Objects    int             `json:"objects"`              // number of objects that came back
	Total      int             `json:"total"`                // number of fields that can have a value
	Exercised  int             `json:"exercised"`            // number of these that were exercised
	Never      []FieldNote     `json:"never,omitempty"`      // fields that were not exercised
	Impossible []FieldNote     `json:"impossible,omitempty"` // fields that no valid object has, which are not in the total
	Metadata   map[string]int  `json:"metadata"`             // number of objects by what is special about their metadata, such as a name with dots
	Fields     []FieldCoverage `json:"fields"`               // all fields in the total, by path
}

// FieldCoverage counts how often a field was seen with each kind of value.
type FieldCoverage struct {
	Path string         `json:"path"` // such as spec.ports[*].name, with <key> for the keys of maps
	Seen map[string]int `json:"seen"` // number of times by kind of value, such as default, empty or absent
}

// FieldNote says why a field was not exercised.
type FieldNote struct {
	Path   string `json:"path"`             // see FieldCoverage
	Reason string `json:"reason,omitempty"` // absent when none is known
}

// MergedRun is one of the runs that a report was merged from.
type MergedRun struct {
	Report  string    `json:"report"`  // file or folder, as given
	Tool    string    `json:"tool"`    // version of crdconform
	Command string    `json:"command"` // the command line
	Started time.Time `json:"started"` // in UTC
	Seconds float64   `json:"seconds"` // duration of the run
	Seed    int64     `json:"seed"`    // of random choices
	Outcome Outcome   `json:"outcome"` //
}

// Result is the verdict on one requirement.
type Result struct {
	requirement.Requirement

	// Subject is the definition that the result is about, such as widgets.example.com. It is empty for results about the API
	// server, and when the webhook was judged with the documents' CronTabs only.
	Subject string `json:"subject,omitempty"`

	Spec     string              `json:"spec"`     // what the spec does
	Location string              `json:"location"` // file and line of the spec, or of what failed in it
	Verdict  requirement.Verdict `json:"verdict"`  //

	// Immaterial is set on a NotApplicable result that does not lower the outcome, because the requirement cannot apply to the
	// subject: for example, one that needs three versions of a definition with two.
	Immaterial bool `json:"immaterial,omitempty"`

	Reason string `json:"reason,omitempty"` // why the verdict is not Passed

	// Findings lists what happened to which fields, each once; absent if the reason is about something else.
	Findings []FieldFinding `json:"findings,omitempty"`

	Seconds float64 `json:"seconds"`          // duration of the spec
	Rerun   string  `json:"rerun"`            // command that runs only this spec again
	Output  string  `json:"output,omitempty"` // what the spec logged
	Files   []File  `json:"files,omitempty"`  // evidence
	Curl    string  `json:"curl,omitempty"`   // command that sends the request again, to be run in the report folder
}

// FieldFinding is what happens to a field when objects are converted from one version to another, or there and back.
type FieldFinding struct {
	Field   string `json:"field,omitempty"`   // such as spec.ports[*].name, with * for the keys of maps; absent for the object as a whole
	Effect  string `json:"effect"`            // lost, changed, moved, added, refused, invalid, differs or grows
	From    string `json:"from"`              // version of the objects
	To      string `json:"to"`                // version that they are converted to
	Lacking bool   `json:"lacking,omitempty"` // the version To has no field of that name, so the loss may be intended
	Kept    bool   `json:"kept,omitempty"`    // other values of the field come back, or it is kept elsewhere, so the loss is not intended
	Message string `json:"message"`           // one example

	Instead    string `json:"instead,omitempty"`    // what the version To has in its place, if that is of another type, or what keeps it, such as "spec.config as a string"; the field that the value has moved to
	Place      string `json:"place,omitempty"`      // the field of the version To that has what this one has, where Instead says so
	MadeUp     bool   `json:"madeUp,omitempty"`     // the content is made up, since neither a schema nor a sample says what is there
	Annotation bool   `json:"annotation,omitempty"` // what the webhook keeps in an annotation undoes an edit of the field
	Home       string `json:"home,omitempty"`       // the field that shows it at the stored version, where it may have another name
	When       string `json:"when,omitempty"`       // under which circumstances, if these are the cause rather than the field, such as "where metadata.deletionTimestamp is set"

	Violates requirement.ID `json:"violates,omitempty"` // what a response that API servers refuse violates, if that is another requirement: the cause, where that fails too
}

// Meant reports whether a loss may be intended.
func (f FieldFinding) Meant() bool { return f.Effect == "lost" && f.Lacking && !f.Kept && f.When == "" }

// File is a file in the report folder.
type File = loadgen.File
