// Package profiles has the built-in load profiles and the limits of load tests, as data: the configuration, the help of commands and
// the load generator take them from here.
package profiles

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// The limits of a load test, far beyond what any webhook can do. What is more is a slip of the finger.
const (
	MaxRate     = 1_000_000 // requests a second
	MaxBatch    = 100_000   // objects in a request
	MaxBytes    = 200 << 10 // of an object; all annotations together may have 256 KiB
	MaxClients  = 10_000
	MaxObjects  = 10_000_000 // of a relist
	MaxInFlight = 1_000_000  // requests
	MaxStages   = 1000
	MaxRepeat   = 100
)

// DefaultInFlight is how many requests by the clock wait for their responses at once, at most. It is what an API server has in
// flight altogether by default: 400 that read and 200 that write.
const DefaultInFlight = 600

// The profiles that are more than a rate over time.
const (
	Constant  = "constant" // the default
	APIServer = "apiserver"
	Relist    = "relist"
	Search    = "search"
	Replay    = "replay"
)

// Profile is a built-in profile: what it sends where nothing else is asked for.
type Profile struct {
	Name, About string

	Rates    []float64       // requests a second; none where clients ask, a rate is searched for, or a recording has the times
	Shape    []loadgen.Phase // of a duration and a rate of 1; one phase at one rate if empty
	Batches  []int           // objects in a request
	Bytes    []int           // of an object
	Clients  []int           // that send the next request when they have a response
	Objects  int             // in all requests together
	Duration time.Duration   // of each stage, or of a probe

	Percentile float64       // of the requests that are to keep Limit, at the rate that is searched for
	Limit      time.Duration // of their response times; 0 unless a rate is searched for
}

// Peak returns the highest rate, as a multiple of the one that is asked for.
func (p Profile) Peak() float64 {
	peak := 1.0
	for _, phase := range p.Shape {
		peak = max(peak, phase.Rate, phase.To)
	}
	return peak
}

// All returns the built-in profiles.
func All() []Profile {
	return []Profile{
		{
			Name: Constant, About: "one rate all the time: 100 requests a second of 10 objects, for 10 s",
			Rates: []float64{100}, Batches: []int{10}, Duration: 10 * time.Second,
		},
		{
			Name: "batch", About: "batches of 1, 10, 100, 500 and 1500 objects of 1024 bytes, 20 a second for 3 s each, to tell what an object costs",
			Rates: []float64{20}, Batches: []int{1, 10, 100, 500, 1500}, Bytes: []int{1024}, Duration: 3 * time.Second,
		},
		{
			Name: APIServer, About: "what API servers send: one object a request, by 1 and then by 10 clients that wait for each answer, for 5 s each",
			Batches: []int{1}, Clients: []int{1, 10}, Duration: 5 * time.Second,
		},
		{
			Name: Relist, About: "20,000 objects as after a restart of the API server: one a request, 10 at once",
			Batches: []int{1}, Clients: []int{10}, Objects: 20_000, Duration: 2 * time.Minute,
		},
		{
			Name: "ramp", About: "from a tenth of 1000 requests a second to all of them, in 30 s",
			Rates: []float64{1000}, Shape: []loadgen.Phase{{Seconds: 1, Rate: .1, To: 1}}, Batches: []int{1}, Duration: 30 * time.Second,
		},
		{
			Name: "spike", About: "100 requests a second with ten times as many in between, for a sixth of 30 s",
			Rates: []float64{100}, Batches: []int{1}, Duration: 30 * time.Second,
			Shape: []loadgen.Phase{{Seconds: 1. / 3, Rate: 1, To: 1}, {Seconds: 1. / 6, Rate: 10, To: 10}, {Seconds: 1. / 2, Rate: 1, To: 1}},
		},
		{
			Name: "soak", About: "100 requests a second for 10 minutes",
			Rates: []float64{100}, Batches: []int{1}, Duration: 10 * time.Minute,
		},
		{
			Name: Search, About: "the highest rate of single objects at which p99 is 50 ms at most, by bisection with probes of 2 s",
			Batches: []int{1}, Duration: 2 * time.Second, Percentile: 99, Limit: 50 * time.Millisecond,
		},
		{
			Name: Replay, About: "the requests of a recording, each once, at the times at which they came, or at the rate that is given",
			Batches: []int{1},
		},
	}
}

// Names returns the names of the built-in profiles.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// Named returns the profile with a name.
func Named(name string) (Profile, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}
