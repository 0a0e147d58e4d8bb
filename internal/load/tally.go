package load

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// lateAfter is how long after it is due a request may be sent without counting as late: timers of an ordinary
	// machine are off by up to a few milliseconds.
	lateAfter = 10 * time.Millisecond

	// lateShare is the share of late requests beyond which a run says more about the generator than about the webhook.
	lateShare = 0.01

	// lateAtLeast is how many late requests make a run void, at least. In a short run a single pause of the machine would
	// be more than the share otherwise.
	lateAtLeast = 3

	// findings is how many violations are kept with their text.
	findings = 100

	// evidence is how many bytes of exchanges are kept with them, at most.
	evidence = 4 << 20
)

// Kind is a kind of error.
type Kind = string

// The kinds of errors. A response counts as the first that applies.
const (
	Transport Kind = "transport" // no response, or half of one
	Timeout   Kind = "timeout"   // no response in time
	Overdue   Kind = "overdue"   // never sent: too many of those before it were not answered, until its response would have been too late
	HTTP      Kind = "http"      // a status that API servers take for a failure
	Failure   Kind = "failed"    // the webhook says that the conversion failed
	Contract  Kind = "contract"  // a response that API servers reject
	Differs   Kind = "content"   // other objects than before the load, or objects that check rejects
)

// kindOf returns the kind of error of a response that API servers reject.
func kindOf(response contract.Response, violation contract.Violation) Kind {
	switch {
	case response.TimedOut:
		return Timeout
	case response.Err != nil:
		return Transport
	case violation.Requirement == requirement.WebhookResponseHTTPStatus:
		return HTTP
	case violation.Requirement == requirement.WebhookFailureAvoided:
		return Failure
	case violation.Requirement == requirement.WebhookConversionPure, violation.Requirement == requirement.WebhookConversionRoundTrip:
		return Differs
	}
	return Contract
}

// Second is what came back in one second of a run.
type Second struct {
	loadgen.Second

	// Response is the histogram of the response times, as HdrHistogram encodes it. It is what Merge needs, so it is there in the
	// seconds of a part of a workload, and empty in others.
	Response string `json:"response"`
}

// Summary is the result of a workload.
type Summary struct {
	Workload Workload      `json:"-"`
	Began    time.Time     `json:"began"`
	Elapsed  time.Duration `json:"elapsedNanoseconds"` // from the first due request to the last response, or to where it was stopped
	Partial  bool          `json:"partial"`            // stopped by the caller before its end, or without the parts in Lost
	Lost     []Lost        `json:"-"`                  // parts of a shared workload that are in no figure
	Workers  int           `json:"-"`                  // generators that shared the workload, those in Lost among them; 0 when none did
	Protocol string        `json:"protocol"`           // of the first response, such as HTTP/1.1

	LastSent   time.Duration `json:"lastSentNanoseconds"`   // from the first due request to when the last one was sent
	LastAnswer time.Duration `json:"lastAnswerNanoseconds"` // from the first due request to the last whole response

	Requests uint64 `json:"requests"` // due, and answered or given up for lost
	Objects  uint64 `json:"objects"`  // in those that were sent
	Good     uint64 `json:"good"`     // requests whose response API servers accept; one that was not judged counts as accepted
	Accepted uint64 `json:"accepted"` // objects in them
	BytesIn  uint64 `json:"bytesIn"`  // of the bodies of whole responses
	BytesOut uint64 `json:"bytesOut"` // of the bodies of the requests that got them

	// Unanswered is the number of requests that were due but not answered when the run was stopped. They are neither in
	// Requests nor among the failed, since their outcome is unknown. The time that they had waited until then is in Response,
	// and in Service if they were sent: their true times are longer. Without it, a webhook that hangs would look fast to the
	// end.
	Unanswered uint64 `json:"unanswered"`

	// Unsent has the requests that the generator could not send because it lacked something of its own, such as file
	// descriptors or ports, by what the system said. They are in nothing else. A single one makes the run void: the webhook
	// was not under the requested load, and the same shortage may have caused other failures without being reported.
	Unsent map[string]uint64 `json:"unsent"`

	// Times in microseconds, with three significant digits. Errors count too: their time passed for a client as well.
	Response *hdrhistogram.Histogram `json:"-"` // from when a request was due
	Service  *hdrhistogram.Histogram `json:"-"` // from when it was sent
	Lag      *hdrhistogram.Histogram `json:"-"` // from when it could be sent, which is when it was due unless too many were in flight, to when it was

	Late       uint64                    `json:"late"`       // requests that the generator sent too late
	Errors     map[Kind]uint64           `json:"errors"`     // requests whose response API servers reject, by kind
	Violations map[requirement.ID]uint64 `json:"violations"` // requests with a violation, by requirement, tolerated ones included
	Findings   []loadgen.Finding         `json:"findings"`   // the first violations

	Seconds   []Second          `json:"-"`         // the run second by second; the last one may be shorter
	Generator loadgen.Generator `json:"generator"` // what the generator found out about itself
}

