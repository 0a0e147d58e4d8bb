package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/internal/load/apiserver"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// serve serves a webhook until the end of the test.
func serve(t *testing.T, handler http.Handler) wire.Endpoint {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return wire.Endpoint{URL: server.URL, CA: server.CA}
}

// loadOptions are for a short run with the documents' CronTabs, of which the first version is stored. The group is the test's own,
// since the metrics of all API servers in a process are the same ones.
func loadOptions(t *testing.T, c cluster.Cluster, hook wire.Endpoint, versions ...string) *apiserver.Options {
	t.Helper()
	group := strings.ToLower(t.Name()) + ".example.com"
	definition, err := corpus.NewDefinition(served(fixtures.Reference.New(fixtures.InGroup(group), fixtures.StoredAt(versions[0])), versions))
	if err != nil {
		t.Fatal(err)
	}
	samples := corpus.CronTabs(versions...).Objects(versions[0])
	for _, sample := range samples {
		sample.SetAPIVersion(group + "/" + versions[0])
	}
	settings, err := apiserver.DefaultSettings()
	if err != nil {
		t.Fatal(err)
	}
	settings.Repeat, settings.RequestTimeout, settings.ListPatience = 2, patience, patience
	return &apiserver.Options{Cluster: c, Definition: definition, Webhook: hook, Objects: samples, Seeded: 30, Duration: 200 * time.Millisecond, Settings: settings}
}

func served(crd *apiextensionsv1.CustomResourceDefinition, versions []string) *apiextensionsv1.CustomResourceDefinition {
	var kept []apiextensionsv1.CustomResourceDefinitionVersion
	for _, name := range versions {
		kept = append(kept, *fixtures.Version(crd, name))
	}
	crd.Spec.Versions = kept
	return crd
}

func loadMeasured(t *testing.T, o *apiserver.Options) loadgen.Server {
	t.Helper()
	began := time.Now()
	result, err := apiserver.Run(t.Context(), *o, func(text string) { t.Logf("%.1f s: %s", time.Since(began).Seconds(), text) })
	if err != nil {
		t.Fatal(err)
	}
	if result.Partial {
		t.Error("it is partial")
	}
	if _, err := json.Marshal(result); err != nil {
		t.Error(err)
	}
	definitionGone(t, o)
	return result
}

// definitionGone fails the test if the definition is still there.
func definitionGone(t *testing.T, o *apiserver.Options) {
	t.Helper()
	if _, err := loadedDefinition(t, o); !apierrors.IsNotFound(err) {
		t.Errorf("the definition is still there: %v", err)
	}
}

