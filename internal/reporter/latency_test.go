package reporter

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// recorded is a histogram of times.
func recorded(t *testing.T, microseconds ...int64) *hdrhistogram.Histogram {
	t.Helper()
	h := hdrhistogram.New(1, 3_600_000_000, 3)
	for _, v := range microseconds {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func newTimes(t *testing.T, h *hdrhistogram.Histogram) loadgen.Times {
	t.Helper()
	times := histogram.Times(h)
	return times
}

func noTimes(t *testing.T) loadgen.Times {
	t.Helper()
	return newTimes(t, recorded(t))
}

func TestTimes(t *testing.T) {
	upTo := func(n int64) []int64 {
		var all []int64
		for v := int64(1); v <= n; v++ {
			all = append(all, v)
		}
		return all
	}
	for name, test := range map[string]struct {
		microseconds []int64
		want         loadgen.Times
	}{
		"none":        {nil, loadgen.Times{}},
		"one":         {[]int64{1500}, loadgen.Times{Min: 1.5, Mean: 1.5, P50: 1.5, P90: 1.5, P95: 1.5, P99: 1.5, P999: 1.5, P9999: 1.5, Max: 1.5}},
		"two":         {[]int64{100, 201}, loadgen.Times{Min: 0.1, Mean: 0.15, P50: 0.1, P90: 0.201, P95: 0.201, P99: 0.201, P999: 0.201, P9999: 0.201, Max: 0.201}},
		"one to 1000": {upTo(1000), loadgen.Times{Min: 0.001, Mean: 0.5, P50: 0.5, P90: 0.9, P95: 0.95, P99: 0.99, P999: 0.999, P9999: 1, Max: 1}},
	} {
		h := recorded(t, test.microseconds...)
		got := newTimes(t, h)
		decoded, err := histogram.Decode(got.Histogram)
		if err != nil || !decoded.Equals(h) {
			t.Errorf("%s: got back %v, %v", name, decoded, err)
		}
		got.Histogram = ""
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// TestEncodedTimes has the histograms of the golden files be what the sample says.
func TestEncodedTimes(t *testing.T) {
	for name, fastest := range map[string]int64{"response": 1250, "service": 1000, "lag": 20} {
		decoded, err := histogram.Decode(times(t, name, sampleHistogram(fastest)).Histogram)
		if err != nil || !decoded.Equals(sampleHistogram(fastest)) {
			t.Errorf("%s: got back %v, %v", name, decoded, err)
		}
	}
}

func TestTimesThatMakeNoSense(t *testing.T) {
	good, err := base64.StdEncoding.DecodeString(newTimes(t, sampleHistogram(1000)).Histogram)
	if err != nil {
		t.Fatal(err)
	}
	garbage := map[string]string{
		"nothing":    "",
		"not base64": "HISTFAAA!",
		"a sentence": base64.StdEncoding.EncodeToString([]byte("This is not a histogram at all.")),
		"a byte":     base64.StdEncoding.EncodeToString([]byte{0x1c}),
	}
	for n := range good {
		garbage[fmt.Sprintf("the first %d bytes", n)] = base64.StdEncoding.EncodeToString(good[:n])
		broken := bytes.Clone(good)
		broken[n] ^= 0x55
		garbage[fmt.Sprintf("byte %d is wrong", n)] = base64.StdEncoding.EncodeToString(broken)
	}
	for name, encoded := range garbage {
		r := reports.Report{Load: one(loadgen.Stage{Response: loadgen.Times{Histogram: encoded}, Service: noTimes(t)})}
		for what, form := range map[string]error{"page": HTML(&r, &bytes.Buffer{}), "hgrm": hgrm(r.Load.Stages[0].Response, &bytes.Buffer{})} {
			if form == nil || !strings.Contains(form.Error(), "decoding a histogram") {
				t.Errorf("%s, %s: got %v, want an error", name, what, form)
			}
		}
	}
}

func TestHGRM(t *testing.T) {
	for name, h := range map[string]*hdrhistogram.Histogram{"none": recorded(t), "one": recorded(t, 1500), "sample": sampleHistogram(1250)} {
		text, total := string(written(t, newTimes(t, h), hgrm)), strconv.FormatInt(h.TotalCount(), 10)
		if found := regexp.MustCompile(`Total count += +(\d+)\]`).FindStringSubmatch(text); found == nil || found[1] != total {
			t.Errorf("%s: got the total %v, want %s", name, found, total)
		}
		if found := regexp.MustCompile(`Max += +(\S+),`).FindStringSubmatch(text); found == nil || found[1] != fmt.Sprintf("%.3f", histogram.Milliseconds(h.Max())) {
			t.Errorf("%s: got the maximum %v, want %.3f", name, found, histogram.Milliseconds(h.Max()))
		}
		rows := regexp.MustCompile(`(?m)^ +([\d.]+) +([\d.]+) +(\d+) +([\d.]+|inf)$`).FindAllStringSubmatch(text, -1)
		if h.TotalCount() > 0 && (len(rows) == 0 || rows[len(rows)-1][2] != "1.000000" || rows[len(rows)-1][3] != total) {
			t.Errorf("%s: the last of %d rows is not of all requests:\n%s", name, len(rows), text)
		}
		if strings.Contains(text, "NaN") {
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}

func TestCurve(t *testing.T) {
	for name, h := range map[string]*hdrhistogram.Histogram{
		"one": recorded(t, 1500), "two": recorded(t, 100, 200), "same": recorded(t, 7, 7, 7, 7), "sample": sampleHistogram(1250),
	} {
		points := steps(h)
		for i, p := range points {
			if math.IsNaN(p.X) || math.IsInf(p.X, 0) || i > 0 && (p.X < points[i-1].X || p.Y < points[i-1].Y) {
				t.Errorf("%s: %v follows %v", name, p, points[max(i, 1)-1])
			}
		}
		last := points[len(points)-1]
		if want := math.Log10(float64(max(h.TotalCount(), 2))); last.X != want || last.Y != histogram.Milliseconds(h.Max()) {
			t.Errorf("%s: the last point is %v, want %v", name, last, []float64{want, histogram.Milliseconds(h.Max())})
		}
		if points[0].X != 0 && h.TotalCount() > 1 {
			t.Errorf("%s: the first point is %v", name, points[0])
		}
	}
	if points := steps(recorded(t)); len(points) != 0 {
		t.Errorf("nothing has the points %v", points)
	}
}

func labels(ticks []tick) string {
	var all []string
	for _, tick := range ticks {
		all = append(all, tick.Label)
	}
	return strings.Join(all, ", ")
}

func TestTicks(t *testing.T) {
	for to, want := range map[float64]string{1: "0 %, 90 %", 2.5: "0 %, 90 %, 99 %", 5: "0 %, 90 %, 99 %, 99.9 %, 99.99 %, 99.999 %"} {
		if got := labels(percentileTicks(0, to)); got != want {
			t.Errorf("percentiles to %g: %s, want %s", to, got, want)
		}
	}
	for to, want := range map[float64]string{
		0.04: "0, 0.01, 0.02, 0.03, 0.04", 1: "0, 0.2, 0.4, 0.6, 0.8, 1", 2.9: "0, 0.5, 1, 1.5, 2, 2.5", 6: "0, 1, 2, 3, 4, 5, 6",
		9: "0, 2, 4, 6, 8", 25.7: "0, 5, 10, 15, 20, 25", 33000: "0, 10000, 20000, 30000",
	} {
		if got := labels(roundTicks(0, to)); got != want {
			t.Errorf("milliseconds to %g: %s, want %s", to, got, want)
		}
	}
}

func TestRows(t *testing.T) {
	l := loadgen.Stage{Response: loadgen.Times{P50: 1}, Service: loadgen.Times{P50: 2}, Lag: loadgen.Times{P50: 3}}
	var got []float64
	for _, row := range timeRows(l) {
		got = append(got, row.P50)
	}
	if !slices.Equal(got, []float64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}