// Void reports whether the run says nothing about the webhook, because of the generator itself.
func (s Summary) Void() bool { return s.VoidReason() != "" }

// VoidReason returns why the run is void, or "" if it is not.
func (s Summary) VoidReason() string {
	sent := s.Requests + s.Unanswered - s.Errors[Overdue]
	if unsent := s.NotSent(); unsent > 0 {
		var reasons []string
		for _, lacking := range slices.Sorted(maps.Keys(s.Unsent)) {
			reasons = append(reasons, fmt.Sprintf("%d times %q", s.Unsent[lacking], lacking))
		}
		return fmt.Sprintf("the generator could not send %d of %d requests, it met a limit of its own system: %s; %s", unsent, sent+unsent, strings.Join(reasons, ", "), s.remedy())
	}
	if s.Late >= lateAtLeast && float64(s.Late) > lateShare*float64(sent) {
		return fmt.Sprintf("the generator was too busy: %d of %d requests were sent late because %s", s.Late, sent, s.busy())
	}
	return ""
}

// saturated is the share of the cores above which the generator itself kept them busy.
const saturated = 0.8

// busy says what made requests late, as far as the generator knows, and what to do.
func (s Summary) busy() string {
	g := s.Generator
	if g.ProcessorSeconds == 0 || s.Elapsed <= 0 {
		return "the machine had too little processor time; send less, or run it where there are cores to spare"
	}
	used := g.ProcessorSeconds / s.Elapsed.Seconds()
	switch {
	case s.Workers > 1: // they may share a machine, or have one each
		return fmt.Sprintf("the machines had too little processor time (the workers used %.2f cores altogether); send less, or run it where there are cores to spare", used)
	case used >= saturated*float64(g.Cores):
		return fmt.Sprintf("it used %.2f of %d cores itself; send less, or give it more cores", used, g.Cores)
	}
	return fmt.Sprintf("other processes, possibly the webhook, used the CPU (the generator used %.2f of %d cores); send less, or run it where there are cores to spare", used, g.Cores)
}

// remedy says what to do about what the system refused.
func (s Summary) remedy() string {
	var all []string
	for _, lacking := range shortages {
		if s.Unsent[lacking.errno.Error()] > 0 && !slices.Contains(all, lacking.remedy) {
			all = append(all, lacking.remedy)
		}
	}
	return strings.Join(append(all, "or send less"), ", ")
}

// NotSent is the number of requests that the generator could not send.
func (s Summary) NotSent() uint64 {
	n := uint64(0)
	for _, times := range s.Unsent {
		n += times
	}
	return n
}

// givenUp counts requests that were due but never sent as failed, although the run was not stopped.
func (s Summary) givenUp() Summary {
	if n := s.Unanswered; n > 0 {
		s.Unanswered, s.Requests = 0, s.Requests+n
		s.Errors[Overdue] = n
	}
	return s
}

// Behind says how much of the workload was not sent because the webhook was too slow. It is empty if everything was sent, and if the
// run was stopped.
func (s Summary) Behind() string {
	w, overdue, answered := s.Workload, s.Errors[Overdue], plain(s.RequestRate())
	if rate := s.RequestRate(); rate >= 10 {
		answered = plain(math.Round(rate))
	}
	switch {
	case overdue > 0:
		return fmt.Sprintf("%d of %d requests were never sent, since those before them waited for the webhook (%d at once, at most), which answered %s a second",
			overdue, s.Requests, w.inFlight(), answered)
	case w.Whole && s.Requests < w.Requests && s.Elapsed >= w.Duration:
		return fmt.Sprintf("%d of %d requests were sent in the %s that they had, since the webhook answered %s a second",
			s.Requests, w.Requests, w.Duration, answered)
	}
	return ""
}

// LateAfter is how long after it is due a request counts as late.
func (s Summary) LateAfter() time.Duration { return lateAfter }