func loadedDefinition(t *testing.T, o *apiserver.Options) (*apiextensionsv1.CustomResourceDefinition, error) {
	t.Helper()
	client, err := clientset.NewForConfig(o.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.ApiextensionsV1().CustomResourceDefinitions().Get(t.Context(), o.Definition.Name(), metav1.GetOptions{})
}

// It runs by itself: the metrics in a process are those of the API server that was started last.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it loads an API server")
	}
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, webhook.Handler()), "v1beta1", "v1")
	o.Settings.Grace = time.Minute // on a busy machine
	for _, sample := range o.Objects {
		sample.Object["status"] = map[string]any{"replicas": int64(3)}
	}
	var stored []cluster.Stored
	result, err := apiserver.Run(t.Context(), *o, func(text string) {
		if stored == nil && strings.HasPrefix(text, "removing") { // it is said again while the removal lasts
			var err error
			if stored, err = o.Cluster.(*embedded.Cluster).StoredAll(t.Context(), o.Definition.CRD.Spec.Group, "crontabs"); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || result.Partial {
		t.Fatalf("got %v, partial: %v", err, result.Partial)
	}
	if len(stored) != o.Seeded {
		t.Errorf("got %d objects at the end", len(stored))
	}
	for _, s := range stored {
		var object struct {
			APIVersion string         `json:"apiVersion"`
			Status     map[string]any `json:"status"`
		}
		if err := json.Unmarshal(s.Data, &object); err != nil || object.APIVersion != o.Definition.CRD.Spec.Group+"/v1beta1" || object.Status["replicas"] != float64(3) {
			t.Errorf("got %s, %v", s.Data, err)
		}
	}
	definitionGone(t, o)
	if result.StorageVersion != "v1beta1" || result.OtherVersion != "v1" || result.Served != 2 || !result.WatchCache || result.Objects != o.Seeded || result.ObjectBytes < 100 {
		t.Errorf("got %+v", result)
	}
	if len(result.Notes) > 0 {
		t.Errorf("got the notes %q", result.Notes)
	}
	keepsBounds(t, result, o)
	loads(t, result, o)
	followed(t, result)
	colds(t, result, o)
	r := result.Relist
	if r == nil || r.Confirmation == nil {
		t.Fatalf("got %+v", r)
	}
	if r.InFlightSeen != apiserver.AfterRestart || r.InFlight < 1 || r.InFlight > apiserver.InFlight || r.Confirmation.Objects != o.Seeded || r.Confirmation.Ratio <= 0 {
		t.Errorf("got %+v, confirmed by %+v", r, r.Confirmation)
	}
	if len(r.Predictions) != 4 || r.Predictions[2].Objects != 20_000 || r.Predictions[2].Seconds <= r.Predictions[1].Seconds || r.WithinLimit < 1 {
		t.Errorf("got %+v", r)
	}
	if s := r.Cost.Service; s.One <= 0 || s.Ten <= 0 || s.Max < s.Ten {
		t.Errorf("got %+v", s)
	}
}

// keepsBounds fails the test unless all verbs were measured and keep the bounds of this project.
func keepsBounds(t *testing.T, result loadgen.Server, o *apiserver.Options) {
	t.Helper()
	want := 2 * len(apiserver.Verbs())
	if !result.WatchCache {
		want -= 2
	}
	if len(result.Budget) != want {
		t.Errorf("got %d verbs, want %d", len(result.Budget), want)
	}
	for _, c := range result.Budget {
		if !c.Met || c.Bound == nil || !strings.HasPrefix(embedded.Release(), "v"+c.BoundFrom+".") || c.Samples != o.Settings.Repeat || c.Error != "" {
			t.Errorf("got %+v", c)
		}
		if c.ObjectsConverted != c.Calls {
			t.Errorf("%s at %s: %v objects in %v calls", c.Verb, c.Version, c.ObjectsConverted, c.Calls)
		}
	}
}

func loads(t *testing.T, result loadgen.Server, o *apiserver.Options) {
	t.Helper()
	if len(result.Load) != 12 {
		t.Errorf("got %d loads", len(result.Load))
	}
	for _, l := range result.Load {
		if l.Requests == 0 || l.Failed > 0 || len(l.Failures) > 0 || l.Times.P50 <= 0 || l.Times.Max < l.Times.P99 || l.Seconds < o.Duration.Seconds() || l.RequestsPerSecond <= 0 {
			t.Errorf("got %+v", l)
		}
		if times, err := histogram.Decode(l.Times.Histogram); err != nil || uint64(times.TotalCount()) != l.Requests+l.Unanswered {
			t.Errorf("%d times of %d requests, %v", times.TotalCount(), l.Requests, err)
		}
		s := l.Share
		// The API server counts a request shortly after the client has the response, and may have counted what was given up.
		if len(s.Missing) > 0 || s.Requests+uint64(l.Concurrency) < l.Requests || s.Requests > l.Requests+l.Unanswered || s.Conversions != l.Webhook.Calls {
			t.Errorf("%s at %s, %d at a time: %d requests and %d calls, but for the API server %+v", l.Verb, l.Version, l.Concurrency, l.Requests, l.Webhook.Calls, s)
		}
		switch {
		case l.Verb == apiserver.Get && l.Converted:
			if l.CallsPerRequest < 1 || s.Beside > 0 || s.OfServer <= 0 || s.OfServer >= 1 || s.OfClient <= 0 || s.OfClient >= 1 || s.CallSeconds <= 0 || s.ConversionSeconds < s.WebhookSeconds {
				t.Errorf("got %+v", l)
			}
		case l.Verb == apiserver.Apply && l.Converted:
			if l.CallsPerRequest < 3 || l.Webhook.MostObjects != 1 || s.OfClient <= 0 || s.OfClient >= 1 {
				t.Errorf("got %+v", l)
			}
		case l.Verb == apiserver.Apply && !l.Converted && l.Webhook.Calls < l.Requests:
			t.Errorf("an apply that changes something costs a call for the other version, but: %+v", l)
		case l.Verb != apiserver.Apply && l.Webhook.Calls > 0:
			t.Errorf("got %+v", l)
		}
	}
}

func followed(t *testing.T, result loadgen.Server) {
	t.Helper()
	if len(result.Watch) != 2 {
		t.Fatalf("got %+v", result.Watch)
	}
	for _, w := range result.Watch {
		if w.Writes != 10 || w.Events != 10 || w.Lost > 0 || w.WritesFailed > 0 || w.Reopened > 0 || len(w.Failures) > 0 || w.Times.P50 <= 0 || w.Webhook.Calls != 10 {
			t.Errorf("got %+v", w)
		}
	}
}

func colds(t *testing.T, result loadgen.Server, o *apiserver.Options) {
	t.Helper()
	if len(result.Cold) != 4 {
		t.Fatalf("got %+v", result.Cold)
	}
	for i, loss := range []apiserver.Loss{apiserver.AfterRestart, apiserver.AfterSchema, apiserver.AfterAnnotation, apiserver.AfterFlip} {
		c := result.Cold[i]
		if c.After != loss || c.Skipped != "" || !c.Complete || c.Seconds <= 0 || c.WarmSeconds <= 0 || c.WarmCalls > 0 {
			t.Errorf("got %+v", c)
		}
		if loss == apiserver.AfterAnnotation {
			if c.Rebuilt || c.Webhook.Calls > 0 || c.Refused > 0 {
				t.Errorf("got %+v", c)
			}
			continue
		}
		if w := c.Webhook; !c.Rebuilt || w.Calls != uint64(o.Seeded) || w.Objects != w.Calls || w.MostObjects != 1 || w.MostInFlight < 1 || w.MostInFlight > apiserver.InFlight {
			t.Errorf("got %+v", c)
		}
		if c.Requests != c.Refused+1 {
			t.Errorf("got %+v", c)
		}
	}
}

// TestLoadWebhookThatConvertsNothing has a run end after the first sample.
func TestLoadWebhookThatConvertsNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	})
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	hanging := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	})
	c := suitetest.Cluster(t, embedded.Options{WatchCache: true})
	for want, handler := range map[string]http.Handler{"out of order": broken, "no response within 4s": hanging} {
		o := loadOptions(t, c, serve(t, handler), "v1beta1", "v1")
		if want != "out of order" { // which a busy machine may be late with
			o.Settings.RequestTimeout = 4 * time.Second
		}
		var steps []string
		result, err := apiserver.Run(t.Context(), *o, func(text string) {
			if !saidAgain(text) {
				steps = append(steps, text)
			}
		})
		if !errors.Is(err, apiserver.ErrConvertsNothing) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "none can be read at v1") {
			t.Errorf("%s: got %v", want, err)
		}
		if result.Partial || !strings.Contains(result.Ended, want) || result.Version == "" || len(result.Budget)+len(result.Load)+len(result.Watch)+len(result.Cold) > 0 {
			t.Errorf("%s: got %+v", want, result)
		}
		if len(steps) != 3 || steps[1] != "trying the samples" || !strings.HasPrefix(steps[2], "removing") {
			t.Errorf("%s: the steps are %q", want, steps)
		}
		definitionGone(t, o)
	}
}

