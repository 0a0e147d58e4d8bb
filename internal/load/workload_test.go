package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// TestDue compares with the integral of the rate, request by request.
func TestDue(t *testing.T) {
	t.Parallel()
	for name, phases := range map[string][]loadgen.Phase{
		"constant":       Constant(100, 2*time.Second),
		"rising":         {{Seconds: 2, Rate: 10, To: 100}},
		"from nothing":   {{Seconds: 2, To: 100}},
		"to nothing":     {{Seconds: 2, Rate: 100}},
		"spike":          slices.Concat(Constant(10, time.Second), Constant(200, time.Second/2), Constant(10, time.Second)),
		"halves":         slices.Concat(Constant(10, 250*time.Millisecond), Constant(10, 250*time.Millisecond)),
		"one in a while": Constant(0.5, 10*time.Second),
	} {
		w := Workload{Phases: phases}
		integral := func(at time.Duration) float64 {
			sum := 0.0
			for _, p := range phases {
				within := min(max(at, 0), phaseDuration(p)).Seconds()
				sum += p.Rate*within + (p.To-p.Rate)/p.Seconds*within*within/2
				at -= phaseDuration(p)
			}
			return sum
		}
		if want := uint64(math.Round(integral(time.Hour))); w.Total() != want {
			t.Errorf("%s: %d requests in all, want %d", name, w.Total(), want)
		}
		before := time.Duration(-1)
		for n := range w.Total() {
			due := w.due(n)
			if got := integral(due); math.Abs(got-float64(n)) > 1e-4 {
				t.Errorf("%s: request %d is due after %s, when %g are", name, n, due, got)
			}
			if due <= before || due > w.Length() {
				t.Errorf("%s: request %d is due after %s, the one before after %s", name, n, due, before)
			}
			before = due
		}
	}
}

