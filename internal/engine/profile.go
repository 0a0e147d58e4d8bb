package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// prepareLoads prepares the configured load tests, and makes sure that they can be judged and compared with their baseline.
func (p *Plan) prepareLoads() error {
	names := p.want.LoadProfiles
	if len(names) == 0 {
		test, err := p.prepareLoad(p.want.Config)
		if test != nil {
			p.loads = append(p.loads, test)
		}
		return err
	}
	for i, name := range names {
		c := p.want.Config
		c.Load.Profile = name
		switch {
		case name == "":
			return c.At("load.profile", "one of the names is empty; want %s", strings.Join(profiles.Names(), ", "))
		case slices.Contains(names[:i], name):
			return c.At("load.profile", "%s is listed twice; remove one", name)
		case len(names) > 1 && p.want.Baseline != nil:
			return c.At("load.baseline", "several load profiles cannot be compared with a baseline; send one")
		}
		if err := c.Validate(); err != nil {
			return err
		}
		test, err := p.prepareLoad(c)
		if err != nil {
			return err
		}
		if len(names) > 1 {
			test.nameStages()
		}
		p.loads = append(p.loads, test)
	}
	return nil
}

// prepareLoad prepares a load test; nil if the configuration has none.
func (p *Plan) prepareLoad(c config.Config) (*LoadTest, error) {
	test, err := p.loadTest(c)
	if err != nil || test == nil {
		return nil, err
	}
	if err = test.limited(c); err != nil {
		return nil, err
	}
	switch {
	case test.Baseline == nil:
		return test, nil
	case test.Profile.Search != nil:
		return nil, c.At("load.baseline", "%s: a search determines for itself what to send, so it cannot be compared; compare a profile that has a rate", test.Baseline.File)
	}
	stages := test.Profile.Stages
	if p.recorded != nil && len(p.recorded.Redacted) > 0 { // which of it is sent, leaveOutRefused finds out
		stages = nil
	}
	return test, test.Baseline.fits(c, stages, test.Repeat)
}

// loadTest prepares the configured load test, with the first kind; nil if there is none.
func (p *Plan) loadTest(c config.Config) (*LoadTest, error) {
	l := c.Load
	if l.ThroughAPIServer && p.kinds[0].Definition == nil {
		return nil, c.At("load.throughAPIServer", "it needs a definition to install; give %s", options.Key("crds"))
	}
	if l.Profile == "" && len(l.Stages) == 0 && l.Duration.Duration == 0 {
		return nil, nil //nolint:nilnil // no load is asked for, and nothing is wrong
	}
	switch {
	case l.JudgeContent && l.Recording != "":
		return nil, c.At("load.judgeContent", "each request of a recording is sent once, so no answer is expected; compare the answers with \"crdconform diff\"")
	case l.JudgeContent && p.want.Launcher != nil && p.want.Launcher.Remote():
		return nil, c.At("load.judgeContent", "the answers are learnt from here, which may not reach what workers in a cluster reach; use workers on this machine, or none")
	case l.Recording != "":
		return p.replays()
	}
	kind, err := p.loadable(p.kinds[0])
	if err != nil {
		return nil, err
	}
	profile, err := profileOf(c, kind)
	if err != nil {
		return nil, err
	}
	bodies := func(w load.Workload) ([]contract.Request, error) { return load.Bodies(kind, w) }
	for _, w := range profile.Stages {
		if err := w.ValidateFor(kind); err != nil {
			return nil, c.At(unknownVersion(w, kind), "%w", err) // the rest was found good
		}
	}
	return &LoadTest{Profile: profile, Bodies: bodies, Rules: p.rules(kind), Repeat: l.Repeat, WarmUp: l.WarmUp.Duration, Objectives: c.Objectives, Baseline: p.want.Baseline}, nil
}

// rules are those by which the content of responses under load is judged.
func (p *Plan) rules(kind corpus.Corpus) load.Rules {
	known := slices.ContainsFunc(slices.Concat(p.want.KnownFailing, p.want.KnownFlaky), func(k config.KnownFailing) bool { return k.ID == string(requirement.WebhookConversionRoundTrip) })
	return load.Rules{Kind: kind, Lossy: func(pair corpus.Pair, path string) bool {
		return known || slices.ContainsFunc(p.want.Lossy, func(l config.Lossy) bool { return l.Matches(kind.Group, kind.Kind, pair.From, pair.To, path) })
	}}
}

// unknownVersion returns the key of the version that there is no such of, or else that of all pairs.
func unknownVersion(w load.Workload, kind corpus.Corpus) string {
	for i, pair := range w.Pairs {
		switch {
		case !slices.Contains(kind.Versions, pair.From):
			return options.Item("load.pairs", i) + ".from"
		case !slices.Contains(kind.Versions, pair.To):
			return options.Item("load.pairs", i) + ".to"
		}
	}
	return "load.pairs"
}

// replays prepares a load test that resends a recording.
func (p *Plan) replays() (*LoadTest, error) {
	l := p.want.Load
	file, err := files.Open(p.want.Path(l.Recording))
	if err != nil {
		return nil, p.want.At("load.recording", "%w", err)
	}
	defer file.Close()
	recorded, err := recording.Read(file)
	if err != nil {
		return nil, p.want.At("load.recording", "%s: %w", l.Recording, err)
	}
	if len(recorded.Exchanges) == 0 {
		return nil, p.want.At("load.recording", "there is no exchange in %s; record some", l.Recording)
	}
	if recorded.Cut {
		p.notes = append(p.notes, l.Recording+" ends in the middle of an exchange, which is left out")
	}
	p.recorded = recorded
	return p.replay()
}

