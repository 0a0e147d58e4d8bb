package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/loadgen"
)

// Workload says what load is sent, and when: by the clock, or by clients that wait for each answer before they ask again.
type Workload struct {
	// Name distinguishes the workload from others of the same load test, such as "batch 500, 1024 bytes".
	Name string `json:"name,omitempty"`

	// Phases say when requests become due, one phase after another, whatever the webhook does. Empty for Due and Clients.
	Phases []loadgen.Phase `json:"phases,omitempty"`

	// Due says when each request becomes due, from the beginning, as those of a recording came. Ascending; empty for Phases and
	// Clients.
	Due []time.Duration `json:"dueNanoseconds,omitempty"`

	// Clients is how many clients ask, each as soon as it was answered; 0 for Phases and Due. They stop after Duration, and after
	// Requests if that is not 0.
	Clients  int           `json:"clients,omitempty"`
	Duration time.Duration `json:"durationNanoseconds,omitempty"`
	Requests uint64        `json:"requests,omitempty"`

	// Whole reports whether the clients must send all Requests: if Duration is too short for that, the run is incomplete.
	Whole bool `json:"whole,omitempty"`

	Batch         int            `json:"batch"`           // objects in a request, at least 1
	Bytes         int            `json:"bytes,omitempty"` // that an object is to have as JSON, at least; 0 to leave it as it is. See Bodies.
	ReviewVersion string         `json:"reviewVersion"`   // of ConversionReview: v1 or v1beta1
	Pairs         []loadgen.Pair `json:"pairs,omitempty"` // versions to convert from and to, in turn

	// InFlight is how many requests of Phases and Due may wait for their responses at once; 0 for profiles.DefaultInFlight. Requests
	// beyond are sent when others are done, and their response times have the wait in them. What could not be sent until the webhook's
	// timeout after the end is not sent any more and has failed, as Overdue.
	InFlight int `json:"inFlight,omitempty"`

	// JudgeContent reports whether the objects in judged responses are compared with Content, which Learn returns.
	JudgeContent bool     `json:"judgeContent,omitempty"`
	Content      *Content `json:"content,omitempty"`

	// Part is what this generator sends of the workload, when several share it. See Split.
	Part Part `json:"-"`
}

// Constant is one phase, at one rate.
func Constant(rate float64, duration time.Duration) []loadgen.Phase {
	return []loadgen.Phase{{Seconds: duration.Seconds(), Rate: rate, To: rate}}
}

// Length is how long requests become due. Of Due it is until the last one, and a mean interval more, as with a rate.
func (w Workload) Length() time.Duration {
	if w.Clients > 0 {
		return w.Duration
	}
	if n := len(w.Due); n > 0 {
		return w.Due[n-1] + w.Due[n-1]/time.Duration(max(n-1, 1))
	}
	var sum time.Duration
	for _, p := range w.Phases {
		sum += phaseDuration(p)
	}
	return sum
}

// Total is how many requests become due; for clients, it is the most that they may send.
func (w Workload) Total() uint64 {
	if w.Clients > 0 {
		if w.Requests > 0 {
			return w.Part.ofClients(w.Requests, w.Clients)
		}
		return math.MaxUint64
	}
	if len(w.Due) > 0 {
		return w.Part.share(uint64(len(w.Due)))
	}
	var sum float64
	for _, p := range w.Phases {
		sum += phaseRequests(p)
	}
	return w.Part.share(uint64(math.Round(sum)))
}

// Rate is the mean rate at which requests become due, in requests a second; 0 for clients, and when all are due at once.
func (w Workload) Rate() float64 {
	if w.Clients > 0 || w.Length() <= 0 {
		return 0
	}
	return float64(w.Total()) / w.Length().Seconds()
}

// inFlight is how many requests may wait for their responses at once.
func (w Workload) inFlight() int {
	most := profiles.DefaultInFlight
	switch {
	case w.Clients > 0:
		most = w.Clients
	case w.InFlight > 0:
		most = w.InFlight
	}
	return int(w.Part.share(uint64(most)))
}

// phaseDuration is how long a phase lasts.
func phaseDuration(p loadgen.Phase) time.Duration {
	return time.Duration(math.Round(p.Seconds * float64(time.Second)))
}

// phaseRequests is how many become due in a phase; it need not be whole.
func phaseRequests(p loadgen.Phase) float64 { return (p.Rate + p.To) / 2 * p.Seconds }

