package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// Profile is a load test: workloads that run one after another, and a rate to search for.
type Profile struct {
	Name   string
	Stages []Workload
	Search *Search // nil unless a rate is searched for, which is done before the stages
}

// Settings are what a built-in profile is made of. What is zero stands for the profile's own value.
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
	JudgeEvery    int

	Due  []time.Duration // when the requests of a recording came, which a replay sends then unless there are Rates
	Goal Goal            // of a search
}

// maxStages is how many stages a profile can have.
const maxStages = 1000

// The built-in profiles.
const (
	ConstantProfile  = "constant"
	BatchProfile     = "batch"
	APIServerProfile = "apiserver"
	RelistProfile    = "relist"
	RampProfile      = "ramp"
	SpikeProfile     = "spike"
	SoakProfile      = "soak"
	SearchProfile    = "search"
	ReplayProfile    = "replay"
)

// builtin is a profile that has a name here.
type builtin struct {
	name, about string
	own         Settings // what holds where the settings say nothing
	stages      func(s Settings) []Workload
}

func builtins() []builtin {
	return []builtin{
		{
			ConstantProfile, "one rate all the time: 100 requests a second of 10 objects, for 10 s",
			Settings{Rates: []float64{100}, Batches: []int{10}, Duration: 10 * time.Second},
			func(s Settings) []Workload { return s.grid(Constant) },
		},
		{
			BatchProfile, "batches of 1, 10, 100, 500 and 1500 objects of 1024 bytes, 20 a second for 3 s each, to tell what an object costs",
			Settings{Rates: []float64{20}, Batches: []int{1, 10, 100, 500, 1500}, Bytes: []int{1024}, Duration: 3 * time.Second},
			func(s Settings) []Workload { return s.grid(Constant) },
		},
		{
			APIServerProfile, "what API servers send: one object a request, by 1 and then by 10 clients that wait for each answer, for 5 s each",
			Settings{Batches: []int{1}, Clients: []int{1, 10}, Duration: 5 * time.Second},
			Settings.clients,
		},
		{
			RelistProfile, "20,000 objects as after a restart of the API server: one a request, 10 at once",
			Settings{Batches: []int{1}, Clients: []int{10}, Objects: 20_000, Duration: 2 * time.Minute},
			Settings.clients,
		},
		{
			RampProfile, "from a tenth of 1000 requests a second to all of them, in 30 s",
			Settings{Rates: []float64{1000}, Batches: []int{1}, Duration: 30 * time.Second},
			func(s Settings) []Workload {
				return s.grid(func(rate float64, d time.Duration) []loadgen.Phase {
					return []loadgen.Phase{{Seconds: d.Seconds(), Rate: rate / 10, To: rate}}
				})
			},
		},
		{
			SpikeProfile, "100 requests a second with ten times as many in between, for a sixth of 30 s",
			Settings{Rates: []float64{100}, Batches: []int{1}, Duration: 30 * time.Second},
			func(s Settings) []Workload {
				return s.grid(func(rate float64, d time.Duration) []loadgen.Phase {
					return slices.Concat(Constant(rate, d/3), Constant(10*rate, d/6), Constant(rate, d-d/3-d/6))
				})
			},
		},
		{
			SoakProfile, "100 requests a second for 10 minutes",
			Settings{Rates: []float64{100}, Batches: []int{1}, Duration: 10 * time.Minute},
			func(s Settings) []Workload { return s.grid(Constant) },
		},
		{
			SearchProfile, "the highest rate of single objects at which p99 is 50 ms at most, by bisection with probes of 2 s",
			Settings{Batches: []int{1}, Duration: 2 * time.Second, Goal: Goal{Percentile: 99, Limit: 50 * time.Millisecond}},
			func(Settings) []Workload { return nil },
		},
		{
			ReplayProfile, "the requests of a recording, each once, at the times at which they came, or at the rate that is given",
			Settings{Batches: []int{1}},
			Settings.replay,
		},
	}
}

