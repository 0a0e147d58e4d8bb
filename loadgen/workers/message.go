package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// message is a line that a worker writes. Exactly one of its fields is set.
type message struct {
	Hello  *hello  `json:"hello,omitempty"`
	Ack    *ack    `json:"ack,omitempty"`
	Second *second `json:"second,omitempty"`
	Result *result `json:"result,omitempty"`
}

// hello says that a worker is ready to start.
type hello struct {
	Protocol int `json:"protocol"`
	Index    int `json:"index"`
}

// ack says that a worker has its order to start.
type ack struct {
	Order int       `json:"order"`
	Clock time.Time `json:"clock"` // of the worker, when it got the order
}

// second is what came back in a second.
type second struct {
	Number   int           `json:"number"` // from 0
	End      time.Duration `json:"endNanoseconds"`
	Requests uint64        `json:"requests"`
	Objects  uint64        `json:"objects"`
	Failed   uint64        `json:"failed"`
	Response string        `json:"response"` // histogram
}

// result is what came of the worker's part, without the seconds, which were written before.
type result struct {
	Began      time.Time                 `json:"began"`
	Elapsed    time.Duration             `json:"elapsedNanoseconds"`
	LastSent   time.Duration             `json:"lastSentNanoseconds"`
	LastAnswer time.Duration             `json:"lastAnswerNanoseconds"`
	Partial    bool                      `json:"partial"`
	Stopped    bool                      `json:"stopped"` // it was told to stop, by whomever
	Protocol   string                    `json:"protocol"`
	Requests   uint64                    `json:"requests"`
	Objects    uint64                    `json:"objects"`
	Good       uint64                    `json:"good"`
	Accepted   uint64                    `json:"accepted"`
	BytesIn    uint64                    `json:"bytesIn"`
	BytesOut   uint64                    `json:"bytesOut"`
	Unanswered uint64                    `json:"unanswered"`
	Unsent     map[string]uint64         `json:"unsent"`
	Response   string                    `json:"response"` // histogram, as the next two
	Service    string                    `json:"service"`
	Lag        string                    `json:"lag"`
	Late       uint64                    `json:"late"`
	Errors     map[loadgen.Kind]uint64   `json:"errors"`
	Violations map[requirement.ID]uint64 `json:"violations"`
	Findings   []finding                 `json:"findings"`
	Judged     uint64                    `json:"judged"`
	Seconds    int                       `json:"seconds"`
	Generator  generator                 `json:"generator"`
}

type finding struct {
	Request   uint64    `json:"request"`
	Violation violation `json:"violation"`
	Sent      []byte    `json:"sent,omitempty"`
	Received  []byte    `json:"received,omitempty"`
}

type violation struct {
	Requirement requirement.ID    `json:"requirement"`
	Severity    contract.Severity `json:"severity"`
	Object      int               `json:"object"`
	Path        string            `json:"path"`
	Expected    string            `json:"expected"`
	Actual      string            `json:"actual"`
}

type generator struct {
	Processor   time.Duration `json:"processorNanoseconds"`
	Cores       int           `json:"cores"`
	Collections uint64        `json:"collections"`
	Paused      time.Duration `json:"pausedNanoseconds"`
	Waited      time.Duration `json:"waitedNanoseconds"`
}

// order is a line for a worker that said hello. One that says neither when to start nor to stop says that the coordinator is
// there.
type order struct {
	Number int `json:"number"` // from 1; an order that is given again has another one

	Start time.Time     `json:"start,omitzero"`            // when the workload begins
	Lead  time.Duration `json:"leadNanoseconds,omitempty"` // how long before that the order was given
	Stop  bool          `json:"stop,omitempty"`            // end, with what there is so far
}

// evidence is how many bytes of exchanges a worker passes on, at most. The logs of pods are kept to 10 MiB by default, and
// these bytes take a third more there.
const evidence = 4 << 20

// secondOf translates a second.
func secondOf(number int, s loadgen.Second) *second {
	return &second{number, s.End, s.Requests, s.Objects, s.Failed, string(s.Response)}
}

