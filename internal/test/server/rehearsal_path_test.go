package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestRehearsalPathOfReleases rehearses the upgrades from the first of three releases to the second, to the third with what came of it, and from
// the first to the third, on an API server that forgets the beginning of each list before the next page: the rest is read all the same.
func TestRehearsalPathOfReleases(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses three upgrades")
	}
	u := goodUpgrade(3)
	// The second release stores at v1, and the third does not have v1beta1 any more.
	u.Releases = append(u.Releases, widgetRelease(widgetCRD(byWebhook, widgetVersion("v1", "served stored", gaFields)), widgets))
	var forgotten atomic.Int64
	outcome := u.Rehearse(t, rehearsaltest.Tampered{API: start(t), Exchange: forgetful(&forgotten)}) //nolint:bodyclose // client-go closes it
	if forgotten.Load() == 0 {
		t.Error("no list has a second page")
	}
	var legs []string
	for _, leg := range outcome.Legs {
		legs = append(legs, leg.From+" to "+leg.To)
		stored := map[string]string{"1.0 to 2.0": "v1beta1", "2.0 to 3.0": "v1", "1.0 to 3.0": "v1beta1"}[leg.From+" to "+leg.To]
		if k := leg.Kinds[0]; k.Objects != 3 || k.Stored[stored] != 3 {
			t.Errorf("from %s to %s: %d objects, stored at %v, want 3 at %s", leg.From, leg.To, k.Objects, k.Stored, stored)
		}
	}
	if got := strings.Join(legs, ", "); got != "1.0 to 2.0, 2.0 to 3.0, 1.0 to 3.0" {
		t.Errorf("the legs are %s", got)
	}
	for _, r := range outcome.Results {
		leg, definition, _ := strings.Cut(r.Subject, ": ")
		if r.ID != requirement.UpgradeWebhookStarts && definition != "widgets.example.com" {
			t.Errorf("%s is about %q", r.ID, r.Subject)
		}
		// The objects have left v1beta1 when they are upgraded by way of the second release, and not otherwise.
		skipped := leg == "1.0 to 3.0"
		failed := r.Verdict == requirement.Failed
		if want := skipped && (r.ID == requirement.UpgradeDefinitionsAccepted || r.ID == requirement.UpgradeDropSafe); failed != want {
			t.Errorf("%s of %s is %s: %s", r.ID, r.Subject, r.Verdict, r.Reason)
		}
	}
}

// forgetful gives lists of widgets a page for each object, and says of each next page that it has expired, and where to go on.
func forgetful(forgotten *atomic.Int64) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	var expired sync.Map
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		query := r.URL.Query()
		if token := query.Get("continue"); token != "" {
			if _, again := expired.LoadOrStore(token, true); !again {
				forgotten.Add(1)
				status := fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "metadata": {"continue": %q}}`, token)
				return &http.Response{
					StatusCode: http.StatusGone, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
				}, nil
			}
		}
		if strings.HasSuffix(r.URL.Path, "/widgets") && query.Has("limit") {
			r = r.Clone(r.Context())
			query.Set("limit", "1")
			r.URL.RawQuery = query.Encode()
		}
		return next.RoundTrip(r)
	}
}

// TestRehearsalFull rehearses on a cluster whose etcd is full when the objects are migrated: that is no failure of the upgrade.
func TestRehearsalFull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade")
	}
	api := start(t)
	plan := goodUpgrade(2).Plan(t)
	plan.Cluster = func(context.Context) (cluster.Cluster, func(context.Context) error, error) {
		full := func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method != http.MethodPatch || !ofWidgets(r) || tried(r) {
				return next.RoundTrip(r)
			}
			return suitetest.Answer(r, http.StatusInternalServerError, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: mvcc: database space exceeded",
			}), nil
		}
		return rehearsaltest.Tampered{API: api, Exchange: full}, func(ctx context.Context) error { return rehearsaltest.Remove(ctx, api, plan.Releases) }, nil
	}
	outcome, err := rehearsal.Run(t.Context(), plan)
	if err == nil || !strings.Contains(err.Error(), "the etcd of this cluster is full") {
		t.Errorf("got %v", err)
	}
	for id, verdict := range rehearsaltest.Broken(outcome) {
		if verdict != requirement.Unknown {
			t.Errorf("%s is %s", id, verdict)
		}
	}
}

// TestRehearsalPathThatEnds rehearses a path whose first upgrade does not get so far that there is a second.
func TestRehearsalPathThatEnds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses three upgrades")
	}
	u := goodUpgrade(2)
	u.Releases = append(u.Releases, u.Releases[1])
	u.Releases[1] = widgetRelease(widgetCRD(byWebhook, widgetVersion("v2", "served stored", gaFields)), widgets)
	outcome := u.Rehearse(t, start(t))
	if len(outcome.Legs) != 3 {
		t.Fatalf("got %+v", outcome.Legs)
	}
	for _, r := range outcome.Results {
		if strings.HasPrefix(r.Subject, "2.0 to 3.0") && r.Verdict != requirement.NotApplicable {
			t.Errorf("%s of %s is %s: %s", r.ID, r.Subject, r.Verdict, r.Reason)
		}
	}
}
