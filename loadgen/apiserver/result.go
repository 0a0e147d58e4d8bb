package apiserver

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what came of a run.
type Result struct {
	Cluster    string `json:"cluster"`    // the sort of cluster, such as embedded
	Version    string `json:"version"`    // of Kubernetes, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // whether the API server serves reads from one

	Definition     string `json:"definition"`     // its name
	StorageVersion string `json:"storageVersion"` // at which objects are stored
	OtherVersion   string `json:"otherVersion"`   // at which clients ask besides, so that objects are converted
	Served         int    `json:"served"`         // versions, the storage version among them

	Objects     int `json:"objects"`     // that there are
	ObjectBytes int `json:"objectBytes"` // of an object as JSON at the storage version, on the average

	Budget []Call     `json:"budget,omitempty"`
	Load   []Load     `json:"load,omitempty"`
	Watch  []Watch    `json:"watch,omitempty"`
	Cold   []ColdList `json:"cold,omitempty"`
	Relist *Relist    `json:"relist,omitempty"`

	// Notes say what was left out, and why.
	Notes []string `json:"notes,omitempty"`

	// Partial tells that the run was stopped before its end.
	Partial bool `json:"partial,omitempty"`

	// Ended says why the run ended by itself before all was measured. Empty when all was.
	Ended string `json:"ended,omitempty"`
}

