// Package loadgen holds the results of load tests, as reports have them: what was sent and measured stage by stage, what clients of an
// API server met, and the comparison with an earlier run. It is data only: it imports nothing that sends or judges.
package loadgen

import "github.com/crdconform/crdconform/requirement"

// Load is what came of a load test.
type Load struct {
	Profile    string      `json:"profile"`              // its name, such as constant, batch or apiserver
	Stages     []Stage     `json:"stages"`               // in the order in which they ran
	Cost       *Cost       `json:"cost,omitempty"`       // absent when the stages do not tell it
	Search     *Search     `json:"search,omitempty"`     // absent unless a rate was searched for
	Objectives []Objective `json:"objectives,omitempty"` // what the user asked for

	// Control has what was measured of a webhook that is the same in every run, once in each repeat, to tell the machine from the
	// webhook under test. It is judged by nothing.
	Control []Stage `json:"control,omitempty"`

	// Server is what clients of an API server meet that converts by the webhook; absent when there was none.
	Server *Server `json:"server,omitempty"`

	// Comparison is with an earlier run; absent when there was none to compare with.
	Comparison *Comparison `json:"comparison,omitempty"`

	Apart bool `json:"-"` // whether its files are not beside the form that is written; see Detach
}

// Stage is a part of a load test that has one workload, and what came of it.
type Stage struct {
	Name          string  `json:"name"`                   // such as "batch 500"
	Repeat        int     `json:"repeat"`                 // which of several runs of the same workload it was, from 1
	Phases        []Phase `json:"phases,omitempty"`       // when requests were due; absent when clients asked, and when Recorded
	Recorded      bool    `json:"recorded,omitempty"`     // requests were due when those of a recording came
	Clients       int     `json:"clients,omitempty"`      // that asked, each as soon as it was answered; 0 when there were phases
	Most          uint64  `json:"mostRequests,omitempty"` // after which clients stop; 0 when they do not
	InFlight      int     `json:"inFlight,omitempty"`     // requests that might wait at once; 0 for the default
	Workers       int     `json:"workers,omitempty"`      // that shared the load; 0 when this process sent it
	Rate          float64 `json:"rate"`                   // requests a second that were due, in the mean; 0 when clients asked
	Duration      float64 `json:"duration"`               // seconds for which requests were due
	Batch         int     `json:"batch"`                  // objects in a request
	Bytes         int     `json:"bytes,omitempty"`        // of an object that was filled up to that; 0 when they were left as they are
	ReviewVersion string  `json:"reviewVersion"`          // of ConversionReview
	Pairs         []Pair  `json:"pairs"`                  // versions, in turn
	HTTP          string  `json:"http"`                   // protocol, HTTP/1.1 or HTTP/2
	JudgeEvery    int     `json:"judgeEvery,omitempty"`   // n when every n-th response was judged only; 0 when all were

	Seconds           float64 `json:"seconds"`                 // from the first due request to the last response, or to where it was given up
	Requests          uint64  `json:"requests"`                // sent, or due and never sent since the webhook was behind
	Objects           uint64  `json:"objects"`                 // in those that were sent
	Judged            uint64  `json:"judged"`                  // requests whose response was judged
	Failed            uint64  `json:"failed"`                  // requests whose response API servers reject, of those that were judged
	SentPerSecond     float64 `json:"sentPerSecond,omitempty"` // requests; 0 in reports of before it was told
	RequestsPerSecond float64 `json:"requestsPerSecond"`       // that got a whole response, whatever it says
	ObjectsPerSecond  float64 `json:"objectsPerSecond"`        // converted as API servers accept it; estimated from those that were judged if not all were
	BytesSent         uint64  `json:"bytesSent"`               // in bodies
	BytesReceived     uint64  `json:"bytesReceived"`           // in bodies

	Response Times `json:"response"` // from when a request was due
	Service  Times `json:"service"`  // from when it was sent
	Lag      Times `json:"lag"`      // from when it could be sent to when it was

	Late       uint64                    `json:"late"`                 // requests that the generator sent too late
	LateAfter  float64                   `json:"lateAfter"`            // milliseconds from which a request is late
	Unsent     map[string]uint64         `json:"unsent,omitempty"`     // requests that the generator lacked something to send, by what it lacked
	Unanswered uint64                    `json:"unanswered,omitempty"` // requests that were waiting when the run was stopped; the times count how long they had
	VoidReason string                    `json:"voidReason,omitempty"` // why this says nothing about the webhook; empty when it does
	Behind     string                    `json:"behind,omitempty"`     // how much was not sent since the webhook could not follow; empty when all was
	Partial    bool                      `json:"partial,omitempty"`    // stopped before its end, or before clients had sent all that they were to
	Errors     map[string]uint64         `json:"errors,omitempty"`     // failed requests by kind of error: transport, timeout, overdue (never sent), http, failed, contract
	Violations map[requirement.ID]uint64 `json:"violations,omitempty"` // requests by violated requirement
	Findings   []Finding                 `json:"findings,omitempty"`   // the first violations
	Series     []Second                  `json:"series,omitempty"`     // the stage second by second
	Generator  Generator                 `json:"generator"`            // what the load generator found out about itself
}

