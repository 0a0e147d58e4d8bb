package proof

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock knows when the API server first answered, by the clock by which it dates managed fields.
type clock struct{ at atomic.Uint32 }

// first is in seconds since 1970.
func (c *clock) first() uint32 { return c.at.Load() }

func (c *clock) wrap(next http.RoundTripper) http.RoundTripper { return dated{c, next} }

// dated is requests by whose answers a clock is set.
type dated struct {
	clock *clock
	next  http.RoundTripper
}

// RoundTrip sends a request on.
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err != nil || d.clock.at.Load() != 0 {
		return response, err
	}
	at, wrong := http.ParseTime(response.Header.Get("Date"))
	if wrong != nil {
		at = time.Now()
	}
	d.clock.at.CompareAndSwap(0, uint32(at.Unix()))
	return response, nil
}
