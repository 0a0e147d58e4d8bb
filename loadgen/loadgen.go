// Package loadgen holds the results of load tests as they appear in reports: what each stage sent and measured, what clients of an
// API server experienced, and how the run compares with an earlier one. It contains only data, and imports nothing that sends
// requests or judges responses.
package loadgen

import "github.com/crdconform/crdconform/requirement"

// Load is the result of a load test.
type Load struct {
	Profile    string      `json:"profile"`              // name, such as constant, batch or apiserver
	Stages     []Stage     `json:"stages"`               // in the order in which they ran
	Cost       *Cost       `json:"cost,omitempty"`       // absent unless the stages determine it
	Search     *Search     `json:"search,omitempty"`     // absent unless a rate was searched for
	Objectives []Objective `json:"objectives,omitempty"` // what the user asked for

	// Control has the stages of a control: a webhook that is the same in every run, measured once per repeat to separate the
	// influence of the machine from that of the webhook under test. No objective applies to it.
	Control []Stage `json:"control,omitempty"`

	// ControlWork is the number of hashes that the control computes for each request. Controls that do different work cannot be
	// compared.
	ControlWork int `json:"controlWork,omitempty"`

	// Server holds what clients of an API server that calls the webhook experienced; absent unless the load went through one.
	Server *Server `json:"server,omitempty"`

	// Comparison compares the run with an earlier one; absent without a baseline.
	Comparison *Comparison `json:"comparison,omitempty"`

	Apart bool `json:"-"` // its files are named without links, because they are not beside the written report
}

// Stage is one workload of a load test with its result.
type Stage struct {
	Name          string  `json:"name"`                   // such as "batch 500"
	Repeat        int     `json:"repeat"`                 // number among the runs of the same workload, from 1
	Phases        []Phase `json:"phases,omitempty"`       // when requests were due; absent with Clients and when Recorded
	Recorded      bool    `json:"recorded,omitempty"`     // requests were due at the times of a recording
	Clients       int     `json:"clients,omitempty"`      // clients, each of which sent its next request once it had a response; 0 with Phases
	Most          uint64  `json:"mostRequests,omitempty"` // number of requests after which clients stop; 0 for no limit
	InFlight      int     `json:"inFlight,omitempty"`     // limit of concurrent requests; 0 for the default
	Workers       int     `json:"workers,omitempty"`      // processes that shared the load; 0 when this process sent it
	Rate          float64 `json:"rate"`                   // mean of the requests due per second; 0 with Clients
	Duration      float64 `json:"duration"`               // seconds for which requests were due
	Batch         int     `json:"batch"`                  // objects per request
	Bytes         int     `json:"bytes,omitempty"`        // size to which objects were padded; 0 when they were not
	ReviewVersion string  `json:"reviewVersion"`          // version of ConversionReview
	Pairs         []Pair  `json:"pairs"`                  // versions converted between, in turn
	HTTP          string  `json:"http"`                   // protocol, HTTP/1.1 or HTTP/2
	JudgeContent  bool    `json:"judgeContent,omitempty"` // responses were compared with those before the load

	Seconds           float64 `json:"seconds"`                 // from the first due request to the last response or timeout
	Requests          uint64  `json:"requests"`                // sent, or due and never sent because the webhook was behind
	Objects           uint64  `json:"objects"`                 // in the requests that were sent
	Judged            uint64  `json:"judged"`                  // requests whose response was judged
	Failed            uint64  `json:"failed"`                  // requests whose response API servers reject, or whose objects are wrong
	SentPerSecond     float64 `json:"sentPerSecond,omitempty"` // requests; 0 in reports of versions that did not record it
	RequestsPerSecond float64 `json:"requestsPerSecond"`       // with a complete response, whatever it says
	ObjectsPerSecond  float64 `json:"objectsPerSecond"`        // converted acceptably
	BytesSent         uint64  `json:"bytesSent"`               // in bodies
	BytesReceived     uint64  `json:"bytesReceived"`           // in bodies

	Response Times `json:"response"` // from when a request was due
	Service  Times `json:"service"`  // from when a request was sent
	Lag      Times `json:"lag"`      // from when a request could be sent to when it was

	Late       uint64                    `json:"late"`                 // requests that the generator sent late
	LateAfter  float64                   `json:"lateAfter"`            // milliseconds of lag from which a request counts as late
	Unsent     map[string]uint64         `json:"unsent,omitempty"`     // requests that the generator lacked a resource for, by resource
	Unanswered uint64                    `json:"unanswered,omitempty"` // requests in flight when the run was stopped; the times include how long they had waited
	VoidReason string                    `json:"voidReason,omitempty"` // why the stage says nothing about the webhook; empty when it does
	Behind     string                    `json:"behind,omitempty"`     // how much was not sent because the webhook could not keep up; empty when all was
	Partial    bool                      `json:"partial,omitempty"`    // stopped before its end, or before the clients had sent everything
	Errors     map[string]uint64         `json:"errors,omitempty"`     // failed requests by kind: transport, timeout, overdue (never sent), http, failed, contract, content
	Violations map[requirement.ID]uint64 `json:"violations,omitempty"` // requests by violated requirement
	Findings   []Finding                 `json:"findings,omitempty"`   // the first violations
	Series     []Second                  `json:"series,omitempty"`     // the stage second by second
	Generator  Generator                 `json:"generator"`            // what the load generator observed of itself
	Memory     *Memory                   `json:"memory,omitempty"`     // of the webhook; absent unless the run started it as a program, on Linux, and measured it for 4 s
}