// Failed is the number of requests whose response API servers reject.
func (s Summary) Failed() uint64 { return s.Requests - s.Good }

// SentRate is the number of requests a second that were sent, until the last was or, if that is later, until no more were due.
func (s Summary) SentRate() float64 {
	return perSecond(uint64(s.Lag.TotalCount()), s.atLeast(s.LastSent))
}

// RequestRate is the number of requests a second that got a complete response of any kind, until the last response arrived or, if
// that is later, until no more requests were due. So it never exceeds the rate of the workload, however short that is.
func (s Summary) RequestRate() float64 {
	return perSecond(s.answered(), s.atLeast(s.LastAnswer))
}

// answered is the number of requests that got a complete response of any kind.
func (s Summary) answered() uint64 {
	return s.Requests - s.Errors[Transport] - s.Errors[Timeout] - s.Errors[Overdue]
}

// ObjectRate is the number of objects a second that were converted as API servers accept it, in the same time as RequestRate.
func (s Summary) ObjectRate() float64 { return perSecond(s.Accepted, s.atLeast(s.LastAnswer)) }

// atLeast is a time or, if that is longer, the time for which requests were due. Clients end earlier when they have sent all, and
// so does what was stopped.
func (s Summary) atLeast(d time.Duration) time.Duration {
	due := s.Workload.Length()
	if s.Workload.Clients > 0 || s.Partial {
		due = min(due, s.Elapsed)
	}
	return max(d, due)
}

func perSecond(n uint64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(n) / elapsed.Seconds()
}

// Snapshot is the state of a run.
type Snapshot struct {
	Elapsed  time.Duration
	Requests uint64
	Failed   uint64
	P99      time.Duration // of the response time, since the beginning
	Last     Second        // the second that has just ended
}

type measurement struct {
	n                      uint64
	objects                int
	lag, service, response time.Duration
	done                   time.Time
	in, out                uint64 // bytes
}

// exchange is what was sent, what came back, and what the judge says of it.
type exchange struct {
	body      body
	uid       string
	response  contract.Response
	judgement contract.Judgement
}

// times are the times of requests, in histograms of microseconds.
type times struct{ response, service, lag *hdrhistogram.Histogram }

func newTimes() times { return times{histogram.New(), histogram.New(), histogram.New()} }

// add adds other times, which begin anew.
func (t times) add(other times) {
	for _, pair := range [][2]*hdrhistogram.Histogram{{t.response, other.response}, {t.service, other.service}, {t.lag, other.lag}} {
		pair[0].Merge(pair[1])
		pair[1].Reset()
	}
}

// tally adds up measurements. It is safe for use by many goroutines.
type tally struct {
	encodes bool  // the histogram of each second
	all     times // without those of the second that runs; only the caller of tick and summary uses it

	mu     sync.Mutex
	last   time.Time // until when the run lasted
	sent   time.Time // the last request
	came   time.Time // the last whole response
	sum    Summary
	second times // those of the second that runs
	spare  times // those of a second to come
	before Summary
	kept   int // bytes of evidence
}

func newTally() *tally {
	return &tally{all: newTimes(), second: newTimes(), spare: newTimes(), sum: Summary{
		Unsent:     map[string]uint64{},
		Errors:     map[Kind]uint64{},
		Violations: map[requirement.ID]uint64{},
	}}
}

func (t *tally) add(m measurement, e exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sum
	s.Requests++
	if s.Protocol == "" {
		s.Protocol = e.response.Protocol
	}
	s.Objects += uint64(m.objects)
	s.BytesIn += m.in
	s.BytesOut += m.out
	t.times(m)
	if e.response.Err == nil && m.done.After(t.came) {
		t.came = m.done
	}
	t.violations(m.n, e)
	if rejected := e.judgement.Rejected(); rejected != nil {
		s.Errors[kindOf(e.response, *rejected)]++
		return
	}
	s.Good++
	s.Accepted += uint64(m.objects)
}

