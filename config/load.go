package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The limits of a load test, far beyond what any webhook can do. What is more is a slip of the finger.
const (
	maxRate     = 1_000_000 // requests a second
	maxBatch    = 100_000   // objects in a request
	maxBytes    = 200 << 10 // of an object; all annotations together may have 256 KiB
	maxClients  = 10_000
	maxRelisted = 10_000_000 // objects
	maxInFlight = 1_000_000  // requests
	maxStages   = 1000
	maxRepeat   = 100
)

// The built-in profiles that the other keys depend on.
const (
	constantProfile  = "constant"
	apiServerProfile = "apiserver"
	relistProfile    = "relist"
	searchProfile    = "search"
	replayProfile    = "replay"
)

// profiles are the names of the built-in profiles.
func profiles() []string {
	return []string{constantProfile, "batch", apiServerProfile, relistProfile, "ramp", "spike", "soak", searchProfile, replayProfile}
}

// load checks the section load.
func (k *checker) load() {
	l := k.config.Load
	k.unless(l.Objects >= 0 && l.Objects <= maxRelisted, "load.objects", "%d objects: want 1 to %d", l.Objects, maxRelisted)
	k.unless(l.InFlight >= 0 && l.InFlight <= maxInFlight, "load.inFlight", "%d requests in flight at once: want 1 to %d", l.InFlight, maxInFlight)
	k.unless(l.JudgeEvery > 0 || l.JudgeEvery == 0 && !k.config.given("load.judgeEvery"), "load.judgeEvery", "every %d-th response judged: want 1 or more; 1 is all of them", l.JudgeEvery)
	k.unless(l.Repeat >= 1 && l.Repeat <= maxRepeat, "load.repeat", "%d times: want 1 to %d", l.Repeat, maxRepeat)
	review := l.ReviewVersion == "v1" || l.ReviewVersion == "v1beta1" || l.ReviewVersion == "" && !k.config.given("load.reviewVersion")
	k.unless(review, "load.reviewVersion", "unknown version %q of ConversionReview (want v1 or v1beta1)", l.ReviewVersion)
	k.lasting("load.duration", l.Duration)
	k.lasting("load.warmUp", l.WarmUp)
	k.pairs(l.Pairs)
	if len(l.Stages) > 0 {
		k.stages(l)
		return
	}
	each(k, "load.rates", l.Rates, k.rate)
	each(k, "load.batches", l.Batches, k.batch)
	each(k, "load.bytes", l.Bytes, k.bytes)
	each(k, "load.clients", l.Clients, k.clients)
	k.profile(l)
}

// each checks the values of a list, none of which may be there twice.
func each[T comparable](k *checker, key string, values []T, check func(key string, value T) bool) {
	for i, value := range values {
		if check(item(key, i), value) {
			k.unless(!slices.Contains(values[:i], value), item(key, i), "%v is listed twice; remove one", value)
		}
	}
}

// These check one value, and tell whether all is well.

func (k *checker) rate(key string, rate float64) bool {
	well := rate > 0 && rate <= maxRate
	k.unless(well, key, "%.12g requests a second: want more than 0 and at most %d", rate, maxRate)
	return well
}

func (k *checker) batch(key string, batch int) bool {
	well := batch >= 1 && batch <= maxBatch
	k.unless(well, key, "%d objects: want 1 to %d", batch, maxBatch)
	return well
}

func (k *checker) bytes(key string, size int) bool {
	well := size >= 0 && size <= maxBytes
	k.unless(well, key, "%d bytes: want 1 to %d, or 0 to leave objects as they are", size, maxBytes)
	return well
}

func (k *checker) clients(key string, clients int) bool {
	well := clients >= 1 && clients <= maxClients
	k.unless(well, key, "%d clients: want 1 to %d", clients, maxClients)
	return well
}

// lasting checks that a time is not negative, as only flags and programs can say it.
func (k *checker) lasting(key string, d Duration) {
	k.unless(d.Duration >= 0, key, "%s is negative; a duration is 0s or more", d)
}

