package load

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/loadgen"
)

// Profile is a load test: workloads that run one after another, and a rate to search for.
type Profile struct {
	Name   string
	Stages []Workload
	Search *Search // nil unless a rate is searched for, which is done before the stages
}

// Settings change a built-in profile. Zero values stand for the profile's own.
type Settings struct {
	Rates   []float64 // requests a second; several make a grid with the others that have several
	Batches []int     // objects in a request
	Bytes   []int     // of an object; see Workload
	Clients []int     // that ask in turn; only of profiles that have clients

	Duration time.Duration // of each stage, or of a probe
	Objects  int           // of a relist

	Pairs         []loadgen.Pair
	ReviewVersion string // v1 if empty
	InFlight      int
	JudgeContent  bool

	Due  []time.Duration // when the requests of a recording came, which a replay sends then unless there are Rates
	Goal Goal            // of a search
}

// Profile returns a built-in profile with these settings, whose limits the configuration has checked. It fails for a name that is not
// known, and for stages that nothing can be sent for.
func (s Settings) Profile(name string) (Profile, error) {
	own, known := profiles.Named(name)
	if !known {
		return Profile{}, fmt.Errorf("load: there is no profile %q; the profiles are %s", name, strings.Join(profiles.Names(), ", "))
	}
	s = s.over(own)
	p := Profile{Name: name}
	switch {
	case own.Limit > 0:
		p.Search = &Search{Goal: s.Goal, Workload: s.workload(Constant(1, s.Duration), s.Batches[0], s.size())}
		return p, p.Search.validate()
	case name == profiles.Replay:
		p.Stages = s.replay()
	case len(own.Clients) > 0:
		p.Stages = s.clients()
	default:
		p.Stages = s.grid(func(rate float64, d time.Duration) []loadgen.Phase { return shaped(own.Shape, rate, d) })
	}
	for i := range p.Stages {
		p.Stages[i].Name = s.name(p.Stages[i])
		if err := p.Stages[i].Validate(); err != nil {
			return Profile{}, err
		}
	}
	return p, nil
}

// shaped returns the phases of a shape at a rate, for a duration.
func shaped(shape []loadgen.Phase, rate float64, d time.Duration) []loadgen.Phase {
	if len(shape) == 0 {
		return Constant(rate, d)
	}
	var phases []loadgen.Phase
	for _, p := range shape {
		phases = append(phases, loadgen.Phase{Seconds: p.Seconds * d.Seconds(), Rate: p.Rate * rate, To: p.To * rate})
	}
	return phases
}

// over returns the settings, with those of a profile in place of zero values.
func (s Settings) over(own profiles.Profile) Settings {
	list := func(of *[]int, or []int) {
		if len(*of) == 0 {
			*of = or
		}
	}
	if len(s.Rates) == 0 {
		s.Rates = own.Rates
	}
	list(&s.Batches, own.Batches)
	list(&s.Bytes, own.Bytes)
	list(&s.Clients, own.Clients)
	list(&s.Bytes, []int{0})
	s.Duration = cmp.Or(s.Duration, own.Duration)
	s.Objects = cmp.Or(s.Objects, own.Objects)
	s.ReviewVersion = cmp.Or(s.ReviewVersion, "v1")
	s.Goal.Limit = cmp.Or(s.Goal.Limit, own.Limit)
	s.Goal.Percentile = cmp.Or(s.Goal.Percentile, own.Percentile)
	return s
}

func (s Settings) size() int { return s.Bytes[0] }

// workload is a stage with phases.
func (s Settings) workload(phases []loadgen.Phase, batch, size int) Workload {
	return Workload{
		Phases: phases, Batch: batch, Bytes: size,
		ReviewVersion: s.ReviewVersion, Pairs: s.Pairs, InFlight: s.InFlight, JudgeContent: s.JudgeContent,
	}
}

// grid is a stage for each combination of rate, batch and size.
func (s Settings) grid(phases func(rate float64, d time.Duration) []loadgen.Phase) []Workload {
	var stages []Workload
	for _, size := range s.Bytes {
		for _, batch := range s.Batches {
			for _, rate := range s.Rates {
				stages = append(stages, s.workload(phases(rate, s.Duration), batch, size))
			}
		}
	}
	return stages
}

// replay is a stage for each rate, or one at the times of the recording. Each sends every request once.
func (s Settings) replay() []Workload {
	if len(s.Rates) > 0 {
		return s.grid(func(rate float64, _ time.Duration) []loadgen.Phase {
			return Constant(rate, time.Duration(float64(len(s.Due))/rate*float64(time.Second)))
		})
	}
	w := s.workload(nil, s.Batches[0], s.size())
	w.Due = s.Due
	return []Workload{w}
}

// clients is a stage for each combination of clients, batch and size.
func (s Settings) clients() []Workload {
	var stages []Workload
	for _, size := range s.Bytes {
		for _, batch := range s.Batches {
			for _, clients := range s.Clients {
				w := s.workload(nil, batch, size)
				w.Clients, w.Duration = clients, s.Duration
				w.Requests = uint64((s.Objects + batch - 1) / max(batch, 1))
				w.Whole = s.Objects > 0
				stages = append(stages, w)
			}
		}
	}
	return stages
}

// name returns a name for a stage, made of what differs between the stages.
func (s Settings) name(w Workload) string {
	var parts []string
	if len(s.Batches) > 1 {
		parts = append(parts, fmt.Sprintf("batch %d", w.Batch))
	}
	if len(s.Bytes) > 1 {
		parts = append(parts, fmt.Sprintf("%d bytes", w.Bytes))
	}
	if len(s.Rates) > 1 {
		parts = append(parts, rates(w.Phases[0])+"/s")
	}
	if len(s.Clients) > 1 {
		parts = append(parts, fmt.Sprintf("clients %d", w.Clients))
	}
	return strings.Join(parts, ", ")
}