// violations counts those of an exchange, and keeps the first. The caller holds the lock.
func (t *tally) violations(n uint64, e exchange) {
	s := &t.sum
	var seen []requirement.ID
	withFiles := false
	for _, v := range e.judgement.Violations {
		if !slices.Contains(seen, v.Requirement) {
			s.Violations[v.Requirement]++
			seen = append(seen, v.Requirement)
		}
		if len(s.Findings) >= findings || v.Severity == contract.Tolerated && exemplified(s.Findings, v.Requirement) {
			continue
		}
		f := loadgen.Finding{Request: n, Requirement: v.Requirement, Tolerated: v.Severity == contract.Tolerated, Text: v.String()}
		if size := len(e.body.before) + len(e.uid) + len(e.body.after) + len(e.response.Body); !withFiles && t.kept+size <= evidence {
			withFiles = true
			f.Files = filesOf(n, e.body.bytes(e.uid), e.response.Body)
			t.kept += size
		}
		s.Findings = append(s.Findings, f)
	}
}

// exemplified reports whether there is a finding of a requirement whose violations are tolerated. One example is enough: often all responses are alike.
func exemplified(all []loadgen.Finding, id requirement.ID) bool {
	return slices.ContainsFunc(all, func(f loadgen.Finding) bool { return f.Tolerated && f.Requirement == id })
}

// filesOf are the bodies of an exchange. There is no file of a response without a body.
func filesOf(n uint64, sent, received []byte) []loadgen.File {
	files := []loadgen.File{{Path: fmt.Sprintf("%d-request.json", n), Data: sent}}
	if received != nil {
		files = append(files, loadgen.File{Path: fmt.Sprintf("%d-response", n), Data: slices.Clone(received)})
	}
	return files
}

// unanswered adds a request that was sent, but not answered when the run was stopped.
func (t *tally) unanswered(m measurement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unanswered++
	t.times(m)
}

// waiting adds a request that was due, but not sent when the run was stopped or given up.
func (t *tally) waiting(waited time.Duration, stopped time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unanswered++
	histogram.Record(t.second.response, waited)
	t.until(stopped)
}

// unsent adds a request that could not be sent because the generator lacked something.
func (t *tally) unsent(lacking string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Unsent[lacking]++
}

// times adds the times of a request. The caller holds the lock.
func (t *tally) times(m measurement) {
	histogram.Record(t.second.response, m.response)
	histogram.Record(t.second.service, m.service)
	histogram.Record(t.second.lag, m.lag)
	if m.lag > lateAfter {
		t.sum.Late++
	}
	if sent := m.done.Add(-m.service); sent.After(t.sent) {
		t.sent = sent
	}
	t.until(m.done)
}

// until extends the run to at least a point in time. The caller holds the lock.
func (t *tally) until(moment time.Time) {
	if moment.After(t.last) {
		t.last = moment
	}
}

// tick ends a second and returns the state of the run.
func (t *tally) tick(elapsed time.Duration) Snapshot {
	t.mu.Lock()
	ended := t.second
	t.second, t.spare = t.spare, ended
	sum, before := t.sum, t.before
	t.before = sum
	t.mu.Unlock()

	second := Second{Second: loadgen.Second{
		End:      elapsed.Seconds(),
		Requests: sum.Requests - before.Requests,
		Objects:  sum.Accepted - before.Accepted,
		Failed:   sum.Failed() - before.Failed(),
	}}
	setTimes(&second.Second, ended.response)
	if t.encodes {
		second.Response = histogram.Encode(ended.response)
	}
	t.all.add(ended)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Seconds = append(t.sum.Seconds, second)
	return Snapshot{
		Elapsed:  elapsed,
		Requests: sum.Requests,
		Failed:   sum.Failed(),
		P99:      microseconds(t.all.response.ValueAtPercentile(99)),
		Last:     second,
	}
}

func microseconds(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// summary ends the run.
func (t *tally) summary(w Workload, began time.Time) Summary {
	if t.second.response.TotalCount() > 0 {
		end := t.last.Sub(began)
		if n := len(t.sum.Seconds); n > 0 {
			end = max(end, time.Duration(math.Round(t.sum.Seconds[n-1].End*float64(time.Second)))+time.Microsecond) // what was done just before a second ended may count after it
		}
		t.tick(end)
	}
	s := t.sum
	s.Workload, s.Began = w, began
	s.Response, s.Service, s.Lag = t.all.response, t.all.service, t.all.lag
	if !t.last.IsZero() {
		s.Elapsed = t.last.Sub(began)
	}
	if !t.sent.IsZero() {
		s.LastSent = max(t.sent.Sub(began), 0) // clocks of workers differ
	}
	if !t.came.IsZero() {
		s.LastAnswer = t.came.Sub(began)
	}
	slices.SortStableFunc(s.Findings, func(a, b loadgen.Finding) int { return cmp.Compare(a.Request, b.Request) })
	return s
}
