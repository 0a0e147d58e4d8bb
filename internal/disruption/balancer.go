package disruption

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
)

// balancer leads connections to the replicas of a webhook in turn, as a service of a cluster does: a connection to a replica that does
// not listen is reset, and a connection that is open stays where it is until one end closes it.
type balancer struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	backends []string // addresses
	next     int
	open     map[*passage]struct{}
	closed   bool
}

// passage is a connection through a balancer.
type passage struct {
	client, server net.Conn

	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool // nothing passes any more
}

// newBalancer starts a balancer on loopback.
func newBalancer(ctx context.Context, backends ...string) (*balancer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener, backends: backends, open: map[*passage]struct{}{}}
	b.serving.Go(func() { b.accept(context.WithoutCancel(ctx)) })
	return b, nil
}

func (b *balancer) address() string { return b.listener.Addr().String() }

func (b *balancer) accept(ctx context.Context) {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.serving.Go(func() { b.pass(ctx, client) })
	}
}

// choose returns where the next connection goes.
func (b *balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.backends) == 0 {
		return ""
	}
	b.next++
	return b.backends[b.next%len(b.backends)]
}

// pass copies both ways until one end is closed.
func (b *balancer) pass(ctx context.Context, client net.Conn) {
	server, err := new(net.Dialer).DialContext(ctx, "tcp", b.choose())
	if err != nil {
		reset(client)
		return
	}
	p := &passage{client: client, server: server}
	p.thawed = sync.NewCond(&p.mu)
	if !b.add(p) {
		p.cut()
		return
	}
	var copying sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			_, err := io.Copy(gate{p, way[1]}, way[0])
			p.await()
			if err != nil {
				p.cut()
				return
			}
			client.Close() // a peer that closes one end of a connection to a webhook has finished
			server.Close()
		})
	}
	copying.Wait()
	b.mu.Lock()
	delete(b.open, p)
	b.mu.Unlock()
}

func (b *balancer) add(p *passage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.open[p] = struct{}{}
	}
	return !b.closed
}

// set replaces the replicas that new connections go to.
func (b *balancer) set(backends ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.Clone(backends)
}

// passages are the connections that are open.
func (b *balancer) passages() []*passage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*passage
	for p := range b.open {
		all = append(all, p)
	}
	return all
}

// cut resets all connections that are open.
func (b *balancer) cut() {
	for _, p := range b.passages() {
		p.cut()
	}
}

// freeze has nothing pass any more through the connections that are open, without a word to either end.
func (b *balancer) freeze() {
	for _, p := range b.passages() {
		p.mu.Lock()
		p.frozen = true
		p.mu.Unlock()
	}
}

// close stops the balancer and resets its connections.
func (b *balancer) close() error {
	err := b.listener.Close()
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cut()
	b.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// cut resets both ends of a connection.
func (p *passage) cut() {
	reset(p.client)
	reset(p.server)
	p.mu.Lock()
	p.frozen = false
	p.mu.Unlock()
	p.thawed.Broadcast()
}

// await waits while nothing may pass.
func (p *passage) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen {
		p.thawed.Wait()
	}
}

// gate lets bytes through unless the connection is frozen.
type gate struct {
	of *passage
	to net.Conn
}

// Write passes bytes on once the connection is not frozen.
func (g gate) Write(data []byte) (int, error) {
	g.of.await()
	return g.to.Write(data)
}

// reset closes a connection without saying goodbye.
func reset(c net.Conn) {
	if t, is := c.(*net.TCPConn); is {
		t.SetLinger(0) //nolint:errcheck // it fails for those that are closed
	}
	c.Close() // which is the point
}
