// Package record holds what a disruption recorded: what its clients did and were answered, when the fault began and ended, and what the
// webhook's process used meanwhile. It writes that to a file and reads it again, so that a history can be judged later.
//
// A file is JSON, one value a line: the header, then marks, operations, watches, lags and samples in any order, then a line with their
// number, so that a file that was cut is noticed.
//
// Judge finds out from a history what the disruption did to the clients: what was lost, what was wrong, what failed, and how long it
// took until all was as before. It performs no I/O and knows no requirements: scenarios decide what its anomalies mean for them.
package record

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/memory"
)

// APIVersion and Kind are what the header of every file begins with.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	Kind       = "Disruption"
)

// Header says what was recorded.
type Header struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Tool       string          `json:"tool,omitempty"` // version of what recorded it
	Started    time.Time       `json:"started"`        // what all times are counted from
	Scenario   string          `json:"scenario"`       // ID of its requirement
	Title      string          `json:"title,omitempty"`
	Subject    string          `json:"subject,omitempty"` // the webhook, for people
	Cluster    string          `json:"cluster,omitempty"` // kind and version of the API server, for people
	Replicas   int             `json:"replicas,omitempty"`
	Definition Definition      `json:"definition"`
	Rate       float64         `json:"rate"`               // operations a second that all clients together are to reach
	Limit      time.Duration   `json:"limit,omitempty"`    // how long recovery was waited for; 0 if that is unknown
	Objective  objective.Limit `json:"objective,omitzero"` // in force for the scenario

	// Before are the objects that were there already, unless their creations are among the operations.
	Before map[string]history.State `json:"before,omitempty"`
}

// Definition is the CustomResourceDefinition whose objects the clients use.
type Definition struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions"` // that are served
	Storage  string   `json:"storage"`  // the storage version when the recording began
}

// Mark is a point in time.
type Mark struct {
	Name string        `json:"name"` // one of the names below, or anything else, such as "certificate written"
	At   time.Duration `json:"at"`
	Text string        `json:"text,omitempty"` // for people
}

// The names of marks that the judge knows. Each can be there once.
const (
	Quiet      = "quiet"       // the clients are at work, and all is well
	FaultBegan = "fault began" //
	FaultEnded = "fault ended" // it was taken back, or is over by itself
	Ready      = "ready"       // the webhook said again that it is ready; absent where that is unknown
	End        = "end"         // the clients stopped
)

// Verb is what an operation does.
type Verb string

// The verbs of operations.
const (
	Get    Verb = "get"
	List   Verb = "list"
	Watch  Verb = "watch" // the request that opens one; what becomes of it are Watches
	Create Verb = "create"
	Update Verb = "update"
	Patch  Verb = "patch"
	Apply  Verb = "apply"
	Delete Verb = "delete"
	Status Verb = "status" // an update of the status alone
)

// Verbs returns all verbs, those that read first.
func Verbs() []Verb {
	return []Verb{Get, List, Watch, Create, Update, Patch, Apply, Delete, Status}
}

// Error is a kind of error, as a client sees it. It is empty if there is none.
type Error string

// The kinds of errors.
const (
	Timeout     Error = "timeout"             // the request or the call of the webhook was given up
	Refused     Error = "connection refused"  //
	Reset       Error = "connection reset"    // or closed in the middle
	Unreachable Error = "unreachable"         // no route, no address
	Certificate Error = "certificate"         // it was not trusted, or has expired
	Answer      Error = "webhook's answer"    // the webhook answered, and the API server could not use it
	Unavailable Error = "unavailable"         // 503, or no endpoints
	Throttled   Error = "throttled"           // 429
	Internal    Error = "internal error"      // another 5xx
	Rejected    Error = "rejected"            // another 4xx
	Conflict    Error = "conflict"            // regular: somebody else wrote meanwhile
	Expired     Error = "expired"             // regular: 410, the client has to begin again
	NotThere    Error = "not found"           // regular, if the object is gone
	There       Error = "already exists"      // regular, if the object is there
	Canceled    Error = "canceled by harness" // not counted: the run ended
	Other       Error = "other"
)

// Errors returns all kinds of errors.
func Errors() []Error {
	return []Error{
		Timeout, Refused, Reset, Unreachable, Certificate, Answer, Unavailable, Throttled, Internal, Rejected,
		Conflict, Expired, NotThere, There, Canceled, Other,
	}
}

// Fails reports whether an error of the kind is a failure, rather than what a client of a healthy API server has to expect.
func (e Error) Fails() bool {
	return !slices.Contains([]Error{"", Conflict, Expired, NotThere, There, Canceled}, e)
}

// Operation is a request of a client and the answer to it. Times are counted from the header's Started. A write is Unknown unless it is
// certain that nothing was changed. The kind is left out, for which there is the verb, and lists and watches have no object.
type Operation struct {
	history.Operation

	Verb    Verb   `json:"verb"`
	Storage bool   `json:"storage,omitempty"`
	Code    int    `json:"code,omitempty"` // of HTTP; 0 if there is none
	Error   Error  `json:"error,omitempty"`
	Text    string `json:"text,omitempty"` // first words of the error

	// Digest is that of the object in the answer, without what changes by itself, such as resourceVersion and managedFields. An object
	// with the same Content must have the same digest at a version whenever it is read. Content is empty if the digest leaves out what
	// the clients write, so that all digests of the object at a version are to be the same.
	Digest  string  `json:"digest,omitempty"`
	Content string  `json:"content,omitempty"`
	Items   int     `json:"items,omitempty"`  // of a list
	Listed  []Sight `json:"listed,omitempty"` // the items of a list, if their digests are to be compared

	Differs []string `json:"differs,omitempty"` // as of a Sight
}

