package suitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Fault is something that an API server does wrong. It takes the place of the exchange of a request, which next performs.
type Fault func(r Request, next http.RoundTripper) (*http.Response, error)

// CatchFaults proves of the specs of an area that they can fail: each has to fail on an API server that has the fault of its requirement.
func CatchFaults(t *testing.T, genuine *embedded.Cluster, area suites.Area, faults map[requirement.ID]Fault) {
	t.Helper()
	for _, spec := range suites.Preview([]suites.Area{area}) {
		if faults[spec.Requirement] == nil {
			t.Errorf("there is no fault for %s, so it is not shown to be able to fail", spec.Requirement)
		}
	}
	only := func(id requirement.ID) map[requirement.ID]Fault { return map[requirement.ID]Fault{id: faults[id]} }
	judge(t, genuine, area, suites.Options{Domain: "own.example.com", Effect: 5 * time.Second}, only, requirement.Failed)
}

// SpareOthers proves of some specs of an area, or of all if none is named, that they fail for nothing but what they are about: each has to
// pass on an API server that has the faults of all other requirements.
func SpareOthers(t *testing.T, genuine *embedded.Cluster, area suites.Area, faults map[requirement.ID]Fault, ids ...requirement.ID) {
	t.Helper()
	others := func(id requirement.ID) map[requirement.ID]Fault {
		rest := maps.Clone(faults)
		delete(rest, id)
		return rest
	}
	options := suites.Options{Domain: "others.example.com"}
	if len(ids) > 0 {
		options.Select = func(id requirement.ID) bool { return slices.Contains(ids, id) }
	}
	judge(t, genuine, area, options, others, requirement.Passed)
}

// CatchAll proves of some specs of an area that each of them fails on an API server with one fault. It has the fault from the start,
// so that definitions which are installed ahead of their specs meet it as well. The groups of the definitions end in the first ID, so
// that what a fault keeps from being removed is in nobody's way.
func CatchAll(t *testing.T, genuine *embedded.Cluster, area suites.Area, fault Fault, ids ...requirement.ID) {
	t.Helper()
	tampered := &Tampered{Cluster: genuine, Exchange: func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		return fault(About(r), next)
	}}
	env, err := suites.NewEnv(t.Context(), suites.Options{
		Cluster: tampered, Domain: string(ids[0]) + ".example.com", Seed: 1, Effect: 10 * time.Second, Select: func(id requirement.ID) bool { return slices.Contains(ids, id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Close(context.WithoutCancel(t.Context())) })
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	results := map[requirement.ID]suites.Result{}
	for _, r := range outcome.Results {
		results[r.Requirement] = r
	}
	for _, id := range ids {
		if r := results[id]; r.Verdict != requirement.Failed {
			t.Errorf("%s is %s, want %s: %s", id, r.Verdict, requirement.Failed, r.Reason)
		}
	}
}

// judge runs an area on an API server that has for each spec the faults of that spec's requirement.
func judge(t *testing.T, genuine *embedded.Cluster, area suites.Area, options suites.Options, faultsOf func(requirement.ID) map[requirement.ID]Fault, want requirement.Verdict) {
	t.Helper()
	now := &running{}
	tampered := &Tampered{Cluster: genuine, Exchange: func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		for _, fault := range faultsOf(now.id()) {
			if fault != nil {
				next = fault.before(next)
			}
		}
		return next.RoundTrip(r)
	}}
	options.Cluster, options.Seed = tampered, 1
	env, err := suites.NewEnv(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	// A fault may well hide that a definition is gone.
	t.Cleanup(func() { _ = env.Close(context.WithoutCancel(t.Context())) })
	outcome, err := suites.Run(t.Context(), env, []suites.Area{area}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.Verdict != want {
			t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, want, r.Reason)
		}
	}
}

// before is a transport with the fault.
func (f Fault) before(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return f(About(r), next) })
}

// running knows which spec is running.
type running struct {
	Quiet

	spec atomic.Value
}

// SpecStarted notes the spec.
func (c *running) SpecStarted(id requirement.ID, _ string) { c.spec.Store(id) }

func (c *running) id() requirement.ID {
	id, _ := c.spec.Load().(requirement.ID)
	return id
}

// Accepting accepts what an API server refuses with a message that matches a pattern.
func Accepting(pattern string) Fault {
	like := regexp.MustCompile(pattern)
	return func(r Request, next http.RoundTripper) (*http.Response, error) {
		sent := Body(r.Request)
		response, err := next.RoundTrip(r.Request)
		if err != nil || r.Method == http.MethodGet || response.StatusCode < 400 || response.StatusCode == http.StatusTooManyRequests {
			return response, err
		}
		return Edited(response, func(raw []byte) (int, []byte) {
			var status metav1.Status
			if json.Unmarshal(raw, &status) != nil || !like.MatchString(status.Message) {
				return response.StatusCode, raw
			}
			if r.Method == http.MethodPatch {
				sent = []byte(`{"apiVersion": "example.com/v1", "kind": "CronTab", "metadata": {"name": "made-up"}}`)
			}
			return http.StatusOK, sent
		})
	}
}

// Refusing refuses as invalid what an API server accepts, where what is sent matches a pattern. Definitions it refuses only when
// they are tried out.
func Refusing(pattern string) Fault {
	like := regexp.MustCompile(pattern)
	return func(r Request, next http.RoundTripper) (*http.Response, error) {
		written := r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
		tried := !r.Definition || strings.Contains(r.URL.RawQuery, "dryRun")
		if written && tried && like.Match(Body(r.Request)) {
			return Answer(r.Request, http.StatusUnprocessableEntity, map[string]any{
				"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusUnprocessableEntity, "reason": "Invalid", "message": "made up",
			}), nil
		}
		return next.RoundTrip(r.Request)
	}
}

// Ignoring leaves some keywords out of the definitions that are written, as if the API server did not know them.
func Ignoring(keywords ...string) Fault {
	return func(r Request, next http.RoundTripper) (*http.Response, error) {
		if !r.Definition || r.Method != http.MethodPost && r.Method != http.MethodPut {
			return next.RoundTrip(r.Request)
		}
		var definition map[string]any
		decoder := json.NewDecoder(bytes.NewReader(Body(r.Request)))
		decoder.UseNumber()
		if err := decoder.Decode(&definition); err != nil {
			return nil, err
		}
		leaveOut(definition["spec"], keywords)
		changed, err := json.Marshal(definition)
		if err != nil {
			return nil, err
		}
		ignorant := r.Clone(r.Context())
		ignorant.Body, ignorant.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		return next.RoundTrip(ignorant)
	}
}

// leaveOut takes keys out of all that is in a value.
func leaveOut(value any, keys []string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range keys {
			delete(value, key)
		}
		for _, inner := range value {
			leaveOut(inner, keys)
		}
	case []any:
		for _, inner := range value {
			leaveOut(inner, keys)
		}
	}
}

// Showing changes what an API server answers of the object of a name, where it succeeds.
func Showing(name string, change func(object map[string]any)) Fault {
	return func(r Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r.Request)
		if err != nil || r.Definition || r.Watch() || response.StatusCode >= 300 {
			return response, err
		}
		return Edit(response, func(body map[string]any) {
			if meta, ok := body["metadata"].(map[string]any); ok && meta["name"] == name {
				change(body)
			}
		})
	}
}

// Edited changes the status and the body of a response.
func Edited(response *http.Response, change func(raw []byte) (status int, body []byte)) (*http.Response, error) {
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	status, body := change(raw)
	changed := Answer(response.Request, status, body)
	changed.Header = response.Header
	changed.Header.Del("Content-Length")
	return changed, nil
}
