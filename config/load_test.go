package config

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/load/profiles"
)

// relisted is a load test with a built-in profile whose clients ask in turn.
const relisted = "load: {profile: relist, clients: [1, 10], objects: 20000}\n"

// staged is a load test with stages of the user's own.
const staged = `load:
  stages:
  - name: rise, and stay
    phases:
    - {to: 500, duration: 10s}
    - {rate: 500, duration: 1m}
    - {rate: 500, to: 0, duration: 10s}
    batch: 50
    bytes: 2048
  - {name: ask, clients: 10, duration: 30s, requests: 1000}
  pairs: [{from: v1, to: v2}, {from: v2, to: v1}, {from: v1, to: v2}]
  judgeContent: true
`

func TestLoads(t *testing.T) {
	t.Parallel()
	seconds := func(n int) Duration { return Duration{time.Duration(n) * time.Second} }
	for text, want := range map[string]Load{
		relisted: {Profile: "relist", Clients: []int{1, 10}, Objects: 20000, Repeat: 1},
		staged: {
			Stages: []Stage{
				{
					Name:   "rise, and stay",
					Phases: []Phase{{0, new(500.0), seconds(10)}, {500, nil, seconds(60)}, {500, new(0.0), seconds(10)}},
					Batch:  50, Bytes: 2048,
				},
				{Name: "ask", Clients: 10, Duration: seconds(30), Requests: 1000},
			},
			Pairs: []Pair{{"v1", "v2"}, {"v2", "v1"}, {"v1", "v2"}}, JudgeContent: true, Repeat: 1,
		},
		"load: {profile: search, batches: [10], bytes: [1024], duration: 1s}\nobjectives: {p99.9: 1s, max: 2s, mean: 10ms}\n": {
			Profile: "search", Batches: []int{10}, Bytes: []int{1024}, Duration: seconds(1), Repeat: 1,
		},
		"load: {rates: [0.001, 1000000], batches: [1, 100000], bytes: [0, 204800], inFlight: 1000000}\n": {
			Rates: []float64{0.001, 1e6}, Batches: []int{1, 100_000}, Bytes: []int{0, 204_800}, InFlight: 1_000_000, Repeat: 1,
		},
	} {
		if got := parse(t, head+text).Load; !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, got, want)
		}
	}
}

// TestProfiles takes every profile as it is.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, name := range profiles.Names() {
		more := ""
		if name == profiles.Replay {
			more = ", recording: a.jsonl"
		}
		if got := parse(t, head+"load: {profile: "+name+more+"}").Load; got.Profile != name {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestViewOfStages wants a rate that is not given to stay away, and one of 0 to stay.
func TestViewOfStages(t *testing.T) {
	t.Parallel()
	got := parse(t, head+staged+"objectives: {errors: 0}\n").View()
	for _, want := range []string{`
load:
  stages:
    - name: "rise, and stay" # dir/crdconform.yaml:5
      phases:
        - rate: 0 # default
          to: 500 # dir/crdconform.yaml:7
          duration: 10s # dir/crdconform.yaml:7
        - rate: 500 # dir/crdconform.yaml:8
          duration: 1m0s # dir/crdconform.yaml:8
        - rate: 500 # dir/crdconform.yaml:9
          to: 0 # dir/crdconform.yaml:9
          duration: 10s # dir/crdconform.yaml:9
      batch: 50 # dir/crdconform.yaml:10
      bytes: 2048 # dir/crdconform.yaml:11
    - name: ask # dir/crdconform.yaml:12
      clients: 10 # dir/crdconform.yaml:12
      duration: 30s # dir/crdconform.yaml:12
      requests: 1000 # dir/crdconform.yaml:12
  pairs:
    - from: v1 # dir/crdconform.yaml:13
      to: v2 # dir/crdconform.yaml:13
    - from: v2`, "\n  errors: 0 # dir/crdconform.yaml:15\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant something with\n%s", got, want)
		}
	}
}

