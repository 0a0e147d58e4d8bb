package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// The names of the bugs.
const (
	noDrain          = "no-drain"
	exitsEarly       = "exits-early"
	certificateOnce  = "certificate-once"
	cachesAuthority  = "caches-authority"
	numbersInMemory  = "numbers-in-memory"
	leaksGoroutines  = "leaks-goroutines"
	leaksMemory      = "leaks-memory"
	locksForever     = "locks-forever"
	retriesInRequest = "retries-in-request"
	servesTooEarly   = "serves-too-early"
	panicsOnReset    = "panics-on-reset"
	refusesOthers    = "refuses-others"
	holdsConnections = "holds-connections"
	ignoresSignals   = "ignores-signals"
)

func bugs() []program.Bug {
	return []program.Bug{
		{Name: noDrain, Summary: "drops the requests under way when it is told to end"},
		{Name: exitsEarly, Summary: "ends at once when it is told to, with its listener open and requests under way"},
		{Name: certificateOnce, Summary: "reads its certificate when it starts, and never again"},
		{Name: cachesAuthority, Summary: "takes a new certificate only if the authority that it read when it started has signed it"},
		{Name: numbersInMemory, Summary: "numbers objects in the order in which it sees them, and forgets the numbers when it ends"},
		{Name: leaksGoroutines, Summary: "leaves a goroutine behind for each request"},
		{Name: leaksMemory, Summary: "keeps a mebibyte of each request"},
		{Name: locksForever, Summary: "waits when it starts for a lock that a process which was killed did not give back"},
		{Name: retriesInRequest, Summary: "after a restart, tries in each request to get ready for longer than API servers wait"},
		{Name: servesTooEarly, Summary: "after a restart, listens before it can convert, and fails requests until then"},
		{Name: panicsOnReset, Summary: "ends with a panic when a client goes away in the middle of a request"},
		{Name: refusesOthers, Summary: "fails all requests while a replica of another build runs"},
		{Name: holdsConnections, Summary: "keeps connections open when it is told to end, and answers nothing on them"},
		{Name: ignoresSignals, Summary: "does not end when it is told to"},
	}
}

// times are how long bugs take, which tests shorten.
type times struct {
	work    time.Duration // of a request, so that some are under way when it ends
	lease   time.Duration // that a former process seems to hold
	warm    time.Duration // until it can convert
	holding time.Duration // that connections are held
}

func delays() times {
	return times{work: 30 * time.Millisecond, lease: 40 * time.Second, warm: 3 * time.Second, holding: 20 * time.Second}
}

// numbering remembers in which order objects were seen.
type numbering struct {
	mu   sync.Mutex
	seen map[string]int
}

func (n *numbering) rank(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.seen[name]; !known {
		n.seen[name] = len(n.seen) + 1
	}
	return n.seen[name]
}

// hoard keeps what requests leave behind.
type hoard struct {
	mu   sync.Mutex
	kept [][]byte
	ever chan struct{} // that nobody closes
}

// keep keeps a mebibyte, and touches it, so that it counts.
func (h *hoard) keep() {
	const size, page = 1 << 20, 4096
	block := make([]byte, size)
	for i := 0; i < size; i += page {
		block[i] = 1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, block)
}

// linger never returns, and has a stack that counts.
func (h *hoard) linger() {
	var stack [8192]byte
	for i := range stack {
		stack[i] = byte(i)
	}
	<-h.ever
	h.mu.Lock()
	h.kept = append(h.kept, stack[:])
	h.mu.Unlock()
}

// handler converts, with a bug.
func (f *frail) handler() http.Handler {
	numbers := &numbering{seen: map[string]int{}}
	converting := program.Handler(func(request program.Review) ([]json.RawMessage, error) {
		if f.bug == numbersInMemory {
			return convertAll(request, numbers.rank)
		}
		return convertAll(request, nil)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f.bug {
		case noDrain, exitsEarly, panicsOnReset:
			if !f.work(r) {
				return
			}
		case leaksGoroutines:
			go f.left.linger()
		case leaksMemory:
			f.left.keep()
		}
		if why, status := f.refuses(r); status != 0 {
			http.Error(w, why, status)
			return
		}
		converting.ServeHTTP(w, r)
	})
}

// work takes a while after the request was read, and reports whether it is to be answered then. That a client is gone shows only when its
// request was read as a whole.
func (f *frail) work(r *http.Request) bool {
	read, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(read))
	timer := time.NewTimer(f.times.work)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		if f.bug == panicsOnReset {
			f.crash()
		}
		return false
	}
}

// refuses says why a request is not answered, after the time that this takes.
func (f *frail) refuses(r *http.Request) (why string, status int) {
	switch f.bug {
	case servesTooEarly:
		if f.again && time.Since(f.began) < f.times.warm {
			return "the cache is not filled", http.StatusServiceUnavailable
		}
	case retriesInRequest:
		for f.again && time.Since(f.began) < f.times.lease {
			if !wait(r.Context(), time.Second) {
				return "the client is gone", http.StatusServiceUnavailable
			}
		}
	case holdsConnections:
		if f.ending.Err() != nil {
			f.hold(r.Context())
			return "ending", http.StatusServiceUnavailable
		}
	case refusesOthers:
		if other := f.replicas.other(); other != "" {
			return "a replica of the build " + other + " runs", http.StatusInternalServerError
		}
	}
	return "", 0
}
