package workers

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
)

const (
	// polling is how often a worker looks into its file of orders.
	polling = 100 * time.Millisecond

	// skew is how far the clock of a worker may be ahead of that of the coordinator or behind it, at most.
	skew = time.Second

	// lease is how long a worker goes on without hearing from the coordinator, which is heard of each renewing: it may have
	// been killed. Nobody would stop the worker then.
	lease = 2 * time.Minute

	// late is how long after the start an order may arrive. A machine that is too busy to take it in time sends its first
	// requests late, and they are counted as such. What is later than that has another cause.
	late = 10 * time.Second
)

// ErrStopped reports that a worker was stopped before it began.
var ErrStopped = errors.New("stopped before the start")

// Input is what a worker is to do.
type Input struct {
	spec   spec
	orders <-chan order // the worker stops when it is closed
}

// FromStream reads a spec. The orders are what follows it in the same stream. The worker stops when the stream ends, so that it
// does not outlive its coordinator.
func FromStream(ctx context.Context, r io.Reader) (Input, error) {
	decoder := json.NewDecoder(r)
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return Input{}, fmt.Errorf("the spec of the workers is not JSON: %w", err)
	}
	s, err := decodeSpec(raw)
	if err != nil {
		return Input{}, err
	}
	orders := make(chan order)
	go func() {
		defer close(orders)
		for {
			var o order
			if decoder.Decode(&o) != nil || !give(ctx, orders, o) {
				return
			}
		}
	}()
	return Input{s, orders}, nil
}

// FromFiles reads a spec that may be compressed with gzip, and cut into several files. The orders are in another file, one at a
// time; that file has to be there, but may be empty.
func FromFiles(ctx context.Context, specs []string, orders string) (Input, error) {
	var all []byte
	for _, path := range specs {
		content, err := files.Read(path, files.Reports)
		if err != nil {
			return Input{}, err
		}
		all = append(all, content...)
	}
	plain, err := decompressed(all)
	if err != nil {
		return Input{}, err
	}
	s, err := decodeSpec(plain)
	if err != nil {
		return Input{}, err
	}
	if _, err := files.Read(orders, files.Lists); err != nil {
		return Input{}, err
	}
	given := make(chan order)
	go watch(ctx, orders, given)
	return Input{s, given}, nil
}

// gzipMagic is what a compressed file begins with.
const gzipMagic = "\x1f\x8b"

func decompressed(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte(gzipMagic)) {
		return content, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("the spec of the workers: %w", err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("the spec of the workers: %w", err)
	}
	return plain, nil
}

// watch sends each order that appears in a file. It ignores anything else, since a file may be read while it is written.
func watch(ctx context.Context, path string, orders chan<- order) {
	ticker := time.NewTicker(polling)
	defer ticker.Stop()
	var last []byte
	for {
		var o order
		content, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(content, last) && json.Unmarshal(content, &o) == nil {
			last = content
			if !give(ctx, orders, o) {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func give(ctx context.Context, orders chan<- order, o order) bool {
	select {
	case orders <- o:
		return true
	case <-ctx.Done():
		return false
	}
}

// Work does the part of one worker and writes what it measures. When the context ends, it is ordered to stop, or nothing is
// heard of the coordinator any more, it writes what there is so far. An error says that, or why there is no result.
func Work(ctx context.Context, index int, in Input, out io.Writer) error {
	l := in.spec.Load
	w := load.Split(l.Workload, index, l.Workers)
	if err := w.Validate(); err != nil {
		return err
	}
	client, err := wire.Connect(l.Endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	if err = client.Reach(ctx); err != nil {
		return err
	}
	lines := &lines{encoder: json.NewEncoder(out)}
	lines.write(message{Hello: &hello{protocol, index}})
	begin, err := in.start(ctx)
	if err != nil {
		return errors.Join(err, lines.err)
	}
	lines.write(message{Ack: &ack{begin.Number, time.Now()}})
	w.Part.Start = begin.Start
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go in.obey(working, stop)
	summary, err := load.Run(working, client, l.Requests, w, load.Watch{Second: func(s load.Snapshot) { lines.second(s.Last) }})
	if err != nil {
		return err
	}
	for _, s := range summary.Seconds[lines.seconds:] {
		lines.second(s)
	}
	r := resultOf(summary)
	r.Stopped = working.Err() != nil
	lines.write(message{Result: r})
	if errors.Is(context.Cause(working), errForsaken) {
		return errors.Join(errForsaken, lines.err)
	}
	return lines.err
}

// errForsaken says why a worker stopped.
var errForsaken = fmt.Errorf("no message from the coordinator for %s: it is gone, or cannot reach this worker", lease)

// start waits for the order to start.
func (in Input) start(ctx context.Context) (order, error) {
	select {
	case o, ok := <-in.orders:
		if !ok || o.Stop {
			return order{}, ErrStopped
		}
		return o, o.punctual(time.Until(o.Start))
	case <-time.After(in.spec.Patience + parting):
		return order{}, fmt.Errorf("no start message within %s: the coordinator is gone, or cannot reach this worker", in.spec.Patience+parting)
	case <-ctx.Done():
		return order{}, ErrStopped
	}
}

// punctual says what is wrong with an order that arrives so long before the start.
func (o order) punctual(before time.Duration) error {
	switch {
	case before < -late:
		return fmt.Errorf("the order to start arrived %s after the start: either it took long, or the clock of this machine is ahead of the coordinator's; set the clock", (-before).Round(time.Millisecond))
	case before > o.Lead+skew:
		return fmt.Errorf("the clock of this machine is %s behind the coordinator's; set it", (before - o.Lead).Round(time.Millisecond))
	}
	return nil
}

// obey stops the worker on an order to stop, and when the coordinator is no longer heard from.
func (in Input) obey(ctx context.Context, stop context.CancelCauseFunc) {
	left := time.NewTimer(lease)
	defer left.Stop()
	for {
		select {
		case o, ok := <-in.orders:
			if !ok || o.Stop {
				stop(nil)
				return
			}
			left.Reset(lease)
		case <-left.C:
			stop(errForsaken)
			return
		case <-ctx.Done():
			return
		}
	}
}

// lines are what a worker writes.
type lines struct {
	encoder *json.Encoder
	seconds int   // that were written
	err     error // the first one; nothing is written after it
}

func (l *lines) write(m message) {
	if l.err == nil {
		l.err = l.encoder.Encode(m)
	}
}

func (l *lines) second(s load.Second) {
	l.write(message{Second: &second{l.seconds, s}})
	l.seconds++
}