// mistakesInLoads are those of mistakes in the sections load and objectives.
func mistakesInLoads() map[string]mistake {
	at := func(text string, want ...string) mistake { return mistake{head + text, want, false} }
	beyond := func(text string, want ...string) mistake { return mistake{head + text, want, true} }
	stage := func(text string) string { return "load: {stages: [{name: a, " + text + "}]}" }
	return map[string]mistake{
		"rate, no list":      at("load: {rate: 50}", "crdconform.yaml:3:8: load.rate: unknown key; it is a list, write rates: [50]\n"),
		"batch, no list":     at("load:\n  batch: 10 # objects", "4:3: load.batch: unknown key; it is a list, write batches: [10]\n"),
		"rate in quotes":     at("load: {rate: 'fast, fast'}", `it is a list, write rates: ["fast, fast"]`),
		"rate, a long one":   at("load: {rate: "+strings.Repeat("x", 50)+"}", "load.rate: unknown key; did you mean rates?"),
		"rate, a list":       at("load: {rate: [50]}", "load.rate: unknown key; did you mean rates?"),
		"rate, nothing":      at("load: {rate: }", "load.rate: unknown key; did you mean rates?"),
		"CRD, no list":       at("crd: a.yaml", "crd: unknown key; it is a list, write crds: [a.yaml]"),
		"rate of a stage":    at(stage("rate: 100, duration: 3s"), "load.stages[0].rate: unknown key here; did you mean load.stages[0].phases[].rate?"),
		"rate of all":        at("rate: 100", "rate: unknown key here; did you mean load.rates?"),
		"duration of all":    at("duration: 10s", "did you mean load.duration?"),
		"batches of a stage": at(stage("phases: [{rate: 1, duration: 3s}], batches: 3"), "load.stages[0].batches: unknown key; did you mean batch?"),
		"p99.5":              at("objectives: {p99.5: 1ms}", "objectives.p99.5: unknown key; did you mean p99"),
		"rates, no list":     at("load: {rates: 50}", "load.rates: want a list, got 50; write [...] around it"),

		"no rate":              at("load: {rates: [10, 0]}", "3:20: load.rates[1]: 0 requests a second: want more than 0 and at most 1000000"),
		"negative rate":        at("load: {rates: [-1]}", "load.rates[0]: -1 requests a second"),
		"large rate":           at("load: {rates: [2000000]}", "load.rates[0]: 2000000 requests a second"),
		"rate twice":           beyond("load: {rates: [10, 20, 10.0]}", "3:24: load.rates[2]: 10 is listed twice; remove one"),
		"no batch":             at("load: {batches: [0]}", "load.batches[0]: 0 objects: want 1 to 100000"),
		"large batch":          at("load: {batches: [100001]}", "load.batches[0]: 100001 objects"),
		"batch twice":          beyond("load: {batches: [1, 1]}", "load.batches[1]: 1 is listed twice"),
		"negative bytes":       at("load: {bytes: [-1]}", "load.bytes[0]: -1 bytes: want 1 to 204800, or 0 to leave objects as they are"),
		"many bytes":           at("load: {bytes: [204801]}", "load.bytes[0]: 204801 bytes"),
		"no clients":           at("load: {profile: apiserver, clients: [0]}", "load.clients[0]: 0 clients: want 1 to 10000"),
		"many clients":         at("load: {profile: relist, clients: [10001]}", "load.clients[0]: 10001 clients"),
		"many combinations":    beyond("load: {rates: ["+numbers(1, 40)+"], batches: ["+numbers(1, 30)+"]}", "3:1: load: all combinations make 1200 stages: want 1000 at most"),
		"profile":              at("load: {profile: bacth}", `3:8: load.profile: unknown profile "bacth"; did you mean batch?`),
		"profile, other":       at("load: {profile: nonsense}", `unknown profile "nonsense" (want constant, batch, `),
		"profile, empty":       at("load: {profile: ''}", `load.profile: unknown profile "" (want`),
		"clients by default":   beyond("load: {clients: [3]}", "load.clients: the profile constant sends by the clock; clients are for apiserver and relist"),
		"clients of batch":     beyond("load: {profile: batch, clients: [3]}", "load.clients: the profile batch sends by the clock"),
		"rates of apiserver":   beyond("load:\n  profile: apiserver\n  rates: [3]", "5:3: load.rates: in the profile apiserver, clients send the next request when they have a response; remove the rate"),
		"rates of relist":      beyond("load: {profile: relist, rates: [3]}", "load.rates: in the profile relist, clients send"),
		"rates of search":      beyond("load: {profile: search, rates: [3]}", "load.rates: the profile search finds the rate; leave it out"),
		"replay of nothing":    beyond("load: {profile: replay}", "load.profile: replay needs a recording"),
		"recording alone":      beyond("load: {recording: a}", "load.recording: it is only valid with profile: replay"),
		"replay in batches":    beyond("load: {profile: replay, recording: a, batches: [3]}", "load.profile: replay sends the recording"),
		"objects of batch":     beyond("load: {profile: batch, objects: 50}", "load.objects: a total number of objects is only for the profile relist; load.batches sets the number in a request"),
		"negative run timeout": at("runTimeout: -1m", `runTimeout: "-1m" is negative; a duration is 0s or more`),
		"negative relist":      at("load: {profile: relist, objects: -1}", "load.objects: -1 objects: want 1 to 10000000"),
		"large relist":         at("load: {profile: relist, objects: 10000001}", "load.objects: 10000001 objects"),
		"search of batches":    beyond("load: {profile: search, batches: [1, 2]}", "load.batches: the profile search searches one rate; give one batch"),
		"search of sizes":      beyond("load: {profile: search, bytes: [1, 2]}", "load.bytes: the profile search searches one rate; give one size"),
		"search again":         beyond("load: {profile: search, repeat: 2}", "load.repeat: the profile search repeats its probes as often as necessary; leave it out"),
		"search warmed up":     beyond("load: {profile: search, warmUp: 2s}", "load.warmUp: the profile search starts slowly; leave it out"),
		"search of two goals":  beyond("load: {profile: search}\nobjectives: {max: 1s, p99.9: 1s, p50: 1ms, p90: 2ms}", "4:44: objectives.p90: the goal of the profile search is one percentile, but objectives.p50 is also set; remove one"),
		"review version":       at("load: {reviewVersion: v2}", `load.reviewVersion: unknown version "v2" of ConversionReview (want v1 or v1beta1)`),
		"review version, no":   at("load: {reviewVersion: ''}", `load.reviewVersion: unknown version ""`),
		"negative in flight":   at("load: {inFlight: -1}", "load.inFlight: -1 requests in flight: want 1 to 1000000"),
		"many in flight":       at("load: {inFlight: 1000001}", "load.inFlight: 1000001 requests"),
		"replay for a while":   beyond("load: {profile: replay, recording: a, duration: 3s}", "load.duration: replay sends each request once; remove it, or set the speed with rates"),
		"not at all":           at("load: {repeat: 0}", "load.repeat: 0 times: want 1 to 100"),
		"too often":            at("load: {repeat: 101}", "load.repeat: 101 times"),
		"half a pair":          at("load:\n  pairs:\n  - from: v1", "5:5: load.pairs[0]: it needs two versions; write {from: v1beta1, to: v1}"),
		"empty pair":           at("load: {pairs: [{from: '', to: v1}]}", "load.pairs[0]: it needs two versions"),
		"pair in place":        beyond("load: {pairs: [{from: v1, to: v2}, {from: v1, to: v1}]}", "3:36: load.pairs[1]: from and to are both v1; a conversion has two versions"),

		"profile with stages":  beyond("load:\n  stages: [{name: a, clients: 1, duration: 1s}]\n  profile: batch", "5:3: load.profile: it cannot be combined with load.stages; remove it, or the stages"),
		"rates with stages":    beyond("load: {rates: [0], stages: [{name: a, clients: 1, duration: 1s}]}", "load.rates: it cannot be combined with load.stages"),
		"batches with stages":  beyond("load: {batches: [1], stages: [{name: a, clients: 1, duration: 1s}]}", "load.batches: it cannot be combined with load.stages"),
		"bytes with stages":    beyond("load: {bytes: [1], stages: [{name: a, clients: 1, duration: 1s}]}", "load.bytes: it cannot be combined with load.stages"),
		"clients with stages":  beyond("load: {clients: [1], stages: [{name: a, clients: 1, duration: 1s}]}", "load.clients: it cannot be combined with load.stages"),
		"duration with stages": beyond("load: {duration: 1s, stages: [{name: a, clients: 1, duration: 1s}]}", "load.duration: it cannot be combined with load.stages"),
		"objects with stages":  beyond("load: {objects: 1, stages: [{name: a, clients: 1, duration: 1s}]}", "load.objects: it cannot be combined with load.stages"),

		"stage without name":     at("load:\n  stages:\n  - clients: 1\n    duration: 1s", "5:5: load.stages[0]: it has no name; write name: peak"),
		"stage with blank":       at("load: {stages: [{name: ' ', clients: 1, duration: 1s}]}", "load.stages[0]: it has no name"),
		"stages of one name":     beyond("load: {stages: [{name: a, clients: 1, duration: 1s}, {name: a, clients: 2, duration: 1s}]}", `3:55: load.stages[1].name: two stages are named "a"`),
		"stage of nothing":       beyond(stage("batch: 3"), "3:17: load.stages[0]: the stage is empty; write phases: [{rate: 100, duration: 30s}], or clients and duration"),
		"stage of both":          beyond(stage("clients: 1, phases: [{rate: 1, duration: 1s}]"), "3:27: load.stages[0].clients: phases and clients cannot be combined"),
		"phases for a while":     beyond(stage("duration: 1s, phases: [{rate: 1, duration: 1s}]"), "load.stages[0].duration: phases have their own durations; remove it"),
		"phases of requests":     beyond(stage("requests: 5, phases: [{rate: 1, duration: 1s}]"), "load.stages[0].requests: a number of requests is only for clients"),
		"clients without end":    beyond(stage("clients: 1"), "load.stages[0].duration: 0s must be greater than 0; write how long the clients send, such as 30s"),
		"many clients at once":   at(stage("clients: 10001, duration: 1s"), "load.stages[0].clients: 10001 clients"),
		"negative clients":       at(stage("clients: -1, duration: 1s"), "load.stages[0].clients: -1 clients"),
		"negative requests":      at(stage("clients: 1, duration: 1s, requests: -1"), "load.stages[0].requests: -1 requests"),
		"negative batch":         at(stage("clients: 1, duration: 1s, batch: -1"), "load.stages[0].batch: -1 objects: want 1 to 100000"),
		"large objects":          at(stage("clients: 1, duration: 1s, bytes: 204801"), "load.stages[0].bytes: 204801 bytes"),
		"phase without end":      beyond(stage("phases: [{rate: 1, duration: 1s}, {rate: 1}]"), "load.stages[0].phases[1].duration: 0s must be greater than 0; write how long the phase takes, such as 30s"),
		"phase without rate":     beyond(stage("phases: [{duration: 1s}]"), "load.stages[0].phases[0].rate: a rate of 0 sends nothing; set rate"),
		"phase from 0 to 0":      beyond(stage("phases: [{rate: 0, to: 0, duration: 1s}]"), "load.stages[0].phases[0].rate: a rate of 0 sends nothing"),
		"phase of negative rate": at(stage("phases: [{rate: -1, duration: 1s}]"), "load.stages[0].phases[0].rate: -1 requests a second"),
		"phase to negative rate": at(stage("phases: [{rate: 1, to: -1, duration: 1s}]"), "load.stages[0].phases[0].to: -1 requests a second"),
		"phase of large rate":    at(stage("phases: [{rate: 1, to: 1000001, duration: 1s}]"), "load.stages[0].phases[0].to: 1000001 requests a second"),
		"phase, no list":         at(stage("phases: {rate: 1, duration: 1s}"), "load.stages[0].phases: want a list, got keys and values"),
		"text for a rate":        at(stage("phases: [{rate: 1, to: lots, duration: 1s}]"), `load.stages[0].phases[0].to: want a number, got the text "lots"`),

		"preset":          at("objectives: {presets: [kepp]}", `3:24: objectives.presets[0]: unknown preset "kepp"; did you mean kep?`),
		"preset, other":   at("objectives: {presets: [kep, strict]}", `objectives.presets[1]: unknown preset "strict" (want kep, trace`),
		"preset twice":    beyond("objectives: {presets: [kep, kep]}", "objectives.presets[1]: kep is listed twice"),
		"too many errors": at("objectives: {errors: 5}", "objectives.errors: 5 is not a share: want 0 to 1; 0.01 is one request in a hundred"),
		"negative errors": at("objectives: {errors: -0.1}", "objectives.errors: -0.1 is not a share"),
		"percent":         at("objectives: {errors: 0.5%}", `objectives.errors: want a number, got the text "0.5%"; write 0.005`),
		"no percent":      at("objectives: {errors: a%}", "objectives.errors: want a number, got the text \"a%\"\n"),
		"no requests":     at("objectives: {requestsPerSecond: -1}", "objectives.requestsPerSecond: -1 requests a second: want more than 0, or 0 for no objective"),
		"no objects":      at("objectives: {objectsPerSecond: -1}", "objectives.objectsPerSecond: -1 objects a second"),
		"time before now": at("objectives: {p95: -1ms}", `objectives.p95: "-1ms" is negative`),
	}
}