// TestRecordedTimes sends each request once, when it is due, however many generators share them.
func TestRecordedTimes(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	due := []time.Duration{0, 0, 0, 50 * ms, 51 * ms, 200 * ms}
	replayed, err := Settings{Due: due, Pairs: workload().Pairs}.Profile(profiles.Replay)
	if err != nil {
		t.Fatal(err)
	}
	w := replayed.Stages[0]
	if w.Total() != 6 || w.Length() != 240*ms || w.Rate() != 25 {
		t.Errorf("%d requests in %s, %g a second", w.Total(), w.Length(), w.Rate())
	}
	seen := map[uint64]time.Duration{}
	for index := range 2 {
		part := Split(w, index, 2)
		for n := range part.Total() {
			seen[part.Part.number(n)] = part.due(part.Part.number(n))
		}
	}
	for n, want := range due {
		if got, there := seen[uint64(n)]; !there || got != want || len(seen) != len(due) {
			t.Errorf("request %d is due after %s, want %s: %v", n, got, want, seen)
		}
	}
	faster, err := Settings{Due: due, Rates: []float64{7, 1e6 / 3}, Pairs: w.Pairs}.Profile(profiles.Replay)
	if err != nil || len(faster.Stages) != 2 || faster.Stages[0].Total() != 6 || faster.Stages[1].Total() != 6 || faster.Stages[1].Name != "333333.33/s" {
		t.Errorf("at other rates: %+v, %v", faster.Stages, err)
	}

	var arrived [6]atomic.Int64 // when each request came
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if request, err := contract.ParseRequest(body); err == nil {
			arrived[len(request.Objects)-1].Store(time.Now().UnixNano())
		}
		webhook.Handler().ServeHTTP(w, r)
	}))
	var requests []contract.Request
	for n := range due { // each has as many objects as its number says
		one := workload()
		one.Batch, one.Phases = n+1, Constant(1, time.Second)
		body, err := Bodies(crontabs, one)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, body...)
	}
	s, err := Run(t.Context(), client, requests, w, Watch{})
	if err != nil || s.Requests != 6 || s.Good != 6 || s.Objects != 21 {
		t.Fatalf("%d requests, %d good, %d objects, %v", s.Requests, s.Good, s.Objects, err)
	}
	for n := range arrived {
		if arrived[n].Load() == 0 {
			t.Errorf("request %d did not come", n)
		}
	}
	if last := time.Unix(0, arrived[5].Load()).Sub(s.Began); last < 190*ms { // by another clock than that of the pacer
		t.Errorf("the last one came after %s, though it was due after 200 ms", last)
	}
	for name, change := range map[string]func(*Workload){
		"not ascending": func(w *Workload) { w.Due = []time.Duration{2, 1} },
		"before":        func(w *Workload) { w.Due = []time.Duration{-1} },
		"phases too":    func(w *Workload) { w.Phases = Constant(1, time.Second) },
		"clients too":   func(w *Workload) { w.Clients, w.Duration = 1, time.Second },
	} {
		odd := w
		if change(&odd); odd.Validate() == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	w := workload()
	w.Bytes, w.Batch = 1024, 5
	w.Pairs = []corpus.Pair{{From: "v1beta1", To: "v1"}, {From: "v1", To: "v1beta1"}}
	requests, err := Bodies(crontabs, w)
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != maxBodies {
		t.Errorf("%d bodies, want %d", len(requests), maxBodies)
	}
	different := map[string]bool{}
	for i, r := range requests {
		pair := w.Pairs[i%2]
		if r.DesiredAPIVersion != crontabs.APIVersion(pair.To) || len(r.Objects) != 5 {
			t.Errorf("request %d asks for %d objects at %s, want 5 at %s", i, len(r.Objects), r.DesiredAPIVersion, pair.To)
		}
		for _, raw := range r.Objects {
			var object struct {
				APIVersion string `json:"apiVersion"`
			}
			if err := json.Unmarshal(raw, &object); err != nil || object.APIVersion != crontabs.APIVersion(pair.From) {
				t.Errorf("request %d has %s, %v", i, raw, err)
			}
			if len(raw) != 1024 {
				t.Errorf("an object has %d bytes", len(raw))
			}
		}
		body, err := r.Body()
		if err != nil {
			t.Fatal(err)
		}
		different[string(body)] = true
	}
	if len(different) != len(requests) {
		t.Errorf("%d different bodies of %d", len(different), len(requests))
	}

	w.Batch = 4000
	if requests, err = Bodies(crontabs, w); err != nil || len(requests) != 2 {
		t.Errorf("%d large bodies for two pairs, %v", len(requests), err)
	}
	w.Bytes, w.Batch = 10, 1
	if requests, err = Bodies(crontabs, w); err != nil || bytes.Contains(requests[0].Objects[0], []byte(paddingAnnotation)) {
		t.Errorf("an object that is large enough was made larger: %s, %v", requests[0].Objects[0], err)
	}
}

// TestClients has clients ask in turn: each waits for its answer, and none is ever late. The first is answered when all have asked.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it sends load for seconds")
	}
	t.Parallel()
	const clients, each = 3, 20 * time.Millisecond
	var now, most atomic.Int64
	all := make(chan struct{})
	ready := sync.OnceFunc(func() { close(all) })
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == clients {
			ready()
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		_ = pause.For(r.Context(), each)
		now.Add(-1)
		webhook.Handler().ServeHTTP(w, r)
	}))
	w := workload()
	w.Phases, w.Clients, w.Duration = nil, clients, time.Hour
	w.Requests = 30
	s, err := attack(t.Context(), client, w, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 30 || s.Good != 30 || most.Load() != clients || s.Partial {
		t.Errorf("%d requests, %d good, %d at once", s.Requests, s.Good, most.Load())
	}
	if shortest := microseconds(s.Response.Min()); shortest < each {
		t.Errorf("the shortest response time is %s", shortest)
	}
	if s.Elapsed < 10*each {
		t.Errorf("30 requests of %s by 3 clients took %s", each, s.Elapsed)
	}

	w.Requests, w.Duration = 0, 2*time.Second
	if s, err = attack(t.Context(), client, w, Watch{}); err != nil || s.Requests == 0 || s.Requests > 300+clients || s.Partial || s.Unanswered > 0 {
		t.Errorf("in 2 s: %d requests, partial %t, %v", s.Requests, s.Partial, err)
	}
}

