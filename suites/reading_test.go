package suites_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/reading"
	"github.com/crdconform/crdconform/suites/versions"
)

// install puts definitions of others into a cluster and waits until they are served.
func install(t *testing.T, c cluster.Cluster, all ...*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range all {
		if _, err := definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, crd := range all {
		for end := time.Now().Add(10 * time.Second); ; {
			now, err := definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
			if err == nil && apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not established: %v", crd.Name, err)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}

// check runs the checks and returns what came of each.
func check(t *testing.T, c cluster.Cluster) map[requirement.ID]suites.Result {
	t.Helper()
	checks := reading.Checks()
	env := suitetest.Env(t, suites.Options{
		Cluster: c, Seed: 1, Effect: time.Second, Readings: checks,
		Select: func(id requirement.ID) bool { return checks[id].Check != nil },
	})
	outcome, err := suites.Run(t.Context(), env, []suites.Area{versions.Area, lifecycle.Area}, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	results := map[requirement.ID]suites.Result{}
	for _, r := range outcome.Results {
		results[r.Requirement] = r
	}
	if len(results) != len(checks) {
		t.Errorf("%d of %d were checked", len(results), len(checks))
	}
	return results
}

// several are definitions of others.
func several() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		fixtures.None.New(fixtures.InGroup("none.example.org")),
		fixtures.Priority.New(fixtures.InGroup("priority.example.org")),
		fixtures.Stable.New(fixtures.InGroup("stable.example.org")),
		fixtures.Removal.New(fixtures.InGroup("removal.example.org")),
	}
}

func TestChecks(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{})
	needDefinitions := []requirement.ID{
		requirement.VersionsServingDiscovery, requirement.VersionsNamesPublished, requirement.VersionsPriorityAnySet,
		requirement.VersionsPriorityPreferredVersion, requirement.VersionsPrioritySameEverywhere,
	}
	for id, r := range check(t, c) {
		want := requirement.Passed
		if slices.Contains(needDefinitions, id) {
			want = requirement.NotApplicable
		}
		if r.Verdict != want || (want == requirement.NotApplicable) != strings.Contains(r.Reason, "definition") {
			t.Errorf("without definitions: %s is %s: %s", id, r.Verdict, r.Reason)
		}
	}
	install(t, c, several()...)
	for id, r := range check(t, c) {
		if r.Verdict != requirement.Passed {
			t.Errorf("%s is %s: %s", id, r.Verdict, r.Reason)
		}
	}
}

// readingEdited changes responses to GET requests for a path.
func readingEdited(c *suitetest.Tampered, path string, change func(body map[string]any)) {
	c.Exchange = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.URL.Path != path {
			return response, err
		}
		return suitetest.Edit(response, change)
	}
}

// readingAnswered answers requests for a path with another status.
func readingAnswered(c *suitetest.Tampered, path string, status int) {
	c.Exchange = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.URL.Path == path {
			return suitetest.Answer(r, status, map[string]any{}), nil
		}
		return next.RoundTrip(r)
	}
}

// resourceOf returns the first resource of a discovery document.
func resourceOf(body map[string]any) map[string]any {
	return body["resources"].([]any)[0].(map[string]any)
}

