package reports

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/requirement"
)

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
	Objectives    []Objective               `json:"objectives,omitempty"` // what the user asked for
}

// Objective is a limit that the user set, and what was measured.
type Objective struct {
	Name     string  `json:"name"`     // "p99" or another percentile, "errors"
	Limit    float64 `json:"limit"`    // the most that meets it
	Measured float64 `json:"measured"` //
	Unit     string  `json:"unit"`     // "ms", or "share": of all requests, 1 is all of them
	Met      bool    `json:"met"`      //
}

// String says what was measured and what the limit is.
func (o Objective) String() string {
	return fmt.Sprintf("%s %s (limit %s)", o.Name, o.Quantity(o.Measured), o.Quantity(o.Limit))
}

// Quantity is a number with its unit. It has digits enough to tell a limit from what barely misses it.
func (o Objective) Quantity(v float64) string {
	if o.Unit == "share" {
		return fmt.Sprintf("%.6g %%", 100*v)
	}
	return fmt.Sprintf("%.6g %s", v, o.Unit)
}

// Met says what became of an objective.
func (l *Load) Met(o Objective) string {
	switch {
	case l.VoidReason != "":
		return "void"
	case o.Met:
		return "met"
	}
	return "missed"
}

// missed returns the objectives that are not met. A load that says nothing about the webhook misses none.
func (l *Load) missed() []Objective {
	if l == nil || l.VoidReason != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.Objectives), func(o Objective) bool { return o.Met })
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

// praise says in one sentence that nothing is wrong.
func (l *Load) praise() string {
	text := fmt.Sprintf("Conforms: all of %d responses under load are good", l.Requests)
	if len(l.Objectives) > 0 {
		text += ", and every objective is met"
	}
	return text
}

// Row is a line of a table of times.
type Row struct {
	Name string
	Times
}

// Rows returns the times of a load test for a table.
func (l *Load) Rows() []Row {
	return []Row{
		{"response, from when it was due", l.Response},
		{"service, from when it was sent", l.Service},
		{"lag of the generator", l.Lag},
	}
}

// Headline says in one sentence what the load was and how much of it was answered well.
func (l *Load) Headline() string {
	text := fmt.Sprintf("%g requests a second of %d objects for %g s, %s to %s in ConversionReview %s over %s: %d requests, %.0f objects a second",
		l.Rate, l.Batch, l.Duration, l.From, l.To, l.ReviewVersion, l.HTTP, l.Requests, l.ObjectsPerSecond)
	if l.Failed == 0 {
		text += ", none failed"
	} else {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(l.Errors)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", l.Errors[kind], kind))
		}
		text += fmt.Sprintf(", %d failed (%s)", l.Failed, strings.Join(kinds, ", "))
	}
	if l.Partial {
		text += "; stopped before its end"
	}
	if l.Unanswered > 0 {
		text += fmt.Sprintf(", with %d waiting for a response", l.Unanswered)
	}
	if l.VoidReason != "" {
		text += "; void: " + l.VoidReason
	}
	return text
}