// TestSeconds wants the seconds to add up to the whole.
func TestSeconds(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("wrong-uid")
	faulty := webhook.Handler(fault)
	var seen atomic.Int64
	w := workload()
	w.Phases = Constant(50, 2200*time.Millisecond)
	s, err := attack(t.Context(), connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1)%10 == 0 {
			faulty.ServeHTTP(w, r)
			return
		}
		webhook.Handler().ServeHTTP(w, r)
	})), w, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	var requests, objects, failed uint64
	var slowest, end float64
	for _, second := range s.Seconds {
		requests, objects, failed = requests+second.Requests, objects+second.Objects, failed+second.Failed
		slowest = max(slowest, second.Max)
		if second.End <= end || second.Requests > 0 && second.P50 == 0 || second.P50 > second.P90 || second.P90 > second.P99 || second.P99 > second.Max {
			t.Errorf("got %+v after %g", second, end)
		}
		end = second.End
	}
	if len(s.Seconds) < 2 || requests != s.Requests || objects != s.Accepted || failed != s.Failed() || failed != 11 || slowest != histogram.Milliseconds(s.Response.Max()) {
		t.Errorf("%d seconds with %d requests, %d objects, %d failed, the slowest %g", len(s.Seconds), requests, objects, failed, slowest)
	}
	if s.Generator.Cores == 0 || s.Generator.ProcessorSeconds == 0 {
		t.Errorf("the generator %+v", s.Generator)
	}
}

