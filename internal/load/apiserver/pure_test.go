package apiserver

import (
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/loadgen"
)

func TestDefaultBounds(t *testing.T) {
	all, err := DefaultBounds()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		for i, table := range []map[Verb]Bound{b.Storage, b.Other} {
			want := Verbs()
			if !b.WatchCache || b.Minor == "1.28" && i == 1 { // as many as there are objects
				want = slices.DeleteFunc(want, func(v Verb) bool { return v == DeleteCollection })
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(table)); !slices.Equal(got, want) {
				t.Errorf("%s, watch cache %v: got bounds for %q, want %q", b.Minor, b.WatchCache, got, want)
			}
		}
		for verb, bound := range b.Storage {
			if other, bounded := b.Other[verb]; bounded && bound.of(2) > other.of(2) {
				t.Errorf("%s: %s costs more at the storage version, %+v, than at another, %+v", b.Minor, verb, bound, other)
			}
		}
	}
}

// TestBoundsOf has a minor be held to what was measured for it, and to nothing else.
func TestBoundsOf(t *testing.T) {
	all := []Bounds{{Minor: "1.37", WatchCache: true}, {Minor: "1.31", WatchCache: true}, {Minor: "1.9", WatchCache: false}}
	for _, c := range []struct {
		minor string
		cache bool
		known bool
	}{
		{"1.37", true, true},
		{"1.31", true, true},
		{"1.9", false, true},
		{"1.38", true, false},
		{"1.36", true, false},
		{"1.37", false, false},
	} {
		if got := boundsOf(all, c.minor, c.cache); (got != nil) != c.known || got != nil && (got.Minor != c.minor || got.WatchCache != c.cache) {
			t.Errorf("%s, watch cache %v: got %+v", c.minor, c.cache, got)
		}
	}
}

func TestBound(t *testing.T) {
	b := Bound{Calls: 6, Events: 1}
	if got := b.of(2); got != 7 {
		t.Errorf("two versions: got %v", got)
	}
	if got := b.of(4); got != 9 {
		t.Errorf("four versions: got %v", got)
	}
}

func TestFirstList(t *testing.T) {
	c := loadgen.RelistCost{Service: loadgen.Service{One: 5, Ten: 8}, AddedOne: 1, AddedTen: 4, ListPerObject: 0.05, Caches: 1, Pause: 50}
	for _, each := range []struct {
		objects, inFlight int
		want              time.Duration
	}{
		{300, 10, 300/10*12*time.Millisecond + 15*time.Millisecond + 25*time.Millisecond},
		{300, 1, 300*6*time.Millisecond + 15*time.Millisecond + 25*time.Millisecond},
		{100, 4, 100/4*8*time.Millisecond + 5*time.Millisecond + 25*time.Millisecond},
		{190, 19, 10*18*time.Millisecond + 9500*time.Microsecond + 25*time.Millisecond},
		{20_000, 10, 24*time.Second + time.Second + 25*time.Millisecond},
	} {
		if got := firstList(c, each.objects, each.inFlight).Round(time.Microsecond); got != each.want {
			t.Errorf("%d objects, %d in flight: got %v, want %v", each.objects, each.inFlight, got, each.want)
		}
	}
	c.Caches = 2
	if got, want := firstList(c, 300, 10), 300*2/10*12*time.Millisecond+40*time.Millisecond; got != want {
		t.Errorf("two caches: got %v, want %v", got, want)
	}
	// The webhook alone, as a load without an API server knows it.
	if got, want := firstList(loadgen.RelistCost{Service: loadgen.Service{One: 5, Ten: 5}}, 20_000, 10), 10*time.Second; got != want {
		t.Errorf("the webhook alone: got %v, want %v", got, want)
	}
	// A webhook that is faster with ten at a time is not believed to take no time with a hundred.
	if got := firstList(loadgen.RelistCost{Service: loadgen.Service{One: 5, Ten: 4}}, 100, 100); got < 5*time.Millisecond {
		t.Errorf("got %v", got)
	}
}

