package loadgen

// Server is what clients of an API server met that converts by the webhook.
type Server struct {
	Cluster    string `json:"cluster"`    // the kind of cluster, such as embedded
	Version    string `json:"version"`    // of Kubernetes, such as v1.37.2
	WatchCache bool   `json:"watchCache"` // whether the API server serves reads from one

	Definition     string `json:"definition"`     // its name
	StorageVersion string `json:"storageVersion"` // at which objects are stored
	OtherVersion   string `json:"otherVersion"`   // at which clients ask besides, so that objects are converted
	Served         int    `json:"served"`         // versions, the storage version among them

	Objects     int `json:"objects"`     // that there are
	ObjectBytes int `json:"objectBytes"` // of an object as JSON at the storage version, on the average

	Budget []VerbCalls  `json:"budget,omitempty"`
	Load   []ServerLoad `json:"load,omitempty"`
	Watch  []Watch      `json:"watch,omitempty"`
	Cold   []ColdList   `json:"cold,omitempty"`
	Relist *Relist      `json:"relist,omitempty"`

	// Notes say what was left out, and why.
	Notes []string `json:"notes,omitempty"`

	// Partial reports whether the run was stopped before its end.
	Partial bool `json:"partial,omitempty"`

	// Ended says why the run ended by itself before all was measured. Empty when all was.
	Ended string `json:"ended,omitempty"`
}

// Failure is one kind of failed request.
type Failure struct {
	Status int    `json:"status"` // of HTTP; 0 when there was no response
	Count  uint64 `json:"count"`
	First  string `json:"first"` // what the first one said
}

// Calls is what the webhook was asked meanwhile, as the proxy before it saw it.
type Calls struct {
	Calls        uint64  `json:"calls"`        // ConversionReview requests
	Objects      uint64  `json:"objects"`      // in them
	MostObjects  int     `json:"mostObjects"`  // in one of them
	MostInFlight int     `json:"mostInFlight"` // calls at the same time
	Unanswered   uint64  `json:"unanswered"`   // calls to which no response came through
	Seconds      float64 `json:"seconds"`      // that calls took, added up
}

// ServerLoad is what came of requests of one verb that clients made one after the other, some at a time.
type ServerLoad struct {
	Verb        string  `json:"verb"`        // such as get, list or create-dry-run
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
	Webhook         Calls   `json:"webhook"`
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
	Times   Times `json:"times"`
	Webhook Calls `json:"webhook"` // the same for all watches, which run at the same time
}

// ColdList is the first LIST after the cache was lost, at the version whose objects are converted for it.
type ColdList struct {
	After   string `json:"after"` // what lost the cache: restart, annotation, schema or flip (of the storage version)
	Version string `json:"version"`

	// Skipped says why it was not measured. Empty when it was.
	Skipped string `json:"skipped,omitempty"`

	// Rebuilt reports whether the API server made its cache anew, which cost calls or refused clients.
	Rebuilt bool `json:"rebuilt"`

	Complete bool      `json:"complete"`           // whether a client got all objects
	Seconds  float64   `json:"seconds"`            // from the first request until the client had them, or gave up
	Requests uint64    `json:"requests"`           // that the client made, one after the other
	Refused  uint64    `json:"refused"`            // of them with HTTP status 429; the client asks again after 50 ms
	Failures []Failure `json:"failures,omitempty"` // by status, refused ones included
	Webhook  Calls     `json:"webhook"`

	WarmSeconds float64 `json:"warmSeconds"` // of the LIST after that
	WarmCalls   uint64  `json:"warmCalls"`   // of the webhook for it
}

