package loadgen

// Server holds what clients of an API server that calls the webhook experienced.
type Server struct {
	Cluster    string `json:"cluster"`    // kind of cluster, such as embedded
	Version    string `json:"version"`    // Kubernetes version, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // the API server serves reads from a watch cache

	Definition     string `json:"definition"`     // name of the CustomResourceDefinition
	StorageVersion string `json:"storageVersion"` // version at which objects are stored
	OtherVersion   string `json:"otherVersion"`   // the other version used by clients, which needs conversion
	Served         int    `json:"served"`         // number of served versions, including the storage version

	Objects     int `json:"objects"`     // number of stored objects
	ObjectBytes int `json:"objectBytes"` // mean size of an object as JSON at the storage version

	Budget []VerbCalls  `json:"budget,omitempty"`
	Load   []ServerLoad `json:"load,omitempty"`
	Watch  []Watch      `json:"watch,omitempty"`
	Cold   []ColdList   `json:"cold,omitempty"`
	Relist *Relist      `json:"relist,omitempty"`

	// Notes say what was left out and why.
	Notes []string `json:"notes,omitempty"`

	// Partial reports whether the run was stopped before its end.
	Partial bool `json:"partial,omitempty"`

	// Ended is why the run ended before everything was measured; empty when everything was.
	Ended string `json:"ended,omitempty"`
}

// Failure counts failed requests of one kind.
type Failure struct {
	Status int    `json:"status"` // HTTP status; 0 without a response
	Count  uint64 `json:"count"`
	First  string `json:"first"` // message of the first one
}

// Calls counts the webhook calls made during a measurement, as seen by a proxy in front of the webhook.
type Calls struct {
	Calls        uint64  `json:"calls"`        // ConversionReview requests
	Objects      uint64  `json:"objects"`      // objects in them
	MostObjects  int     `json:"mostObjects"`  // maximum number of objects per call
	MostInFlight int     `json:"mostInFlight"` // maximum number of concurrent calls
	Unanswered   uint64  `json:"unanswered"`   // calls without a complete response
	Seconds      float64 `json:"seconds"`      // sum of the durations of calls
}

// ServerLoad is the result of requests of one verb, sent by concurrent clients that each wait for the response.
type ServerLoad struct {
	Verb        string  `json:"verb"`        // such as get, list or create-dry-run
	Version     string  `json:"version"`     // version requested
	Converted   bool    `json:"converted"`   // Version is not the storage version
	Concurrency int     `json:"concurrency"` // number of clients
	Seconds     float64 `json:"seconds"`     // from the first request to the last response

	Requests          uint64    `json:"requests"` // answered
	Failed            uint64    `json:"failed"`   // answered with a failure
	RequestsPerSecond float64   `json:"requestsPerSecond"`
	Failures          []Failure `json:"failures,omitempty"` // by status

	// Unanswered is the number of requests abandoned at the end because they took too long. Times includes how long they had
	// waited by then, which is less than they would have taken.
	Unanswered uint64 `json:"unanswered,omitempty"`

	Times           Times   `json:"times"` // from sending a request to the end of its response, including failed ones
	Webhook         Calls   `json:"webhook"`
	CallsPerRequest float64 `json:"callsPerRequest"`
	Share           Share   `json:"share"`
}

// Share is the part of the duration of requests that is spent in the webhook. Calls made to fill the API server's cache count as
// conversions, but not as time of any request.
type Share struct {
	// Requests is the number of requests that the API server answered during the measurement, and RequestSeconds the sum of their
	// durations, from apiserver_request_duration_seconds.
	Requests       uint64  `json:"requests"`
	RequestSeconds float64 `json:"requestSeconds"`

	// Conversions is the number of objects converted during the measurement, and ConversionSeconds the sum of the durations,
	// including the API server's own work, from apiserver_crd_conversion_webhook_duration_seconds.
	Conversions       uint64  `json:"conversions"`
	ConversionSeconds float64 `json:"conversionSeconds"`

	// CallSeconds is the sum of the durations of webhook calls for all definitions, from
	// apiserver_conversion_webhook_duration_seconds.
	CallSeconds float64 `json:"callSeconds"`

	// ClientSeconds and WebhookSeconds are the sums of the durations of requests and of webhook calls, measured by the client and by
	// the proxy. Calls overlap each other and other requests, so neither is a part of the other.
	ClientSeconds  float64 `json:"clientSeconds"`
	WebhookSeconds float64 `json:"webhookSeconds"`

	// WaitedSeconds is the part of ClientSeconds during which the webhook worked on the object that the client had requested, or for
	// a LIST on any object. OfClient is WaitedSeconds divided by ClientSeconds, from 0 to 1; 0 when ClientSeconds is.
	WaitedSeconds float64 `json:"waitedSeconds"`
	OfClient      float64 `json:"ofClient"`

	// Beside is the number of calls for objects that no client was waiting for, such as those that fill the cache.
	Beside uint64 `json:"beside"`

	// OfServer is ConversionSeconds divided by RequestSeconds; 0 when RequestSeconds is 0, and when Beside is not 0, since some
	// conversions then belong to no request.
	OfServer float64 `json:"ofServer"`

	// Missing names the metrics that the API server lacks, or says why they could not be read. The numbers taken from them are 0 and
	// say nothing.
	Missing []string `json:"missing,omitempty"`
}