func TestWithin(t *testing.T) {
	c := loadgen.RelistCost{Service: loadgen.Service{One: 5, Ten: 5}, ListPerObject: 0.1, Pause: 50}
	n := within(c, time.Minute, 10)
	if firstList(c, n, 10) > time.Minute || firstList(c, n+1, 10) <= time.Minute {
		t.Errorf("got %d, of which the first LIST takes %v, and of one more %v", n, firstList(c, n, 10), firstList(c, n+1, 10))
	}
	if got := within(c, time.Millisecond, 10); got != 0 {
		t.Errorf("got %d within a millisecond", got)
	}
}

func TestPredict(t *testing.T) {
	r := &run{Options: Options{Seeded: 100}}
	r.predict() // of nothing
	r.result.Relist = &loadgen.Relist{Cost: loadgen.RelistCost{Service: loadgen.Service{One: 50, Ten: 50}}, InFlight: 10}
	r.predict()
	l := r.result.Relist
	if len(l.Predictions) != 4 || l.Predictions[0] != (loadgen.Prediction{Objects: 1000, Seconds: 5, OverLimit: false}) || l.Predictions[2] != (loadgen.Prediction{Objects: 20_000, Seconds: 100, OverLimit: true}) || l.Confirmation != nil || l.InFlightSeen != "" {
		t.Errorf("got %+v", l)
	}
	r.result.Cold = []loadgen.ColdList{
		{After: AfterAnnotation, Complete: true, Seconds: 0.01},
		{After: AfterSchema, Rebuilt: true, Complete: true, Seconds: 3, Webhook: loadgen.Calls{MostInFlight: 2, Calls: 100, Seconds: 6}},
	}
	r.predict()
	if want := (loadgen.Confirmation{After: AfterSchema, Objects: 100, Predicted: 2.5, Measured: 3, Ratio: 2.5 / 3, Apart: "17 % less than measured"}); l.Confirmation == nil || *l.Confirmation != want || l.InFlight != 2 {
		t.Errorf("got %+v of %+v, want %+v", l.Confirmation, l, want)
	}
	r.result.Cold = append(r.result.Cold, loadgen.ColdList{After: AfterRestart, Rebuilt: true, Complete: true, Seconds: 0.5, Webhook: loadgen.Calls{MostInFlight: 10}})
	r.predict()
	if l.Confirmation.After != AfterRestart || l.Confirmation.Ratio != 1 || l.InFlight != 10 || l.InFlightSeen != AfterRestart || len(l.Predictions) != 4 {
		t.Errorf("got %+v of %+v", l.Confirmation, l)
	}
}

func parsed(t *testing.T, text string) metrics {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return metrics{families: families}
}