// second translates back. Percentiles are for whoever merges.
func (s second) second() loadgen.Second {
	return loadgen.Second{End: s.End, Requests: s.Requests, Objects: s.Objects, Failed: s.Failed, Response: []byte(s.Response)}
}

// resultOf translates a summary.
func resultOf(s loadgen.Summary) (*result, error) {
	response, err1 := s.Response.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	service, err2 := s.Service.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	lag, err3 := s.Lag.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	r := &result{
		Began: s.Began, Elapsed: s.Elapsed, LastSent: s.LastSent, LastAnswer: s.LastAnswer, Partial: s.Partial, Protocol: s.Protocol,
		Requests: s.Requests, Objects: s.Objects, Good: s.Good, Accepted: s.Accepted, BytesIn: s.BytesIn, BytesOut: s.BytesOut,
		Unanswered: s.Unanswered, Unsent: s.Unsent, Response: string(response), Service: string(service), Lag: string(lag),
		Late: s.Late, Errors: s.Errors, Violations: s.Violations, Judged: s.Judged, Seconds: len(s.Seconds), Generator: generator(s.Generator),
	}
	kept := 0
	for _, f := range s.Findings {
		passed := finding{Request: f.Request, Violation: violation(f.Violation)}
		if size := len(f.Sent) + len(f.Received); kept+size <= evidence {
			passed.Sent, passed.Received = f.Sent, f.Received
			kept += size
		}
		r.Findings = append(r.Findings, passed)
	}
	return r, errors.Join(err1, err2, err3)
}

// summary translates back, with the workload of the part and the seconds that came before. It fails when they do not belong
// together.
func (r result) summary(w loadgen.Workload, seconds []loadgen.Second) (loadgen.Summary, error) {
	response, err1 := histogram(r.Response)
	service, err2 := histogram(r.Service)
	lag, err3 := histogram(r.Lag)
	if err := errors.Join(err1, err2, err3); err != nil {
		return loadgen.Summary{}, err
	}
	s := loadgen.Summary{
		Workload: w, Began: r.Began, Elapsed: r.Elapsed, LastSent: r.LastSent, LastAnswer: r.LastAnswer, Partial: r.Partial, Protocol: r.Protocol,
		Requests: r.Requests, Objects: r.Objects, Good: r.Good, Accepted: r.Accepted, BytesIn: r.BytesIn, BytesOut: r.BytesOut,
		Unanswered: r.Unanswered, Unsent: r.Unsent, Response: response, Service: service, Lag: lag,
		Late: r.Late, Errors: r.Errors, Violations: r.Violations, Judged: r.Judged, Seconds: seconds, Generator: loadgen.Generator(r.Generator),
	}
	for _, f := range r.Findings {
		s.Findings = append(s.Findings, loadgen.Finding{Request: f.Request, Violation: contract.Violation(f.Violation), Sent: f.Sent, Received: f.Received})
	}
	inSeconds := uint64(0)
	for _, second := range seconds {
		inSeconds += second.Requests
	}
	inSeconds += r.Errors[loadgen.Overdue] // those were in none
	if len(seconds) != r.Seconds || inSeconds != r.Requests || uint64(response.TotalCount()) != r.Requests+r.Unanswered {
		return loadgen.Summary{}, fmt.Errorf("its figures do not agree: %d of %d seconds with %d of %d requests, %d response times of %d",
			len(seconds), r.Seconds, inSeconds, r.Requests, response.TotalCount(), r.Requests+r.Unanswered)
	}
	return s, nil
}

func histogram(encoded string) (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("a histogram of its result: %w", err)
	}
	return h, nil
}

// parse reads a line that a worker wrote. It returns false for what is no message, such as what the runtime of Go writes when a
// program dies.
func parse(line []byte) (message, bool) {
	var m message
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil || decoder.More() {
		return message{}, false
	}
	set := 0
	for _, is := range []bool{m.Hello != nil, m.Ack != nil, m.Second != nil, m.Result != nil} {
		if is {
			set++
		}
	}
	return m, set == 1
}
