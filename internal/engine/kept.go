package engine

import (
	"context"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/source"
)

// Kept is an API server that stays up from one run to the next.
type Kept struct {
	from    *source.Source
	cluster *embedded.Cluster // nil while there is none
}

// Keep keeps the API server that a source brings up. Only the embedded one is kept: others are brought up for each run.
func Keep(from *source.Source) *Kept { return &Kept{from: from} }

// Source returns the source for the next run; nil if there is none.
func (k *Kept) Source() *source.Source {
	if k.from == nil {
		return nil
	}
	s := *k.from
	s.Start = func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
		if k.cluster != nil {
			return outlasting{k.cluster}, nil
		}
		c, err := k.from.Start(ctx, run)
		if own, is := c.(*embedded.Cluster); is && err == nil {
			k.cluster = own
			return outlasting{own}, nil
		}
		return c, err
	}
	return &s
}

// Stop takes it down.
func (k *Kept) Stop(ctx context.Context) error {
	if k.cluster == nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return k.cluster.Stop(within)
}

// outlasting is a cluster that outlives the run, which therefore removes everything that it creates there.
type outlasting struct{ *embedded.Cluster }

var _ cluster.Shared = outlasting{}

// Domain is the usual one: nobody else uses the cluster.
func (outlasting) Domain() string { return "example.com" }

// Stop leaves it running.
func (outlasting) Stop(context.Context) error { return nil }