// Relist is how long the first LIST takes after the API server lost its cache, for any number of objects. The 30 s that API
// servers wait for a webhook are for each object, since each has a call of its own: a webhook that keeps Service.Max below
// them does so with any number of objects.
type Relist struct {
	Cost RelistCost `json:"cost"`

	// InFlight is how many conversions are made at a time: as seen after the loss InFlightSeen or, where that is empty, as
	// API servers of Kubernetes 1.37 do.
	InFlight     int    `json:"inFlight"`
	InFlightSeen string `json:"inFlightSeen,omitempty"`

	Predictions []Prediction `json:"predictions"`

	// WithinLimit is the greatest number of objects of which the first LIST takes no longer than the 60 s that API servers
	// have for a request.
	WithinLimit int `json:"withinLimit"`

	// Confirmation compares the prediction with what was measured. Nil when nothing could be.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
}

// Prediction is the time of the first LIST for a number of objects.
type Prediction struct {
	Objects int     `json:"objects"`
	Seconds float64 `json:"seconds"`

	// OverLimit reports whether that is more than the 60 s that API servers have for a request. Without a watch cache such a
	// LIST never comes to its end. With one, API servers refuse clients until the cache is filled, for that long.
	OverLimit bool `json:"overLimit"`
}

// Confirmation is a prediction beside what was measured.
type Confirmation struct {
	After     string  `json:"after"` // as of ColdList
	Objects   int     `json:"objects"`
	Predicted float64 `json:"predicted"` // seconds
	Measured  float64 `json:"measured"`  // seconds
	Ratio     float64 `json:"ratio"`     // predicted by measured

	// Apart says in words how far the one is from the other, and what else was measured that can be why when that is far.
	Apart string `json:"apart"`
}

// Service is how long the webhook takes by itself for a request with one object, in milliseconds, on the average. It is
// measured without an API server, by clients that ask one after the other.
type Service struct {
	One float64 `json:"one"` // one client
	Ten float64 `json:"ten"` // ten clients at a time
	Max float64 `json:"max"` // the longest that one of ten waited
}

// RelistCost is what the time of the first LIST is made of. Times are in milliseconds.
type RelistCost struct {
	Service Service `json:"service"`

	// AddedOne and AddedTen are what an API server adds to that, with one conversion at a time and with ten: how much longer
	// it takes clients to read an object that is converted than one client to read one that is not, less the webhook's time.
	// The proxy's is in it. On a machine with few cores it grows with the number of conversions at a time. 0 leaves the API
	// server out.
	AddedOne float64 `json:"addedOne"`
	AddedTen float64 `json:"addedTen"`

	// ListPerObject is how long a LIST takes from the cache for each object. 0 leaves it out.
	ListPerObject float64 `json:"listPerObject"`

	// Caches is how many caches are filled at the same time, one for each served version but the one stored.
	Caches int `json:"caches"`

	// Pause is after what time a refused client asks again, of which half is lost on the average. 0 where it is not refused.
	Pause float64 `json:"pause"`
}

// VerbCalls is how often a verb makes the API server call the webhook, warm caches provided.
type VerbCalls struct {
	Verb      string `json:"verb"`      // such as get, list or create-dry-run
	Version   string `json:"version"`   // at which the client asks
	Converted bool   `json:"converted"` // whether that is not the storage version

	// Per is what the numbers are for: a request, or where it has several, an object or an event of it.
	Per string `json:"per"`

	// Calls is the number of webhook calls, and ObjectsConverted that of objects in them: the most of the samples.
	Calls            float64 `json:"calls"`
	ObjectsConverted float64 `json:"objectsConverted"`
	Samples          int     `json:"samples"` // how often it was measured

	// Bound is the most calls that there are to be, as measured for the API server's minor, BoundFrom. Nil when none is known
	// for that.
	Bound     *float64 `json:"bound,omitempty"`
	BoundFrom string   `json:"boundFrom,omitempty"`

	// Met reports whether there were no more calls than the bound. More than the bound is a fact about the API server. It is
	// false when the verb could not be measured, or no bound is known.
	Met bool `json:"met"`

	// Error says why the verb could not be measured. Empty when it was.
	Error string `json:"error,omitempty"`
}