// Sight is an object as it was seen at a version.
type Sight struct {
	Object  string `json:"object"`
	Content string `json:"content,omitempty"` // as of an Operation
	Digest  string `json:"digest"`

	Differs []string `json:"differs,omitempty"` // in what it differs from how it was seen first at the version
}

// Sights returns the objects in the answer whose digests can be compared.
func (o Operation) Sights() []Sight {
	if o.Verb == List {
		return o.Listed
	}
	if o.Digest == "" {
		return nil
	}
	return []Sight{{Object: o.Object, Content: o.Content, Digest: o.Digest, Differs: o.Differs}}
}

// Failed reports whether the operation is a failure: of a kind that no client of a healthy API server sees.
func (o Operation) Failed() bool { return o.Error.Fails() }

// History returns the operation for the judge of registers, and false for a list or a watch.
func (o Operation) History() (history.Operation, bool) {
	o.Kind = history.Kind(o.Verb)
	if o.Verb == Get {
		o.Kind = history.Read
	}
	return o.Operation, o.Verb != List && o.Verb != Watch
}

// WatchState is what becomes of a watch.
type WatchState string

// The states of watches. One that is opened by a client whose last one ended has come back.
const (
	Opened WatchState = "opened"
	Seen   WatchState = "event" // an event with an object
	Ended  WatchState = "ended"
)

// WatchEvent is something that happened to a client's watch. A client has one at a time.
type WatchEvent struct {
	Client  int           `json:"client"`
	Version string        `json:"version"`
	Storage bool          `json:"storage,omitempty"`
	At      time.Duration `json:"at"`
	State   WatchState    `json:"state"`
	Code    int           `json:"code,omitempty"`
	Error   Error         `json:"error,omitempty"` // why it ended; empty if the API server ended it as it does now and then
	Text    string        `json:"text,omitempty"`
	Sight   *Sight        `json:"sight,omitempty"` // of an event
}

// Lag is how late a timer of the harness itself was: nobody but the machine is to blame.
type Lag struct {
	At  time.Duration `json:"at"`
	Lag time.Duration `json:"lag"`
}

// History is all that was recorded. Operations are in the order of their return, if a Recorder collected them.
type History struct {
	Header     Header
	Marks      []Mark
	Operations []Operation
	Watches    []WatchEvent
	Lags       []Lag
	Samples    []memory.Sample
	Dropped    int // operations and watch events that were too many to be kept
}

// Mark returns the time of the mark of a name, and whether there is one.
func (h *History) Mark(name string) (time.Duration, bool) {
	for _, m := range h.Marks {
		if m.Name == name {
			return m.At, true
		}
	}
	return 0, false
}

func (h Header) valid() error {
	switch {
	case h.Scenario == "":
		return errors.New("the scenario must be named")
	case h.Rate <= 0:
		return errors.New("the rate must be more than 0")
	case !slices.Contains(h.Definition.Versions, h.Definition.Storage):
		// A version can be stored and not served; nothing can be asked at it, so nothing is judged by it.
		if h.Definition.Storage == "" {
			return errors.New("the storage version must be named")
		}
	}
	return nil
}

func (m Mark) valid() error {
	switch {
	case m.Name == "":
		return errors.New("a mark must have a name")
	case m.At < 0:
		return errors.New("a mark must not be before the start")
	}
	return nil
}

func (o Operation) valid() error {
	if !slices.Contains(Verbs(), o.Verb) {
		return fmt.Errorf("unknown verb %q", o.Verb)
	}
	if o.Error != "" && !slices.Contains(Errors(), o.Error) {
		return fmt.Errorf("unknown kind of error %q", o.Error)
	}
	switch o.Outcome {
	case history.Acknowledged, history.Refused, history.NotFound, history.Exists, history.Unknown:
	default:
		return fmt.Errorf("unknown outcome %q", o.Outcome)
	}
	switch _, single := o.History(); {
	case single && o.Object == "":
		return errors.New("the object must be named")
	case o.Version == "":
		return errors.New("the version must be named")
	case o.Call < 0 || o.Return < o.Call:
		return errors.New("the call must not be before the start, nor after the return")
	case o.Outcome == history.Acknowledged && o.Error != "":
		return fmt.Errorf("an operation that was acknowledged must have no error, but has %q", o.Error)
	case o.Verb == Get && o.Outcome == history.Acknowledged && o.Seen == nil:
		return errors.New("a get that was acknowledged must say what it saw")
	}
	return nil
}

func (w WatchEvent) valid() error {
	switch w.State {
	case Opened, Seen, Ended:
	default:
		return fmt.Errorf("unknown state of a watch %q", w.State)
	}
	if w.Error != "" && !slices.Contains(Errors(), w.Error) {
		return fmt.Errorf("unknown kind of error %q", w.Error)
	}
	if w.At < 0 {
		return errors.New("an event of a watch must not be before the start")
	}
	return nil
}