// Phase is a time in which requests were due at a rate that stayed, rose or fell.
type Phase struct {
	Seconds float64 `json:"seconds"` //
	Rate    float64 `json:"rate"`    // requests a second at its beginning
	To      float64 `json:"to"`      // requests a second at its end
}

// Pair is a version to convert from and one to convert to.
type Pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// String says a pair as "v1beta1 -> v1".
func (p Pair) String() string { return p.From + " -> " + p.To }

// Second is what came back in one second of a stage. Its times are response times in milliseconds, 0 when there was none.
type Second struct {
	End      float64 `json:"end"`      // seconds from the beginning of the stage
	Requests uint64  `json:"requests"` // that were answered, or given up for lost
	Objects  uint64  `json:"objects"`  // converted as API servers accept it
	Failed   uint64  `json:"failed"`   // of the requests, those whose response API servers reject
	P50      float64 `json:"p50"`      //
	P90      float64 `json:"p90"`      //
	P99      float64 `json:"p99"`      //
	Max      float64 `json:"max"`      //
}

// Generator is what the load generator found out about itself, with whatever else its process did.
type Generator struct {
	ProcessorSeconds float64 `json:"processorSeconds"` // that it was running; 0 where that is not known
	Cores            int     `json:"cores"`            // that it could use at once, or each of several workers
	Collections      uint64  `json:"collections"`      // of garbage
	Paused           float64 `json:"paused"`           // milliseconds of the longest pause for one, at most
	Waited           float64 `json:"waited"`           // milliseconds that what could run waited for a processor, at the 99th percentile, at most
}

// Finding is a violation that was met under load.
type Finding struct {
	Request     uint64         `json:"request"`         // its number, from 0
	Requirement requirement.ID `json:"requirement"`     //
	Tolerated   bool           `json:"tolerated"`       // API servers put up with it
	Text        string         `json:"text"`            // what was expected and what came
	Files       []File         `json:"files,omitempty"` // bodies of the exchange; absent when they were not kept
}

// Cost is what a request costs by itself, and what each object in it adds, by a regression over the stages: the line
// Request + Object x batch that fits the median service times best, each weighted by its own size. Of several repeats it is the
// one in the middle by Object.
type Cost struct {
	Request float64 `json:"request"` // milliseconds
	Object  float64 `json:"object"`  // milliseconds
	Fit     float64 `json:"fit"`     // coefficient of determination, 1 for points on a line
	Batches []int   `json:"batches"` // that were measured
}

// Search is what came of the search for the highest rate that meets the objectives.
type Search struct {
	Met    float64 `json:"met"`              // the highest rate that met them, in requests a second; 0 when none did
	Missed float64 `json:"missed,omitempty"` // the lowest rate that missed them; 0 when none did
	Goal   string  `json:"goal"`             // what had to be met
	Probes []Probe `json:"probes"`           // in the order in which they ran

	Partial bool `json:"partial,omitempty"` // stopped before its end
}

// Probe is one rate that was tried.
type Probe struct {
	Rate     float64 `json:"rate"`           // requests a second
	Met      bool    `json:"met"`            //
	Void     bool    `json:"void,omitempty"` // the generator could not tell, which counts as not met
	Measured string  `json:"measured"`       // what decided
}

// Objective is a limit that the user set, and what was measured.
type Objective struct {
	Stage    string  `json:"stage"`             // that it is about; empty when it is about all
	Repeat   int     `json:"repeat,omitempty"`  // of the stage, which it is about; 0 when it is about all
	Name     string  `json:"name"`              // statistic: "p99" or another percentile, "max", "errors", "objects/s"
	Source   string  `json:"source,omitempty"`  // where the limit comes from, when the user did not set it
	Limit    float64 `json:"limit"`             // the most that meets it, or the least
	AtLeast  bool    `json:"atLeast,omitempty"` // whether it is the least
	Measured float64 `json:"measured"`          //
	Unit     string  `json:"unit"`              // "ms", "1/s", or "share": of all requests, 1 is all of them
	Met      bool    `json:"met"`               //
}

// Times sums up a histogram of times. Its numbers are milliseconds.
type Times struct {
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	P9999 float64 `json:"p99.99"`
	Max   float64 `json:"max"`

	// Histogram is the whole of it, in microseconds: HdrHistogram's compressed encoding, version 2, in base64.
	Histogram string `json:"histogram"`
}

// File is a file in the report folder.
type File struct {
	Path string `json:"path"` // relative to the folder, with slashes
	Data []byte `json:"-"`

	Missing bool `json:"-"` // the report was read from a file, and this one was not there any more
}
