package load_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// TestPause wants a pause to be cut short with the cause, and to end without an error otherwise.
func TestPause(t *testing.T) {
	t.Parallel()
	if err := pause.For(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := pause.For(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
