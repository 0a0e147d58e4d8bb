package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/loadgen"
)

// protocol is the version of what coordinators and workers say to each other. Both sides have to know the same one: a field that
// one of them does not know would change what is measured.
const protocol = 3

// spec is what workers are given. It holds no private key.
type spec struct {
	Protocol int `json:"protocol"`
	Of       int `json:"of"` // workers

	// Patience is how long a worker that is ready waits for the others.
	Patience time.Duration `json:"patienceNanoseconds"`

	Endpoint endpoint  `json:"endpoint"`
	Workload workload  `json:"workload"`
	Requests []request `json:"requests"`
}

type endpoint struct {
	URL        string        `json:"url"`
	CA         []byte        `json:"ca,omitempty"` // PEM
	ServerName string        `json:"serverName,omitempty"`
	HTTP2      bool          `json:"http2,omitempty"`
	Timeout    time.Duration `json:"timeoutNanoseconds,omitempty"`
}

type workload struct {
	Name          string        `json:"name,omitempty"`
	Phases        []phase       `json:"phases,omitempty"`
	Clients       int           `json:"clients,omitempty"`
	Duration      time.Duration `json:"durationNanoseconds,omitempty"`
	Requests      uint64        `json:"requests,omitempty"`
	Whole         bool          `json:"whole,omitempty"`
	Batch         int           `json:"batch"`
	Bytes         int           `json:"bytes,omitempty"`
	ReviewVersion string        `json:"reviewVersion"`
	Pairs         []pair        `json:"pairs,omitempty"`
	InFlight      int           `json:"inFlight,omitempty"`
	JudgeEvery    int           `json:"judgeEvery,omitempty"`

	Due []time.Duration `json:"dueNanoseconds,omitempty"`
}

type phase struct {
	Duration time.Duration `json:"durationNanoseconds"`
	Rate     float64       `json:"rate"`
	To       float64       `json:"to"`
}

type pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type request struct {
	ReviewVersion     string            `json:"reviewVersion"`
	DesiredAPIVersion string            `json:"desiredAPIVersion"`
	Objects           []json.RawMessage `json:"objects"`
}

// newSpec translates a load.
func newSpec(l Load) spec {
	e, w := l.Endpoint, l.Workload
	s := spec{
		Protocol: protocol, Of: l.Workers, Patience: l.patience(),
		Endpoint: endpoint{e.URL, e.CA, e.ServerName, e.HTTP2, e.Timeout},
		Workload: workload{
			Name: w.Name, Clients: w.Clients, Duration: w.Duration, Requests: w.Requests, Whole: w.Whole, Batch: w.Batch, Bytes: w.Bytes,
			ReviewVersion: w.ReviewVersion, InFlight: w.InFlight, JudgeEvery: w.JudgeEvery, Due: w.Due,
		},
	}
	for _, p := range w.Phases {
		s.Workload.Phases = append(s.Workload.Phases, phase(p))
	}
	for _, p := range w.Pairs {
		s.Workload.Pairs = append(s.Workload.Pairs, pair(p))
	}
	for _, r := range l.Requests {
		s.Requests = append(s.Requests, request{r.ReviewVersion, r.DesiredAPIVersion, r.Objects})
	}
	return s
}

// load translates back.
func (s spec) load() Load {
	e, w := s.Endpoint, s.Workload
	l := Load{
		Endpoint: wire.Endpoint{URL: e.URL, CA: e.CA, ServerName: e.ServerName, HTTP2: e.HTTP2, Timeout: e.Timeout},
		Workload: loadgen.Workload{
			Name: w.Name, Clients: w.Clients, Duration: w.Duration, Requests: w.Requests, Whole: w.Whole, Batch: w.Batch, Bytes: w.Bytes,
			ReviewVersion: w.ReviewVersion, InFlight: w.InFlight, JudgeEvery: w.JudgeEvery, Due: w.Due,
		},
		Workers: s.Of, Patience: s.Patience,
	}
	for _, p := range w.Phases {
		l.Workload.Phases = append(l.Workload.Phases, loadgen.Phase(p))
	}
	for _, p := range w.Pairs {
		l.Workload.Pairs = append(l.Workload.Pairs, corpus.Pair(p))
	}
	for _, r := range s.Requests {
		l.Requests = append(l.Requests, contract.Request{ReviewVersion: r.ReviewVersion, DesiredAPIVersion: r.DesiredAPIVersion, Objects: r.Objects})
	}
	return l
}

func (s spec) encode() ([]byte, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("load: the spec of the workers: %w", err)
	}
	return append(encoded, '\n'), nil
}

// decodeSpec reads a spec. It fails when that is of another protocol, or has anything in it that is not known.
func decodeSpec(raw []byte) (spec, error) {
	var version struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return spec{}, fmt.Errorf("the spec of the workers is not JSON: %w", err)
	}
	if version.Protocol != protocol {
		return spec{}, otherProtocol(version.Protocol)
	}
	var s spec
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return spec{}, fmt.Errorf("the spec of the workers: %w", err)
	}
	switch {
	case s.Of < 1:
		return spec{}, fmt.Errorf("the spec of the workers is for %d of them; it has to be 1 or more", s.Of)
	case len(s.Requests) == 0:
		return spec{}, errors.New("the spec of the workers has no requests in it")
	}
	return s, nil
}

// otherProtocol says that two sides are of different releases.
func otherProtocol(other int) error {
	return fmt.Errorf("the other side speaks version %d of the protocol of workers, and this one %d: use the same release of crdconform for both", other, protocol)
}