// Watch holds what one watch received of writes at the storage version.
type Watch struct {
	Version   string  `json:"version"`   // version watched
	Converted bool    `json:"converted"` // Version is not the storage version
	Rate      float64 `json:"rate"`      // writes per second

	Writes       uint64 `json:"writes"`       // accepted by the API server
	WritesFailed uint64 `json:"writesFailed"` // refused or failed
	Events       uint64 `json:"events"`       // received for Writes
	Lost         uint64 `json:"lost"`         // writes without an event
	Reopened     uint64 `json:"reopened"`     // number of times the API server ended the watch and it was reopened

	Failures []Failure `json:"failures,omitempty"` // of writes and of the watch

	// Times are measured from when a write was due until its event was read.
	Times   Times `json:"times"`
	Webhook Calls `json:"webhook"` // the same for all watches, which run concurrently
}

// ColdList is the first LIST after the API server lost its watch cache, at a version that needs conversion.
type ColdList struct {
	After   string `json:"after"` // cause of the loss: restart, annotation, schema or flip (of the storage version)
	Version string `json:"version"`

	// Skipped is why it was not measured; empty when it was.
	Skipped string `json:"skipped,omitempty"`

	// Rebuilt reports whether the API server rebuilt its cache, which made webhook calls or refused clients.
	Rebuilt bool `json:"rebuilt"`

	Complete bool      `json:"complete"`           // a client received all objects
	Seconds  float64   `json:"seconds"`            // from the first request until the client had all objects or gave up
	Requests uint64    `json:"requests"`           // made by the client, one at a time
	Refused  uint64    `json:"refused"`            // answered with HTTP status 429; the client retries after 50 ms
	Failures []Failure `json:"failures,omitempty"` // by status, including refused requests
	Webhook  Calls     `json:"webhook"`

	WarmSeconds float64 `json:"warmSeconds"` // duration of the next LIST
	WarmCalls   uint64  `json:"warmCalls"`   // webhook calls made for it
}

// Relist predicts the duration of the first LIST after the API server lost its cache, by number of objects. API servers call the
// webhook once per object and wait up to 30 s for each call, so a webhook whose Service.Max is below 30 s meets that limit with any
// number of objects.
type Relist struct {
	Cost RelistCost `json:"cost"`

	// InFlight is the number of concurrent conversions: as observed after the loss InFlightSeen or, where that is empty, as in API
	// servers of Kubernetes 1.37.
	InFlight     int    `json:"inFlight"`
	InFlightSeen string `json:"inFlightSeen,omitempty"`

	Predictions []Prediction `json:"predictions"`

	// WithinLimit is the largest number of objects for which the first LIST takes at most 60 s, the API server's request timeout.
	WithinLimit int `json:"withinLimit"`

	// Confirmation compares the prediction with a measurement; nil without one.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
}

// Prediction is the predicted duration of the first LIST for a number of objects.
type Prediction struct {
	Objects int     `json:"objects"`
	Seconds float64 `json:"seconds"`

	// OverLimit reports whether Seconds exceeds 60 s, the API server's request timeout. Without a watch cache such a LIST never
	// completes. With one, the API server refuses clients for that long, until the cache is filled.
	OverLimit bool `json:"overLimit"`
}

// Confirmation compares a predicted duration with a measured one.
type Confirmation struct {
	After     string  `json:"after"` // see ColdList
	Objects   int     `json:"objects"`
	Predicted float64 `json:"predicted"` // seconds
	Measured  float64 `json:"measured"`  // seconds
	Ratio     float64 `json:"ratio"`     // Predicted divided by Measured

	// Apart describes the difference, with what else was measured that may explain a large one.
	Apart string `json:"apart"`
}

// Service is the webhook's own response time for a request with one object, in milliseconds, measured without an API server by
// clients that each wait for the response.
type Service struct {
	One float64 `json:"one"` // mean with one client
	Ten float64 `json:"ten"` // mean with ten clients
	Max float64 `json:"max"` // maximum with ten clients
}

// RelistCost breaks down the duration of the first LIST. Times are in milliseconds.
type RelistCost struct {
	Service Service `json:"service"`

	// AddedOne and AddedTen are what an API server adds to Service, with one and with ten concurrent conversions: how much longer a
	// read with conversion takes than a read without, minus the webhook's time. They include the proxy's overhead, and on a machine
	// with few cores grow with concurrency. 0 leaves the API server out.
	AddedOne float64 `json:"addedOne"`
	AddedTen float64 `json:"addedTen"`

	// ListPerObject is the time per object of a LIST from the cache; 0 leaves it out.
	ListPerObject float64 `json:"listPerObject"`

	// Caches is the number of caches filled concurrently, one for each served version but the storage version.
	Caches int `json:"caches"`

	// Pause is how long a refused client waits before it retries, of which half is lost on average; 0 where none is refused.
	Pause float64 `json:"pause"`
}

// VerbCalls is the number of webhook calls that one request of a verb causes when caches are warm.
type VerbCalls struct {
	Verb      string `json:"verb"`      // such as get, list or create-dry-run
	Version   string `json:"version"`   // version requested
	Converted bool   `json:"converted"` // Version is not the storage version

	// Per is the unit of the numbers: a request or, where a request has several, an object or event.
	Per string `json:"per"`

	// Calls is the number of webhook calls, and ObjectsConverted the number of objects in them: the maximum of all samples.
	Calls            float64 `json:"calls"`
	ObjectsConverted float64 `json:"objectsConverted"`
	Samples          int     `json:"samples"` // number of measurements

	// Bound is the expected maximum of Calls, as measured for the minor version BoundFrom; nil when unknown for the API server's.
	Bound     *float64 `json:"bound,omitempty"`
	BoundFrom string   `json:"boundFrom,omitempty"`

	// Met reports whether Calls is at most Bound. Exceeding the bound is a fact about the API server, not the webhook. It is false
	// when the verb could not be measured or no bound is known.
	Met bool `json:"met"`

	// Error is why the verb could not be measured; empty when it was.
	Error string `json:"error,omitempty"`
}