// TestEvidence wants the exchanges of the first violations, as they were.
func TestEvidence(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("wrong-uid")
	s, err := attack(t.Context(), connect(t, webhook.Handler(fault)), workload(), Watch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Findings {
		request, err := contract.ParseRequest(f.Files[0].Data)
		if err != nil || request.UID != uid(f.Request) {
			t.Fatalf("request %d: %s, %v", f.Request, f.Files[0].Data, err)
		}
		judgement := request.Judge(contract.Response{Status: 200, ContentType: "application/json", Body: f.Files[1].Data})
		if !slices.ContainsFunc(judgement.Violations, func(v contract.Violation) bool {
			return v.Requirement == f.Requirement && v.String() == f.Text && (v.Severity == contract.Tolerated) == f.Tolerated
		}) {
			t.Errorf("the judge says %v of the evidence for %v", judgement.Violations, f)
		}
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	tally := newTally()
	large := exchange{
		body: body{before: make([]byte, evidence/4)}, response: contract.Response{Body: make([]byte, evidence/8)},
		judgement: contract.Judgement{Violations: []contract.Violation{{Requirement: requirement.WebhookResponseUID, Severity: contract.Rejected}}},
	}
	for n := range uint64(200) {
		tally.add(measurement{n: n}, large)
	}
	kept := 0
	for _, f := range tally.sum.Findings {
		for _, file := range f.Files {
			kept += len(file.Data)
		}
	}
	if len(tally.sum.Findings) != findings || kept == 0 || kept > evidence {
		t.Errorf("%d findings with %d bytes", len(tally.sum.Findings), kept)
	}
}

// TestResults reads what was written for vegeta's tools with vegeta, and compares it with the summary. A third of the requests fails, each
// in another way.
func TestResults(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	var asked atomic.Uint64
	write := vegeta.NewEncoder(&file)
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) % 10 {
		case 3:
			http.Error(w, "no", http.StatusInternalServerError)
			return
		case 6: // it breaks off
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
			return
		case 9:
			panic(http.ErrAbortHandler)
		}
		webhook.Handler().ServeHTTP(w, r)
	}))
	s, err := attack(t.Context(), client, workload(), Watch{Result: func(r *vegeta.Result) {
		if err := write.Encode(r); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var metrics vegeta.Metrics
	seen, wrong := map[uint64]bool{}, 0
	for decode := vegeta.NewDecoder(&file); ; {
		var r vegeta.Result
		if err := decode.Decode(&r); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
		metrics.Add(&r)
		seen[r.Seq] = true
		if r.Error != "" {
			wrong++
		}
		if r.Method != http.MethodPost || r.URL != client.URL() || (r.Code == 0) != (r.BytesIn == 0) || (r.Code == 200) != (r.Error == "") || r.Latency <= 0 {
			t.Errorf("got %+v", r)
		}
	}
	metrics.Close()
	if s.Requests != 100 || metrics.Requests != s.Requests || uint64(len(seen)) != s.Requests || metrics.BytesOut.Total != s.BytesOut || metrics.BytesIn.Total != s.BytesIn {
		t.Errorf("%d results, vegeta counts %d, %d bytes out and %d in: %+v", len(seen), metrics.Requests, metrics.BytesOut.Total, metrics.BytesIn.Total, s)
	}
	if float64(s.Good)/100 != metrics.Success || s.Failed() != uint64(wrong) || s.Errors[Transport] != 20 || s.Errors[HTTP] != 10 ||
		!maps.Equal(metrics.StatusCodes, map[string]int{"200": int(s.Good), "500": int(s.Errors[HTTP]), "0": int(s.Errors[Transport])}) {
		t.Errorf("vegeta counts %v and a success of %g: %d good, %v", metrics.StatusCodes, metrics.Success, s.Good, s.Errors)
	}
	for what, pair := range map[string][2]time.Duration{
		"mean": {time.Duration(s.Service.Mean() * 1000), metrics.Latencies.Mean},
		"min":  {microseconds(s.Service.Min()), metrics.Latencies.Min},
		"max":  {microseconds(s.Service.Max()), metrics.Latencies.Max},
	} {
		if off := (pair[0] - pair[1]).Abs(); off > pair[1]/1000+time.Microsecond { // three digits, from a microsecond on
			t.Errorf("the %s is %s, vegeta's %s", what, pair[0], pair[1])
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	pairs := []corpus.Pair{{From: "v1beta1", To: "v1"}}
	stages := map[string][]string{
		profiles.Constant:  {""},
		"batch":            {"batch 1", "batch 10", "batch 100", "batch 500", "batch 1500"},
		profiles.APIServer: {"clients 1", "clients 10"},
		profiles.Relist:    {""},
		"ramp":             {""},
		"spike":            {""},
		"soak":             {""},
		profiles.Search:    nil,
		profiles.Replay:    {""},
	}
	for name, want := range stages {
		s := Settings{Pairs: pairs}
		if name == profiles.Replay {
			s.Due = []time.Duration{0, time.Second}
		}
		p, err := s.Profile(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		for _, w := range p.Stages {
			names = append(names, w.Name)
			if err := w.ValidateFor(crontabs); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !slices.Equal(names, want) || p.Name != name || (p.Search != nil) != (name == profiles.Search) {
			t.Errorf("%s has the stages %q, want %q", name, names, want)
		}
	}
	for _, name := range profiles.Names() {
		if _, tried := stages[name]; !tried {
			t.Errorf("the profile %s is not tested", name)
		}
	}
	p, err := Settings{Pairs: pairs, Rates: []float64{1, 2}, Batches: []int{3, 4}, Bytes: []int{5, 6}, Duration: time.Second}.Profile(profiles.Constant)
	if err != nil || len(p.Stages) != 8 || p.Stages[7].Name != "batch 4, 6 bytes, 2/s" {
		t.Errorf("a grid of %d stages, %v", len(p.Stages), err)
	}
	if spike, err := (Settings{Pairs: pairs}).Profile("spike"); err != nil || spike.Stages[0].Length() != 30*time.Second || spike.Stages[0].Phases[1].Rate != 1000 {
		t.Errorf("the spike is %+v, %v", spike.Stages, err)
	}
	if relist, err := (Settings{Pairs: pairs, Objects: 95, Batches: []int{10}}).Profile(profiles.Relist); err != nil || relist.Stages[0].Requests != 10 {
		t.Errorf("95 objects, 10 a request, are %+v, %v", relist.Stages, err)
	}
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		profile string
		s       Settings
		want    string
	}{
		{"bathc", Settings{}, `there is no profile "bathc"; the profiles are constant, batch,`},
		{profiles.APIServer, Settings{Clients: []int{-1}}, "-1 clients"},
		{profiles.Search, Settings{Goal: Goal{Percentile: 100, Limit: time.Second}}, "the percentile below 100"},
		{profiles.Constant, Settings{InFlight: -1}, "-1 requests in flight"},
		{profiles.Constant, Settings{Bytes: []int{-1}}, "objects of -1 bytes"},
		{profiles.Constant, Settings{Rates: []float64{0}}, "a rate of 0 requests a second"},
		{profiles.Constant, Settings{Rates: []float64{100, -3}}, "a rate of -3 requests a second"},
		{profiles.Constant, Settings{Batches: []int{0}}, "a batch of 0 objects"},
		{"soak", Settings{Duration: -time.Second}, "a duration of -1s"},
	} {
		if _, err := test.s.Profile(test.profile); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %+v: %v, want %q", test.profile, test.s, err, test.want)
		}
	}
}

// TestCost finds again what the times were made of.
func TestCost(t *testing.T) {
	t.Parallel()
	run := func(batch int, us int64) Summary {
		h := hdrhistogram.New(1, 1e9, 3)
		if err := h.RecordValue(us); err != nil {
			t.Fatal(err)
		}
		return Summary{Workload: Workload{Batch: batch, Bytes: 1024}, Good: 1, Service: h}
	}
	summaries := []Summary{run(1, 210), run(10, 300), run(100, 1200), run(1500, 15200)}
	c := CostOf(summaries)
	if c == nil || math.Abs(c.Request-0.2) >= 0.005 || math.Abs(c.Object-0.01) >= 0.0005 || c.Fit < 0.99 || !slices.Equal(c.Batches, []int{1, 10, 100, 1500}) {
		t.Errorf("got %+v", c)
	}
	if c := CostOf(summaries[:2]); c != nil {
		t.Errorf("two batches make %+v", c)
	}
	stopped := slices.Clone(summaries)
	stopped[2].Partial = true
	if c := CostOf(stopped); c != nil {
		t.Errorf("a run that was stopped makes %+v", c)
	}
	if c := TypicalCost([]*loadgen.Cost{{Object: 3}, {Object: 1}, {Object: 900}, {Object: 2}, {Object: 0}}); c == nil || c.Object != 2 {
		t.Errorf("the one in the middle is %+v", c)
	}
	if c := TypicalCost(nil); c != nil {
		t.Errorf("of no repeats it is %+v", c)
	}
	together := slices.Clone(summaries)
	for i := range together { // the size goes with the batch
		together[i].Workload.Bytes, together[i].Objects, together[i].BytesOut = 1+i%2, 1, 1000
	}
	if c := CostOf(together); c != nil {
		t.Errorf("objects whose size can't be separated from the batch make %+v", c)
	}
	if c := CostOf([]Summary{run(1, 500), run(10, 500), run(100, 500)}); c != nil {
		t.Errorf("equal times make %+v", c)
	}
	if c := CostOf(nil); c != nil {
		t.Errorf("nothing makes %+v", c)
	}
}

// TestCostOfGrid finds again what the times of different batches and sizes were made of.
func TestCostOfGrid(t *testing.T) {
	t.Parallel()
	var summaries []Summary
	for _, batch := range []int{1, 10, 100, 500} {
		for _, bytes := range []int{1000, 10_000, 50_000} {
			h := hdrhistogram.New(1, 1e9, 3)
			if err := h.RecordValue(200 + int64(batch)*10 + int64(batch*bytes/1000)*4); err != nil { // µs
				t.Fatal(err)
			}
			summaries = append(summaries, Summary{Workload: Workload{Batch: batch, Bytes: bytes}, Good: 1, Service: h, Objects: uint64(batch), BytesOut: uint64(batch * bytes)})
		}
	}
	c := CostOf(summaries)
	if c == nil || math.Abs(c.Request-0.2) > 0.004 || math.Abs(c.Object-0.01) > 0.0003 || math.Abs(c.Kilobyte-0.004) > 0.0001 || c.Fit < 0.999 || !slices.Equal(c.Bytes, []int{1000, 10_000, 50_000}) {
		t.Errorf("got %+v", c)
	}
}

// TestFind searches for rates that are known, and says what a probe would.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, limit float64 // the goal is met up to there
		once         bool    // a longer run at the rate that is found misses it the first time
	}{
		"below":      {1000, 137, false},
		"above":      {10, 137, false},
		"at once":    {100, 103, false},
		"optimistic": {50, 137, true},
	} {
		missed := false
		found, err := find(t.Context(), test.first, func(rate float64, times int) (attempt, Summary, error) {
			if times == confirmation && test.once && !missed {
				missed = true
				return attempt{Rate: rate, Decided: true}, Summary{}, nil
			}
			return attempt{Rate: rate, Met: rate <= test.limit, Decided: true}, Summary{Requests: uint64(times)}, nil
		})
		if err != nil || found.Met > test.limit || !test.once && found.Missed < test.limit || found.Missed-found.Met > precision*found.Missed || found.At.Requests != confirmation || found.Partial {
			t.Errorf("%s: %g met and %g missed, %v", name, found.Met, found.Missed, err)
		}
		if last := found.Probes[len(found.Probes)-1]; !last.Met || last.Rate != found.Met || len(found.Probes) > 15 {
			t.Errorf("%s: %d probes, the last %+v", name, len(found.Probes), last)
		}
	}
	busy, err := find(t.Context(), 100, func(rate float64, _ int) (attempt, Summary, error) {
		return attempt{Rate: rate, Void: "too busy"}, Summary{}, nil
	})
	if err != nil || len(busy.Probes) != spoilt || busy.Met != 0 || busy.At.Requests != 0 {
		t.Errorf("on a machine that is too busy: %+v, %v", busy, err)
	}
	limits, err := find(t.Context(), 100, func(rate float64, times int) (attempt, Summary, error) {
		if rate > 500 {
			return attempt{Rate: rate, Void: "too busy"}, Summary{}, nil
		}
		return attempt{Rate: rate, Met: true, Decided: true}, Summary{Requests: uint64(times)}, nil
	})
	if err != nil || limits.spoiled() != spoilt || limits.Met != 500 || limits.At.Requests != confirmation {
		t.Errorf("when the generator is at its limits: %+v, %v", limits, err)
	}
	unconfirmed, err := find(t.Context(), 100, func(rate float64, times int) (attempt, Summary, error) {
		if rate > 500 || times == confirmation {
			return attempt{Rate: rate, Void: "too busy"}, Summary{}, nil
		}
		return attempt{Rate: rate, Met: true, Decided: true}, Summary{}, nil
	})
	if err != nil || unconfirmed.Met != 500 || unconfirmed.Missed != 550 || unconfirmed.At.Requests != 0 || unconfirmed.Partial {
		t.Errorf("when a rate cannot be confirmed for that: %+v, %v", unconfirmed, err)
	}
	if _, err := find(t.Context(), 10, func(rate float64, _ int) (attempt, Summary, error) {
		return attempt{Rate: rate, Met: true}, Summary{}, nil
	}); err == nil {
		t.Error("a goal that is met at every rate is no error")
	}
}

// TestProbe tries a rate that a webhook can do, and one that it can't: it handles one request at a time, 5 ms each.
func TestProbe(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a load that is too much for the webhook")
	}
	one := make(chan struct{}, 1)
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one <- struct{}{}
		<-time.After(5 * time.Millisecond)
		<-one
		webhook.Handler().ServeHTTP(w, r)
	}))
	s := Search{Goal: Goal{Percentile: 50, Limit: time.Second}, Workload: workload()}
	s.Workload.InFlight = 20 // each has a connection, and a handshake costs more than all the rest
	requests, err := Bodies(crontabs, s.Workload)
	if err != nil {
		t.Fatal(err)
	}
	// 2000 requests in a second take ten: most of them wait for more than one.
	for rate, want := range map[float64]bool{50: true, 2000: false} {
		p, _, err := s.probe(t.Context(), rate, time.Second, func(w Workload) (Summary, error) {
			return Run(t.Context(), client, requests, w, Watch{})
		})
		if err != nil || p.Void == "" && (p.Met != want || !p.Decided || p.Requests < enough) {
			t.Errorf("%g a second: %+v, %v", rate, p, err)
		}
	}
}

