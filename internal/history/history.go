// Package history records what clients of an API server did and what they observed, and judges whether one register for each object
// explains it: whether every acknowledged write took effect once, between its call and its return, and stayed until another write.
// It performs no I/O but for the reader or writer that it is given, so a history can be judged again from a file.
package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Kind is what an operation does.
type Kind string

// The kinds of operations. All but create require the object to exist.
const (
	Create Kind = "create"
	Update Kind = "update" // of the whole object, in place of what was read before
	Patch  Kind = "patch"
	Apply  Kind = "apply"
	Delete Kind = "delete"
	Status Kind = "status" // of the status alone
	Read   Kind = "read"
)

// Outcome is the result of an operation for its client.
type Outcome string

// The outcomes of operations.
const (
	Acknowledged Outcome = "acknowledged"
	Refused      Outcome = "refused" // nothing was changed, and it says nothing of the object
	NotFound     Outcome = "not found"
	Exists       Outcome = "already exists"
	Unknown      Outcome = "unknown" // it timed out, say: it may have happened, or may still happen
)

// State is what a register holds: an object, by what was written to it last.
type State struct {
	Exists  bool   `json:"exists"`
	UID     string `json:"uid,omitempty"`     // any if empty
	Content string `json:"content,omitempty"` // a value or the hash of one
	Status  string `json:"status,omitempty"`  // a value or the hash of one
}

// String renders the state for people.
func (s State) String() string {
	if !s.Exists {
		return "no object"
	}
	text := fmt.Sprintf("%q", s.Content)
	if s.Status != "" {
		text += fmt.Sprintf(" with status %q", s.Status)
	}
	if s.UID != "" {
		text += " and UID " + s.UID
	}
	return text
}

// Operation is a request of a client about an object, and the answer to it.
type Operation struct {
	Client  int           `json:"client"`
	Object  string        `json:"object,omitempty"` // identifies it: namespace/name, or name
	Kind    Kind          `json:"kind,omitempty"`
	Version string        `json:"version,omitempty"` // API version of the request; for people only
	Written string        `json:"written,omitempty"` // value that the request writes: of the status if that is its kind
	Over    *State        `json:"over,omitempty"`    // what the request requires to be there, as by a resourceVersion; nil for anything
	Seen    *State        `json:"seen,omitempty"`    // the object in the answer; nil if it has none
	Call    time.Duration `json:"call"`              // since any point in time that is the same for all operations
	Return  time.Duration `json:"return"`            // likewise; of no meaning if the outcome is unknown
	Outcome Outcome       `json:"outcome"`
}

// String renders the operation for people.
func (o Operation) String() string {
	text := fmt.Sprintf("client %d: %s", o.Client, o.Kind)
	if o.Version != "" {
		text += " at " + o.Version
	}
	if o.Written != "" {
		text += fmt.Sprintf(" of %q", o.Written)
	}
	text += ", " + string(o.Outcome)
	if o.Kind == Read && o.Seen != nil {
		text += ": " + o.Seen.String()
	}
	return text
}

// valid reports what an operation lacks to be judged.
func (o Operation) valid() error {
	switch o.Kind {
	case Create, Update, Patch, Apply, Delete, Status, Read:
	default:
		return fmt.Errorf("unknown kind %q (want create, update, patch, apply, delete, status or read)", o.Kind)
	}
	switch o.Outcome {
	case Acknowledged, Refused, NotFound, Exists, Unknown:
	default:
		return fmt.Errorf("unknown outcome %q (want acknowledged, refused, not found, already exists or unknown)", o.Outcome)
	}
	switch {
	case o.Object == "":
		return errors.New("the object must be named")
	case o.Outcome != Unknown && o.Return < o.Call:
		return errors.New("the return must not be before the call")
	case o.Kind == Read && o.Outcome == Acknowledged && o.Seen == nil:
		return errors.New("a read that was acknowledged must say what it saw")
	}
	return nil
}

// Recorder collects operations of clients that work at the same time.
type Recorder struct {
	mu         sync.Mutex
	operations []Operation
}

// Add adds an operation.
func (r *Recorder) Add(o Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations = append(r.operations, o)
}

// Operations returns what was added so far, in the order in which it was.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Operation(nil), r.operations...)
}

// Encode writes operations as JSON, one a line.
func Encode(w io.Writer, operations []Operation) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for _, o := range operations {
		if err := encoder.Encode(o); err != nil {
			return fmt.Errorf("writing the history: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}

// Decode reads what Encode wrote. An error names the line.
func Decode(r io.Reader) ([]Operation, error) {
	var operations []Operation
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var o Operation
		err := json.Unmarshal(lines.Bytes(), &o)
		if err == nil {
			err = o.valid()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the history: %w", n, err)
		}
		operations = append(operations, o)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	return operations, nil
}
