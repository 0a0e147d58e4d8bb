package engine

import (
	"context"
	"errors"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/suites/webhook"
)

// arrival is an API server that starts while requirements are judged that need none.
type arrival struct {
	done chan struct{} // closed when the rest is set
	api  cluster.Cluster
	stop func(context.Context) error // nil if it has not started
	err  error
}

// startsMeanwhile reports whether the API server that is wanted starts while requirements are judged that need none. A program needs it to
// run, and an API server that is judged is needed for everything.
func (p *Plan) startsMeanwhile() bool {
	return !p.want.JudgesServer && !p.servedByCluster() && p.selectsChapter(webhook.Area.Name)
}

// meanwhile starts the API server, calls use without waiting for it, and stops it.
func (s *session) meanwhile(ctx context.Context, use func() error) (err error) {
	starting, cancel := context.WithCancel(ctx)
	a := &arrival{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.api, a.stop, a.err = s.launch(starting, s.want.Source)
	}()
	s.arrival = a
	defer func() {
		cancel() // nobody waits for it any more
		s.progress.Note("stopping " + s.want.Source.What)
		<-a.done
		s.arrival, s.api = nil, nil
		if a.stop != nil {
			s.sayLasting(a.api)
			err = errors.Join(err, a.stop(context.WithoutCancel(ctx)))
		}
	}()
	return use()
}

// awaits returns how specs of the webhook at a client wait for an API server; nil if none starts meanwhile, or it has already.
func (s *session) awaits(client *wire.Client) func(context.Context) (cluster.Cluster, error) {
	if s.arrival == nil || s.api != nil {
		return nil
	}
	a := s.arrival
	return func(ctx context.Context) (cluster.Cluster, error) {
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if a.err != nil {
			return nil, a.err
		}
		return a.api, s.reachFrom(ctx, a.api, client)
	}
}

// adopt takes the API server that has started meanwhile, when no spec waits for it any more.
func (s *session) adopt() {
	if s.arrival == nil {
		return
	}
	select {
	case <-s.arrival.done:
		s.api = s.arrival.api
	default: // no spec needed it
	}
}