// TestSearchWithErrors lets as many requests fail as the goal allows.
func TestSearchWithErrors(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: four searches for a rate")
	}
	fault, _ := webhook.FaultNamed("wrong-uid")
	good, bad := webhook.Handler(), webhook.Handler(fault)
	var seen atomic.Int64
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1)%5 == 0 {
			bad.ServeHTTP(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}))
	for allowed, want := range map[float64]bool{0.05: false, 0.5: true} { // far enough from one in five that chance is soon ruled out
		s := Search{Goal: Goal{Percentile: 99, Limit: time.Minute, Errors: allowed}, Workload: workload()}
		requests, err := Bodies(crontabs, s.Workload)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := s.probe(t.Context(), 400, time.Second, func(w Workload) (Summary, error) {
			summary, err := Run(t.Context(), client, requests, w, Watch{})
			summary.Late = 0 // how busy this machine is makes no difference to errors
			return summary, err
		})
		if err != nil || p.Met != want || !p.Decided || p.Failed == 0 || !strings.Contains(p.String(), "failed") {
			t.Errorf("%g allowed: %+v, %s, %v", allowed, p, p, err)
		}
	}
	if got := (Goal{99, time.Second, 0.005}).String(); got != "p99 <= 1s, errors <= 0.5 %" {
		t.Errorf("got %q", got)
	}
	if (Search{Goal: Goal{99, time.Second, 1.5}, Workload: workload()}).validate() == nil {
		t.Error("more errors than requests are allowed")
	}
}

