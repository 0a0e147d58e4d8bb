// Package reports is what a run came to, as data and in the forms in which people and machines read it.
package reports

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/requirement"
)

// The type of Report, as Kubernetes names types. A change that readers have to know of changes the version.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	Kind       = "Report"
)

// Report is what a run came to. It is written as report.json, and every other form is made from it.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	Tool        string    `json:"tool"`                  // version of crdconform
	Command     string    `json:"command"`               // that was run
	Started     time.Time `json:"started"`               // in UTC
	Seconds     float64   `json:"seconds"`               // that the run took
	Seed        int64     `json:"seed"`                  // of random choices
	Strict      bool      `json:"strict,omitempty"`      // Tolerated counts as failed
	Interrupted bool      `json:"interrupted,omitempty"` // somebody stopped it
	Error       string    `json:"error,omitempty"`       // why the run could not judge all that it was to
	Cluster     *Cluster  `json:"cluster,omitempty"`     // absent when none was needed
	Webhook     *Webhook  `json:"webhook,omitempty"`     // absent when none was judged

	Outcome Outcome                     `json:"outcome"`          // see Conclude
	Counts  map[requirement.Verdict]int `json:"counts,omitempty"` // of results by verdict
	Results []Result                    `json:"results"`          // in the order of the catalogue
	Load    *Load                       `json:"load,omitempty"`   // absent when there was none
}

// Cluster is the API server that was checked.
type Cluster struct {
	Name       string `json:"name"`       // sort of cluster, such as embedded
	Version    string `json:"version"`    // of Kubernetes, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // whether reads could come from one
}

// Webhook is the conversion webhook that was judged.
type Webhook struct {
	URL      string   `json:"url"`
	Group    string   `json:"group"`
	Kind     string   `json:"kind"`
	Versions []string `json:"versions"`
}

// Result is what one requirement came to.
type Result struct {
	requirement.Requirement

	Spec     string              `json:"spec"`             // what the spec does
	Location string              `json:"location"`         // file and line of the spec, or of what failed in it
	Verdict  requirement.Verdict `json:"verdict"`          //
	Reason   string              `json:"reason,omitempty"` // why the verdict is not Passed
	Seconds  float64             `json:"seconds"`          // that the spec took
	Rerun    string              `json:"rerun"`            // command that runs just this spec again
	Output   string              `json:"output,omitempty"` // what the spec logged
	Files    []File              `json:"files,omitempty"`  // evidence
	Curl     string              `json:"curl,omitempty"`   // command that sends the request again, run in the report folder
}

// File is a file in the report folder.
type File struct {
	Path string `json:"path"` // relative to the folder, with slashes
	Data []byte `json:"-"`
}

// Load is what came of a load test.
type Load struct {
	Rate          float64 `json:"rate"`          // requests a second that were due
	Duration      float64 `json:"duration"`      // seconds for which requests were due
	Batch         int     `json:"batch"`         // objects in a request
	ReviewVersion string  `json:"reviewVersion"` // of ConversionReview
	From          string  `json:"from"`          // version of the objects sent
	To            string  `json:"to"`            // version asked for
	HTTP          string  `json:"http"`          // protocol, HTTP/1.1 or HTTP/2

	Seconds           float64 `json:"seconds"`           // from the first due request to the last response
	Requests          uint64  `json:"requests"`          // sent
	Objects           uint64  `json:"objects"`           // in them
	Failed            uint64  `json:"failed"`            // requests whose response API servers reject
	RequestsPerSecond float64 `json:"requestsPerSecond"` // answered
	ObjectsPerSecond  float64 `json:"objectsPerSecond"`  // converted as API servers accept it
	BytesSent         uint64  `json:"bytesSent"`         // in bodies
	BytesReceived     uint64  `json:"bytesReceived"`     // in bodies

	Response Times `json:"response"` // from when a request was due
	Service  Times `json:"service"`  // from when it was sent
	Lag      Times `json:"lag"`      // from due to sent

	Late          uint64                    `json:"late"`                 // requests that the generator sent too late
	LateAfter     float64                   `json:"lateAfter"`            // milliseconds from which a request is late
	Unsent        map[string]uint64         `json:"unsent,omitempty"`     // requests that the generator lacked something to send, by what it lacked
	Unanswered    uint64                    `json:"unanswered,omitempty"` // requests that were waiting when the run was stopped; the times count how long they had
	VoidReason    string                    `json:"voidReason,omitempty"` // why this says nothing about the webhook; empty when it does
	Partial       bool                      `json:"partial,omitempty"`    // stopped before its end
	Errors        map[string]uint64         `json:"errors,omitempty"`     // failed requests by kind of error: transport, timeout, http, failed, contract
	Violations    map[requirement.ID]uint64 `json:"violations,omitempty"` // requests by violated requirement
	FirstFindings []string                  `json:"firstFindings,omitempty"`
}

// wrong is how many responses were wrong however busy the generator was: those that came.
func (l *Load) wrong() uint64 { return l.Errors["http"] + l.Errors["failed"] + l.Errors["contract"] }

// Times sums up a histogram of times. Its numbers are milliseconds.
type Times struct {
	Min  float64 `json:"min"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`

	// Histogram is the whole of it, in microseconds: HdrHistogram's compressed encoding, version 2, in base64.
	Histogram string `json:"histogram"`
}

