// Package histogram counts times in microseconds and turns them into the data of reports.
package histogram

import (
	"bytes"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/loadgen"
)

// New returns a histogram for times from a microsecond to an hour, with three significant digits.
func New() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Hour.Microseconds(), 3) }

// Record adds a time. One beyond the end of the histogram counts as its end.
func Record(h *hdrhistogram.Histogram, d time.Duration) {
	us := min(max(d.Microseconds(), 1), h.HighestTrackableValue())
	if err := h.RecordValue(us); err != nil {
		panic(fmt.Sprintf("histogram: %v", err)) // it was just clamped
	}
}

// Encode writes a histogram in HdrHistogram's compressed encoding, version 2, in base64.
func Encode(h *hdrhistogram.Histogram) string {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(fmt.Sprintf("histogram: %v", err)) // it is written to memory, in a known format
	}
	return string(text)
}

// Decode reads what Encode wrote.
func Decode(encoded string) (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode(bytes.TrimSpace([]byte(encoded)))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram: %w", err)
	}
	return h, nil
}

// Times sums up a histogram.
func Times(h *hdrhistogram.Histogram) loadgen.Times {
	at := func(percentile float64) float64 { return Milliseconds(h.ValueAtPercentile(percentile)) }
	return loadgen.Times{
		Min: Milliseconds(h.Min()), Mean: Milliseconds(int64(h.Mean())), Max: Milliseconds(h.Max()),
		P50: at(50), P90: at(90), P95: at(95), P99: at(99), P999: at(99.9), P9999: at(99.99),
		Histogram: Encode(h),
	}
}

// Milliseconds converts microseconds.
func Milliseconds(microseconds int64) float64 { return float64(microseconds) / 1000 }