// TestChanceOfErrors decides on errors when chance is ruled out.
func TestChanceOfErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		allowed       float64
		probe         attempt
		failing, good bool
	}{
		"none allowed, none":       {0, attempt{Requests: 400}, false, true},
		"none allowed, one":        {0, attempt{Requests: 400, Failed: 1}, true, false},
		"far fewer":                {0.1, attempt{Requests: 400, Failed: 10}, false, true},
		"a few less":               {0.1, attempt{Requests: 400, Failed: 38}, false, false},
		"a few more":               {0.1, attempt{Requests: 400, Failed: 42}, false, false},
		"far more":                 {0.1, attempt{Requests: 400, Failed: 70}, true, false},
		"none, of too few":         {0.01, attempt{Requests: 300}, false, false},
		"none, of enough":          {0.01, attempt{Requests: 400}, false, true},
		"all but one, all allowed": {1, attempt{Requests: 400, Failed: 399}, false, true},
	} {
		s := Search{Goal: Goal{Percentile: 99, Limit: time.Second, Errors: test.allowed}, Workload: workload()}
		if failing, good := s.failing(test.probe); failing != test.failing || good != test.good {
			t.Errorf("%s: failing %t, good %t", name, failing, good)
		}
	}
	for want, goal := range map[int]Goal{400: {Percentile: 99}, 3688: {Percentile: 99.9}, 36887: {Percentile: 50, Errors: 0.0001}, 401: {Percentile: 99, Errors: 0.00916}} {
		if got := int(math.Ceil(goal.enough())); got != want {
			t.Errorf("%s: %d requests are enough, want %d", goal, got, want)
		}
	}
}

