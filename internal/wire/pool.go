package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"slices"
	"sync"
)

// pool has the connections of a direct transport. As in net/http, a request that finds no idle one opens one, and takes the first that
// there is then: that one, or another that has become idle. The last one used is used first.
type pool struct {
	dial func(ctx context.Context, under func(net.Conn) net.Conn) (*tls.Conn, error)

	mu      sync.Mutex
	idle    []*link
	waiting []chan arrival // of requests, each with room for one, the oldest first
	dialing []*dialing
}

// arrival is a connection, or why there is none.
type arrival struct {
	link *link
	err  error
}

// dialing is a connection that is being opened.
type dialing struct{ cancel context.CancelFunc }

// get returns a connection that the webhook may have closed, see link.ask.
func (p *pool) get(ctx context.Context) (*link, error) {
	for {
		l, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		if l.begin(ctx) == nil {
			return l, nil
		}
		l.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// next returns an idle connection, or the next one that there is.
func (p *pool) next(ctx context.Context) (*link, error) {
	l, coming := p.take()
	if l != nil {
		return l, nil
	}
	p.start(ctx)
	select {
	case a := <-coming:
		return a.link, a.err
	case <-ctx.Done():
		p.leave(coming)
		return nil, ctx.Err()
	}
}

// take takes an idle connection, or a place among those who wait for one.
func (p *pool) take() (*link, chan arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		l := p.idle[last]
		p.idle = p.idle[:last]
		return l, nil
	}
	coming := make(chan arrival, 1)
	p.waiting = append(p.waiting, coming)
	return nil, coming
}

// leave gives up waiting. A connection that came meanwhile is there for others.
func (p *pool) leave(coming chan arrival) {
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(other chan arrival) bool { return other == coming })
	p.mu.Unlock()
	select {
	case a := <-coming:
		if a.link != nil {
			p.put(a.link)
		}
	default:
	}
}

// put has a connection be used by the request that has waited longest, or be idle.
func (p *pool) put(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.deliver(arrival{link: l}) {
		l.old = true
		p.idle = append(p.idle, l)
	}
}

// deliver passes something to the request that has waited longest, and reports whether there is one. The caller holds the lock.
func (p *pool) deliver(a arrival) bool {
	if len(p.waiting) == 0 {
		return false
	}
	p.waiting[0] <- a
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return true
}

// start begins to open a connection. It goes on when the context ends, since other requests can use it. The channel is closed when it is
// open, or could not be opened.
func (p *pool) start(ctx context.Context) (ended <-chan struct{}) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d, done := &dialing{cancel}, make(chan struct{})
	p.mu.Lock()
	p.dialing = append(p.dialing, d)
	p.mu.Unlock()
	go func() {
		defer close(done)
		defer cancel()
		l, err := p.connect(within)
		p.mu.Lock()
		p.dialing = slices.DeleteFunc(p.dialing, func(other *dialing) bool { return other == d })
		p.mu.Unlock()
		if err == nil {
			p.put(l)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.deliver(arrival{err: err}) // if nobody waits, it is of no use
	}()
	return done
}

// connect opens a connection.
func (p *pool) connect(ctx context.Context) (*link, error) {
	var plain *socket
	secured, err := p.dial(ctx, func(conn net.Conn) net.Conn {
		plain = newSocket(conn)
		return plain
	})
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secured.ConnectionState(), nil)
	}
	return newLink(secured, plain), nil
}

// open opens connections, and returns when each is open or could not be, or the context ends.
func (p *pool) open(ctx context.Context, connections int) {
	all := make([]<-chan struct{}, connections)
	for i := range all {
		all[i] = p.start(ctx)
	}
	for _, ended := range all {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// close closes the idle connections, and opens none any more that no request waits for.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	for _, d := range p.dialing[min(len(p.waiting), len(p.dialing)):] {
		d.cancel()
	}
	p.mu.Unlock()
	for _, l := range idle {
		l.close()
	}
}