// saidAgain reports whether a step is said once more, as it lasts.
func saidAgain(text string) bool { return strings.Contains(text, " so far") }

// TestLoadWebhookThatBreaks has a webhook fail from some step on. What was measured until then is reported, and nothing after it is tried.
func TestLoadWebhookThatBreaks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it measures a whole API server twice")
	}
	var broken atomic.Bool
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		webhook.Handler().ServeHTTP(w, r)
	})
	c := suitetest.Cluster(t, embedded.Options{WatchCache: true})
	hook := serve(t, handler)
	for _, test := range []struct{ from, want string }{
		{"get at v1, 1 at a time", "requests of get at v1 failed: HTTP status 500"},
		{"listing after a loss of the cache: restart", "the LIST at v1 after restart was not complete within "},
	} {
		broken.Store(false)
		o := loadOptions(t, c, hook, "v1beta1", "v1")
		o.Settings.Concurrency, o.Settings.ListPatience, o.Settings.Parts = []int{1}, 5*time.Second, []apiserver.Part{apiserver.PartLoad, apiserver.PartCold}
		after := 0
		result, err := apiserver.Run(t.Context(), *o, func(text string) {
			if broken.Load() && !strings.HasPrefix(text, "removing") && !saidAgain(text) {
				after++
			}
			if text == test.from {
				broken.Store(true)
			}
		})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "the measurement ends here") {
			t.Errorf("%s: got %v", test.from, err)
		}
		if len(result.Load) < 3 || len(result.Cold) > 1 || after > 0 {
			t.Errorf("%s: %d steps after it, %+v", test.from, after, result)
		}
		definitionGone(t, o)
	}
}

