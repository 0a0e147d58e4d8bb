package wire

import (
	"context"
	"sync"
	"time"
)

// term is a context that ends at some time. It has a timer only when somebody waits for that: for most requests a deadline of the
// connection will do.
type term struct {
	context.Context //nolint:containedctx // it is the one that the term is within

	end time.Time

	mu       sync.Mutex
	timed    context.Context    //nolint:containedctx // what has the timer; nil without one
	cancel   context.CancelFunc // of timed
	released bool
}

func newTerm(ctx context.Context, d time.Duration) *term {
	end := time.Now().Add(d)
	if earlier, bounded := ctx.Deadline(); bounded && earlier.Before(end) {
		end = earlier
	}
	return &term{Context: ctx, end: end}
}

// Deadline returns the end.
func (t *term) Deadline() (time.Time, bool) { return t.end, true }

// Done returns a channel that is closed at the end.
func (t *term) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timed == nil {
		t.timed, t.cancel = context.WithDeadline(t.Context, t.end)
		if t.released {
			t.cancel()
		}
	}
	return t.timed.Done()
}

// Err returns why it has ended, if it has.
func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.timed != nil:
		return t.timed.Err()
	case t.Context.Err() != nil:
		return t.Context.Err()
	case t.released:
		return context.Canceled
	case time.Now().Before(t.end):
		return nil
	}
	return context.DeadlineExceeded
}

// release ends it.
func (t *term) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = true
	if t.cancel != nil {
		t.cancel()
	}
}
