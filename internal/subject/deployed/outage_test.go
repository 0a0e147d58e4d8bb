package deployed

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// TestOutage distinguishes failures at all times, and has only those that were under way forgiven.
func TestOutage(t *testing.T) {
	t.Parallel()
	deleted := time.Now()
	gone := deleted.Add(time.Second)
	at := func(began, ended time.Duration, err error) call {
		return call{deleted.Add(began), deleted.Add(ended), err}
	}
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		calls   []call
		counts  [3]int
		problem string
	}{
		"none failed":        {[]call{at(-2, -1, nil), at(-1, 1, nil), at(time.Minute, time.Hour, nil)}, [3]int{}, ""},
		"under way":          {[]call{at(-1, 1, refused), at(-1, 0, refused)}, [3]int{2, 0, 0}, ""},
		"while it stopped":   {[]call{at(0, 1, refused), at(time.Second-1, time.Minute, refused)}, [3]int{0, 2, 0}, "2 of 2 conversions that were not in progress when the pod webhook-1 was deleted failed, from 0s to 1m0s"},
		"after it was gone":  {[]call{at(time.Second, time.Minute, refused)}, [3]int{0, 0, 1}, "from 1s to 1m0s after that; the first: connection refused"},
		"before the killing": {[]call{at(-time.Minute, -time.Second, refused)}, [3]int{0, 0, 1}, "from -1m0s to -1s after that"},
	} {
		o := Outage{Pod: "webhook-1"}.with(test.calls, deleted, gone)
		if got := [3]int{len(o.InFlight), len(o.Stopping), len(o.Others)}; got != test.counts || o.Conversions != len(test.calls) {
			t.Errorf("%s: %s, want %v", name, o, test.counts)
		}
		switch err := o.Problem(); {
		case test.problem == "" && err != nil, test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem) || !errors.Is(err, refused)):
			t.Errorf("%s: got %v, want %q", name, err, test.problem)
		}
	}
}

func TestLoadWhileSomethingHappens(t *testing.T) {
	t.Parallel()
	var now, most, count, refused atomic.Int32
	var broken atomic.Bool
	k := Kills{Clients: 3, Convert: func(ctx context.Context) error {
		count.Add(1)
		for n, m := now.Add(1), most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer now.Add(-1)
		if broken.Load() {
			refused.Add(1)
			return errors.New("broken")
		}
		return pause.For(ctx, time.Millisecond)
	}}
	calls, err := k.load(t.Context(), func(ctx context.Context) error {
		var err error
		for err == nil && most.Load() < 3 {
			err = pause.For(ctx, time.Millisecond)
		}
		broken.Store(true)
		for err == nil && refused.Load() == 0 {
			err = pause.For(ctx, time.Millisecond)
		}
		return err
	})
	if err != nil || most.Load() != 3 || len(calls) != int(count.Load()) || now.Load() != 0 {
		t.Errorf("%d calls of %d, %d at a time, %v", len(calls), count.Load(), most.Load(), err)
	}
	failed := 0
	for _, c := range calls {
		if c.ended.Before(c.began) {
			t.Errorf("a call from %s to %s", c.began, c.ended)
		}
		if c.err != nil {
			failed++
		}
	}
	if failed == 0 || failed == len(calls) {
		t.Errorf("%d of %d failed", failed, len(calls))
	}
	enough := errors.New("enough")
	if _, err := k.load(t.Context(), func(context.Context) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestKillingTheOnlyPod(t *testing.T) {
	t.Parallel()
	w := &Webhook{Replicas: 1}
	if _, err := w.KillUnderLoad(t.Context(), Kills{Convert: func(context.Context) error { return nil }}); err == nil || !strings.Contains(err.Error(), "at least two are required") {
		t.Errorf("got %v", err)
	}
}