func TestLoadBoundTooLow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it measures a whole API server")
	}
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, webhook.Handler()), "v1beta1", "v1")
	o.Settings.Parts = []apiserver.Part{apiserver.PartBudget}
	o.Settings.Bounds = []apiserver.Bounds{
		{Minor: "1.36", WatchCache: true, Storage: map[apiserver.Verb]apiserver.Bound{}, Other: map[apiserver.Verb]apiserver.Bound{apiserver.Get: {Calls: 0.5}, apiserver.Create: {Calls: 0.5}}},
		{Minor: "1.37", WatchCache: true, Storage: map[apiserver.Verb]apiserver.Bound{}, Other: map[apiserver.Verb]apiserver.Bound{apiserver.Get: {Calls: 0.5}, apiserver.Delete: {Calls: 3, Events: 1}}},
	}
	for _, c := range loadMeasured(t, o).Budget {
		switch {
		case c.Error != "" || c.Samples != o.Settings.Repeat:
			t.Errorf("got %+v", c)
		case c.Verb == apiserver.Get && c.Converted:
			if c.Met || c.Calls != 1 || c.Bound == nil || *c.Bound != 0.5 || c.BoundFrom != "1.37" {
				t.Errorf("got %+v", c)
			}
		case c.Verb == apiserver.Delete && c.Converted:
			if !c.Met {
				t.Errorf("got %+v", c)
			}
		case c.Met || c.Bound != nil || c.BoundFrom != "":
			t.Errorf("no bound is known, and still: %+v", c)
		}
	}
}

func TestLoadCancelled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it measures a whole API server")
	}
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, webhook.Handler()), "v1beta1", "v1")
	o.Settings.Parts = []apiserver.Part{apiserver.PartLoad, apiserver.PartCold}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var proxy string
	result, err := apiserver.Run(ctx, *o, func(text string) {
		if text == "get at v1, 1 at a time" {
			crd, err := loadedDefinition(t, o)
			if err != nil {
				t.Error(err)
				return
			}
			proxy = *crd.Spec.Conversion.Webhook.ClientConfig.URL
			cancel(io.ErrUnexpectedEOF)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Partial || len(result.Load) < 6 || len(result.Load) > 7 || result.Load[0].Verb != apiserver.List || len(result.Cold) > 0 {
		t.Errorf("got %+v", result)
	}
	definitionGone(t, o)
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host); err == nil {
		connection.Close()
		t.Errorf("%s is still listened on", proxy)
	}
}

func TestLoadRefusedSamples(t *testing.T) {
	t.Parallel()
	o := loadOptions(t, suitetest.Cluster(t, embedded.Options{WatchCache: true}), serve(t, webhook.Handler()), "v1beta1", "v1")
	bad := o.Objects[0].DeepCopy()
	bad.Object["hostPort"] = "no port"
	bad.SetName("bad")
	whole := *o
	whole.Objects = []*unstructured.Unstructured{bad}
	if _, err := apiserver.Run(t.Context(), whole, nil); err == nil || !strings.Contains(err.Error(), "accepts none of the 1 samples") {
		t.Errorf("got %v", err)
	}
	definitionGone(t, o)

	// Left as it is, somebody else's definition does not hinder the next run.
	client, err := clientset.NewForConfig(o.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	other := o.Definition.CRD.DeepCopy()
	other.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if _, err := definitions.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := apiserver.Run(t.Context(), whole, nil); err == nil || !strings.Contains(err.Error(), "does not belong to this run") {
		t.Errorf("got %v", err)
	}
	if _, err := loadedDefinition(t, o); err != nil {
		t.Error(err)
	}
}
