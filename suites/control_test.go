package suites_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
)

// TestOnAnAPIServerWithoutControllers runs the chapter where there are namespaces, RBAC and the aggregator, and no controllers.
func TestOnAnAPIServerWithoutControllers(t *testing.T) {
	kubectl(t)
	c := kubeAPIServer(t)
	for _, r := range controlRun(t, control.Area, suites.Options{Cluster: c}, suitetest.Quiet{}) {
		want := requirement.Passed
		id := string(r.Requirement)
		switch r.Requirement {
		case requirement.ControlNamespacesMissing, requirement.ControlNamespacesTerminating:
		default:
			for _, controlled := range []string{"namespaces", "garbage", "scaling", "migration", "webhook"} {
				if strings.HasPrefix(id, "control."+controlled+".") {
					want = requirement.NotApplicable
				}
			}
		}
		reason := "needs the controllers of a control plane"
		if strings.HasPrefix(id, "control.webhook.") {
			reason = "needs a webhook that runs as pods of the cluster, and none was deployed"
		}
		if r.Verdict != want || want == requirement.NotApplicable && !strings.HasPrefix(r.Reason, reason) {
			t.Errorf("%s is %s, want %s: %s", r.Requirement, r.Verdict, want, r.Reason)
		}
	}
	if left := namespaces(t, c); len(left) > 0 {
		t.Errorf("left behind: namespaces %v", left)
	}
	t.Run("faults are caught", func(t *testing.T) {
		catches(t, c, nil, 0, requirement.ControlAdmissionDefaults, requirement.ControlAdmissionPruned, requirement.ControlAdmissionEquivalent,
			requirement.ControlAdmissionExact, requirement.ControlAdmissionPolicy)
	})
}

// namespaces returns the namespaces of specs that are there.
func namespaces(t *testing.T, c cluster.Cluster) []string {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	all, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, namespace := range all.Items {
		if strings.HasPrefix(namespace.Name, "crdconform-") {
			names = append(names, namespace.Name)
		}
	}
	return names
}

// TestWithoutPods runs the specs of a webhook in the cluster where there is none, and where it could not be deployed.
func TestWithoutPods(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{})
	for _, test := range []struct {
		options control.Options
		verdict requirement.Verdict
		reason  string
	}{
		{control.Options{NoWebhook: "this is a test"}, requirement.NotApplicable, "needs a webhook that runs as pods of the cluster, and this is a test"},
		{control.Options{Undeployed: errors.New("it was not")}, requirement.Errored, "deploying a webhook: it was not"},
	} {
		ids := only(requirement.ControlWebhookService, requirement.ControlWebhookReplacedPod)
		for _, r := range controlRun(t, control.New(test.options), suites.Options{Cluster: c, Select: ids}, suitetest.Quiet{}) {
			if r.Verdict != test.verdict || !strings.Contains(r.Reason, test.reason) {
				t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
			}
		}
	}
}

func TestWithoutKubectl(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{})
	create := only(requirement.ControlKubectlCreate)
	missing := control.New(control.Options{Kubectl: "/there/is/no/kubectl"})
	for _, r := range controlRun(t, missing, suites.Options{Cluster: c, Select: create}, suitetest.Quiet{}) {
		if r.Verdict != requirement.Errored || !strings.Contains(r.Reason, "/there/is/no/kubectl") {
			t.Errorf("with one that is not there it is %s: %s", r.Verdict, r.Reason)
		}
	}
	t.Setenv("PATH", t.TempDir())
	for _, r := range controlRun(t, control.Area, suites.Options{Cluster: c, Select: create}, suitetest.Quiet{}) {
		if r.Verdict != requirement.NotApplicable || !r.Immaterial || r.Reason != "needs kubectl, which is not on PATH" {
			t.Errorf("without one it is %s (immaterial: %t): %s", r.Verdict, r.Immaterial, r.Reason)
		}
	}
}

// TestReasons runs a spec where something that it needs is missing.
func TestReasons(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a run for each reason")
	}
	c := suitetest.Cluster(t, embedded.Options{})
	lease := func(renewed time.Time) map[string]any {
		return map[string]any{"spec": map[string]any{"leaseDurationSeconds": 15, "renewTime": renewed.UTC().Format("2006-01-02T15:04:05.000000Z07:00")}}
	}
	fresh := lease(time.Now().Add(time.Hour))
	for reason, answers := range map[string]map[string]proxied{
		"needs the controllers of a control plane, and none are active here: kube-controller-manager has no lease (HTTP status 404), and the namespace default has no service account made by it (404)": {},
		"needs the controllers of a control plane, and none are active here: kube-controller-manager has not renewed its lease for 1h":                                                                  {"/leases/": always(http.StatusOK, lease(time.Now().Add(-time.Hour)))},
		"needs the controllers of a control plane, and the user of this run may read neither":                                                                                                           {"/leases/": always(http.StatusForbidden, nil)},
		"needs the right to create configmaps, which the user of this run does not have":                                                                                                                {"/leases/": always(http.StatusOK, fresh), "/selfsubjectaccessreviews": always(http.StatusCreated, map[string]any{"status": map[string]any{"allowed": false}})},
		"creating a ConfigMap: the server could not find the requested resource":                                                                                                                        {"/serviceaccounts/": always(http.StatusOK, map[string]any{})},
	} {
		answering := tamper(t, c, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			for path, answer := range answers {
				if strings.Contains(r.URL.Path, path) {
					return answer(r, next)
				}
			}
			return next.RoundTrip(r)
		})
		for _, r := range controlRun(t, control.Area, suites.Options{Cluster: answering, Select: only(requirement.ControlGarbageOwners)}, suitetest.Quiet{}) {
			if !strings.HasPrefix(r.Reason, reason) {
				t.Errorf("the reason is %q, want %q", r.Reason, reason)
			}
		}
	}
}

// always answers in place of an API server.
func always(status int, body any) proxied {
	return func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return suitetest.Answer(r, status, body), nil
	}
}

// kubectlFaultsAreCaught proves where there is no control plane that the specs of kubectl can fail.
func kubectlFaultsAreCaught(t *testing.T, genuine *embedded.Cluster) {
	t.Helper()
	var all []requirement.ID
	for _, id := range declared() {
		if strings.HasPrefix(string(id), "control.kubectl.") {
			all = append(all, id)
		}
	}
	catches(t, genuine, nil, 0, all...)
}