// TestReadingFaultsAreCaught shows that each check can fail.
func TestReadingFaultsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: all checks run again for each fault")
	}
	c := suitetest.Cluster(t, embedded.Options{})
	install(t, c, several()...)
	caught := map[requirement.ID]bool{}
	for name, fault := range map[string]struct {
		breaks []requirement.ID
		tamper func(*suitetest.Tampered)
	}{
		"an old version": {[]requirement.ID{requirement.VersionsServingMinimumVersion}, func(c *suitetest.Tampered) {
			readingEdited(c, "/version", func(body map[string]any) { body["major"], body["minor"] = "1", "9" })
		}},
		"the old endpoint": {[]requirement.ID{requirement.LifecycleLegacyV1beta1Endpoint}, func(c *suitetest.Tampered) {
			readingAnswered(c, "/apis/apiextensions.k8s.io/v1beta1", http.StatusOK)
		}},
		"a version that is not shown": {[]requirement.ID{requirement.VersionsServingDiscovery}, func(c *suitetest.Tampered) {
			readingAnswered(c, "/apis/none.example.org/v1", http.StatusNotFound)
		}},
		"another kind": {[]requirement.ID{requirement.VersionsServingDiscovery}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/stable.example.org/v1", func(body map[string]any) { resourceOf(body)["kind"] = "CronJob" })
		}},
		"another scope": {[]requirement.ID{requirement.VersionsServingDiscovery}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/stable.example.org/v1", func(body map[string]any) { resourceOf(body)["namespaced"] = false })
		}},
		"no short names": {[]requirement.ID{requirement.VersionsNamesPublished}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/stable.example.org/v1", func(body map[string]any) { delete(resourceOf(body), "shortNames") })
		}},
		"another singular": {[]requirement.ID{requirement.VersionsNamesPublished}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/stable.example.org/v1", func(body map[string]any) { resourceOf(body)["singularName"] = "tab" })
		}},
		"another order": {[]requirement.ID{requirement.VersionsPriorityAnySet, requirement.VersionsPrioritySameEverywhere}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/priority.example.org", func(body map[string]any) { slices.Reverse(body["versions"].([]any)) })
		}},
		"another preference": {[]requirement.ID{requirement.VersionsPriorityPreferredVersion}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis/none.example.org", func(body map[string]any) {
				body["preferredVersion"] = map[string]any{"groupVersion": "none.example.org/v1beta1", "version": "v1beta1"}
			})
		}},
		"no aggregated discovery": {[]requirement.ID{requirement.VersionsPrioritySameEverywhere}, func(c *suitetest.Tampered) {
			readingEdited(c, "/apis", func(body map[string]any) { delete(body, "items") })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tampered := &suitetest.Tampered{Cluster: c}
			fault.tamper(tampered)
			var failed []requirement.ID
			for id, r := range check(t, tampered) {
				switch r.Verdict {
				case requirement.Failed:
					failed = append(failed, id)
					caught[id] = true
				case requirement.Passed, requirement.NotApplicable: // most do not hold for an old version
				default:
					t.Errorf("%s is %s: %s", id, r.Verdict, r.Reason)
				}
			}
			slices.Sort(failed)
			slices.Sort(fault.breaks)
			if !slices.Equal(failed, fault.breaks) {
				t.Errorf("%v failed, want %v", failed, fault.breaks)
			}
		})
	}
	for _, id := range slices.Sorted(maps.Keys(reading.Checks())) {
		if !caught[id] {
			t.Errorf("no fault makes %s fail", id)
		}
	}
}

// TestDefinitionsComeAndGo changes definitions all the time while they are looked at, which is nobody's fault.
func TestDefinitionsComeAndGo(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{})
	install(t, c, several()...)
	client, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var changing sync.WaitGroup
	changes := 0
	changing.Go(func() {
		definitions := client.ApiextensionsV1().CustomResourceDefinitions()
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for crd := fixtures.Deprecation.New(fixtures.InGroup("passing.example.org")); ; {
			var err error
			if changes%2 == 0 {
				_, err = definitions.Create(ctx, crd.DeepCopy(), metav1.CreateOptions{})
			} else {
				err = definitions.Delete(ctx, crd.Name, metav1.DeleteOptions{})
			}
			if err == nil { // it takes a moment until what was deleted is gone
				changes++
			}
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
		}
	})
	defer func() {
		cancel()
		if changing.Wait(); changes < 2 {
			t.Errorf("definitions changed %d times", changes)
		}
	}()
	for range 5 {
		for id, r := range check(t, c) {
			if r.Verdict != requirement.Passed {
				t.Errorf("%s is %s: %s", id, r.Verdict, r.Reason)
			}
		}
	}
}
