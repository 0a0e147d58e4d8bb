package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/load"
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
	Number int `json:"number"` // from 0
	load.Second
}

// result is what came of the worker's part, without the seconds, which were written before.
type result struct {
	load.Summary

	Stopped  bool              `json:"stopped"` // before its end, by an order or its context
	Seconds  int               `json:"seconds"` // that were written before
	Response string            `json:"response"`
	Service  string            `json:"service"`
	Lag      string            `json:"lag"`
	Files    map[string][]byte `json:"files,omitempty"` // of the findings, by path
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

// resultOf is a summary with all that its JSON form leaves out.
func resultOf(s load.Summary) *result {
	r := &result{
		Summary: s, Seconds: len(s.Seconds), Files: map[string][]byte{},
		Response: histogram.Encode(s.Response), Service: histogram.Encode(s.Service), Lag: histogram.Encode(s.Lag),
	}
	r.Findings = slices.Clone(s.Findings)
	kept := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		size := 0
		for _, file := range f.Files {
			size += len(file.Data)
		}
		if kept+size > evidence {
			f.Files = nil
			continue
		}
		kept += size
		for _, file := range f.Files {
			r.Files[file.Path] = file.Data
		}
	}
	return r
}

// complete is the summary with the workload of the part and the seconds that came before. It fails when they do not belong
// together.
func (r result) complete(w load.Workload, seconds []load.Second) (load.Summary, error) {
	s := r.Summary
	s.Workload, s.Seconds = w, seconds
	var err1, err2, err3 error
	s.Response, err1 = histogram.Decode(r.Response)
	s.Service, err2 = histogram.Decode(r.Service)
	s.Lag, err3 = histogram.Decode(r.Lag)
	if err := errors.Join(err1, err2, err3); err != nil {
		return load.Summary{}, fmt.Errorf("a histogram of its result: %w", err)
	}
	for _, f := range s.Findings {
		for i := range f.Files {
			f.Files[i].Data = r.Files[f.Files[i].Path]
		}
	}
	inSeconds := uint64(0)
	for _, second := range seconds {
		inSeconds += second.Requests
	}
	inSeconds += s.Errors[load.Overdue] // those were in none
	if len(seconds) != r.Seconds || inSeconds != s.Requests || uint64(s.Response.TotalCount()) != s.Requests+s.Unanswered {
		return load.Summary{}, fmt.Errorf("its figures do not agree: %d of %d seconds with %d of %d requests, %d response times of %d",
			len(seconds), r.Seconds, inSeconds, s.Requests, s.Response.TotalCount(), s.Requests+s.Unanswered)
	}
	return s, nil
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