// Memory is how much memory the processes of the webhook used during a stage, in bytes. Shared memory counts for each of them.
type Memory struct {
	From          float64 `json:"from"`            // at the beginning
	To            float64 `json:"to"`              // at the end
	Max           float64 `json:"max"`             //
	PerMinute     float64 `json:"perMinute"`       // slope of the lowest values of ten equal parts of the time
	PerMinuteLow  float64 `json:"perMinuteLow"`    // lower end of the slope's 95 % confidence interval
	PerMinuteHigh float64 `json:"perMinuteHigh"`   // upper end
	PerObject     float64 `json:"perObject"`       // slope for each object in an answered request
	Leaks         bool    `json:"leaks"`           // it grew steadily, by at least half and 64 MiB (256 MiB in less than a minute)
	Limit         float64 `json:"limit,omitempty"` // recommended for the container: 1.5 times Max, rounded up to 16 MiB; 0 if it leaks
}

// Phase is a period in which requests were due at a constant, rising or falling rate.
type Phase struct {
	Seconds float64 `json:"seconds"` //
	Rate    float64 `json:"rate"`    // requests per second at its beginning
	To      float64 `json:"to"`      // requests per second at its end
}

// Pair is the version to convert from and the version to convert to.
type Pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// String formats a pair as "v1beta1 -> v1".
func (p Pair) String() string { return p.From + " -> " + p.To }

// Second holds the responses in one second of a stage. Its times are response times in milliseconds; 0 without any responses.
type Second struct {
	End      float64 `json:"end"`      // seconds from the beginning of the stage
	Requests uint64  `json:"requests"` // answered or timed out
	Objects  uint64  `json:"objects"`  // converted acceptably
	Failed   uint64  `json:"failed"`   // requests whose response API servers reject
	P50      float64 `json:"p50"`      //
	P90      float64 `json:"p90"`      //
	P99      float64 `json:"p99"`      //
	Max      float64 `json:"max"`      //
}

// Generator holds what the load generator observed of its own process, including anything else that the process did.
type Generator struct {
	ProcessorSeconds float64 `json:"processorSeconds"` // processor time used; 0 where unknown
	Cores            int     `json:"cores"`            // available to it, or to each of several workers
	Collections      uint64  `json:"collections"`      // garbage collections
	Paused           float64 `json:"paused"`           // upper bound of the longest garbage collection pause in milliseconds
	Waited           float64 `json:"waited"`           // upper bound of the 99th percentile of goroutine scheduling latency in milliseconds
}

// Finding is a violation found under load.
type Finding struct {
	Request     uint64         `json:"request"`         // number of the request, from 0
	Requirement requirement.ID `json:"requirement"`     //
	Tolerated   bool           `json:"tolerated"`       // API servers accept it
	Text        string         `json:"text"`            // what was expected and what was received
	Files       []File         `json:"files,omitempty"` // bodies of the exchange; absent when not kept
}

// Cost splits the service time into a cost per request and a cost per object and, if stages differ in the size of objects, per kB of
// objects. It is a linear regression over the stages: Request + Object x batch + Kilobyte x kB that best fits the median service times, by
// relative error. With several repeats it is the median one by Object.
type Cost struct {
	Request  float64 `json:"request"`            // milliseconds
	Object   float64 `json:"object"`             // milliseconds
	Kilobyte float64 `json:"kilobyte,omitempty"` // milliseconds per 1000 bytes of a request; 0 if all objects had the same size
	Fit      float64 `json:"fit"`                // coefficient of determination, 1 for points on a line
	Batches  []int   `json:"batches"`            // batch sizes measured
	Bytes    []int   `json:"bytes,omitempty"`    // sizes of objects measured, 0 for unpadded objects; absent if there was only one size
}

// Search is the result of the search for the highest rate that meets a goal.
type Search struct {
	Met    float64 `json:"met"`              // highest rate that met the goal, in requests per second; 0 when none did
	Missed float64 `json:"missed,omitempty"` // lowest rate that missed it; 0 when none did
	Goal   string  `json:"goal"`             // the goal, such as "p99 <= 50ms, no errors"
	Probes []Probe `json:"probes"`           // in the order in which they ran

	Partial bool `json:"partial,omitempty"` // stopped before its end
}

// Probe is one rate tried by a search.
type Probe struct {
	Rate     float64 `json:"rate"`           // requests per second
	Met      bool    `json:"met"`            //
	Void     bool    `json:"void,omitempty"` // the generator was too busy to measure, which counts as not met
	Measured string  `json:"measured"`       // the measurement that decided
}

// Objective is a limit set by the user, with what was measured.
type Objective struct {
	Stage    string  `json:"stage"`             // stage it applies to; empty for all
	Repeat   int     `json:"repeat,omitempty"`  // repeat of the stage it applies to; 0 for all
	Name     string  `json:"name"`              // statistic: a percentile such as "p99", "max", "errors" or "objects/s"
	Source   string  `json:"source,omitempty"`  // where the limit comes from, unless the user set it
	Limit    float64 `json:"limit"`             // the highest value that meets it, or the lowest if AtLeast
	AtLeast  bool    `json:"atLeast,omitempty"` // the limit is a lower bound
	Measured float64 `json:"measured"`          //
	Unit     string  `json:"unit"`              // "ms", "1/s", "share" (a fraction of all requests) or "proved"
	Met      bool    `json:"met"`               //
}

// Times summarizes a histogram of times, in milliseconds.
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

	// Histogram is the complete histogram, in microseconds: HdrHistogram's compressed encoding, version 2, in base64.
	Histogram string `json:"histogram"`
}

// File is a file in the report folder.
type File struct {
	Path string `json:"path"` // relative to the folder, with slashes
	Data []byte `json:"-"`

	Missing bool `json:"-"` // the report was read from disk, where this file was missing
}
