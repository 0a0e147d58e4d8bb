package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

var crontabs = corpus.CronTabs("v1beta1", "v1")

func connect(t *testing.T, handler http.Handler) *wire.Client {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func workload() Workload {
	return Workload{Phases: Constant(200, 500*time.Millisecond), Batch: 3, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1beta1", To: "v1"}}}
}

// attack runs a workload with CronTabs.
func attack(ctx context.Context, client *wire.Client, w Workload, watch Watch) (Summary, error) {
	requests, err := Bodies(crontabs, w)
	if err != nil {
		return Summary{}, err
	}
	return Run(ctx, client, requests, w, watch)
}

func TestEveryResponseIsGood(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		var seen, objects atomic.Int64
		uids := make(chan string, 1000)
		client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			recordUID(r, uids, &objects)
			webhook.Handler().ServeHTTP(w, r)
		}))
		w := workload()
		w.ReviewVersion = version
		s, err := attack(t.Context(), client, w, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Requests != 100 || s.Good != 100 || s.Objects != 300 || s.Partial || len(s.Findings) > 0 {
			t.Errorf("%s: got %+v", version, s)
		}
		if seen.Load() != 100 || objects.Load() != 300 {
			t.Errorf("%s: the webhook saw %d requests with %d objects", version, seen.Load(), objects.Load())
		}
		close(uids)
		different := map[string]bool{}
		for u := range uids {
			different[u] = true
		}
		if len(different) != 100 {
			t.Errorf("%s: %d different uids in 100 requests", version, len(different))
		}
		if n := s.Response.TotalCount(); n != 100 || s.Service.TotalCount() != n || s.Lag.TotalCount() != n {
			t.Errorf("%s: the histograms hold %d, %d and %d", version, n, s.Service.TotalCount(), s.Lag.TotalCount())
		}
		// The last request is due an interval before the end.
		if s.Elapsed < 490*time.Millisecond {
			t.Errorf("%s: 100 requests at 200 a second took %s", version, s.Elapsed)
		}
	}
}

func TestFaultsAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it sends load for seconds")
	}
	for name, want := range map[string]Kind{
		"status-500":          HTTP,
		"drops-connection":    Transport,
		"half-body":           Transport,
		"fails-valid-objects": Failure,
		"wrong-uid":           Contract,
		"reverses-order":      Contract,
		"not-json":            Contract,
	} {
		t.Run(name, func(t *testing.T) {
			fault, found := webhook.FaultNamed(name)
			if !found {
				t.Fatal("no such fault")
			}
			s, err := attack(t.Context(), connect(t, webhook.Handler(fault)), workload(), Watch{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Requests != 100 || s.Failed() != 100 || s.Errors[want] != 100 || len(s.Errors) != 1 {
				t.Errorf("%d of %d failed: %v, want all as %s", s.Failed(), s.Requests, s.Errors, want)
			}
			if len(s.Findings) != findings || s.Findings[0].Request != 0 {
				t.Errorf("%d findings", len(s.Findings))
			}
			if s.ObjectRate() != 0 {
				t.Errorf("%g objects a second were converted, none as they should be", s.ObjectRate())
			}
		})
	}
}

func TestToleratedIsGood(t *testing.T) {
	fault, _ := webhook.FaultNamed("content-type-text")
	s, err := attack(t.Context(), connect(t, webhook.Handler(fault)), workload(), Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Good != 100 || s.Violations[requirement.WebhookResponseContentType] != 100 {
		t.Errorf("%d good, violations %v", s.Good, s.Violations)
	}
}

// TestTimesCountFromDue has the webhook stand still for a while, over one connection. Requests that wait for it are slow
// for a client, even though each is answered at once when its turn comes.
func TestTimesCountFromDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	var first atomic.Bool
	blocked := make(chan struct{})
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			<-time.After(stall)
			close(blocked)
		}
		<-blocked
		webhook.Handler().ServeHTTP(w, r)
	}))
	s, err := attack(t.Context(), client, workload(), Watch{})
	if err != nil {
		t.Fatal(err)
	}
	// Requests are due every 5 ms, so at least 50 of them wait for more than 50 ms of the stall.
	slow := int64(0)
	for _, bar := range s.Response.Distribution() {
		if bar.From > (50 * time.Millisecond).Microseconds() {
			slow += bar.Count
		}
	}
	if slow < 50 {
		t.Errorf("%d requests of 100 took more than 50 ms, want 50 or more", slow)
	}
	if highest := time.Duration(s.Response.Max()) * time.Microsecond; highest < stall {
		t.Errorf("the slowest took %s, want %s or more", highest, stall)
	}
}