// Times are statistics of times, in milliseconds.
type Times struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`

	// Histogram has all of them, in microseconds with three significant digits.
	Histogram *hdrhistogram.Histogram `json:"-"`
}

// newHistogram holds times from a microsecond to an hour, with three significant digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, time.Hour.Microseconds(), 3)
}

// record puts a time into a histogram; what is beyond its end counts as its end.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	h.RecordValue(min(max(d.Microseconds(), 1), h.HighestTrackableValue())) //nolint:errcheck // it was just clamped
}

func timesOf(h *hdrhistogram.Histogram) Times {
	at := func(percentile float64) float64 { return float64(h.ValueAtPercentile(percentile)) / 1000 }
	return Times{
		Mean: h.Mean() / 1000, P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1000,
		Histogram: h,
	}
}

// Failure is a sort of failed request.
type Failure struct {
	Status int    `json:"status"` // of HTTP; 0 when there was no response
	Count  uint64 `json:"count"`
	First  string `json:"first"` // what the first one said
}

// Webhook is what the webhook was asked meanwhile, as the proxy before it saw it.
type Webhook struct {
	Calls        uint64  `json:"calls"`        // ConversionReview requests
	Objects      uint64  `json:"objects"`      // in them
	MostObjects  int     `json:"mostObjects"`  // in one of them
	MostInFlight int     `json:"mostInFlight"` // calls at the same time
	Unanswered   uint64  `json:"unanswered"`   // calls to which no response came through
	Seconds      float64 `json:"seconds"`      // that calls took, added up
}

// Load is what came of requests of one sort that clients made one after the other, some at a time.
type Load struct {
	Verb        Verb    `json:"verb"`
	Version     string  `json:"version"`     // at which they asked
	Converted   bool    `json:"converted"`   // whether that is not the storage version
	Concurrency int     `json:"concurrency"` // clients at a time
	Seconds     float64 `json:"seconds"`     // from the first request to the last response

	Requests          uint64    `json:"requests"` // answered
	Failed            uint64    `json:"failed"`   // of them
	RequestsPerSecond float64   `json:"requestsPerSecond"`
	Failures          []Failure `json:"failures,omitempty"` // by status

	// Unanswered is the number of requests that were given up at the end, since they took too long. The time that they had
	// waited until then is among the times: their true times are longer.
	Unanswered uint64 `json:"unanswered,omitempty"`

	Times           Times   `json:"times"` // from when a request was sent to the end of its response, failed ones included
	Webhook         Webhook `json:"webhook"`
	CallsPerRequest float64 `json:"callsPerRequest"`
	Share           Share   `json:"share"`
}

// Share is what part of the time of requests is the webhook's. Calls that API servers make for their cache are in the
// conversions, but not in the time of any request.
type Share struct {
	// Requests is how many requests the API server answered meanwhile, and RequestSeconds how long they took it, added up:
	// apiserver_request_duration_seconds.
	Requests       uint64  `json:"requests"`
	RequestSeconds float64 `json:"requestSeconds"`

	// Conversions is how many objects the API server had converted meanwhile, and ConversionSeconds how long that took it,
	// added up, with what it does itself for it: apiserver_crd_conversion_webhook_duration_seconds.
	Conversions       uint64  `json:"conversions"`
	ConversionSeconds float64 `json:"conversionSeconds"`

	// CallSeconds is how long calls to the webhook took the API server, added up over all definitions:
	// apiserver_conversion_webhook_duration_seconds.
	CallSeconds float64 `json:"callSeconds"`

	// ClientSeconds and WebhookSeconds are how long the requests took the clients, and the calls the webhook, as they were
	// measured here, added up. Calls run beside each other and beside requests, so the one is no part of the other.
	ClientSeconds  float64 `json:"clientSeconds"`
	WebhookSeconds float64 `json:"webhookSeconds"`

	// WaitedSeconds is how much of ClientSeconds the webhook was at work on the object that a client asked for, or for a LIST on
	// any; OfClient is that divided by ClientSeconds, which is never more than 1. 0 when the divisor is.
	WaitedSeconds float64 `json:"waitedSeconds"`
	OfClient      float64 `json:"ofClient"`

	// Beside is the number of calls about objects that no client waited for then, such as those for the cache.
	Beside uint64 `json:"beside"`

	// OfServer is ConversionSeconds divided by RequestSeconds. 0 when the divisor is, and when Beside is not: conversions are in
	// it then that are in no request.
	OfServer float64 `json:"ofServer"`

	// Missing says which metrics the API server does not have, or why they could not be read. The numbers from them are 0
	// then, and say nothing.
	Missing []string `json:"missing,omitempty"`
}

// Watch is what a watch saw of writes at the storage version.
type Watch struct {
	Version   string  `json:"version"`   // at which it watched
	Converted bool    `json:"converted"` // whether that is not the storage version
	Rate      float64 `json:"rate"`      // writes a second

	Writes       uint64 `json:"writes"`       // that the API server accepted
	WritesFailed uint64 `json:"writesFailed"` // others
	Events       uint64 `json:"events"`       // of those writes
	Lost         uint64 `json:"lost"`         // writes whose event did not come
	Reopened     uint64 `json:"reopened"`     // times that the API server ended the watch, and it was begun again

	Failures []Failure `json:"failures,omitempty"` // of writes, and of the watch

	// Times are from when a write was due until its event was read.
	Times   Times   `json:"times"`
	Webhook Webhook `json:"webhook"` // the same for all watches, which run at the same time
}

// Loss is how an API server comes to lose its cache, or could.
type Loss string

// The losses.
const (
	AfterRestart    Loss = "restart"    // the API server was restarted
	AfterAnnotation Loss = "annotation" // the definition got another annotation
	AfterSchema     Loss = "schema"     // the definition got another description in its schema
	AfterFlip       Loss = "flip"       // the definition got another storage version, so that all objects are old
)

// ColdList is the first LIST after the cache was lost, at the version whose objects are converted for it.
type ColdList struct {
	After   Loss   `json:"after"`
	Version string `json:"version"`

	// Skipped says why it was not measured. Empty when it was.
	Skipped string `json:"skipped,omitempty"`

	// Rebuilt tells whether the API server made its cache anew, which cost calls or refused clients.
	Rebuilt bool `json:"rebuilt"`

	Complete bool      `json:"complete"`           // whether a client got all objects
	Seconds  float64   `json:"seconds"`            // from the first request until the client had them, or gave up
	Requests uint64    `json:"requests"`           // that the client made, one after the other
	Refused  uint64    `json:"refused"`            // of them with HTTP status 429; the client asks again after 50 ms
	Failures []Failure `json:"failures,omitempty"` // by status, refused ones included
	Webhook  Webhook   `json:"webhook"`

	WarmSeconds float64 `json:"warmSeconds"` // of the LIST after that
	WarmCalls   uint64  `json:"warmCalls"`   // of the webhook for it
}
