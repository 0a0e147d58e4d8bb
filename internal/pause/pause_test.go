package pause

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestFor wants a pause to be cut short with the cause, and to end without an error otherwise.
func TestFor(t *testing.T) {
	t.Parallel()
	if err := For(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := For(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
