package workers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
)

// What the program of the tests does in place of testing, by its first argument. The others are the index of a worker and what
// that one does otherwise, if anything, and then what workers are given: "--spec - --index N".
const asWorker = "as-a-worker"

func TestMain(m *testing.M) {
	if len(os.Args) == 8 && os.Args[1] == asWorker {
		os.Exit(work(os.Args[7], os.Args[2], os.Args[3])) //nolint:forbidigo // this is a process of its own
	}
	m.Run()
}

// work is a worker, but for the one that does otherwise. It returns its exit status.
func work(index, other, otherwise string) int {
	n, err := strconv.Atoi(index)
	if err != nil {
		panic(err)
	}
	if index == other {
		switch otherwise {
		case "mute":
			io.Copy(io.Discard, os.Stdin)
			return 0
		case "dies":
			fmt.Fprintln(os.Stderr, "fatal error: out of memory\n\ngoroutine 1 [running]:")
			return 137
		case "as another":
			n = 0
		case "leaves":
			in, err := FromStream(context.Background(), os.Stdin)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(os.Stdout, "{\"hello\":{\"protocol\":%d,\"index\":%s}}\n", protocol, index)
			<-in.orders
			return 0
		}
	}
	in, err := FromStream(context.Background(), os.Stdin)
	if err == nil {
		err = Work(context.Background(), n, in, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 3
	}
	return 0
}

// launcher are processes of the program of the tests. They note the processes that were started.
type launcher struct {
	Processes
	started processes
	kill    <-chan struct{} // when it is closed, the second process is killed; may be nil
}

func newLauncher(t *testing.T, other int, otherwise string) *launcher {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &launcher{Processes: Processes{Path: path, Args: []string{asWorker, strconv.Itoa(other), otherwise}}}
	t.Cleanup(func() {
		for index, p := range f.started {
			select {
			case <-p.Exited():
			default:
				t.Errorf("process %d is still there", index)
				p.Kill()
			}
		}
	})
	return f
}

func (f *launcher) Start(ctx context.Context, task Task) (Workers, error) {
	started, err := f.Processes.Start(ctx, task)
	f.started, _ = started.(processes)
	if f.kill != nil && len(f.started) > 1 {
		second := f.started[1]
		go func() {
			<-f.kill
			second.Kill()
		}()
	}
	return started, err
}

// seen is a webhook that notes the uids it is asked with.
type seen struct {
	http.Handler
	mu   sync.Mutex
	uids map[string]int
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	request, err := contract.ParseRequest(body)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	s.uids[request.UID]++
	s.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.Handler.ServeHTTP(w, r)
}

// serve serves a webhook until the test is over.
func serve(t *testing.T, handler http.Handler) (*seen, wire.Endpoint) {
	t.Helper()
	s := &seen{Handler: handler, uids: map[string]int{}}
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, wire.Endpoint{URL: server.URL, CA: server.CA, Timeout: time.Minute}
}

// crontabLoad is one of 100 requests a second for so long, by three workers.
func crontabLoad(t *testing.T, e wire.Endpoint, duration time.Duration) Load {
	t.Helper()
	w := load.Workload{Phases: load.Constant(100, duration), Batch: 2, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1beta1", To: "v1"}}}
	requests, err := load.Bodies(corpus.CronTabs("v1beta1", "v1"), w)
	if err != nil {
		t.Fatal(err)
	}
	return Load{Endpoint: e, Requests: requests, Workload: w, Workers: 3}
}

// figures are those of a summary, without evidence that nobody could read.
func figures(s load.Summary) load.Summary {
	s.Findings = nil
	return s
}

// requests is how many different ones a webhook saw.
func (s *seen) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uids)
}

