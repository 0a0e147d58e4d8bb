// Package profiles has the built-in load profiles and the limits of load tests, as data: the configuration, the help of commands and
// the load generator take them from here.
package profiles

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/loadgen"
)

// The limits of a load test, far beyond what any webhook can handle. Anything above is a typing error.
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

// DefaultInFlight is the default limit of concurrent requests sent by the clock. It is how many an API server has in
// flight by default: 400 reads and 200 writes.
const DefaultInFlight = 600

// The profiles that are more than a rate over time.
const (
	Constant  = "constant" // the default
	APIServer = "apiserver"
	Relist    = "relist"
	Search    = "search"
	Replay    = "replay"
	Soak      = "soak"
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
			Name: Constant, About: "a constant rate: 100 requests per second of 10 objects, for 10 s",
			Rates: []float64{100}, Batches: []int{10}, Duration: 10 * time.Second,
		},
		{
			Name: "batch", About: "batches of 1, 10, 100, 500 and 1500 objects of 1024 bytes, 20 per second for 3 s each: the cost per object",
			Rates: []float64{20}, Batches: []int{1, 10, 100, 500, 1500}, Bytes: []int{1024}, Duration: 3 * time.Second,
		},
		{
			Name: APIServer, About: "what API servers send: one object per request, from 1 and then 10 clients that wait for each response, for 5 s each",
			Batches: []int{1}, Clients: []int{1, 10}, Duration: 5 * time.Second,
		},
		{
			Name: Relist, About: "20,000 objects, as after a restart of the API server: one per request, 10 in flight",
			Batches: []int{1}, Clients: []int{10}, Objects: 20_000, Duration: 2 * time.Minute,
		},
		{
			Name: "ramp", About: "from 100 to 1000 requests per second in 30 s",
			Rates: []float64{1000}, Shape: []loadgen.Phase{{Seconds: 1, Rate: .1, To: 1}}, Batches: []int{1}, Duration: 30 * time.Second,
		},
		{
			Name: "spike", About: "100 requests per second for 30 s, with a spike of 1000 for 5 s",
			Rates: []float64{100}, Batches: []int{1}, Duration: 30 * time.Second,
			Shape: []loadgen.Phase{{Seconds: 1. / 3, Rate: 1, To: 1}, {Seconds: 1. / 6, Rate: 10, To: 10}, {Seconds: 1. / 2, Rate: 1, To: 1}},
		},
		{
			Name: Soak, About: "100 requests per second for 10 minutes; fails if the memory of a program is proved to leak",
			Rates: []float64{100}, Batches: []int{1}, Duration: 10 * time.Minute,
		},
		{
			Name: Search, About: "the highest rate of single objects at which p99 is at most 50 ms, by bisection with probes of 2 s",
			Batches: []int{1}, Duration: 2 * time.Second, Percentile: 99, Limit: 50 * time.Millisecond,
		},
		{
			Name: Replay, About: "the requests of a recording, each once, at their recorded times or at a given rate",
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