func TestStopsWithContext(t *testing.T) {
	client := connect(t, webhook.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	w := workload()
	w.Phases = Constant(0.1, time.Hour)
	began := time.Now()
	s, err := attack(ctx, client, w, Watch{Result: func(*vegeta.Result) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Partial || s.Requests != 1 {
		t.Errorf("partial: %t, %d requests, want 1", s.Partial, s.Requests)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s to stop", took)
	}
}

func TestProgress(t *testing.T) {
	var snapshots []Snapshot
	w := workload()
	w.Phases = Constant(50, 2500*time.Millisecond)
	if _, err := attack(t.Context(), connect(t, webhook.Handler()), w, Watch{Second: func(s Snapshot) { snapshots = append(snapshots, s) }}); err != nil {
		t.Fatal(err)
	}
	if len(snapshots) < 2 || snapshots[1].Requests == 0 || snapshots[1].P99 == 0 {
		t.Errorf("got %+v", snapshots)
	}
}

func TestVoid(t *testing.T) {
	for _, test := range []struct {
		requests, late uint64
		want           bool
	}{
		{10, 0, false},
		{10, 2, false},
		{10, 3, true},
		{100, 2, false},
		{100, 3, true},
		{1000, 10, false},
		{1000, 11, true},
	} {
		tally := newTally()
		for n := range test.requests {
			m := measurement{n: n, lag: time.Millisecond, service: time.Millisecond, response: time.Millisecond, done: time.Now()}
			if n < test.late {
				m.lag = lateAfter + time.Millisecond
			}
			tally.add(m, exchange{judgement: contract.Judgement{}})
		}
		s := tally.summary(workload(), time.Now())
		if s.Void() != test.want || s.Late != test.late {
			t.Errorf("%d late of %d: void %t, want %t", s.Late, test.requests, s.Void(), test.want)
		}
		reason := fmt.Sprintf("the generator was too busy: %d of %d requests were sent late because the machine had too little processor time; send less, ", test.late, test.requests)
		if test.want && !strings.HasPrefix(s.VoidReason(), reason) {
			t.Errorf("got %q, want %q", s.VoidReason(), reason)
		}
	}
}

// TestVoidSaysWhy has a cause and what to do in each reason.
func TestVoidSaysWhy(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Summary{
		"because it used 1.90 of 2 cores itself; send less, or give it more cores":                         {Late: 50, Requests: 100, Elapsed: time.Second, Generator: loadgen.Generator{ProcessorSeconds: 1.9, Cores: 2}},
		"because other processes, possibly the webhook, used the CPU (the generator used 0.20 of 2 cores)": {Late: 50, Requests: 100, Elapsed: time.Second, Generator: loadgen.Generator{ProcessorSeconds: 0.2, Cores: 2}},
		"(the workers used 3.80 cores altogether); send less":                                              {Late: 50, Requests: 100, Elapsed: time.Second, Workers: 2, Generator: loadgen.Generator{ProcessorSeconds: 3.8, Cores: 2}},
		"raise the limit of open files (ulimit -n), allow fewer requests in flight, or send less": {Requests: 9, Unsent: map[string]uint64{
			syscall.EMFILE.Error(): 1,
		}},
		"since local ports ran out, give the machine more memory, send smaller batches, or send less": {Requests: 9, Unsent: map[string]uint64{
			syscall.EADDRNOTAVAIL.Error(): 1, syscall.EADDRINUSE.Error(): 1, syscall.ENOMEM.Error(): 1,
		}},
	} {
		if got := s.VoidReason(); !strings.Contains(got, want) {
			t.Errorf("got %q, want something with %q", got, want)
		}
	}
}

// TestRates has what was sent and what was answered a second. Neither is above the rate at which requests were due, however short
// that was, and what got no answer is not answered.
func TestRates(t *testing.T) {
	t.Parallel()
	second, noAnswer := time.Second, contract.Response{Err: errors.New("gone")}
	gone := contract.Judgement{Violations: []contract.Violation{{Requirement: requirement.WebhookResponseInTime, Severity: contract.Rejected}}}
	for name, test := range map[string]struct {
		takes       time.Duration // each
		none        uint64        // requests without an answer
		change      func(*Workload)
		partial     bool
		sent, whole float64
	}{
		"fast":         {time.Millisecond, 0, nil, false, 100, 100},
		"no answers":   {time.Millisecond, 20, nil, false, 100, 0},
		"half":         {time.Millisecond, 10, nil, false, 100, 50},
		"slow":         {810 * time.Millisecond, 0, nil, false, 100, 20},
		"stopped":      {10 * time.Millisecond, 0, func(w *Workload) { w.Phases[0].Seconds = 3600 }, true, 100, 100},
		"clients":      {10 * time.Millisecond, 0, func(w *Workload) { w.Phases, w.Clients, w.Duration = nil, 1, time.Hour }, false, 100, 100},
		"as they came": {time.Millisecond, 0, func(w *Workload) { w.Phases, w.Due = nil, []time.Duration{0, second / 2, second} }, false, 20 / 1.5, 20 / 1.5},
	} {
		w, began, tally := workload(), time.Now(), newTally()
		w.Phases = Constant(100, second/5)
		if test.change != nil {
			test.change(&w)
		}
		for n := range uint64(20) {
			m := measurement{n: n, objects: 3, service: test.takes, response: test.takes, done: began.Add(time.Duration(n)*second/100 + test.takes)}
			if n < test.none {
				tally.add(m, exchange{response: noAnswer, judgement: gone})
			} else {
				tally.add(m, exchange{judgement: contract.Judgement{}})
			}
		}
		s := tally.summary(w, began)
		s.Partial = test.partial
		near := func(got, want float64) bool { return got >= 0.999*want && got <= 1.001*want }
		if !near(s.SentRate(), test.sent) || !near(s.RequestRate(), test.whole) || !near(s.ObjectRate(), 3*test.whole) {
			t.Errorf("%s: %g sent and %g answered a second with %g objects, want %g and %g", name, s.SentRate(), s.RequestRate(), s.ObjectRate(), test.sent, test.whole)
		}
	}
}

func TestTimesBeyondTheHistogram(t *testing.T) {
	tally := newTally()
	tally.add(measurement{response: 100 * time.Hour, service: -time.Second}, exchange{response: contract.Response{Err: errors.New("gone")}})
	if n := tally.second.response.TotalCount(); n != 1 {
		t.Errorf("%d times recorded, want 1", n)
	}
}

func TestWorkloadsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*Workload){
		"no rate":                      func(w *Workload) { w.Phases[0] = loadgen.Phase{Seconds: 1} },
		"a negative rate":              func(w *Workload) { w.Phases[0].Rate = -1 },
		"no time":                      func(w *Workload) { w.Phases[0].Seconds = 0 },
		"no objects":                   func(w *Workload) { w.Batch = 0 },
		"another version":              func(w *Workload) { w.ReviewVersion = "v2" },
		"nothing at once":              func(w *Workload) { w.InFlight = -1 },
		"not one request":              func(w *Workload) { w.Phases = Constant(0.1, time.Second) },
		"neither phases nor clients":   func(w *Workload) { w.Phases = nil },
		"both":                         func(w *Workload) { w.Clients = 1 },
		"clients for no time":          func(w *Workload) { w.Phases, w.Clients = nil, 1 },
		"fewer than no clients":        func(w *Workload) { w.Clients = -1 },
		"objects of less than nothing": func(w *Workload) { w.Bytes = -1 },
		"no versions":                  func(w *Workload) { w.Pairs = nil },
		"the same version":             func(w *Workload) { w.Pairs[0].To = "v1beta1" },
		"unknown versions":             func(w *Workload) { w.Pairs[0].From = "v3" },
	} {
		w := workload()
		change(&w)
		if s, err := attack(t.Context(), connect(t, webhook.Handler()), w, Watch{}); err == nil {
			t.Errorf("%s: ran, with %d requests", name, s.Requests)
		}
	}
}

func recordUID(r *http.Request, uids chan<- string, objects *atomic.Int64) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if request, err := contract.ParseRequest(body); err == nil {
		uids <- request.UID
		objects.Add(int64(len(request.Objects)))
	}
}