// once fails unless a webhook saw so many requests, and each once.
func (s *seen) once(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.uids) != n {
		t.Errorf("the webhook got %d requests, want %d", len(s.uids), n)
	}
	for uid, times := range s.uids {
		if times != 1 {
			t.Errorf("the webhook got %s %d times", uid, times)
		}
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("wrong-uid")
	s, endpoint := serve(t, webhook.Handler(fault))
	var snapshots []load.Snapshot
	l := crontabLoad(t, endpoint, 2500*time.Millisecond)
	summary, err := Run(t.Context(), newLauncher(t, -1, ""), l, load.Watch{Second: func(s load.Snapshot) { snapshots = append(snapshots, s) }})
	if err != nil {
		t.Fatal(err)
	}
	s.once(t, 250)
	if summary.Partial || summary.PartialReason() != "" || summary.Requests != 250 || summary.Objects != 500 || summary.Errors[load.Contract] != 250 ||
		summary.Protocol != "HTTP/1.1" || summary.BytesIn == 0 || summary.BytesOut == 0 || summary.Generator.ProcessorSeconds == 0 {
		t.Errorf("got %+v", figures(summary))
	}
	if summary.Response.TotalCount() != 250 || summary.Service.TotalCount() != 250 || summary.Lag.TotalCount() != 250 || summary.Workload.Part != (load.Part{}) {
		t.Errorf("%d, %d and %d times of %+v", summary.Response.TotalCount(), summary.Service.TotalCount(), summary.Lag.TotalCount(), summary.Workload)
	}
	// The last request is due 10 ms before the end.
	if summary.Elapsed < 2490*time.Millisecond {
		t.Errorf("it took %s", summary.Elapsed)
	}
	inSeconds := uint64(0)
	for _, second := range summary.Seconds {
		inSeconds += second.Requests
	}
	if len(summary.Seconds) == 0 || inSeconds != 250 {
		t.Errorf("the seconds are %+v", summary.Seconds)
	}
	if n := len(snapshots); n == 0 || snapshots[n-1].Requests != 250 || snapshots[n-1].Failed != 250 || snapshots[n-1].P99 == 0 {
		t.Errorf("the watch got %+v", snapshots)
	}
	for n, f := range summary.Findings {
		if f.Request != uint64(n) || len(f.Files) != 2 || len(f.Files[0].Data) == 0 || len(f.Files[1].Data) == 0 {
			t.Fatalf("finding %d is of request %d, with %v", n, f.Request, f.Files)
		}
	}
	if len(summary.Findings) != 100 {
		t.Errorf("%d findings", len(summary.Findings))
	}
}

// TestClients has fewer clients than workers.
func TestClients(t *testing.T) {
	t.Parallel()
	s, endpoint := serve(t, webhook.Handler())
	l := crontabLoad(t, endpoint, time.Second)
	l.Workload.Phases, l.Workload.Clients, l.Workload.Duration, l.Workload.Requests = nil, 2, time.Minute, 51
	f := newLauncher(t, -1, "")
	summary, err := Run(t.Context(), f, l, load.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	s.once(t, 51)
	if summary.Requests != 51 || summary.Good != 51 || summary.Partial || len(f.started) != 2 {
		t.Errorf("%d workers sent %+v", len(f.started), figures(summary))
	}
}

// TestLost loses a worker in the middle. The figures are those of the others, and say whose are missing.
func TestLost(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for workers to be given up")
	}
	t.Parallel()
	// The second of three has more to send than this.
	var asked atomic.Int32
	enough := make(chan struct{})
	s, endpoint := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 30 {
			close(enough)
		}
		webhook.Handler().ServeHTTP(w, r)
	}))
	f := newLauncher(t, -1, "")
	f.kill = enough
	summary, err := Run(t.Context(), f, crontabLoad(t, endpoint, 5*time.Second), load.Watch{})
	if err != nil {
		t.Fatal(err)
	}
	want := "33.4 % of the requests are missing from all figures: worker 2 of 3: signal: killed"
	if !summary.Partial || summary.PartialReason() != want || len(summary.Lost) != 1 {
		t.Errorf("partial %t: got %q, want %q", summary.Partial, summary.PartialReason(), want)
	}
	const others = 2 * 500 / 3 // the first worker has one more
	if summary.Requests != others || summary.Good != others || summary.Response.TotalCount() != others || summary.Unanswered != 0 {
		t.Errorf("got %+v", figures(summary))
	}
	if got := s.requests(); got < others {
		t.Errorf("the webhook got %d requests", got)
	}
}

