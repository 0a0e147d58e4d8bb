package reports

import "github.com/crdconform/crdconform/requirement"

// Disruption is a deliberate disruption of a webhook, and what its clients noticed. Its verdict is that of the result for
// Requirement.
type Disruption struct {
	Requirement requirement.ID `json:"requirement"`
	Subject     string         `json:"subject,omitempty"` // see Result
	Title       string         `json:"title"`             // what was done
	Objective   string         `json:"objective,omitempty"`
	Void        []string       `json:"void,omitempty"` // why the figures are meaningless, such as a busy machine

	// Times are measured from when the clients were at work.
	Began   float64  `json:"beganSeconds"`           // when the fault began
	Ended   float64  `json:"endedSeconds"`           // when the fault ended
	Ready   *float64 `json:"readySeconds,omitempty"` // when the webhook was ready again; absent if unknown
	Seconds float64  `json:"seconds"`                // when the clients stopped

	Operations int     `json:"operations"`          // number of operations of the clients
	Failed     int     `json:"failed"`              // number of these that failed since the fault began
	Lost       int     `json:"lost"`                // responses that no order of the acknowledged writes explains
	Wrong      int     `json:"wrong"`               // conversions that differ from those before the fault
	Outage     float64 `json:"outageSeconds"`       // longest time without a success at a version
	WatchEnds  int     `json:"watchEnds"`           // watches that ended since the fault began
	WatchGone  int     `json:"watchGone"`           // number of these that did not resume
	Silence    float64 `json:"watchSilenceSeconds"` // longest time from the end of the fault to the next event of a watch
	MaxMemory  float64 `json:"maxMemoryBytes"`      // maximum used by all replicas together; 0 if not measured
	Lag        float64 `json:"harnessLagSeconds"`   // maximum delay of timers of crdconform itself

	FirstFailure *float64 `json:"firstFailureSeconds,omitempty"` // from the beginning of the fault; absent if nothing failed
	FirstSuccess *float64 `json:"firstSuccessSeconds,omitempty"` // from the end of the fault; of operations that need conversion
	Recovery     *float64 `json:"recoverySeconds,omitempty"`     // from the end of the fault until all was as before; absent if never
	SinceReady   *float64 `json:"sinceReadySeconds,omitempty"`   // like Recovery, but from when the webhook was ready

	Failures []DisruptionFailure `json:"failures,omitempty"` // most frequent first
	Marks    []DisruptionMark    `json:"marks,omitempty"`    // actions and their times
	Points   []DisruptionPoint   `json:"points,omitempty"`   // course of the disruption
}

// DisruptionFailure counts operations that failed in the same way.
type DisruptionFailure struct {
	Verb    string `json:"verb"`              // such as get, list or apply
	Version string `json:"version"`           // version requested
	Error   string `json:"error"`             // kind of error, such as timeout
	Count   int    `json:"count"`             //
	Stored  bool   `json:"stored,omitempty"`  // the version is the storage version, so no conversion is needed
	Example string `json:"example,omitempty"` // one error in full
}

// DisruptionMark is an action during a disruption.
type DisruptionMark struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // see Disruption
	Text    string  `json:"text,omitempty"`
}

// DisruptionPoint is one interval in the course of a disruption. All intervals have the same length.
type DisruptionPoint struct {
	Seconds   float64 `json:"seconds"`          // end of the interval; see Disruption
	Succeeded float64 `json:"succeeded"`        // operations per second
	Failed    float64 `json:"failed"`           // operations per second
	P50       float64 `json:"p50Milliseconds"`  // of the operations that ended in the interval; 0 without any
	P99       float64 `json:"p99Milliseconds"`  //
	Memory    float64 `json:"memory,omitempty"` // bytes used by the process of the webhook; absent if not measured
}
