package load

import (
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// TestPartsMakeTheWhole has generators share any workload: each request is sent by exactly one, when it is due in the whole.
func TestPartsMakeTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := workload()
		w.InFlight = rapid.IntRange(1, 20).Draw(t, "in flight")
		w.Phases = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) loadgen.Phase {
			return loadgen.Phase{
				Seconds: time.Duration(rapid.Int64Range(1e6, 5e9).Draw(t, "duration")).Seconds(),
				Rate:    rapid.Float64Range(0, 100).Draw(t, "rate"),
				To:      rapid.Float64Range(1, 100).Draw(t, "to"),
			}
		}), 1, 3).Draw(t, "phases")
		if w.Validate() != nil {
			t.Skip("it makes no request")
		}
		of := rapid.IntRange(1, w.Shares()).Draw(t, "of")
		began := time.Now()
		whole := &run{workload: w, schedule: w.schedule(), began: began}
		sent := map[uint64]int{}
		inFlight, shares := 0, 0.0
		for index := range of {
			part := Split(w, index, of)
			if err := part.Validate(); err != nil {
				t.Fatal(err)
			}
			if part.Total() == 0 || part.inFlight() == 0 {
				t.Fatalf("%s has nothing to do", part.Part)
			}
			r := &run{workload: part, schedule: part.schedule(), began: began}
			for n := range part.Total() {
				number := part.Part.number(n)
				sent[number]++
				if got, want := r.due(n), whole.due(number); !got.Equal(want) {
					t.Fatalf("%s: request %d is due at %s, want %s", part.Part, number, got, want)
				}
			}
			inFlight += part.inFlight()
			shares += part.Share()
		}
		for n := range w.Total() {
			if sent[n] != 1 {
				t.Fatalf("request %d is sent %d times", n, sent[n])
			}
		}
		if uint64(len(sent)) != w.Total() || inFlight != w.InFlight || shares < 0.999999 || shares > 1.000001 {
			t.Fatalf("%d requests of %d, %d in flight of %d, shares of %g in all", len(sent), w.Total(), inFlight, w.InFlight, shares)
		}
	})
}

func TestClientsAreDivided(t *testing.T) {
	t.Parallel()
	w := workload()
	w.Phases, w.Clients, w.Duration, w.Requests = nil, 10, time.Second, 103
	for index, want := range []struct {
		clients  int
		requests uint64
	}{{3, 30}, {3, 31}, {2, 21}, {2, 21}} {
		part := Split(w, index, 4)
		if part.inFlight() != want.clients || part.Total() != want.requests || part.Share() != float64(want.clients)/10 || part.Validate() != nil {
			t.Errorf("part %d has %d clients with %d requests, %v", index, part.inFlight(), part.Total(), part.Validate())
		}
	}
	endless := w
	endless.Requests = 0
	if got := Split(endless, 3, 4).Total(); got != endless.Total() {
		t.Errorf("of requests without an end, one part has %d", got)
	}
	if got := w.Shares(); got != 10 {
		t.Errorf("10 clients can be shared by %d", got)
	}
}

// TestClientsTakeTheirRequestsAlong has the clients of all parts have as many requests to make as they would in the whole: each
// part has one to begin with, and no more than one is rounded.
func TestClientsTakeTheirRequestsAlong(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := workload()
		w.Phases, w.Duration = nil, time.Second
		w.Clients = rapid.IntRange(1, profiles.MaxClients).Draw(t, "clients")
		w.Requests = rapid.OneOf(rapid.Uint64Range(1, 100_000), rapid.Uint64Range(1, math.MaxInt64)).Draw(t, "requests")
		of := rapid.IntRange(1, min(w.Shares(), 200)).Draw(t, "of")
		sum := uint64(0)
		for index := range of {
			part := Split(w, index, of)
			if err := part.Validate(); err != nil {
				t.Fatal(err)
			}
			got, want := part.Total(), float64(w.Requests)*part.Share()
			if got < 1 || math.Abs(float64(got)-want) > 2+float64(of)*part.Share()+want*1e-12 {
				t.Fatalf("%s has %d requests for %d clients, want about %g", part.Part, got, part.inFlight(), want)
			}
			sum += got
		}
		if sum != w.Requests {
			t.Fatalf("%d of %d requests", sum, w.Requests)
		}
	})
}

func TestPartsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		index, of int
		want      string
	}{
		"negative":        {-1, 2, "part -1 of 2: the index must be from 0 to one less"},
		"beyond":          {2, 2, "part 2 of 2"},
		"of none":         {0, -1, "part 0 of -1"},
		"second of none":  {1, 0, "part 1 of 0"},
		"too many":        {0, 101, "cannot be shared by 101 generators, only by up to 100"},
		"nothing for it":  {100, 101, "make no request at all"},
		"too many, large": {0, 1 << 40, "only by up to 100"},
	} {
		if err := Split(workload(), test.index, test.of).Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
}

// TestParts has three generators send a workload at the same time.
func TestParts(t *testing.T) {
	t.Parallel()
	var objects atomic.Int64
	uids := make(chan string, 1000)
	fault, _ := webhook.FaultNamed("wrong-uid")
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recordUID(r, uids, &objects)
		webhook.Handler(fault).ServeHTTP(w, r)
	}))
	w := workload()
	w.Phases = Constant(100, 1500*time.Millisecond)
	parts := make([]Summary, 3)
	start := time.Now().Add(50 * time.Millisecond)
	var running sync.WaitGroup
	for index := range parts {
		part := Split(w, index, len(parts))
		part.Part.Start = start
		// Each has connections of its own, which it closes in the end.
		own, err := client.With(func(*wire.Endpoint) {})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			var err error
			if parts[index], err = attack(t.Context(), own, part, Watch{}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	close(uids)
	sent := map[string]int{}
	for id := range uids {
		sent[id]++
	}
	want := map[string]int{}
	for n := range uint64(150) {
		want[uid(n)] = 1
	}
	if !maps.Equal(sent, want) || objects.Load() != 450 {
		t.Errorf("the webhook got %d objects with %v", objects.Load(), sent)
	}
	s, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 150 || s.Failed() != 150 || s.Partial || s.Workload.Part != (Part{}) || len(s.Findings) != findings {
		t.Errorf("got %+v", s)
	}
	for n, f := range s.Findings {
		if f.Request != uint64(n) {
			t.Fatalf("finding %d is of request %d", n, f.Request)
		}
	}
	// The first request of each part is due after a different time, and the common beginning is that of all.
	for index, part := range parts {
		if !part.Began.Equal(start) {
			t.Errorf("part %d began at %s, want %s", index, part.Began, start)
		}
	}
	// A request is due before it is sent.
	for percentile := range 101 {
		if response, service := s.Response.ValueAtPercentile(float64(percentile)), s.Service.ValueAtPercentile(float64(percentile)); response < service {
			t.Fatalf("p%d of the response times is %d us, and of the service times %d", percentile, response, service)
		}
	}
	inSeconds := uint64(0)
	for _, second := range s.Seconds {
		if inSeconds += second.Requests; second.Requests > 0 && second.P50 == 0 {
			t.Errorf("a second is %+v", second)
		}
	}
	if inSeconds != 150 {
		t.Errorf("%d requests in the seconds", inSeconds)
	}
}

// TestStoppedBeforeTheStart ends while it waits for the beginning.
func TestStoppedBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := Split(workload(), 1, 2)
	w.Part.Start = time.Now().Add(time.Hour)
	client := connect(t, webhook.Handler())
	s, err := attack(canceled(t), client, w, Watch{})
	if err != nil || !s.Partial || s.Requests+s.Unanswered != 0 || s.Elapsed != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestPartialReason(t *testing.T) {
	t.Parallel()
	s := Summary{Workload: workload()}
	if got := s.PartialReason(); got != "" {
		t.Errorf("nothing is lost: %s", got)
	}
	s.Lost = []Lost{{Part{1, 4, time.Time{}}, 0.25, "exit status 137"}, {Part{3, 4, time.Time{}}, 0.25, ""}}
	if got, want := s.PartialReason(), "50 % of the requests are missing from all figures: worker 2 of 4: exit status 137; worker 4 of 4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Workload.Clients, s.Lost = 3, []Lost{{Part{0, 2, time.Time{}}, 2. / 3, "killed"}}
	if got, want := s.PartialReason(), "66.7 % of the clients are missing from all figures: worker 1 of 2: killed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