// TestLostBefore loses a worker before the start.
func TestLostBefore(t *testing.T) {
	t.Parallel()
	for otherwise, want := range map[string]string{
		"mute":       "worker 2 of 3: it was not ready within 6s: signal: killed",
		"dies":       "worker 2 of 3: exit status 137: fatal error: out of memory",
		"leaves":     "worker 2 of 3: it ended without a result",
		"as another": "worker 2 of 3: it works as worker 1, but should be worker 2: signal: killed",
	} {
		t.Run(otherwise, func(t *testing.T) {
			t.Parallel()
			s, endpoint := serve(t, webhook.Handler())
			l := crontabLoad(t, endpoint, 300*time.Millisecond)
			if otherwise == "mute" {
				l.Patience = 6 * time.Second // for the others to come up, too
			}
			summary, err := Run(t.Context(), newLauncher(t, 1, otherwise), l, load.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			s.once(t, 20)
			if want = "33.3 % of the requests are missing from all figures: " + want; !summary.Partial || summary.PartialReason() != want || summary.Requests != 20 {
				t.Errorf("got %d requests, %q, want %q", summary.Requests, summary.PartialReason(), want)
			}
		})
	}
}

// TestInterrupted ends the context at several times.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		s, endpoint := serve(t, webhook.Handler())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		summary, err := Run(ctx, newLauncher(t, -1, ""), crontabLoad(t, endpoint, time.Hour), load.Watch{Second: func(load.Snapshot) { cancel() }})
		if err != nil {
			t.Fatal(err)
		}
		if !summary.Partial || summary.PartialReason() != "" || summary.Requests == 0 || summary.Requests != summary.Good || len(summary.Seconds) == 0 {
			t.Errorf("got %+v", figures(summary))
		}
		if got := uint64(s.requests()); got < summary.Requests || got > summary.Requests+summary.Unanswered {
			t.Errorf("the webhook got %d requests, and %d were answered, %d not", got, summary.Requests, summary.Unanswered)
		}
	})
	for name, otherwise := range map[string]string{"before the start": "", "while it waits for a worker": "mute"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, endpoint := serve(t, webhook.Handler())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := newLauncher(t, 1, otherwise)
			summary, err := Run(ctx, following{f, cancel}, crontabLoad(t, endpoint, time.Hour), load.Watch{})
			if err != nil || !summary.Partial || summary.Requests+summary.Unanswered != 0 || summary.Response.TotalCount() != 0 {
				t.Errorf("got %+v, %v", figures(summary), err)
			}
			s.once(t, 0)
		})
	}
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s, endpoint := serve(t, webhook.Handler())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		summary, err := Run(ctx, newLauncher(t, -1, ""), crontabLoad(t, endpoint, time.Hour), load.Watch{})
		if err != nil || !summary.Partial || summary.Requests+summary.Unanswered != 0 {
			t.Errorf("got %+v, %v", figures(summary), err)
		}
		s.once(t, 0)
	})
}

// following is a launcher that calls a function when the first worker says hello.
type following struct {
	*launcher
	hello func()
}

func (f following) Start(ctx context.Context, task Task) (Workers, error) {
	started, err := f.launcher.Start(ctx, task)
	return followed{started, f.hello}, err
}

type followed struct {
	Workers
	hello func()
}

func (f followed) Follow(ctx context.Context, index int, line func([]byte)) error {
	return f.Workers.Follow(ctx, index, func(text []byte) {
		line(text)
		if strings.Contains(string(text), `"hello"`) {
			f.hello()
		}
	})
}

