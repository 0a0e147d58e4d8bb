package deployed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// forward leads connections to a port of this machine on to the webhook.
type forward struct {
	listener net.Listener
	ctx      context.Context //nolint:containedctx // it ends with close, for connections that nobody else has a context for
	cancel   context.CancelFunc
	all      sync.WaitGroup
}

// listen opens a free port of this machine, for itself alone. It outlives the context, and ends with close.
func listen(ctx context.Context, t *tunnel) (*forward, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a port of this machine that leads to the webhook: %w", err)
	}
	f := &forward{listener: listener}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	f.all.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			f.all.Go(func() { f.lead(from, t) })
		}
	})
	return f, nil
}

func (f *forward) address() string { return f.listener.Addr().String() }

// lead leads one connection on, until either end has closed it.
func (f *forward) lead(from net.Conn, t *tunnel) {
	defer from.Close()
	to, err := t.dial(f.ctx)
	if err != nil {
		return // the tunnel keeps the error
	}
	defer to.Close()
	stop := context.AfterFunc(f.ctx, func() {
		from.Close()
		to.Close()
	})
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			io.Copy(way[0], way[1]) //nolint:errcheck // whatever ends one way ends the connection
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
}

// close ends all connections, and returns when nothing runs any more.
func (f *forward) close() error {
	f.cancel()
	err := f.listener.Close()
	f.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