// Profiles returns the names of the built-in profiles, each with what it does.
func Profiles() [][2]string {
	var all [][2]string
	for _, b := range builtins() {
		all = append(all, [2]string{b.name, b.about})
	}
	return all
}

// Profile returns a built-in profile with these settings. It fails for a name that is not known, for settings that the
// profile has no use for, and for those that make no sense.
func (s Settings) Profile(name string) (Profile, error) {
	all := builtins()
	at := slices.IndexFunc(all, func(b builtin) bool { return b.name == name })
	if at < 0 {
		var names []string
		for _, b := range all {
			names = append(names, b.name)
		}
		return Profile{}, fmt.Errorf("load: there is no profile %q; the profiles are %s", name, strings.Join(names, ", "))
	}
	b := all[at]
	if err := s.fits(b); err != nil {
		return Profile{}, err
	}
	s = s.over(b.own)
	p := Profile{Name: name, Stages: b.stages(s)}
	if b.own.Goal.Limit > 0 {
		p.Search = &Search{Goal: s.Goal, Workload: s.workload(Constant(1, s.Duration), s.Batches[0], s.size())}
		if err := p.Search.validate(); err != nil {
			return Profile{}, err
		}
	}
	if len(p.Stages) > maxStages {
		return Profile{}, fmt.Errorf("load: %d stages: there can be %d; give fewer rates, batches, bytes or clients", len(p.Stages), maxStages)
	}
	names := map[string]bool{}
	for i := range p.Stages {
		p.Stages[i].Name = s.name(p.Stages[i])
		if names[p.Stages[i].Name] {
			return Profile{}, fmt.Errorf("load: the stage %q is there twice; give each rate, batch, size and number of clients once", p.Stages[i].Name)
		}
		names[p.Stages[i].Name] = true
		if err := p.Stages[i].Validate(); err != nil {
			return Profile{}, err
		}
	}
	return p, nil
}

// fits tells what a profile has no use for.
func (s Settings) fits(b builtin) error {
	switch {
	case len(s.Clients) > 0 && len(b.own.Clients) == 0:
		return fmt.Errorf("load: the profile %s sends by the clock; clients are for apiserver and relist", b.name)
	case len(s.Rates) > 0 && len(b.own.Clients) > 0:
		return fmt.Errorf("load: in the profile %s clients ask as soon as they are answered; there is no rate", b.name)
	case len(s.Rates) > 0 && b.own.Goal.Limit > 0:
		return fmt.Errorf("load: the profile %s finds the rate; leave it out", b.name)
	case s.Objects != 0 && b.own.Objects == 0:
		return fmt.Errorf("load: a number of objects in all is for the profile %s", RelistProfile)
	case s.Objects < 0:
		return fmt.Errorf("load: %d objects: it has to be 1 or more", s.Objects)
	case s.Goal != Goal{} && b.own.Goal.Limit == 0:
		return fmt.Errorf("load: a goal is for the profile %s; elsewhere, objectives are judged", SearchProfile)
	case b.own.Goal.Limit > 0 && (len(s.Batches) > 1 || len(s.Bytes) > 1):
		return fmt.Errorf("load: the profile %s searches one rate; give one batch and one size", b.name)
	}
	return nil
}

// over returns the settings with those of a profile where they say nothing.
func (s Settings) over(own Settings) Settings {
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
	s.Goal.Limit = cmp.Or(s.Goal.Limit, own.Goal.Limit)
	s.Goal.Percentile = cmp.Or(s.Goal.Percentile, own.Goal.Percentile)
	return s
}

func (s Settings) size() int { return s.Bytes[0] }

// workload is a stage with phases.
func (s Settings) workload(phases []loadgen.Phase, batch, size int) Workload {
	return Workload{
		Phases: phases, Batch: batch, Bytes: size,
		ReviewVersion: s.ReviewVersion, Pairs: s.Pairs, InFlight: s.InFlight, JudgeEvery: s.JudgeEvery,
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

// name tells a stage from the others by what differs.
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
