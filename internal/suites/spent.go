package suites

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// What specs spend time on, within their chapters. These overlap: what is shrunk is asked for.
const (
	SpentGenerating = "generating" // objects, and learning what the webhook refuses
	SpentShrinking  = "shrinking"  // objects, with all requests for that
	spentWebhook    = "webhook"    // waiting for its answers
	spentAPIServer  = "apiServer"  // waiting for its answers
)

// spent is how long a run was at something. It is safe for concurrent use: what is done twice at a time counts twice.
type spent struct {
	mu  sync.Mutex
	all map[string]time.Duration
}

// on measures until the function that it returns is called.
func (s *spent) on(what string) func() {
	since := time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all == nil {
			s.all = map[string]time.Duration{}
		}
		s.all[what] += time.Since(since)
	}
}

// Spending measures what time is spent on, until the function that it returns is called. What is measured must not be in itself.
func (e *Env) Spending(what string) func() { return e.Subject.spent.on(what) }

// SpentOn returns what time was spent on so far, by webhook and kind.
func (s *Subject) SpentOn() map[string]time.Duration {
	s.spent.mu.Lock()
	defer s.spent.mu.Unlock()
	return maps.Clone(s.spent.all)
}

// timed is a transport that measures how long an API server takes to answer.
type timed struct {
	spent *spent
	next  http.RoundTripper
}

// RoundTrip sends a request on.
func (t timed) RoundTrip(r *http.Request) (*http.Response, error) {
	defer t.spent.on(spentAPIServer)()
	return t.next.RoundTrip(r)
}
