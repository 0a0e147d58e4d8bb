package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/options"
)

// load checks the section load.
func (k *checker) load() {
	l := k.config.Load
	review := l.ReviewVersion == "v1" || l.ReviewVersion == "v1beta1" || l.ReviewVersion == "" && !k.config.given("load.reviewVersion")
	k.unless(review, "load.reviewVersion", "unknown version %q of ConversionReview (want v1 or v1beta1)", l.ReviewVersion)
	k.lasting("load.duration", l.Duration)
	k.lasting("load.warmUp", l.WarmUp)
	k.pairs(l.Pairs)
	if len(l.Stages) > 0 {
		k.stages(l)
		return
	}
	once(k, "load.rates", l.Rates)
	once(k, "load.batches", l.Batches)
	once(k, "load.bytes", l.Bytes)
	once(k, "load.clients", l.Clients)
	k.profile(l)
}

// once checks that no value is in a list more than once.
func once[T comparable](k *checker, key string, values []T) {
	for i, value := range values {
		k.unless(!slices.Contains(values[:i], value), options.Item(key, i), "%v is listed twice; remove one", value)
	}
}

// lasting checks that a duration is not negative. Only flags and programs can set a negative one.
func (k *checker) lasting(key string, d Duration) {
	k.unless(d.Duration >= 0, key, "%s is negative; a duration is 0s or more", d)
}

func (k *checker) pairs(pairs []Pair) {
	for i, pair := range pairs {
		at := options.Item("load.pairs", i)
		whole := pair.From != "" && pair.To != ""
		k.unless(whole, at, "it needs two versions; write {from: v1beta1, to: v1}")
		k.unless(!whole || pair.From != pair.To, at, "from and to are both %s; a conversion has two versions", pair.From)
	}
}

// replay checks the settings that depend on a recording.
func (k *checker) replay(l Load, replayed bool) {
	k.unless(replayed || l.Recording == "", "load.recording", "it is only valid with profile: %s", profiles.Replay)
	if !replayed {
		return
	}
	k.unless(l.Recording != "", "load.profile", "%s needs a recording; write recording: FILE, as \"crdconform record\" writes one", profiles.Replay)
	k.unless(len(l.Batches)+len(l.Bytes)+len(l.Pairs) == 0 && l.ReviewVersion == "", "load.profile", "%s sends the recording; remove batches, bytes, pairs and reviewVersion", profiles.Replay)
	k.unless(l.Duration.Duration == 0 || l.ThroughAPIServer, "load.duration", "%s sends each request once; remove it, or set the speed with rates", profiles.Replay)
}

// profile checks that the profile exists, and that it uses every setting that is given.
func (k *checker) profile(l Load) {
	name := cmp.Or(l.Profile, profiles.Constant)
	p, known := profiles.Named(name)
	if !known || l.Profile == "" && k.config.given("load.profile") {
		k.problem("load.profile", "%s", unknownName("profile", l.Profile, profiles.Names()))
		return
	}
	k.replay(l, name == profiles.Replay)
	asked := len(p.Clients) > 0
	k.unless(asked || len(l.Clients) == 0, "load.clients", "the profile %s sends by the clock; clients are for %s and %s", name, profiles.APIServer, profiles.Relist)
	k.unless(!asked || len(l.Rates) == 0, "load.rates", "in the profile %s, clients send the next request when they have a response; remove the rate", name)
	for i, rate := range l.Rates {
		k.unless(!(rate <= profiles.MaxRate && rate*p.Peak() > profiles.MaxRate), options.Item("load.rates", i), "the profile %s goes up to %.12g requests a second: want %d at most", name, rate*p.Peak(), profiles.MaxRate)
	}
	k.unless(p.Objects > 0 || l.ThroughAPIServer || l.Objects == 0, "load.objects", "a total number of objects is only for the profile %s; %s sets the number in a request", profiles.Relist, options.Key("load.batches"))
	count := float64(choices(l.Rates)) * float64(choices(l.Batches)) * float64(choices(l.Bytes)) * float64(choices(l.Clients))
	k.unless(count <= profiles.MaxStages, "load", "all combinations make %.0f stages: want %d at most; remove values", count, profiles.MaxStages)
	if p.Limit > 0 {
		k.search(l)
	}
}