// replay prepares the load test from the recording that was read.
func (p *Plan) replay() (*LoadTest, error) {
	l, recorded := p.want.Load, p.recorded
	requests := recorded.Requests()
	s := load.Settings{Rates: l.Rates, InFlight: l.InFlight}
	for _, exchange := range recorded.Exchanges {
		s.Due = append(s.Due, exchange.Offset-recorded.Exchanges[0].Offset)
	}
	profile, err := s.Profile(profiles.Replay)
	if err != nil {
		return nil, err
	}
	objects, pairs := 0, map[corpus.Pair]bool{}
	for _, request := range requests {
		objects += len(request.Objects)
		for _, object := range request.Objects {
			pairs[corpus.Pair{From: versionOf(object), To: path.Base(request.DesiredAPIVersion)}] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(pairs), func(a, b corpus.Pair) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for i := range profile.Stages {
		w := &profile.Stages[i]
		w.Batch, w.Pairs, w.ReviewVersion = max((objects+len(requests)/2)/len(requests), 1), sorted, requests[0].ReviewVersion
	}
	bodies := func(load.Workload) ([]contract.Request, error) { return requests, nil }
	return &LoadTest{Profile: profile, Bodies: bodies, Repeat: l.Repeat, WarmUp: l.WarmUp.Duration, Objectives: p.want.Objectives, Baseline: p.want.Baseline}, nil
}

// versionOf returns the version, without the group, of an object in JSON.
func versionOf(object []byte) string {
	var o struct {
		APIVersion string `json:"apiVersion"`
	}
	if json.Unmarshal(object, &o) != nil {
		return ""
	}
	return path.Base(o.APIVersion)
}

// loadable returns a kind that has objects of at least one version. They are generated if there are no samples.
func (p *Plan) loadable(kind corpus.Corpus) (corpus.Corpus, error) {
	for _, version := range kind.Mutual() {
		if len(kind.Objects(version)) > 0 {
			return kind, nil
		}
	}
	made, err := corpus.New(kind.Definition, nil)
	if err != nil {
		return kind, fmt.Errorf("load: %w", err)
	}
	for _, version := range kind.Mutual() {
		minimal := kind.Definition.Generator(version, p.Seed(), nil).Minimal()
		if minimal == nil {
			return kind, fmt.Errorf("load: there is no sample at %s, and none can be generated; give samples", version)
		}
		if err := made.Add(minimal); err != nil {
			return kind, fmt.Errorf("load: %w", err)
		}
	}
	return made, nil
}

// profileOf returns the configured load, with objects of a kind.
func profileOf(c config.Config, kind corpus.Corpus) (load.Profile, error) {
	l := c.Load
	pairs, err := pairsOf(l.Pairs, kind)
	if err != nil {
		return load.Profile{}, err
	}
	if len(l.Stages) > 0 {
		return ownProfile(l, pairs)
	}
	s := load.Settings{
		Rates: l.Rates, Batches: l.Batches, Bytes: l.Bytes, Clients: l.Clients, Duration: l.Duration.Duration, Objects: l.Objects,
		Pairs: pairs, ReviewVersion: l.ReviewVersion, InFlight: l.InFlight, JudgeContent: l.JudgeContent,
	}
	name := cmp.Or(l.Profile, profiles.Constant)
	if l.ThroughAPIServer && name != profiles.Relist {
		s.Objects = 0 // they are those that the API server is to have
	}
	if name == profiles.Search {
		s.Goal = goalOf(c.Objectives)
	}
	return s.Profile(name)
}

// pairsOf returns the configured pairs of versions; by default, the first that there are objects for.
func pairsOf(given []config.Pair, kind corpus.Corpus) ([]corpus.Pair, error) {
	var pairs []corpus.Pair
	for _, pair := range given {
		pairs = append(pairs, corpus.Pair{From: pair.From, To: pair.To})
	}
	if len(pairs) > 0 {
		return pairs, nil
	}
	for _, pair := range kind.Pairs() {
		if len(kind.Objects(pair.From)) > 0 {
			return []corpus.Pair{pair}, nil
		}
	}
	return nil, fmt.Errorf("load: there are no objects to convert, and %s needs two versions", kind.Kind)
}

// ownProfile returns the user's own profile.
func ownProfile(l config.Load, pairs []corpus.Pair) (load.Profile, error) {
	p := load.Profile{Name: "stages"}
	for _, s := range l.Stages {
		w := load.Workload{
			Name: s.Name, Clients: s.Clients, Duration: s.Duration.Duration, Requests: uint64(s.Requests),
			Batch: cmp.Or(s.Batch, 1), Bytes: s.Bytes, Pairs: pairs,
			ReviewVersion: options.Or(l.ReviewVersion, "load.reviewVersion"), InFlight: l.InFlight, JudgeContent: l.JudgeContent,
		}
		for _, phase := range s.Phases {
			to := phase.Rate
			if phase.To != nil {
				to = *phase.To
			}
			w.Phases = append(w.Phases, loadgen.Phase{Seconds: phase.Duration.Seconds(), Rate: phase.Rate, To: to})
		}
		if err := w.Validate(); err != nil {
			return p, err
		}
		p.Stages = append(p.Stages, w)
	}
	return p, nil
}
