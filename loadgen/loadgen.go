// Package loadgen sends conversion requests to a webhook at a constant rate and judges every response.
//
// The attack is vegeta's. Three things are added. A response counts as good only if the judge has nothing against it,
// since a webhook can fail every conversion with HTTP status 200. Times are taken from the moment a request was due, as
// well as from when it was sent, so that a webhook which makes requests queue does not look fast. And the generator
// watches itself: a run in which it was late, or could not send for want of files, ports or memory, is void.
package loadgen

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
)

// Workload says what load is sent.
type Workload struct {
	Rate          float64       // requests a second, more than 0
	Duration      time.Duration // for which requests become due, more than 0
	Batch         int           // objects in a request, at least 1
	ReviewVersion string        // of ConversionReview: v1 or v1beta1
	Pair          corpus.Pair   // versions to convert from and to
	InFlight      int           // requests that may wait for their responses at once; 0 for DefaultInFlight
}

// The limits of a workload, far beyond what any webhook can do. What is more is a slip of the finger.
const (
	maxRate  = 1e6
	maxBatch = 100_000
)

// DefaultInFlight is how many requests wait for their responses at once, at most. It is several times of what an API server
// has in flight altogether by default, so only a webhook that stands still gets there. Requests beyond are sent when others
// are done, and their response times have the wait in them. What could not be sent until the webhook's timeout after the end
// is not sent any more and counts as unanswered.
const DefaultInFlight = 4096

func (w Workload) inFlight() int {
	if w.InFlight == 0 {
		return DefaultInFlight
	}
	return w.InFlight
}

// Requests is the number of requests that the workload consists of.
func (w Workload) Requests() uint64 {
	return uint64(math.Round(w.Rate * w.Duration.Seconds()))
}

// ValidateFor says what is wrong with the workload, given the objects that it is to send.
func (w Workload) ValidateFor(c corpus.Corpus) error {
	for _, version := range []string{w.Pair.From, w.Pair.To} {
		if !slices.Contains(c.Versions, version) {
			return fmt.Errorf("load: there are no objects at version %q, only at %s", version, strings.Join(c.Versions, ", "))
		}
	}
	if w.Pair.From == w.Pair.To {
		return fmt.Errorf("load: objects at %s need no conversion to %s", w.Pair.From, w.Pair.To)
	}
	return w.Validate()
}

// Validate says what is wrong with the workload, whatever the objects.
func (w Workload) Validate() error {
	switch {
	case !(w.Rate > 0 && w.Rate <= maxRate):
		return fmt.Errorf("load: a rate of %g requests a second: it has to be more than 0 and at most %g", w.Rate, maxRate)
	case w.Duration <= 0:
		return fmt.Errorf("load: a duration of %s: it has to be more than 0", w.Duration)
	case w.Batch < 1 || w.Batch > maxBatch:
		return fmt.Errorf("load: a batch of %d objects: it has to be between 1 and %d", w.Batch, maxBatch)
	case w.InFlight < 0:
		return fmt.Errorf("load: %d requests in flight at once: it has to be 1 or more, or 0 for %d", w.InFlight, DefaultInFlight)
	case w.ReviewVersion != "v1" && w.ReviewVersion != "v1beta1":
		return fmt.Errorf("load: the version %q of ConversionReview: API servers know v1 and v1beta1", w.ReviewVersion)
	case w.Requests() < 1:
		return fmt.Errorf("load: %g requests a second for %s make no request at all: raise one of them", w.Rate, w.Duration)
	}
	return nil
}

// bodies is how many different requests are sent over and over, and bodyObjects how many objects they may have together:
// large batches would take a lot of memory. Each is sent with a uid of its own.
const (
	bodies      = 64
	bodyObjects = 4096
)

// variants builds the requests of a workload, all with the uid of request 0.
func variants(c corpus.Corpus, w Workload) ([]contract.Request, [][]byte, error) {
	n := int(min(w.Requests(), bodies, uint64(max(bodyObjects/w.Batch, 1))))
	objects := corpus.JSON(c.Batch(w.Pair.From, n+w.Batch-1)...)
	var requests []contract.Request
	var encoded [][]byte
	for i := range n {
		request := contract.Request{
			ReviewVersion:     w.ReviewVersion,
			UID:               uid(0),
			DesiredAPIVersion: c.APIVersion(w.Pair.To),
			Objects:           objects[i : i+w.Batch],
		}
		body, err := request.Body()
		if err != nil {
			return nil, nil, err
		}
		requests = append(requests, request.Prepare())
		encoded = append(encoded, body)
	}
	return requests, encoded, nil
}

// uid is that of the n-th request. All have the same length, so that one can take the place of another in a body.
func uid(n uint64) string { return fmt.Sprintf("c0ffee00-0000-4000-8000-%012x", n) }

// Run sends the workload and returns what came of it. When the context ends, it stops and returns what came of it so far,
// marked as partial. The progress function, if there is one, is called once a second. At the end the client's connections
// are closed.
func Run(ctx context.Context, client *wire.Client, c corpus.Corpus, w Workload, progress func(Snapshot)) (Summary, error) {
	if err := w.ValidateFor(c); err != nil {
		return Summary{}, err
	}
	requests, encoded, err := variants(c, w)
	if err != nil {
		return Summary{}, fmt.Errorf("load: %w", err)
	}
	r := newRun(ctx, client, w)
	r.requests, r.bodies = requests, encoded
	return r.attack(progress), nil
}
