//go:build linux

package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/load"
	claims "github.com/crdconform/crdconform/internal/test/figures"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// What the workers of the benchmark measured.
const (
	manyWorkers   = 200
	manySeconds   = 60
	manyEach      = 500 // requests of a worker in a second
	manyDifferent = 20  // seconds that differ
)

// BenchmarkLoadCoordinator measures what a coordinator takes that has many workers. They exist in the benchmark only, and say what
// workers say, written in advance, so that the time is the coordinator's.
func BenchmarkLoadCoordinator(b *testing.B) {
	claims.Measure(b, "coordinator", measureCoordinator)
}

func measureCoordinator(b *testing.B) []claims.Claim {
	b.Helper()
	said, want := measuredByMany(b)
	var all crowd
	for index := range manyWorkers {
		all = append(all, said.of(b, index))
	}
	w := load.Workload{
		Phases: load.Constant(manyWorkers*manyEach, manySeconds*time.Second), Batch: 1, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1beta1", To: "v1"}},
	}
	requests, err := load.Bodies(corpus.CronTabs("v1beta1", "v1"), w)
	if err != nil {
		b.Fatal(err)
	}
	if err = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // begins to look for the most memory anew
		b.Fatal(err)
	}
	before, seen := load.ProcessorTime(), 0
	got, err := Run(b.Context(), all, Load{Endpoint: wire.Endpoint{URL: "https://127.0.0.1:1/"}, Requests: requests, Workload: w, Workers: manyWorkers},
		load.Watch{Second: func(load.Snapshot) { seen++ }})
	busy := load.ProcessorTime() - before
	if err != nil {
		b.Fatal(err)
	}
	differing := 0
	if got.Requests != manyWorkers*manySeconds*manyEach || got.Partial || len(got.Lost) > 0 || seen != manySeconds || len(got.Seconds) != manySeconds {
		b.Fatalf("%d requests in %d seconds, of which %d were shown, and %d workers lost", got.Requests, len(got.Seconds), seen, len(got.Lost))
	}
	for _, h := range []*hdrhistogram.Histogram{got.Response, got.Service, got.Lag} {
		if !h.Equals(want) {
			differing++
		}
	}
	how := fmt.Sprintf("%d workers in the same process, whose messages were made before, each with %d s of %d requests", manyWorkers, manySeconds, manyEach)
	return []claims.Claim{
		{What: "coordinator of 200 workers: processors", Asked: 1, Measured: busy.Seconds() / manySeconds, Unit: "cores", How: how + "; the workers' share of passing lines on is in it"},
		{What: "coordinator of 200 workers: memory", Asked: 300, Measured: float64(mostMemory(b)) / (1 << 10), Unit: "MiB", How: "the most that the whole process had, messages and test program among it"},
		{What: "coordinator of 200 workers: merged histograms that differ from all times in one", Measured: float64(differing), Unit: "histograms", How: how},
	}
}

// many is what workers say, as lines.
type many struct {
	seconds [manySeconds][manyDifferent][]byte
	results [manyDifferent][]byte
}

// of returns what a worker says after its hello.
func (m *many) of(tb testing.TB, index int) lineup {
	tb.Helper()
	hello, err := json.Marshal(message{Hello: &hello{protocol, index}})
	if err != nil {
		tb.Fatal(err)
	}
	l := lineup{hello: hello, result: m.results[index%manyDifferent], orders: make(chan order, 8)}
	for n := range m.seconds {
		l.seconds = append(l.seconds, m.seconds[n][(index+n)%manyDifferent])
	}
	return l
}

// lineup is what a worker says, line by line.
type lineup struct {
	hello, result []byte
	seconds       [][]byte
	orders        chan order
}

// crowd launches workers that say what they have.
type crowd []lineup

func (c crowd) Lead() time.Duration { return time.Second }

func (c crowd) Remote() bool { return false }

func (c crowd) Start(context.Context, Task) (Workers, error) { return c, nil }

func (c crowd) Send(_ context.Context, index int, text []byte) error {
	var o order
	err := json.Unmarshal(text, &o)
	select {
	case c[index].orders <- o:
	default: // it has its order
	}
	return err
}

func (c crowd) End(context.Context) error { return nil }

func (c crowd) Follow(ctx context.Context, index int, line func([]byte)) error {
	l := c[index]
	line(l.hello)
	select {
	case o := <-l.orders:
		text, err := json.Marshal(message{Ack: &ack{o.Number, time.Now()}})
		if err != nil {
			return err
		}
		line(text)
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, text := range l.seconds {
		line(text)
	}
	line(l.result)
	return nil
}

// measuredByMany makes up what the workers measured, and returns it with all of its times in one histogram.
func measuredByMany(b *testing.B) (*many, *hdrhistogram.Histogram) {
	b.Helper()
	var different [manyDifferent]*hdrhistogram.Histogram
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for i := range different {
		different[i] = histogram.New()
		for range manyEach {
			histogram.Record(different[i], time.Duration(float64(5*time.Millisecond)*(1+r.ExpFloat64())))
		}
	}
	m, all := &many{}, histogram.New()
	line := func(said message) []byte {
		text, err := json.Marshal(said)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	for n := range manySeconds {
		for i, h := range different {
			m.seconds[n][i] = line(message{Second: &second{Number: n, Second: load.Second{
				Second: loadgen.Second{End: float64(n + 1), Requests: manyEach, Objects: manyEach}, Response: histogram.Encode(h),
			}}})
		}
	}
	for i := range different {
		s, err := load.Merge()
		if err != nil {
			b.Fatal(err)
		}
		for n := range manySeconds {
			s.Response.Merge(different[(i+n)%manyDifferent])
		}
		s.Service, s.Lag, s.Requests, s.Good = s.Response, s.Response, manySeconds*manyEach, manySeconds*manyEach
		result := resultOf(s)
		result.Seconds = manySeconds
		m.results[i] = line(message{Result: result})
	}
	for index := range manyWorkers {
		for n := range manySeconds {
			all.Merge(different[(index+n)%manyDifferent])
		}
	}
	return m, all
}

// mostMemory is the most memory that this process had, in KiB.
func mostMemory(b *testing.B) int {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, found := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(after, &kib); err != nil || !found {
		b.Fatalf("the most memory is not known: %v", err)
	}
	return kib
}
