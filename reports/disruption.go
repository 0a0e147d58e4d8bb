package reports

import "github.com/crdconform/crdconform/requirement"

// Disruption is something that was done to a webhook on purpose, and what its clients noticed. Its verdict is that of the requirement's
// result.
type Disruption struct {
	Requirement requirement.ID `json:"requirement"`
	Subject     string         `json:"subject,omitempty"` // see Result
	Title       string         `json:"title"`             // what was done
	Objective   string         `json:"objective,omitempty"`
	Void        []string       `json:"void,omitempty"` // why the figures mean nothing, such as that the machine was busy

	// Times are counted from when the clients were at work.
	Began   float64  `json:"beganSeconds"`           // when the fault began
	Ended   float64  `json:"endedSeconds"`           // when it was taken back
	Ready   *float64 `json:"readySeconds,omitempty"` // when the webhook was ready again; absent if nobody knows
	Seconds float64  `json:"seconds"`                // when the clients stopped

	Operations int     `json:"operations"`          // of the clients
	Failed     int     `json:"failed"`              // of these since the fault began
	Lost       int     `json:"lost"`                // answers that no order of the acknowledged writes explains
	Wrong      int     `json:"wrong"`               // conversions that differ from those before the fault
	Outage     float64 `json:"outageSeconds"`       // longest time during which nothing succeeded at a version
	WatchEnds  int     `json:"watchEnds"`           // watches that ended since the fault began
	WatchGone  int     `json:"watchGone"`           // of these, those that did not come back
	Silence    float64 `json:"watchSilenceSeconds"` // longest time from the end of the fault until a watch showed something again
	MaxMemory  float64 `json:"maxMemoryBytes"`      // most that all replicas used together; 0 if that was not measured
	Lag        float64 `json:"harnessLagSeconds"`   // most that timers of crdconform itself were late

	FirstFailure *float64 `json:"firstFailureSeconds,omitempty"` // from the beginning of the fault; absent if nothing failed
	FirstSuccess *float64 `json:"firstSuccessSeconds,omitempty"` // from the end of the fault, of what needs a conversion
	Recovery     *float64 `json:"recoverySeconds,omitempty"`     // from the end of the fault until all was as before; absent if that was not reached
	SinceReady   *float64 `json:"sinceReadySeconds,omitempty"`   // the same, from when the webhook was ready

	Failures []DisruptionFailure `json:"failures,omitempty"` // the most frequent first
	Marks    []DisruptionMark    `json:"marks,omitempty"`    // what was done when
	Points   []DisruptionPoint   `json:"points,omitempty"`   // the course of it
}

// DisruptionFailure is what failed in the same way.
type DisruptionFailure struct {
	Verb    string `json:"verb"`              // such as get, list or apply
	Version string `json:"version"`           // that the client asked for
	Error   string `json:"error"`             // kind of it, such as timeout
	Count   int    `json:"count"`             //
	Stored  bool   `json:"stored,omitempty"`  // the version is the storage version, so no conversion is needed
	Example string `json:"example,omitempty"` // one error in full
}

// DisruptionMark is something that was done.
type DisruptionMark struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // see Disruption
	Text    string  `json:"text,omitempty"`
}

// DisruptionPoint is a part of the course of a disruption. All parts are of the same length.
type DisruptionPoint struct {
	Seconds   float64 `json:"seconds"`          // its end; see Disruption
	Succeeded float64 `json:"succeeded"`        // operations a second
	Failed    float64 `json:"failed"`           // operations a second
	P50       float64 `json:"p50Milliseconds"`  // of what ended then; 0 for nothing
	P99       float64 `json:"p99Milliseconds"`  //
	Memory    float64 `json:"memory,omitempty"` // bytes that the webhook's process used; absent if that was not measured
}