// NewTimes sums up a histogram of microseconds.
func NewTimes(h *hdrhistogram.Histogram) (Times, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Times{}, fmt.Errorf("encoding a histogram: %w", err)
	}
	at := func(percentile float64) float64 { return ms(h.ValueAtPercentile(percentile)) }
	return Times{
		Min: ms(h.Min()), Mean: float64(int64(h.Mean())) / 1000, Max: ms(h.Max()),
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9),
		Histogram: string(encoded),
	}, nil
}

func ms(microseconds int64) float64 { return float64(microseconds) / 1000 }

// decode returns the histogram.
func (t Times) decode() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode(bytes.TrimSpace([]byte(t.Histogram)))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram: %w", err)
	}
	return h, nil
}

// Outcome is what a run amounts to.
type Outcome string

// The outcomes.
const (
	Conformant    Outcome = "Conformant"    // everything that was to be judged was, and conforms
	Partial       Outcome = "Partial"       // nothing speaks against it, but a MUST could not be judged, or nothing was found to hold
	NonConformant Outcome = "NonConformant" // something failed
	Unjudged      Outcome = "Unjudged"      // the harness could not judge
	Interrupted   Outcome = "Interrupted"   // somebody stopped it
)

// Conclude counts the results and sets the outcome.
func (r *Report) Conclude() {
	r.APIVersion, r.Kind = APIVersion, Kind
	r.Counts = map[requirement.Verdict]int{}
	if r.Results == nil {
		r.Results = []Result{} // which is a list in JSON too
	}
	skipped := false
	for _, result := range r.Results {
		r.Counts[result.Verdict]++
		skipped = skipped || result.Verdict == requirement.NotApplicable && result.Level == requirement.Must
	}
	failed := r.Counts[requirement.Failed] > 0 || r.Strict && r.Counts[requirement.Tolerated] > 0 ||
		r.Load != nil && (r.Load.VoidReason == "" && r.Load.Failed > 0 || r.Load.wrong() > 0)
	errored := r.Error != "" || r.Counts[requirement.Errored] > 0 || r.Counts[requirement.Unknown] > 0 ||
		r.Load != nil && r.Load.VoidReason != "" || len(r.Results) == 0 && r.Load == nil
	switch {
	case r.Interrupted:
		r.Outcome = Interrupted
	case failed:
		r.Outcome = NonConformant
	case errored:
		r.Outcome = Unjudged
	case skipped:
		r.Outcome = Partial
	case r.Load == nil && r.Counts[requirement.Passed]+r.Counts[requirement.Tolerated] == 0:
		r.Outcome = Partial // nothing was found to hold either
	default:
		r.Outcome = Conformant
	}
}

// Failing tells whether a result counts against whom it judges.
func (r *Report) Failing(result Result) bool {
	return result.Verdict == requirement.Failed || r.Strict && result.Verdict == requirement.Tolerated
}

// Headline says in one sentence what the run came to.
func (r *Report) Headline() string {
	n := len(r.Results)
	switch r.Outcome {
	case Conformant:
		if n == 0 && r.Load != nil {
			return fmt.Sprintf("Conforms: all of %d responses under load are good", r.Load.Requests)
		}
		return fmt.Sprintf("Conforms: %s passed%s", requirements(r.Counts[requirement.Passed]), r.others())
	case Partial:
		return fmt.Sprintf("Conforms as far as it was judged: %s passed%s", requirements(r.Counts[requirement.Passed]), r.others())
	case NonConformant:
		failed := r.Counts[requirement.Failed]
		if r.Strict {
			failed += r.Counts[requirement.Tolerated]
		}
		if failed == 0 && r.Load != nil {
			return fmt.Sprintf("Does not conform: %d of %d requests under load failed", r.Load.Failed, r.Load.Requests)
		}
		return fmt.Sprintf("Does not conform: %d of %s failed", failed, requirements(n))
	case Unjudged:
		unknown := r.Counts[requirement.Errored] + r.Counts[requirement.Unknown]
		switch {
		case r.Error != "":
			return "Could not judge: " + firstLine(r.Error)
		case unknown > 0:
			return fmt.Sprintf("Could not judge %d of %s", unknown, requirements(n))
		case r.Load != nil && r.Load.VoidReason != "":
			return "Could not judge the load: " + r.Load.VoidReason
		}
		return "Could not judge: there was nothing to judge"
	case Interrupted:
		judged := requirements(n - r.Counts[requirement.Unknown])
		switch {
		case r.Load != nil && n == 0:
			judged = fmt.Sprintf("%d responses under load", r.Load.Requests)
		case r.Load != nil:
			judged += fmt.Sprintf(" and %d responses under load", r.Load.Requests)
		}
		return fmt.Sprintf("Interrupted with %s judged", judged)
	}
	return "Not concluded"
}

// unsaid is the error if the headline has not said all of it.
func (r *Report) unsaid() string {
	if strings.HasSuffix(r.Headline(), strings.TrimSpace(Visible(r.Error))) {
		return ""
	}
	return r.Error
}

// others counts the verdicts that are neither Passed nor bad.
func (r *Report) others() string {
	var text strings.Builder
	for _, v := range []struct {
		verdict requirement.Verdict
		words   string
	}{{requirement.Tolerated, "tolerated"}, {requirement.KnownFailing, "known to fail"}, {requirement.NotApplicable, "not applicable"}} {
		if n := r.Counts[v.verdict]; n > 0 {
			fmt.Fprintf(&text, ", %d %s", n, v.words)
		}
	}
	return text.String()
}

func requirements(n int) string {
	if n == 1 {
		return "1 requirement"
	}
	return fmt.Sprintf("%d requirements", n)
}