// TestNoWorkers has none come up.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	_, endpoint := serve(t, webhook.Handler())
	unreachable := endpoint
	unreachable.URL = "https://127.0.0.1:1/convert"
	mistrusted := endpoint
	mistrusted.CA = nil
	for name, test := range map[string]struct {
		endpoint wire.Endpoint
		launcher func(*launcher)
		want     []string
	}{
		"no program":  {endpoint, func(f *launcher) { f.Path = "/no/such/program" }, []string{"load: the workers cannot be started: ", "/no/such/program"}},
		"another one": {endpoint, func(f *launcher) { f.Args = []string{"-test.run", "^$", "-no-such-flag"} }, []string{"load: no worker has a result: worker 1 of 3: exit status 2", "-no-such-flag", "\nworker 3 of 3"}},
		"nobody there": {
			unreachable,
			nil,
			[]string{"worker 1 of 3: exit status 3: worker: webhook https://127.0.0.1:1/convert: connection refused; check that", "\nworker 2 of 3", "\nworker 3 of 3"},
		},
		"not trusted": {mistrusted, nil, []string{"worker 1 of 3: exit status 3: worker: webhook ", "certificate"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLauncher(t, -1, "")
			if test.launcher != nil {
				test.launcher(f)
			}
			summary, err := Run(t.Context(), f, crontabLoad(t, test.endpoint, time.Second), load.Watch{})
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want something with %q", err, want)
				}
			}
			if summary.Response != nil || summary.Requests != 0 {
				t.Errorf("it has figures all the same: %+v", figures(summary))
			}
		})
	}
}

// TestLoadsThatMakeNoSense has nothing be started.
func TestLoadsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Load)
		watch  load.Watch
		want   string
	}{
		"no workers":    {func(l *Load) { l.Workers = 0 }, load.Watch{}, "0 workers: it must be 1 or more"},
		"nothing":       {func(l *Load) { l.Requests = nil }, load.Watch{}, "nothing to send"},
		"a private key": {func(l *Load) { l.Endpoint.ClientCertificate = certificate() }, load.Watch{}, "given no private key"},
		"all requests":  {nil, load.Watch{Result: func(*vegeta.Result) {}}, "no list of all requests"},
		"a part":        {func(l *Load) { l.Workload = load.Split(l.Workload, 0, 2) }, load.Watch{}, "cannot be shared again"},
		"no rate":       {func(l *Load) { l.Workload.Phases = nil }, load.Watch{}, "neither a rate"},
	} {
		l := crontabLoad(t, wire.Endpoint{}, time.Second)
		if test.change != nil {
			test.change(&l)
		}
		f := newLauncher(t, -1, "")
		if _, err := Run(t.Context(), f, l, test.watch); err == nil || !strings.Contains(err.Error(), test.want) || f.started != nil {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
}

// TestOrphans has the parent of a worker die, which closes the worker's standard input.
func TestOrphans(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for workers to be given up")
	}
	t.Parallel()
	_, endpoint := serve(t, webhook.Handler())
	encoded, err := newSpec(crontabLoad(t, endpoint, time.Hour)).encode()
	if err != nil {
		t.Fatal(err)
	}
	started, err := newLauncher(t, -1, "").Start(t.Context(), Task{Spec: encoded, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	err = started.Follow(t.Context(), 0, func(line []byte) {
		m, ok := parse(line)
		switch {
		case !ok:
			t.Errorf("it wrote %s", line)
		case m.Hello != nil:
			kinds = append(kinds, "hello")
			if err := started.Send(t.Context(), 0, []byte(fmt.Sprintf(`{"start":%q,"leadNanoseconds":3000000000}`, time.Now().Add(3*time.Second).Format(time.RFC3339Nano)))); err != nil {
				t.Error(err)
			}
		case m.Second != nil:
			kinds = append(kinds, "second")
			started.(processes)[0].Input.Close()
		case m.Result != nil:
			kinds = append(kinds, "result")
			if !m.Result.Partial || m.Result.Requests == 0 {
				t.Errorf("got %+v", m.Result)
			}
		}
	})
	if err != nil || kinds[0] != "hello" || kinds[len(kinds)-1] != "result" || !slices.Contains(kinds, "second") {
		t.Errorf("it wrote %v and ended with %v", kinds, err)
	}
	if err := started.End(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEndAtOnce ends processes that nobody follows.
func TestEndAtOnce(t *testing.T) {
	t.Parallel()
	f := newLauncher(t, 1, "mute")
	started, err := f.Start(t.Context(), Task{Spec: []byte("{"), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := started.End(t.Context()); err != nil {
		t.Error(err)
	}
	// The cleanup of the launcher looks whether they are gone.
	if f.started[0].Err() == nil {
		t.Error("a worker is content with half a spec")
	}
}
