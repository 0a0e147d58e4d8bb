package load

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/wire"
)

// failing is a transport that fails every third request.
type failing struct {
	http.RoundTripper
	err  error
	seen atomic.Int64
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.seen.Add(1)%3 == 0 {
		return nil, f.err
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestLimitsOfTheGenerator has the system refuse what a connection needs. The webhook has nothing to do with that.
func TestLimitsOfTheGenerator(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it sends load for seconds")
	}
	for _, test := range []struct {
		op    string
		errno syscall.Errno
		own   bool
	}{
		{"socket", syscall.EMFILE, true},
		{"socket", syscall.ENFILE, true},
		{"socket", syscall.ENOBUFS, true},
		{"socket", syscall.ENOMEM, true},
		{"connect", syscall.EADDRNOTAVAIL, true},
		{"connect", syscall.EADDRINUSE, true},
		{"connect", syscall.ECONNREFUSED, false},
		{"read", syscall.ECONNRESET, false},
	} {
		t.Run(test.errno.Error(), func(t *testing.T) {
			sender := connect(t, webhook.Handler()).Sender()
			sender.HTTP().Transport = &failing{
				RoundTripper: sender.HTTP().Transport,
				err:          &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError(test.op, test.errno)},
			}
			requests, err := Bodies(crontabs, workload())
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			s, err := send(t.Context(), sender, requests, workload(), Watch{Result: func(r *vegeta.Result) {
				if strings.Contains(r.Error, test.errno.Error()) && r.Code == 0 {
					failed++
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if failed != 33 {
				t.Errorf("%d of vegeta's results have the error, want 33", failed)
			}
			if !test.own {
				if s.NotSent() != 0 || s.Requests != 100 || s.Errors[Transport] != 33 {
					t.Errorf("%d not sent, %d requests, %v, want 33 failures of the webhook", s.NotSent(), s.Requests, s.Errors)
				}
				return
			}
			if s.Requests != 67 || s.Failed() != 0 || s.Unsent[test.errno.Error()] != 33 || s.NotSent() != 33 || len(s.Errors)+len(s.Findings) > 0 {
				t.Errorf("%d requests, %d failed, %v, not sent %v", s.Requests, s.Failed(), s.Errors, s.Unsent)
			}
			if reason := s.VoidReason(); !s.Void() || !strings.Contains(reason, "could not send 33 of 100") || !strings.Contains(reason, test.errno.Error()) {
				t.Errorf("void: %t, because %s", s.Void(), reason)
			}
		})
	}
}

// TestConnections opens some before the first request, and wants the file descriptors back for what comes next, such as reports.
func TestConnections(t *testing.T) {
	opened, closed := make(chan struct{}, 1000), make(chan struct{}, 1000)
	var first sync.Once
	var asked time.Time
	ahead := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { ahead, asked = len(opened), time.Now() })
		webhook.Handler().ServeHTTP(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened <- struct{}{}
		case http.StateClosed:
			closed <- struct{}{}
		default:
		}
	}
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	client, err := wire.Connect(wire.Endpoint{URL: server.URL, CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := attack(t.Context(), client, workload(), Watch{}); err != nil {
		t.Fatal(err)
	}
	// On a machine that is so busy that the handshakes take longer than an attack waits for them, the rest are opened later.
	if took := asked.Sub(began); ahead != connectionsAhead && took < time.Second || ahead == 0 {
		t.Errorf("%d connections were open at the first request, want %d", ahead, connectionsAhead)
	}
	deadline := time.After(30 * time.Second)
	for range len(opened) {
		select {
		case <-closed:
		case <-deadline:
			t.Fatalf("connections are still open after the run, of %d", len(opened))
		}
	}
}

// TestFewConnectionsAreOpenedAtOnce has a webhook that never ends the TLS handshake. Requests that wait for it open no more
// connections than a few, though many may be in flight.
func TestFewConnectionsAreOpenedAtOnce(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var connections []net.Conn
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			if connections = append(connections, connection); len(connections) == 2*connectionsAhead {
				time.AfterFunc(300*time.Millisecond, cancel)
			}
		}
	}()
	client, err := wire.Connect(wire.Endpoint{URL: "https://" + listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := attack(ctx, client, workload(), Watch{})
	if err != nil || !s.Partial || s.Requests != 0 {
		t.Errorf("partial %t, %d requests, %v", s.Partial, s.Requests, err)
	}
	listener.Close()
	<-served
	for _, connection := range connections {
		connection.Close()
	}
	if want := 2 * connectionsAhead; len(connections) != want { // those before the first request, which it gives up, and its own
		t.Errorf("%d connections, want %d", len(connections), want)
	}
}

// TestUnanswered stops the run while the webhook stands still. What it owes must be seen in its times.
func TestUnanswered(t *testing.T) {
	const answered, stalled = 10, 20
	ctx, cancel := context.WithCancel(t.Context())
	var seen atomic.Int64
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := seen.Add(1)
		if n > answered {
			if n == answered+stalled {
				cancel()
			}
			<-r.Context().Done()
			return
		}
		webhook.Handler().ServeHTTP(w, r)
	}))
	w := workload()
	w.Phases[0].Seconds = 3600
	s, err := attack(ctx, client, w, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Partial || s.Failed() != 0 || s.Requests > answered || s.Unanswered < stalled {
		t.Errorf("partial: %t, %d requests, %d failed, %d unanswered", s.Partial, s.Requests, s.Failed(), s.Unanswered)
	}
	if n, want := s.Response.TotalCount(), int64(s.Requests+s.Unanswered); n != want {
		t.Errorf("%d response times, want %d", n, want)
	}
	// The first that waits is due 19 intervals of 5 ms before the last.
	if longest := time.Duration(s.Response.Max()) * time.Microsecond; longest < 90*time.Millisecond {
		t.Errorf("the longest response time is %s, want 95 ms at least", longest)
	}
	if longest := time.Duration(s.Response.Max()) * time.Microsecond; s.Elapsed < longest {
		t.Errorf("it took %s, less than the %s of a response", s.Elapsed, longest)
	}
}

// TestUnsentWhenStopped is about requests that are due, but wait for others when the run is stopped.
func TestUnsentWhenStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRun(ctx, connect(t, webhook.Handler()).Sender(), workload(), nil, Watch{})
	r.began = time.Now()
	r.next, r.stopped = 10, r.began.Add(102*time.Millisecond)
	s := r.end()
	// Those from 10 to 20 are due by then, 5 ms from each other.
	if s.Unanswered != 11 || s.Response.TotalCount() != 11 || s.Service.TotalCount() != 0 || s.Requests != 0 || s.Elapsed != 102*time.Millisecond {
		t.Errorf("got %+v", s)
	}
	if s.Response.Min() < 1900 || s.Response.Max() < 51900 {
		t.Errorf("they waited from %d to %d us", s.Response.Min(), s.Response.Max())
	}
}

// TestLookupsShortOfFiles has errors of lookups, which keep nothing but the text of what went wrong.
func TestLookupsShortOfFiles(t *testing.T) {
	lookup := func(text string) error {
		return fmt.Errorf("asking the webhook: %w", &net.DNSError{Err: text, Name: "webhook.example.com"})
	}
	if got := shortage(lookup("dial udp 192.0.2.1:53: socket: " + syscall.EMFILE.Error())); got != syscall.EMFILE.Error() {
		t.Errorf("got %q, want %q", got, syscall.EMFILE.Error())
	}
	if got := shortage(lookup("no such host")); got != "" {
		t.Errorf("a host that does not exist is put down to %q", got)
	}
}

// TestStandstill has a webhook that holds all requests in flight until long after the end.
func TestStandstill(t *testing.T) {
	client := connect(t, webhook.Handler())
	w := workload()
	w.InFlight = 1
	r := newRun(t.Context(), client.Sender(), w, nil, Watch{})
	defer r.clock.close()
	r.began = time.Now().Add(-w.Length() - client.Endpoint().Timeout)
	if _, stop := r.Pace(0, 0); stop {
		t.Fatal("it stops though a request may be sent")
	}
	if _, stop := r.Pace(0, 1); !stop || r.next != 1 || r.stopped.IsZero() {
		t.Errorf("stop %t, cut at %d", stop, r.next)
	}
}

// TestBehind sends more than the webhook can answer, and nobody stops it. What was never sent has failed, and it is said why.
func TestBehind(t *testing.T) {
	t.Parallel()
	client, err := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(50 * time.Millisecond)
		webhook.Handler().ServeHTTP(w, r)
	})).With(func(e *wire.Endpoint) { e.Timeout = 500 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	w := workload() // 100 requests in 500 ms; 2 at once make 40 until half a second later
	w.InFlight = 2
	hits := map[uint64]bool{}
	s, err := attack(t.Context(), client, w, Watch{Result: func(r *vegeta.Result) { hits[r.Seq] = true }})
	if err != nil {
		t.Fatal(err)
	}
	overdue, inSeconds := s.Errors[Overdue], uint64(0)
	for _, second := range s.Seconds {
		inSeconds += second.Requests
	}
	if s.Partial || s.Unanswered != 0 {
		t.Errorf("partial %t with %d unanswered, though it went on to its end", s.Partial, s.Unanswered)
	}
	if overdue < 56 {
		t.Errorf("%d were never sent, want 60 or a few less", overdue)
	}
	for what, got := range map[string]uint64{
		"due": s.Requests, "hits, or never sent": uint64(len(hits)) + overdue, "good or failed": s.Good + s.Failed(), "in seconds or never sent": inSeconds + overdue,
		"timed from when they were due": uint64(s.Response.TotalCount()), "timed from when they were sent, or never": uint64(s.Service.TotalCount()) + overdue,
	} {
		if got != 100 {
			t.Errorf("%d requests were %s, want 100; errors %v", got, what, s.Errors)
		}
	}
	if s.Failed() < overdue {
		t.Errorf("%d failed, fewer than the %d that were never sent", s.Failed(), overdue)
	}
	if rate := s.RequestRate(); rate > 44 {
		t.Errorf("%g were answered a second, and 2 at once in 50 ms are 40", rate)
	}
	if want := fmt.Sprintf("%d of 100 requests were never sent, since those before them waited for the webhook (2 at once, at most), which answered ", overdue); !strings.HasPrefix(s.Behind(), want) {
		t.Errorf("got %q, want %q", s.Behind(), want)
	}
}

// TestClientsWithoutTime has clients that are to send all of their requests, and cannot. Others may end when their time is over.
func TestClientsWithoutTime(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it sends load for seconds")
	}
	t.Parallel()
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-time.After(20 * time.Millisecond)
		webhook.Handler().ServeHTTP(w, r)
	}))
	w := workload()
	w.Phases, w.Clients, w.Duration, w.Requests = nil, 2, 2*time.Second, 1000
	for _, whole := range []bool{true, false} {
		w.Whole = whole
		s, err := attack(t.Context(), client, w, Watch{})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if whole {
			want = fmt.Sprintf("%d of 1000 requests were sent in the 2s that they had", s.Requests)
		}
		if got := s.Behind(); s.Partial || s.Requests == 0 || s.Failed() != 0 || !strings.HasPrefix(got, want) || (got == "") == whole {
			t.Errorf("whole %t: got %q with %d requests, want %q", whole, got, s.Requests, want)
		}
	}
	for name, whole := range map[string]bool{profiles.Relist: true, profiles.APIServer: false} {
		p, err := Settings{Pairs: w.Pairs}.Profile(name)
		if err != nil || p.Stages[0].Whole != whole {
			t.Errorf("%s: whole %t, %v", name, p.Stages[0].Whole, err)
		}
	}
}