// after is how long after the beginning of the phase the k-th of its requests becomes due.
func after(p loadgen.Phase, k float64) time.Duration {
	slope := (p.To - p.Rate) / p.Seconds
	seconds := k / p.Rate
	if slope != 0 {
		// The integral of the rate is k.
		seconds = 2 * k / (p.Rate + math.Sqrt(max(p.Rate*p.Rate+2*slope*k, 0)))
	}
	if math.IsNaN(seconds) { // the first of a rate that begins at 0
		seconds = 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// due is how long after the beginning a request becomes due.
func (w Workload) due(n uint64) time.Duration {
	if len(w.Due) > 0 {
		return w.Due[min(n, uint64(len(w.Due)-1))]
	}
	k := float64(n)
	var began time.Duration
	for i, p := range w.Phases {
		if k < phaseRequests(p) || i == len(w.Phases)-1 {
			return began + min(after(p, k), phaseDuration(p))
		}
		k -= phaseRequests(p)
		began += phaseDuration(p)
	}
	return began
}

// Validate fails for a workload that cannot be sent, whatever the objects. The configuration checks upper limits.
func (w Workload) Validate() error {
	err := errors.Join(w.when(), w.what())
	if err == nil {
		err = w.shared()
	}
	if err == nil || w.Name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", w.Name, err)
}

// when returns what is wrong with the times.
func (w Workload) when() error {
	switch {
	case w.Clients > 0 && len(w.Phases)+len(w.Due) > 0:
		return errors.New("load: clients and phases cannot be combined: requests are due by the clock or when others are answered")
	case len(w.Phases) > 0 && len(w.Due) > 0:
		return errors.New("load: phases and times cannot be combined: requests are due at a rate or one by one")
	case w.Clients < 0:
		return fmt.Errorf("load: %d clients: it must be 1 or more", w.Clients)
	case w.Clients > 0 && w.Duration <= 0:
		return fmt.Errorf("load: a duration of %s: it must be more than 0", w.Duration)
	case w.Clients > 0:
		return nil
	case len(w.Phases)+len(w.Due) == 0:
		return errors.New("load: there is neither a rate nor a number of clients")
	case w.InFlight < 0:
		return fmt.Errorf("load: %d requests in flight: it must be 1 or more, or 0 for %d", w.InFlight, profiles.DefaultInFlight)
	case len(w.Due) > 0:
		if w.Due[0] < 0 || !slices.IsSorted(w.Due) {
			return errors.New("load: the times at which requests are due do not ascend from 0")
		}
		return nil
	}
	for _, p := range w.Phases {
		switch {
		case p.Seconds <= 0:
			return fmt.Errorf("load: a duration of %s: it must be more than 0", phaseDuration(p))
		case !(p.Rate >= 0 && p.To >= 0 && p.Rate+p.To > 0):
			return fmt.Errorf("load: a rate of %s requests a second: it must be more than 0", rates(p))
		}
	}
	if w.Total() < 1 {
		return fmt.Errorf("load: %s requests a second for %s make no request at all: raise one of them", rates(w.Phases[0]), w.Length())
	}
	return nil
}

// rates writes the rates of a phase, as in "100" or "100 to 500".
func rates(p loadgen.Phase) string {
	if p.Rate == p.To {
		return plain(p.Rate)
	}
	return plain(p.Rate) + " to " + plain(p.To)
}

// plain writes a rate without an exponent, and with two digits after the point at most; one below 1 with three that count.
func plain(rate float64) string {
	if rate < 1 {
		rate, _ = strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64) // it does not fail
		return strconv.FormatFloat(rate, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(100*rate)/100, 'f', -1, 64)
}

// what returns what is wrong with the requests.
func (w Workload) what() error {
	switch {
	case w.Batch < 1:
		return fmt.Errorf("load: a batch of %d objects: it must be 1 or more", w.Batch)
	case w.Bytes < 0:
		return fmt.Errorf("load: objects of %d bytes: it must be 1 or more, or 0 to leave them as they are", w.Bytes)
	case w.ReviewVersion != "v1" && w.ReviewVersion != "v1beta1":
		return fmt.Errorf("load: the version %q of ConversionReview: API servers know v1 and v1beta1", w.ReviewVersion)
	}
	return nil
}

// ValidateFor returns what is wrong with the workload for these objects.
func (w Workload) ValidateFor(c corpus.Corpus) error {
	if len(w.Pairs) == 0 {
		return errors.New("there are no versions to convert from and to")
	}
	for _, pair := range w.Pairs {
		for _, version := range []string{pair.From, pair.To} {
			if !slices.Contains(c.Versions, version) {
				return fmt.Errorf("there are no objects at version %q, only at %s", version, strings.Join(c.Versions, ", "))
			}
		}
		if pair.From == pair.To {
			return fmt.Errorf("objects at %s need no conversion to %s", pair.From, pair.To)
		}
		if len(c.Objects(pair.From)) == 0 {
			return fmt.Errorf("there are no objects at version %q to convert to %s; give samples at that version", pair.From, pair.To)
		}
	}
	return w.Validate()
}
