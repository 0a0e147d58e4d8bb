//go:build !linux

package load

import (
	"context"
	"time"
)

// clock wakes the pacer.
type clock struct{}

func newClock() *clock { return &clock{} }

// wait waits for a while, or until the context ends.
func (*clock) wait(ctx context.Context, d time.Duration) { wait(ctx, d) }

func (*clock) close() {}
