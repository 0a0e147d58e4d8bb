//go:build !linux

package load

import (
	"context"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// clock wakes the pacer.
type clock struct{}

func newClock() *clock { return &clock{} }

// wait waits for a while, or until the context ends.
func (*clock) wait(ctx context.Context, d time.Duration) { _ = pause.For(ctx, d) }

func (*clock) close() {}