func (k *checker) pairs(pairs []Pair) {
	for i, pair := range pairs {
		at := item("load.pairs", i)
		whole := pair.From != "" && pair.To != ""
		k.unless(whole, at, "it needs two versions; write {from: v1beta1, to: v1}")
		k.unless(!whole || pair.From != pair.To, at, "from and to are both %s; a conversion has two versions", pair.From)
	}
}

// replay checks what goes with a recording.
func (k *checker) replay(l Load, replayed bool) {
	k.unless(replayed || l.Recording == "", "load.recording", "it is only valid with profile: %s", replayProfile)
	if !replayed {
		return
	}
	k.unless(l.Recording != "", "load.profile", "%s needs a recording; write recording: FILE, as \"crdconform record\" writes one", replayProfile)
	k.unless(len(l.Batches)+len(l.Bytes)+len(l.Pairs) == 0 && l.ReviewVersion == "", "load.profile", "%s sends the recording; remove batches, bytes, pairs and reviewVersion", replayProfile)
	k.unless(l.Duration.Duration == 0 || l.ThroughAPIServer, "load.duration", "%s sends each request once; remove it, or set the speed with rates", replayProfile)
}

// profile checks which profile it is, and that it has a use for all that is said.
func (k *checker) profile(l Load) {
	name := cmp.Or(l.Profile, constantProfile)
	if !slices.Contains(profiles(), name) || l.Profile == "" && k.config.given("load.profile") {
		k.unless(false, "load.profile", "%s", unknownName("profile", l.Profile, profiles()))
		return
	}
	k.replay(l, name == replayProfile)
	asked, searched := name == apiServerProfile || name == relistProfile, name == searchProfile
	k.unless(asked || len(l.Clients) == 0, "load.clients", "the profile %s sends by the clock; clients are for %s and %s", name, apiServerProfile, relistProfile)
	k.unless(!asked || len(l.Rates) == 0, "load.rates", "in the profile %s, clients send the next request when they have a response; remove the rate", name)
	k.unless(name == relistProfile || l.ThroughAPIServer || l.Objects == 0, "load.objects", "a total number of objects is only for the profile %s; %s sets the number in a request", relistProfile, Key("load.batches"))
	count := float64(choices(l.Rates)) * float64(choices(l.Batches)) * float64(choices(l.Bytes)) * float64(choices(l.Clients))
	k.unless(count <= maxStages, "load", "all combinations make %.0f stages: want %d at most; remove values", count, maxStages)
	if searched {
		k.search(l)
	}
}

// choices is how many stages a list makes by itself.
func choices[T any](values []T) int { return max(len(values), 1) }

// search checks that one rate is searched for, by one goal.
func (k *checker) search(l Load) {
	k.unless(len(l.Rates) == 0, "load.rates", "the profile %s finds the rate; leave it out", searchProfile)
	k.unless(len(l.Batches) <= 1, "load.batches", "the profile %s searches one rate; give one batch", searchProfile)
	k.unless(len(l.Bytes) <= 1, "load.bytes", "the profile %s searches one rate; give one size", searchProfile)
	k.unless(l.Repeat <= 1, "load.repeat", "the profile %s repeats its probes as often as necessary; leave it out", searchProfile)
	k.unless(l.WarmUp.Duration <= 0, "load.warmUp", "the profile %s starts slowly; leave it out", searchProfile)
	goal := ""
	for _, t := range k.config.Objectives.times() {
		switch {
		case !t.percentile || t.limit.Duration == 0:
		case goal == "":
			goal = t.name
		default:
			k.unless(false, "objectives."+t.name, "the goal of the profile %s is one percentile, but objectives.%s is also set; remove one", searchProfile, goal)
			return
		}
	}
}