// TestSearchThatFindsNothing has a webhook that fails at any rate, and somebody who stops the search.
func TestSearchThatFindsNothing(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("wrong-uid")
	s := Search{Goal: Goal{Percentile: 99, Limit: time.Second}, Workload: workload()}
	s.Workload.InFlight = 20
	requests, err := Bodies(crontabs, s.Workload)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Run(t.Context(), connect(t, webhook.Handler(fault)), requests, func(Workload) Watch { return Watch{} })
	if err != nil || found.Met != 0 || found.Missed == 0 || !strings.Contains(found.Probes[len(found.Probes)-1].Measured, "failed") {
		t.Errorf("got %+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := s.Run(ctx, connect(t, webhook.Handler()), requests, func(Workload) Watch { return Watch{} }); err != nil || !found.Partial || found.Met != 0 {
		t.Errorf("stopped: %+v, %v", found, err)
	}
}

func TestInterval(t *testing.T) {
	t.Parallel()
	// By tables of the binomial distribution.
	for _, test := range []struct {
		k, n      uint64
		low, high float64
	}{{0, 100, 0, 0.0362}, {100, 100, 0.9638, 1}, {1, 100, 0.0003, 0.0545}, {50, 100, 0.3983, 0.6017}} {
		if low, high := interval(test.k, test.n); math.Abs(low-test.low) > 1e-4 || math.Abs(high-test.high) > 1e-4 {
			t.Errorf("%d of %d: %g to %g, want %g to %g", test.k, test.n, low, high, test.low, test.high)
		}
	}
}

func TestRatesInWords(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{10020: "10020", 1e6: "1000000", 33.3333: "33.33", 1.5: "1.5", 0.001: "0.001", 0.0012345: "0.00123", 0: "0"} {
		if got := plain(rate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
