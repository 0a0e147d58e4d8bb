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
	endsAfterPause   = "ends-after-pause"
	limitsRequests   = "limits-requests"
	waitsForReaders  = "waits-for-readers"
	oneAtATime       = "one-at-a-time"
	hurriesHellos    = "hurries-hellos"
	hurriesBodies    = "hurries-bodies"
	greetsInTurn     = "greets-in-turn"
	fewConnections   = "few-connections"
	idlesBriefly     = "idles-briefly"
	numbersWrites    = "numbers-writes"
	asksLeader       = "asks-leader"
	notifiesPeers    = "notifies-peers"
	endsWithServer   = "ends-with-server"
	readsDefinition  = "reads-definition"
	scarceMemory     = "scarce-memory"
	losesSites       = "loses-sites"
)

func bugs() []program.Bug {
	return []program.Bug{
		{Name: noDrain, Summary: "drops the requests under way when it is asked to end"},
		{Name: exitsEarly, Summary: "ends at once when it is asked to, with its listener open and requests under way"},
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
		{Name: holdsConnections, Summary: "keeps connections open when it is asked to end, and answers nothing on them"},
		{Name: ignoresSignals, Summary: "does not end when it is asked to"},
		{Name: endsAfterPause, Summary: "ends when its watchdog comes round half a second late"},
		{Name: limitsRequests, Summary: "refuses requests while it is at ten others"},
		{Name: waitsForReaders, Summary: "has a few workers, and loses the one whose client is gone when it is done"},
		{Name: oneAtATime, Summary: "holds a lock from the first byte of a request to the last of its answer"},
		{Name: hurriesHellos, Summary: "gives a new connection 300 ms to shake hands and send a header"},
		{Name: hurriesBodies, Summary: "gives a request 500 ms to come in, and its answer as long to go out"},
		{Name: greetsInTurn, Summary: "accepts a connection only when the one before has shaken hands"},
		{Name: fewConnections, Summary: "accepts no more than 16 connections at once, by HTTP/1.1"},
		{Name: idlesBriefly, Summary: "closes connections that were idle for half a second, by HTTP/1.1"},
		{Name: numbersWrites, Summary: "gives serial numbers to objects that become the newer version and have none, as if that happened only when they are written"},
		{Name: asksLeader, Summary: "has the replica convert that leads, as long as its lease lasts"},
		{Name: notifiesPeers, Summary: "notifies each replica that it knows before it answers, and fails if one does not listen"},
		{Name: endsWithServer, Summary: "ends when the API server is away for a second"},
		{Name: readsDefinition, Summary: "fails requests while it reads a definition that has changed"},
		{Name: scarceMemory, Summary: "leaves a field out when the limit of its memory is low"},
		{Name: losesSites, Summary: "leaves a field out at the newer version, whatever happens"},
	}
}

// times are how long bugs take, which tests shorten.
type times struct {
	work    time.Duration // of a request, so that some are under way when it ends
	lease   time.Duration // that a former process seems to hold
	warm    time.Duration // until it can convert
	holding time.Duration // that connections are held
	late    time.Duration // that a watchdog may be
	task    time.Duration // of a worker, and of a request when their number is limited
	hello   time.Duration // that a new connection has
	body    time.Duration // that a request has, and its answer
	idle    time.Duration // that a connection is kept
	term    time.Duration // of a replica that leads, or is known, and does not say so again
	away    time.Duration // that the API server may be
	reading time.Duration // of a definition
}

func delays() times {
	return times{
		work: 30 * time.Millisecond, lease: 40 * time.Second, warm: 3 * time.Second, holding: 20 * time.Second,
		late: 500 * time.Millisecond, task: 3 * time.Millisecond, hello: 300 * time.Millisecond, body: 500 * time.Millisecond,
		idle: 500 * time.Millisecond, term: 10 * time.Second, away: time.Second, reading: 500 * time.Millisecond,
	}
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
	converting := program.Handler(f.converter())
	switch f.bug {
	case limitsRequests:
		return f.limited(converting)
	case waitsForReaders:
		return f.pooled(converting)
	case oneAtATime:
		return inTurn(converting)
	case asksLeader:
		return f.led(converting)
	case notifiesPeers:
		return f.notifying(converting)
	}
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

// converter converts the objects of a request, with a bug.
func (f *frail) converter() program.Converter {
	switch f.bug {
	case numbersInMemory:
		numbers := &numbering{seen: map[string]int{}}
		return func(request program.Review) ([]json.RawMessage, error) { return convertAll(request, numbers.rank) }
	case numbersWrites:
		return new(serials).convertAll
	case scarceMemory:
		return convertSparingly
	case losesSites:
		return func(request program.Review) ([]json.RawMessage, error) {
			converted, err := convertAll(request, nil)
			if err != nil || request.Desired != newer {
				return converted, err
			}
			return withoutSite(converted)
		}
	}
	return func(request program.Review) ([]json.RawMessage, error) { return convertAll(request, nil) }
}

// work takes a while after the request was read, and reports whether it is to be answered then. That a client is gone shows only when its
// request was read as a whole.
func (f *frail) work(r *http.Request) bool {
	if !readWhole(r) {
		return false
	}
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

// readWhole reads the body of a request, for the handler to read it again.
func readWhole(r *http.Request) bool {
	whole, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(whole))
	return err == nil
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
	case readsDefinition:
		if f.reading.Load() {
			return "reading the definition", http.StatusServiceUnavailable
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