// stages checks a profile of the user's own.
func (k *checker) stages(l Load) {
	for _, other := range []struct {
		key   string
		given bool
	}{
		{"load.profile", l.Profile != ""},
		{"load.rates", len(l.Rates) > 0},
		{"load.batches", len(l.Batches) > 0},
		{"load.bytes", len(l.Bytes) > 0},
		{"load.clients", len(l.Clients) > 0},
		{"load.duration", l.Duration.Duration != 0},
		{"load.objects", l.Objects != 0},
	} {
		k.unless(!other.given, other.key, "it cannot be combined with load.stages; remove it, or the stages")
	}
	k.unless(len(l.Stages) <= maxStages, "load.stages", "%d stages: want %d at most", len(l.Stages), maxStages)
	named := map[string]bool{}
	for i, s := range l.Stages {
		at := item("load.stages", i)
		k.unless(strings.TrimSpace(s.Name) != "", at, "it has no name; write name: peak")
		k.unless(!named[s.Name] || s.Name == "", at+".name", "two stages are named %q; reports distinguish stages by name", s.Name)
		named[s.Name] = true
		if s.Batch != 0 {
			k.batch(at+".batch", s.Batch)
		}
		k.bytes(at+".bytes", s.Bytes)
		k.when(at, s)
	}
}

// when checks when the requests of a stage are sent.
func (k *checker) when(at string, s Stage) {
	switch {
	case len(s.Phases) > 0 && s.Clients != 0:
		k.unless(false, at+".clients", "phases and clients exclude each other; remove one")
	case len(s.Phases) > 0:
		k.unless(s.Duration.Duration == 0, at+".duration", "phases have their own durations; remove it")
		k.unless(s.Requests == 0, at+".requests", "a number of requests is only for clients; remove it")
		for i, p := range s.Phases {
			k.phase(item(at+".phases", i), p)
		}
	case s.Clients != 0:
		k.clients(at+".clients", s.Clients)
		k.unless(s.Duration.Duration > 0, at+".duration", "%s must be greater than 0; write how long the clients send, such as 30s", s.Duration)
		k.unless(s.Requests >= 0, at+".requests", "%d requests: want 1 or more, or 0 for as many as the clients can", s.Requests)
	default:
		k.unless(false, at, "the stage is empty; write phases: [{rate: 100, duration: 30s}], or clients and duration")
	}
}

func (k *checker) phase(at string, p Phase) {
	k.unless(p.Duration.Duration > 0, at+".duration", "%s must be greater than 0; write how long the phase takes, such as 30s", p.Duration)
	from, to := p.Rate, p.Rate
	if p.To != nil {
		to = *p.To
	}
	if from == 0 && to == 0 {
		k.unless(false, at+".rate", "a rate of 0 sends nothing; set rate, or to for a rate that rises from 0")
		return
	}
	// The end of a phase may be 0, and so may its beginning.
	if from != 0 {
		k.rate(at+".rate", from)
	}
	if to != 0 && p.To != nil {
		k.rate(at+".to", to)
	}
}

// objectives checks the section objectives.
func (k *checker) objectives() {
	o := k.config.Objectives
	each(k, "objectives.presets", o.Presets, func(key, preset string) bool {
		well := slices.Contains(presets(), preset)
		k.unless(well, key, "%s", unknownName("preset", preset, presets()))
		return well
	})
	for _, t := range o.times() {
		k.lasting("objectives."+t.name, *t.limit)
	}
	if o.Errors != nil {
		k.unless(isShare(*o.Errors), "objectives.errors", "%g is not a share from 0 to 1; 0.01 is one request in a hundred", *o.Errors)
	}
	for _, least := range []struct {
		key, what string
		limit     float64
	}{
		{"objectives.requestsPerSecond", "requests", o.RequestsPerSecond},
		{"objectives.objectsPerSecond", "objects", o.ObjectsPerSecond},
	} {
		k.unless(isLeast(least.limit), least.key, "%g %s a second: want more than 0, or 0 for no objective", least.limit, least.what)
	}
}

// isShare reports whether a number is a share of requests.
func isShare(v float64) bool { return v >= 0 && v <= 1 }

// isLeast reports whether a number can be the least of something in a second.
func isLeast(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// unknownName says that nothing of a sort has a name, and what may have been meant.
func unknownName(sort, name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %s?", sort, name, near)
	}
	return fmt.Sprintf("unknown %s %q (want %s)", sort, name, strings.Join(known, ", "))
}