func TestInFlight(t *testing.T) {
	const most = 3
	var now, highest atomic.Int64
	client := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for h := highest.Load(); n > h && !highest.CompareAndSwap(h, n); h = highest.Load() {
		}
		<-time.After(20 * time.Millisecond)
		now.Add(-1)
		webhook.Handler().ServeHTTP(w, r)
	}))
	w := workload()
	w.InFlight = most
	s, err := attack(t.Context(), client, w, Watch{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Good != 100 || highest.Load() > most {
		t.Errorf("%d good, %d at once, want %d at most", s.Good, highest.Load(), most)
	}
	// A request every 5 ms and 3 in 20 ms: the last waits for a quarter of the 660 ms that all take.
	if longest := time.Duration(s.Response.Max()) * time.Microsecond; longest < 150*time.Millisecond {
		t.Errorf("the longest response time is %s: it has no wait in it", longest)
	}
}

// nowhere is a sender that nothing is sent by.
func nowhere(t *testing.T) *wire.Sender {
	t.Helper()
	client, err := wire.Connect(wire.Endpoint{URL: "https://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	return client.Sender()
}

// TestWaitIsNoLag holds that a request which waits for others to end is not sent late.
func TestWaitIsNoLag(t *testing.T) {
	w := workload()
	w.InFlight = 2
	r := newRun(t.Context(), nowhere(t), w, nil, Watch{})
	defer r.clock.close()
	r.began = time.Now().Add(-time.Minute)
	afterwards := r.due(2).Add(time.Second)
	for n, test := range []struct{ free, want time.Time }{
		{time.Time{}, r.due(0)}, // as at the beginning
		{time.Time{}, r.due(1)},
		{afterwards, afterwards},
		{afterwards, afterwards},
		{r.began, r.due(4)},
	} {
		if n >= w.InFlight {
			r.slots.free <- test.free
		}
		if _, stop := r.Pace(0, uint64(n)); stop {
			t.Fatal("it stops")
		}
		if h := r.hits[uint64(n)]; !h.ready.Equal(test.want) || !h.due.Equal(r.due(uint64(n))) {
			t.Errorf("request %d can be sent at %s, want %s", n, h.ready, test.want)
		}
	}
}

// TestClientsBeginWhenTheRunDoes holds that the first requests of clients, which wait for none, are due at the beginning.
func TestClientsBeginWhenTheRunDoes(t *testing.T) {
	w := workload()
	w.Clients, w.Duration = 2, time.Hour
	r := newRun(t.Context(), nowhere(t), w, nil, Watch{})
	defer r.clock.close()
	r.began = time.Now().Add(-time.Minute)
	later := r.began.Add(time.Second)
	for n, want := range []time.Time{r.began, r.began, later} {
		if n >= w.Clients {
			r.slots.free <- later
		}
		if _, stop := r.Pace(0, uint64(n)); stop {
			t.Fatal("it stops")
		}
		if h := r.hits[uint64(n)]; !h.ready.Equal(want) || !h.due.Equal(want) {
			t.Errorf("request %d is due at %s and can be sent at %s, want %s", n, h.due, h.ready, want)
		}
	}
}

func TestPacerStopsWhileItWaits(t *testing.T) {
	for name, prepare := range map[string]func(*run){
		"for the time":    func(r *run) { r.began = time.Now().Add(time.Hour) },
		"for the webhook": func(r *run) { r.began, r.slots = time.Now(), &slots{} },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := newRun(ctx, nowhere(t), workload(), nil, Watch{})
		prepare(r)
		time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
		if _, stop := r.Pace(0, 7); !stop || r.next != 7 || r.stopped.IsZero() {
			t.Errorf("%s: stop %t, cut at %d, %s", name, stop, r.next, r.stopped)
		}
		r.clock.close()
	}
}

// TestConnectionsOfBefore has a connection of HTTP/2 be there before the run. As many requests are in flight as without.
func TestConnectionsOfBefore(t *testing.T) {
	t.Parallel()
	var inFlight, most atomic.Int64
	good := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := inFlight.Add(1)
		defer inFlight.Add(-1)
		for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
			continue
		}
		_ = pause.For(r.Context(), 200*time.Millisecond)
		webhook.Handler().ServeHTTP(w, r)
	}))
	client, err := good.With(func(e *wire.Endpoint) { e.HTTP2 = true })
	if err != nil {
		t.Fatal(err)
	}
	w := workload()
	requests, err := Bodies(crontabs, w)
	if err != nil {
		t.Fatal(err)
	}
	body, err := requests[0].Body()
	if err != nil {
		t.Fatal(err)
	}
	if response := client.Send(t.Context(), body); response.Protocol != "HTTP/2.0" {
		t.Fatalf("the protocol is %q, %v", response.Protocol, response.Err)
	}
	if _, err := Run(t.Context(), client, requests, w, Watch{}); err != nil {
		t.Fatal(err)
	}
	if most.Load() <= connectionsAhead {
		t.Errorf("%d requests were in flight at once, want more than %d", most.Load(), connectionsAhead)
	}
}
