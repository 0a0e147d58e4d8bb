// Package workers has several generators share one workload, as processes on this machine, as pods of a Job, or wherever
// else a Launcher can start them, and merges what they measured exactly.
//
// A coordinator, Run, gives each worker the same spec. A worker prepares itself and says hello. When all have, they get the
// time to start, and the workload begins at that moment for all of them, so that their requests interleave as those of one
// generator would. Each second a worker writes what came back in it, as a line of JSON, and in the end the rest. Histograms go
// over the wire whole, in HdrHistogram's own encoding, so that no percentile is ever computed from percentiles.
//
// A worker that is lost takes its part with it: the result is partial and says so, and has nothing in it that the worker may
// have measured.
package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
)

// Launcher starts workers somewhere.
type Launcher interface {
	// Start starts workers and gives each of them its index, from 0, and the spec. They need not have come up when it returns. An
	// error leaves nothing behind, or says what.
	Start(ctx context.Context, task Task) (Workers, error)

	// Lead is the maximum time that an order takes to reach all workers. They receive the order to start that long in advance.
	Lead() time.Duration

	// Remote reports whether workers run on other machines, which may reach what this one does not.
	Remote() bool
}

// Task is what a launcher has workers do.
type Task struct {
	Spec    []byte        // JSON in one line
	Workers int           // at least 1
	Limit   time.Duration // from coming up to their end; what is there for longer has been forgotten
}

// Workers are the workers of one run. The methods may be called for different workers at the same time.
type Workers interface {
	// Follow calls a function with each line that a worker writes, and returns when the worker has ended: nil when it ended
	// with success, or else why it did not, such as "exit status 137". A line may be passed more than once. When the context
	// ends, Follow gives the worker up, ends it, and says how it stood.
	Follow(ctx context.Context, index int, line func([]byte)) error

	// Send gives an order to a worker that said hello. Orders are seen one after the other, or only the last of them.
	Send(ctx context.Context, index int, order []byte) error

	// End ends workers that still run and removes all that was made for them.
	End(ctx context.Context) error
}

// Load is a workload for several workers.
type Load struct {
	Endpoint wire.Endpoint      `json:"endpoint"` // where the webhook is, as workers see it
	Requests []contract.Request `json:"requests"` // what is sent over and over; see load.Bodies
	Workload load.Workload      `json:"workload"`

	// Workers is how many share the workload. They are fewer when it has not so many clients, requests or slots.
	Workers int `json:"of"`

	// Patience is how long workers may take to say hello, images to be pulled among it; 0 for DefaultPatience.
	Patience time.Duration `json:"patienceNanoseconds"`
}

// DefaultPatience is how long workers may take to say hello.
const DefaultPatience = 5 * time.Minute

func (l Load) patience() time.Duration {
	if l.Patience == 0 {
		return DefaultPatience
	}
	return l.Patience
}

// duration is how long after the start all workers have to be done. The last request is sent a timeout after the end at the
// latest, and takes no longer than another one.
func (l Load) duration() time.Duration {
	timeout := l.Endpoint.Timeout
	if timeout == 0 {
		timeout = wire.APIServerTimeout
	}
	return l.Workload.Length() + 2*timeout + overtime
}

// validate says why the load cannot be given to workers.
func (l Load) validate(watch load.Watch) error {
	switch {
	case l.Workers < 1:
		return fmt.Errorf("load: %d workers: it must be 1 or more", l.Workers)
	case len(l.Requests) == 0:
		return errors.New("load: there is nothing to send")
	case l.Endpoint.ClientCertificate != nil:
		return errors.New("load: workers are given no private key, so they cannot show a client's certificate; load from this process alone")
	case watch.Result != nil:
		return errors.New("load: workers measure each for itself, so there is no list of all requests; load from this process alone to have one")
	case l.Workload.Part != load.Part{}:
		return errors.New("load: a part of a workload cannot be shared again")
	}
	return l.Workload.Validate()
}

// endTimeout is how long it may take to remove what was made for workers.
const endTimeout = time.Minute

// Run has workers send the load and returns what came of it, as load.Run does for one generator. When the context ends, the
// workers are ordered to stop, and what they measured so far is merged. When an error comes with a summary that has requests in
// it, the figures hold, and the error is about what was left behind.
func Run(ctx context.Context, launcher Launcher, l Load, watch load.Watch) (load.Summary, error) {
	if err := l.validate(watch); err != nil {
		return load.Summary{}, err
	}
	if ctx.Err() != nil {
		return nothing(l.Workload)
	}
	l.Workers = min(l.Workers, l.Workload.Shares())
	spec, err := newSpec(l).encode()
	if err != nil {
		return load.Summary{}, err
	}
	started, err := launcher.Start(ctx, Task{Spec: spec, Workers: l.Workers, Limit: l.patience() + launcher.Lead() + l.duration() + parting})
	if err != nil {
		err = fmt.Errorf("load: the workers cannot be started: %w", err)
		if ctx.Err() == nil {
			return load.Summary{}, err
		}
		s, none := nothing(l.Workload)
		return s, errors.Join(err, none)
	}
	summary, err := newCoordinator(l, started, launcher.Lead(), watch).run(ctx)
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return summary, errors.Join(err, started.End(within))
}

// nothing is what came of a workload that was stopped before it began.
func nothing(w load.Workload) (load.Summary, error) {
	s, err := load.Merge()
	s.Workload, s.Partial = w, true
	return s, err
}
