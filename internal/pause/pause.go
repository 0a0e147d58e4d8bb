// Package pause waits for a time that a context may cut short.
package pause

import (
	"context"
	"time"
)

// For waits so long. It fails with the cause when the context ends before that.
func For(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
