package reporter

import (
	"math"
	"testing"

	"github.com/crdconform/crdconform/loadgen"
)

func TestMargin(t *testing.T) {
	for want, o := range map[string]loadgen.Objective{
		"40.0 % left":            {Limit: 50, Measured: 30},
		"0 % left":               {Limit: 50, Measured: 50},
		"20.0 % over":            {Limit: 50, Measured: 60},
		"less than 0.001 % over": {Limit: 50, Measured: 50.0001},
		"100 % over":             {Limit: 0.01, Measured: 0.02},
		"":                       {Limit: 0, Measured: 3},
		"50.0 % to spare":        {Limit: 100, Measured: 150, AtLeast: true},
		"25.0 % short":           {Limit: 100, Measured: 75, AtLeast: true},
		"100 % short":            {Limit: 100, Measured: 0, AtLeast: true},
	} {
		if got := objectiveMargin(o); got != want {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
	}
}

func TestObjectiveString(t *testing.T) {
	for want, o := range map[string]loadgen.Objective{
		"p99 60.0004 ms (limit 60 ms)":                            {Name: "p99", Measured: 60.0004, Limit: 60, Unit: "ms"},
		"x: errors 0.5 % (limit 1 %)":                             {Stage: "x", Name: "errors", Measured: 0.005, Limit: 0.01, Unit: "share"},
		"objects/s 75/s (at least 100.5/s)":                       {Name: "objects/s", Measured: 75, Limit: 100.5, Unit: "1/s", AtLeast: true},
		"p99 60 ms (limit 58 ms, the trace limit of API servers)": {Name: "p99", Measured: 60, Limit: 58, Unit: "ms", Source: "the trace limit of API servers"},
	} {
		if got := objectiveText(o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSearchString(t *testing.T) {
	for want, s := range map[string]loadgen.Search{
		"highest rate that met p99 <= 50ms: 410/s; 430/s missed it":                                       {Met: 410, Missed: 430, Probes: []loadgen.Probe{{Rate: 410, Met: true}, {Rate: 430}}},
		"highest rate that met p99 <= 50ms: 1,234.57/s; at 2,000/s the generator was too busy to measure": {Met: 1234.567, Missed: 2000, Probes: []loadgen.Probe{{Rate: 1234.567, Met: true}, {Rate: 2000, Void: true}}},
		"every rate up to the highest met p99 <= 50ms: 640/s; stopped before its end":                     {Met: 640, Partial: true, Probes: []loadgen.Probe{{Rate: 640, Met: true}}},
		"no rate met p99 <= 50ms; 20/s missed it":                                                         {Missed: 20, Probes: []loadgen.Probe{{Rate: 20}}},
		"no rate was tried": {},
	} {
		s.Goal = "p99 <= 50ms"
		if got := searchText(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCostString(t *testing.T) {
	for want, c := range map[string]loadgen.Cost{
		"0.210 ms a request + 8.40 µs an object, fit 0.998, from batches of 1, 10 and 100": {Request: 0.21, Object: 0.0084, Fit: 0.998, Batches: []int{1, 10, 100}},
		"1.00 ms a request + 10.0 µs an object + 4.00 µs a kB, fit 0.990, from batches of 1, 10 and 100, with objects of 0 and 5000 bytes": {
			Request: 1, Object: 0.01, Kilobyte: 0.004, Fit: 0.99, Batches: []int{1, 10, 100}, Bytes: []int{0, 5000},
		},
		"12.3 ms a request + -1.00 µs an object, fit 0.000": {Request: 12.34, Object: -0.001, Fit: 0, Batches: nil},
	} {
		if got := costText(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.001: "0.001", 0.2134: "0.213", 1: "1.00", 2.345: "2.35", 12.34: "12.3", 123.4: "123", 1234.5: "1,234", 999.9: "1,000", 1234567: "1,234,567",
		-0.5: "-0.500", -1234: "-1,234", -123: "-123",
	} {
		if got := figure(v); got != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{20: "20", 0.5: "0.5", 1234.567: "1,234.57", 0: "0"} {
		if got := given(v); got != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		median float64
		text   string
	}{
		{[]float64{3}, 3, ""}, {[]float64{3, 1, 2}, 2, "1.00 to 3.00"}, {[]float64{4, 1, 3, 2}, 2.5, "1.00 to 4.00"}, {[]float64{100.1, 100.2}, 100.15, ""},
	} {
		if s := spreadOf(test.values); math.Abs(s.Median-test.median) > 1e-9 || s.Range() != test.text {
			t.Errorf("%v: got %g, %q", test.values, s.Median, s.Range())
		}
	}
}

func TestWatched(t *testing.T) {
	s := loadgen.Stage{Seconds: 10, Requests: 1000, Late: 3, LateAfter: 10, Generator: loadgen.Generator{ProcessorSeconds: 8, Cores: 2, Collections: 1, Paused: 0.05, Waited: 0.32}}
	want := "the generator used 0.800 of 2 cores, waited 0.320 ms for a processor at the 99th percentile, and was paused at most 50.0 µs for garbage collection (1 collection); it sent 3 of 1000 requests more than 10 ms late"
	if got := stageWatched(s); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	s.Generator, s.Unsent = loadgen.Generator{Cores: 1}, map[string]uint64{"too many open files": 7}
	want = "the generator used an unknown share of 1 core, waited 0 µs for a processor at the 99th percentile, and was paused at most 0 µs for garbage collection (0 collections); it sent 3 of 1000 requests more than 10 ms late; 7 more not at all (too many open files)"
	if got := stageWatched(s); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