// choices returns the number of stages that a list makes by itself.
func choices[T any](values []T) int { return max(len(values), 1) }

// search checks that only one rate is searched for, with only one goal.
func (k *checker) search(l Load) {
	k.unless(len(l.Rates) == 0, "load.rates", "the profile %s finds the rate; leave it out", profiles.Search)
	k.unless(len(l.Batches) <= 1, "load.batches", "the profile %s searches one rate; give one batch", profiles.Search)
	k.unless(len(l.Bytes) <= 1, "load.bytes", "the profile %s searches one rate; give one size", profiles.Search)
	k.unless(l.Repeat <= 1, "load.repeat", "the profile %s repeats its probes as often as necessary; leave it out", profiles.Search)
	k.unless(l.WarmUp.Duration <= 0, "load.warmUp", "the profile %s starts slowly; leave it out", profiles.Search)
	goal := ""
	for _, t := range k.config.Objectives.times() {
		switch {
		case !t.percentile || t.limit.Duration == 0:
		case goal == "":
			goal = t.name
		default:
			k.problem("objectives."+t.name, "the goal of the profile %s is one percentile, but objectives.%s is also set; remove one", profiles.Search, goal)
			return
		}
	}
}

// stages checks a custom profile.
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
	k.unless(len(l.Stages) <= profiles.MaxStages, "load.stages", "%d stages: want %d at most", len(l.Stages), profiles.MaxStages)
	named := map[string]bool{}
	for i, s := range l.Stages {
		at := options.Item("load.stages", i)
		k.unless(strings.TrimSpace(s.Name) != "", at, "it has no name; write name: peak")
		k.unless(!named[s.Name] || s.Name == "", at+".name", "two stages are named %q; reports distinguish stages by name", s.Name)
		named[s.Name] = true
		k.when(at, s)
	}
}

// when checks the settings that determine when the requests of a stage are sent.
func (k *checker) when(at string, s Stage) {
	switch {
	case len(s.Phases) > 0 && s.Clients != 0:
		k.problem(at+".clients", "phases and clients cannot be combined; remove one")
	case len(s.Phases) > 0:
		k.unless(s.Duration.Duration == 0, at+".duration", "phases have their own durations; remove it")
		k.unless(s.Requests == 0, at+".requests", "a number of requests is only for clients; remove it")
		for i, p := range s.Phases {
			k.phase(options.Item(at+".phases", i), p)
		}
	case s.Clients != 0:
		k.unless(s.Duration.Duration > 0, at+".duration", "%s must be greater than 0; write how long the clients send, such as 30s", s.Duration)
	default:
		k.problem(at, "the stage is empty; write phases: [{rate: 100, duration: 30s}], or clients and duration")
	}
}

func (k *checker) phase(at string, p Phase) {
	k.unless(p.Duration.Duration > 0, at+".duration", "%s must be greater than 0; write how long the phase takes, such as 30s", p.Duration)
	from, to := p.Rate, p.Rate
	if p.To != nil {
		to = *p.To
	}
	k.unless(from != 0 || to != 0, at+".rate", "a rate of 0 sends nothing; set rate, or to for a rate that rises from 0")
}

// objectives checks the section objectives.
func (k *checker) objectives() {
	o := k.config.Objectives
	for i, preset := range o.Presets {
		k.unless(slices.Contains(presets(), preset), options.Item("objectives.presets", i), "%s", unknownName("preset", preset, presets()))
	}
	once(k, "objectives.presets", o.Presets)
	for _, t := range o.times() {
		k.lasting("objectives."+t.name, *t.limit)
	}
}

// unknownName returns a message that a name is unknown, with a similar one, or else with all known names.
func unknownName(sort, name string, known []string) string {
	if near := options.Nearest(name, known); near != "" {
		return fmt.Sprintf("unknown %s %q; did you mean %s?", sort, name, near)
	}
	return fmt.Sprintf("unknown %s %q (want %s)", sort, name, strings.Join(known, ", "))
}
