package reporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
)

func TestCSV(t *testing.T) {
	s := loadgen.Stage{Series: []loadgen.Second{{End: 1, Requests: 3, Objects: 30, Failed: 1, P50: 1.5, P90: 2, P99: 3, Max: 3.25}, {End: 2}}}
	want := "end s,requests,objects,failed,p50 ms,p90 ms,p99 ms,max ms\n1,3,30,1,1.5,2,3,3.25\n2,0,0,0,,,,\n"
	if got := string(written(t, s, stageCSV)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSecondsOfAChart has a long series be merged, and a last second that was cut short be left out.
func TestSecondsOfAChart(t *testing.T) {
	long := loadgen.Stage{Series: series(1000, 20, 10, 1)}
	seconds, each := drawn(long)
	if each != 4 || len(seconds) != 250 {
		t.Fatalf("%d seconds become %d of %d", len(long.Series), len(seconds), each)
	}
	slow := long.Series[500]
	if got := seconds[125]; got.End != 504 || got.Requests != 80 || got.Objects != 800 || got.P50 != slow.P50 || got.P90 != slow.P90 || got.P99 != slow.P99 || got.Max != slow.Max {
		t.Errorf("the slowest is %+v, want it to have the times of %+v", got, slow)
	}
	if long.Series[0].Requests != 20 {
		t.Error("the series has changed")
	}
	for name, test := range map[string]struct {
		series []loadgen.Second
		want   int
	}{
		"none": {nil, 0}, "one": {[]loadgen.Second{{End: 1}}, 1}, "a whole one": {[]loadgen.Second{{End: 1}, {End: 2}}, 2}, "half of one": {[]loadgen.Second{{End: 1}, {End: 1.5}}, 2},
		"less": {[]loadgen.Second{{End: 1}, {End: 1.4}}, 1}, "as many as there is room for": {series(300, 1, 1, 1), 300}, "one more": {series(301, 1, 1, 1), 151},
	} {
		if got, _ := drawn((loadgen.Stage{Series: test.series})); len(got) != test.want {
			t.Errorf("%s: %d seconds, want %d", name, len(got), test.want)
		}
	}
}

// TestCharts has every chart be drawn that there are figures for, and no other, however odd the figures.
func TestCharts(t *testing.T) {
	for name, test := range map[string]struct {
		series []loadgen.Second
		want   bool
	}{
		"none": {nil, false}, "one second": {series(1, 20, 1, 1), false}, "two": {series(2, 20, 1, 1), true},
		"silence": {[]loadgen.Second{{End: 1}, {End: 2}, {End: 3}}, true}, "times of 0": {[]loadgen.Second{{End: 1, Requests: 1}, {End: 2, Requests: 1}}, true},
		"the same second twice": {[]loadgen.Second{{End: 1, Requests: 1}, {End: 1, Requests: 1}, {End: 2, Requests: 1}}, true}, "failures": {series(3, 20, 1, 1), true},
	} {
		s := loadgen.Stage{Series: test.series}
		if name == "failures" {
			s.Failed, s.Series[1].Failed = 5, 5
		}
		chart := overTime(s)
		if (chart != "") != test.want {
			t.Errorf("%s: drawn is %q", name, chart)
		}
		if strings.Contains(string(chart), "NaN") || strings.Contains(string(chart), "Inf") {
			t.Errorf("%s: got %s", name, chart)
		}
		if got := strings.Contains(string(chart), ">failed<"); got != (name == "failures") {
			t.Errorf("%s: there is a line of failures: %t", name, got)
		}
	}
}

// TestFirstSecond has lines begin with the first second, and pass over one without responses.
func TestFirstSecond(t *testing.T) {
	seconds := []loadgen.Second{{End: 1, Requests: 4, P50: 7}, {End: 2}, {End: 2.5, Requests: 4, P50: 9}}
	got := levels(seconds, func(s loadgen.Second, lasted float64) (float64, bool) {
		return s.P50 + float64(s.Requests)/lasted, s.Requests > 0
	})
	if want := ([]point{{0, 11}, {1, 11}, {2, 17}, {2.5, 17}}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBatches(t *testing.T) {
	r := wide(t)
	var got []string
	for _, b := range byBatch(r.Load) {
		var sizes []int
		for _, g := range b.groups {
			sizes = append(sizes, g.Runs[0].Batch)
		}
		got = append(got, fmt.Sprintf("%s: %v", b.name, sizes))
	}
	want := []string{"20/s, 256 bytes: [1 10 100 500 1500]", "20/s, 1,024 bytes: [1 10 100 500 1500]", "20/s, 4,096 bytes: [1 10 100 500 1500]", "20/s, 16,384 bytes: [1 10 100 500 1500]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	chart := overBatches(r.Load)
	for _, want := range []string{">p50, 20/s, 256 bytes<", ">p99, 20/s, 4,096 bytes<", ">1500<"} {
		if !strings.Contains(string(chart), want) {
			t.Errorf("there is no %s in the chart", want)
		}
	}
	for name, l := range map[string]*loadgen.Load{
		"one size":   {Stages: []loadgen.Stage{{Batch: 1}, {Batch: 1}}},
		"no size":    {Stages: []loadgen.Stage{{Batch: 0}, {Batch: 1}}},
		"two rates":  {Stages: []loadgen.Stage{{Batch: 1, Rate: 1}, {Batch: 10, Rate: 2}}},
		"no stage":   {},
		"two, bytes": {Stages: []loadgen.Stage{{Batch: 1, Bytes: 10}, {Batch: 10}}},
	} {
		if drawn := overBatches(l); drawn != "" {
			t.Errorf("%s: drawn is %q", name, drawn)
		}
	}
	clients := &loadgen.Load{Stages: []loadgen.Stage{{Batch: 10, Clients: 1}, {Batch: 1, Clients: 1}}}
	chart = overBatches(clients)
	if !strings.Contains(string(chart), ">p99, 1 client<") || strings.Contains(string(chart), "NaN") {
		t.Errorf("times of 0: got %q", chart)
	}
}

func TestPowerTicks(t *testing.T) {
	for want, limits := range map[string][2]float64{"0.2, 0.5, 1, 2, 5, 10": {0.15, 12}, "0.01, 0.1, 1, 10, 100": {0.01, 150}, "1, 2": {1, 2}, "": {3, 4}} {
		if got := labels(powerTicks(limits[0], limits[1])); got != want {
			t.Errorf("%v: got %s, want %s", limits, got, want)
		}
	}
}