// numbers lists whole numbers.
func numbers(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return strings.Join(all, ", ")
}

// TestValidateLoad looks at what only flags and programs can say.
func TestValidateLoad(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Load.Rates = []float64{math.NaN(), math.Inf(1)}
	c.Load.Duration.Duration, c.Load.WarmUp.Duration = -time.Second, -time.Minute
	c.Objectives.P99.Duration, c.Objectives.Errors = -1, new(math.NaN())
	c.Objectives.ObjectsPerSecond, c.Objectives.RequestsPerSecond = math.NaN(), math.Inf(1)
	want := []string{
		"load.duration: -1s is negative; a duration is 0s or more", "load.warmUp: -1m0s is negative", "objectives.p99: -1ns is negative",
		"load.rates[0]: NaN requests", "load.rates[1]: +Inf requests", "objectives.errors: NaN is not a share", "objectives.requestsPerSecond: +Inf", "objectives.objectsPerSecond: NaN",
	}
	got := problemsOf(c.Validate())
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i].Error(), want[i]) {
			t.Fatalf("got  %v\nwant %q", got, want)
		}
	}
}

// TestPeak limits the highest rate of a profile like one that is asked for.
func TestPeak(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Load.Profile, c.Load.Rates = "spike", []float64{profiles.MaxRate / 10}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Load.Rates[0]++
	if err := c.Validate(); err == nil || err.Error() != "load.rates[0]: the profile spike goes up to 1000010 requests a second: want 1000000 at most" {
		t.Errorf("got %v", err)
	}
}

// TestDocumentation wants the files that docs/load.md shows to be taken.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "load.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, part := range strings.Split(string(text), "```yaml\n")[1:] {
		file, _, _ := strings.Cut(part, "```")
		files++
		if c := parse(t, file); c.Load.Profile == "" && len(c.Load.Stages) == 0 {
			t.Errorf("there is no load in\n%s", file)
		}
	}
	if files != 2 {
		t.Errorf("there are %d files", files)
	}
}