func TestShare(t *testing.T) {
	const before = `
# TYPE apiserver_request_duration_seconds histogram
apiserver_request_duration_seconds_bucket{verb="GET",group="g",version="v1",resource="things",le="+Inf"} 10
apiserver_request_duration_seconds_sum{verb="GET",group="g",version="v1",resource="things"} 5
apiserver_request_duration_seconds_count{verb="GET",group="g",version="v1",resource="things"} 10
`
	const after = `
# TYPE apiserver_request_duration_seconds histogram
apiserver_request_duration_seconds_bucket{verb="GET",group="g",version="v1",resource="things",le="+Inf"} 14
apiserver_request_duration_seconds_sum{verb="GET",group="g",version="v1",resource="things"} 9
apiserver_request_duration_seconds_count{verb="GET",group="g",version="v1",resource="things"} 14
apiserver_request_duration_seconds_bucket{verb="GET",group="g",version="v2",resource="things",le="+Inf"} 1
apiserver_request_duration_seconds_sum{verb="GET",group="g",version="v2",resource="things"} 100
apiserver_request_duration_seconds_count{verb="GET",group="g",version="v2",resource="things"} 1
# TYPE apiserver_crd_conversion_webhook_duration_seconds histogram
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="things.g",from_version="v2",to_version="v1",succeeded="true",le="+Inf"} 3
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="things.g",from_version="v2",to_version="v1",succeeded="true"} 2
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="things.g",from_version="v2",to_version="v1",succeeded="true"} 3
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="things.g",from_version="v2",to_version="v1",succeeded="false",le="+Inf"} 1
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="things.g",from_version="v2",to_version="v1",succeeded="false"} 1
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="things.g",from_version="v2",to_version="v1",succeeded="false"} 1
`
	r := &run{clients: &fleet.Clients{Resource: kube.Resource{Group: "g", Plural: "things"}}, definition: &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.g"}}}
	got := r.share(parsed(t, before), parsed(t, after), parsed(t, after), "GET", "v1", loadgen.Calls{Calls: 4, Seconds: 2})
	if got.Requests != 4 || got.RequestSeconds != 4 || got.Conversions != 4 || got.ConversionSeconds != 3 || got.OfServer != 0.75 || got.WebhookSeconds != 2 {
		t.Errorf("got %+v", got)
	}
	if want := []string{metricCall}; !slices.Equal(got.Missing, want) {
		t.Errorf("got %q as missing, want %q", got.Missing, want)
	}
	got = r.share(parsed(t, ""), parsed(t, ""), parsed(t, ""), "GET", "v1", loadgen.Calls{Calls: 4, Seconds: 2})
	if len(got.Missing) != 3 || got.OfServer != 0 {
		t.Errorf("got %+v", got)
	}
	got = r.share(metrics{err: errors.New("forbidden")}, parsed(t, after), parsed(t, after), "GET", "v1", loadgen.Calls{})
	if len(got.Missing) != 1 || got.Missing[0] != "forbidden" || got.Requests != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestAttribution has calls that run beside each other, before, after and beside the requests that they are about, and beside
// others. No more of a request's time is the webhook's than there is.
func TestAttribution(t *testing.T) {
	began := time.Now()
	at := func(from, to int) span {
		return span{began.Add(time.Duration(from) * time.Second), began.Add(time.Duration(to) * time.Second)}
	}
	calls := []call{
		{[]string{"a"}, at(20, 90)},      // for the cache: it goes on when the client has the response
		{[]string{"a"}, at(1, 4)},        // for a, within it
		{[]string{"a"}, at(2, 5)},        // beside that
		{[]string{"b"}, at(0, 10)},       // for b, all the time
		{[]string{"c"}, at(0, 10)},       // for none that was asked for
		{[]string{"a"}, at(9, 12)},       // only begun within it
		{[]string{"a"}, at(-5, -1)},      // over before it
		{[]string{"d", "b"}, at(30, 31)}, // a batch
	}
	var s loadgen.Share
	s.OfServer = 2.5
	attribute(&s, []waited{{"a", at(0, 10)}, {"b", at(0, 10)}, {"b", at(30, 40)}}, slices.Clone(calls))
	if want := (loadgen.Share{ClientSeconds: 30, WaitedSeconds: 5 + 10 + 1, OfClient: 16.0 / 30, Beside: 3}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	s = loadgen.Share{OfServer: 0.5}
	attribute(&s, []waited{{"", at(0, 3)}, {"", at(-9, 100)}}, slices.Clone(calls))
	if s.OfClient > 1 || s.WaitedSeconds != 3+4+12+70 || s.Beside != 0 || s.OfServer != 0.5 {
		t.Errorf("of LISTs: %+v", s)
	}
	attribute(&s, nil, nil)
	if s.OfClient != 0 || s.ClientSeconds != 0 {
		t.Errorf("of nothing: %+v", s)
	}
}

// TestApart wants a prediction that is far from what was measured to say why.
func TestApart(t *testing.T) {
	l := &loadgen.Relist{Cost: loadgen.RelistCost{Service: loadgen.Service{One: 10, Ten: 10}, AddedTen: 3, Caches: 1, Pause: 50}, InFlight: 10}
	for _, c := range []struct {
		predicted, measured, seconds float64
		calls                        uint64
		want                         string
	}{
		{1, 1, 10, 1000, "as measured"},
		{1.1, 1, 10, 1000, "10 % more than measured"},
		{0.02, 0.06, 1, 100, "67 % less than measured, which is within the 50 ms after which a refused client asks again"},
		{1, 3, 30, 1000, "67 % less than measured: a call took 30 ms then, and 10 ms when the webhook was asked directly"},
		{1, 3, 10, 1000, "67 % less than measured: 3.3 calls were under way on average, but the prediction assumes 10"},
		{1, 2, 20, 2000, "50 % less than measured: there were 2000 calls, but the prediction assumes 1000"},
		{3, 1, 3, 300, "200 % more than measured: there were 300 calls, but the prediction assumes 1000"},
		{3, 1, 3, 1000, "200 % more than measured: a call took 3 ms then, and 10 ms when the webhook was asked directly"},
		{2, 1, 20, 1000, "100 % more than measured: 20 calls were under way on average, but the prediction assumes 10"},
		{2, 1, 10, 1000, "100 % more than measured: the cause is not the webhook but the API server, for which the prediction assumes 3 ms a call, as under load on this machine"},
	} {
		if got := apart(l, 1000, c.predicted, &loadgen.ColdList{Seconds: c.measured, Webhook: loadgen.Calls{Calls: c.calls, Seconds: c.seconds}}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestLostEvents(t *testing.T) {
	due := time.Now()
	f := &follower{version: "v1", seen: map[string]time.Time{"7": due.Add(3 * time.Millisecond), "9": due.Add(time.Second)}, reopened: 2}
	w := &written{due: map[string]time.Time{"7": due, "8": due}}
	w.failures.add(refused(http.StatusConflict, "somebody else was first"))
	got := f.result(w)
	if got.Writes != 2 || got.Events != 1 || got.Lost != 1 || got.WritesFailed != 1 || got.Reopened != 2 || math.Abs(got.Times.Max-3) > 0.01 || len(got.Failures) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestFailures(t *testing.T) {
	var f failures
	for _, err := range []error{refused(500, "first"), errors.New("no connection"), refused(429, "later"), refused(500, "second")} {
		f.add(err)
	}
	want := []loadgen.Failure{{Status: 0, Count: 1, First: "no connection"}, {Status: 429, Count: 1, First: "HTTP status 429: later"}, {Status: 500, Count: 2, First: "HTTP status 500: first"}}
	if got := f.sorted(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f.count() != 4 {
		t.Errorf("got %d", f.count())
	}
}

func TestTimes(t *testing.T) {
	h := histogram.New()
	for i := range 1000 {
		histogram.Record(h, time.Duration(i+1)*time.Millisecond)
	}
	histogram.Record(h, 0)
	histogram.Record(h, 2*time.Hour)
	got := histogram.Times(h)
	if math.Abs(got.P50-500) > 1 || math.Abs(got.P99-990) > 2 || got.Max < time.Hour.Seconds()*1000*0.999 || h.TotalCount() != 1002 {
		t.Errorf("got %+v", got)
	}
	if empty := histogram.Times(histogram.New()); empty.Mean != 0 || empty.Max != 0 {
		t.Errorf("got %+v", empty)
	}
}

func TestOptions(t *testing.T) {
	crontabs := corpus.CronTabs("v1beta1", "v1")
	good := func() Options {
		return Options{Cluster: nowhere{}, Definition: crontabs.Definition, Objects: crontabs.Objects("v1")}
	}
	r, err := newRun(good())
	if err != nil {
		t.Fatal(err)
	}
	if r.Seeded != 1000 || r.Duration != 5*time.Second || !slices.Equal(r.Settings.Concurrency, []int{1, 10}) || len(r.Settings.Bounds) == 0 || len(r.Settings.Parts) != 4 {
		t.Errorf("got %+v", r)
	}
	if r.storage != "v1beta1" || r.other != "v1" {
		t.Errorf("got %s, %s", r.storage, r.other)
	}
	for want, spoil := range map[string]func(*Options){
		"no API server to measure":    func(o *Options) { o.Cluster = nil },
		"no CustomResourceDefinition": func(o *Options) { o.Definition = nil },
		"no objects to create":        func(o *Options) { o.Objects = nil },
		"must not be negative":        func(o *Options) { o.Duration = -1 },
		"serves one version only": func(o *Options) {
			d, err := corpus.NewDefinition(served(crontabs.Definition.CRD.DeepCopy(), []string{"v1beta1"}))
			if err != nil {
				t.Fatal(err)
			}
			o.Definition = d
		},
		"does not serve its storage version v1beta1": func(o *Options) {
			crd := crontabs.Definition.CRD.DeepCopy()
			crd.Spec.Versions[slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })].Served = false
			d, err := corpus.NewDefinition(crd)
			if err != nil {
				t.Fatal(err)
			}
			o.Definition = d
		},
	} {
		bad := good()
		spoil(&bad)
		if _, err := Run(t.Context(), bad, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// against is a run whose API server is a handler.
func against(t *testing.T, handler http.HandlerFunc) *run {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	once, err := kube.NewOnce(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &run{
		Options: Options{Seeded: 2, Settings: &Settings{ListPatience: time.Minute}}, progress: func(string) {}, storage: "v1", other: "v2",
		clients: &fleet.Clients{Once: once, Resource: kube.Resource{Group: "example.com", Plural: "things"}, Patience: time.Minute},
	}
}

// TestCleanTriesAgain has an object not be deleted at first, and lists with one too many be complete.
func TestCleanTriesAgain(t *testing.T) {
	t.Parallel()
	var asked []string
	r := against(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if len(asked) == 2 {
			http.Error(w, "no leader", http.StatusInternalServerError)
		}
	})
	b := &budgeted{run: r, names: []string{"a", "b", "c"}}
	if err := b.clean(t.Context()); err == nil || !strings.Contains(err.Error(), "deleting b: HTTP status 500: no leader") || !slices.Equal(b.names, []string{"b"}) {
		t.Errorf("got %v, and %v are left", err, b.names)
	}
	if err := b.clean(t.Context()); err != nil || len(b.names) > 0 || asked[len(asked)-1] != "DELETE /apis/example.com/v1/things/b" {
		t.Errorf("got %v, and %v are left; asked was %v", err, b.names, asked)
	}
	for body, complete := range map[string]bool{`{"items":[{}]}`: false, `{"items":[{},{}]}`: true, `{"items":[{},{},{}]}`: true} {
		if err := r.complete([]byte(body)); (err == nil) != complete {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// TestLateChange has an API server be so busy that it goes over to a change long after it accepted it.
func TestLateChange(t *testing.T) {
	t.Parallel()
	const late = unchanged + 2*time.Second
	var calls atomic.Uint64
	began := time.Now()
	r := against(t, func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(began) > late {
			calls.Add(2)
		}
		io.WriteString(w, `{"items":[{},{}]}`)
	})
	counted := func() loadgen.Calls { return loadgen.Calls{Calls: calls.Load()} }
	var kept loadgen.ColdList
	if r.first(t.Context(), &kept, counted, r.awaited(AfterAnnotation), func(any) {}); kept.Rebuilt || !kept.Complete {
		t.Errorf("for what may leave the cache as it is, it waited: %+v", kept)
	}
	var c loadgen.ColdList
	if r.first(t.Context(), &c, counted, r.awaited(AfterSchema), func(any) {}); !c.Rebuilt || !c.Complete || c.Requests != 1 {
		t.Errorf("got %+v", c)
	}
	r.slowest = 2 * time.Second
	if got := r.awaited(AfterAnnotation); got != 6*time.Second {
		t.Errorf("after so slow a change it waits for %s", got)
	}
}

// TestHopeless ends a run when the webhook is to blame for a load of which nothing came, and not when the load was too short.
func TestHopeless(t *testing.T) {
	t.Parallel()
	failed := []loadgen.Failure{{Status: 500, Count: 9, First: "no leader"}}
	for want, l := range map[string]loadgen.ServerLoad{
		"all of 9 requests of list at v1 failed: no leader":                               {Requests: 9, Failed: 9, Unanswered: 1, Failures: failed},
		"none of its 3 calls for requests of list at v1 was answered":                     {Unanswered: 9, Webhook: loadgen.Calls{Calls: 3, Unanswered: 3}},
		"some failed, which is fine":                                                      {Requests: 9, Failed: 8, Failures: failed},
		"some calls were answered, which is fine":                                         {Unanswered: 9, Webhook: loadgen.Calls{Calls: 3, Unanswered: 2}},
		"no call was needed, and the API server took longer than the load, which is fine": {Unanswered: 9},
	} {
		l.Verb, l.Version, l.Converted = List, "v1", true
		fine := strings.HasSuffix(want, "which is fine")
		if err := exhausted(l); fine != (err == nil) || !fine && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
		l.Converted = false
		if err := exhausted(l); err != nil {
			t.Errorf("%s: got %v where nothing is converted", want, err)
		}
	}
}

// refused returns the error of a response that is no success.
func refused(code int, message string) error {
	return &kube.RefusedError{Code: code, Status: metav1.Status{Message: message}}
}
