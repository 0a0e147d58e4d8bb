package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
)

// pool has the connections of a direct transport. As in net/http, a request that finds no idle one opens one, and takes the first that
// there is then: that one, or another that has become idle. The last one used is used first.
type pool struct {
	dial func(ctx context.Context, address string, under func(net.Conn) net.Conn) (*tls.Conn, error)

	mu      sync.Mutex
	idle    []*link
	waiting []waiter
	dialing []*dialing
}

// waiter is a request that waits for a connection.
type waiter struct {
	address string
	got     chan arrival // has room for one
}

// arrival is a connection, or why there is none.
type arrival struct {
	link *link
	err  error
}

// dialing is a connection that is being opened.
type dialing struct {
	address string
	cancel  context.CancelFunc
}

// addressOf returns the host and port that a URL leads to.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// get returns a connection that can be used.
func (p *pool) get(ctx context.Context, address string) (*link, error) {
	for {
		l, w := p.take(address)
		if l == nil {
			p.start(ctx, address)
			select {
			case a := <-w.got:
				if a.err != nil {
					return nil, a.err
				}
				l = a.link
			case <-ctx.Done():
				p.leave(w)
				return nil, ctx.Err()
			}
		}
		err := l.begin(ctx)
		if err == nil {
			err = l.quiet()
		}
		if err == nil {
			return l, nil
		}
		l.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if unasked := (errUnasked{}); errors.As(err, &unasked) {
			return nil, unasked
		}
	}
}

// take takes an idle connection, or the place of a request that waits for one.
func (p *pool) take(address string) (*link, waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if l := p.idle[i]; l.address == address {
			p.idle = slices.Delete(p.idle, i, i+1)
			return l, waiter{}
		}
	}
	w := waiter{address, make(chan arrival, 1)}
	p.waiting = append(p.waiting, w)
	return nil, w
}

// leave gives up waiting. A connection that came meanwhile is there for others.
func (p *pool) leave(w waiter) {
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(other waiter) bool { return other.got == w.got })
	p.mu.Unlock()
	select {
	case a := <-w.got:
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
	if !p.deliver(l.address, arrival{link: l}) {
		p.idle = append(p.idle, l)
	}
}

// deliver passes something to the request that has waited longest, and reports whether there is one. The caller holds the lock.
func (p *pool) deliver(address string, a arrival) bool {
	i := slices.IndexFunc(p.waiting, func(w waiter) bool { return w.address == address })
	if i < 0 {
		return false
	}
	p.waiting[i].got <- a
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return true
}

// start begins to open a connection. It goes on when the context ends, since other requests can use it. The channel is closed when it is
// open, or could not be opened.
func (p *pool) start(ctx context.Context, address string) (ended <-chan struct{}) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d, done := &dialing{address, cancel}, make(chan struct{})
	p.mu.Lock()
	p.dialing = append(p.dialing, d)
	p.mu.Unlock()
	go func() {
		defer close(done)
		defer cancel()
		l, err := p.connect(within, address)
		p.mu.Lock()
		p.dialing = slices.DeleteFunc(p.dialing, func(other *dialing) bool { return other == d })
		p.mu.Unlock()
		if err == nil {
			p.put(l)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.deliver(address, arrival{err: err}) // if nobody waits, it is of no use
	}()
	return done
}

// connect opens a connection.
func (p *pool) connect(ctx context.Context, address string) (*link, error) {
	var plain *socket
	secured, err := p.dial(ctx, address, func(conn net.Conn) net.Conn {
		plain = newSocket(conn)
		return plain
	})
	if err != nil {
		return nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secured.ConnectionState(), nil)
	}
	return newLink(address, secured, plain), nil
}

// open opens connections, and returns when each is open or could not be, or the context ends.
func (p *pool) open(ctx context.Context, address string, connections int) {
	var all []<-chan struct{}
	for range connections {
		all = append(all, p.start(ctx, address))
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
	needed := map[string]int{}
	for _, w := range p.waiting {
		needed[w.address]++
	}
	for _, d := range p.dialing {
		if needed[d.address]--; needed[d.address] < 0 {
			d.cancel()
		}
	}
	p.mu.Unlock()
	for _, l := range idle {
		l.close()
	}
}
