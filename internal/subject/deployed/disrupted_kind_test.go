//go:build kind

package deployed_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/test/manifest"
	"github.com/crdconform/crdconform/requirement"
)

// disrupts is the role of deploy/rbac.yaml that only disruption needs.
const disrupts = "crdconform-disrupt"

// limited is a cluster of which a user has the rights of deploy/rbac.yaml.
type limited struct {
	*kind.Cluster

	config *rest.Config
	wanted []string // what the role for disruption allows, such as "update deployments/scale"
	used   *used
}

// used are the rights on resources in namespaces that were used.
type used struct {
	mu     sync.Mutex
	rights map[string]bool
}

// noting notes the rights that requests use.
type noting struct {
	*used

	next http.RoundTripper
}

func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(r)
	if err == nil && response.StatusCode < http.StatusBadRequest {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.rights[rightOf(r)] = true
	}
	return response, err
}

// changes are the verbs that are noted, by the method of their requests.
func changes() map[string]string {
	return map[string]string{http.MethodPut: "update", http.MethodPatch: "patch"}
}

// rightOf is the right that a request to change something in a namespace takes; empty for others.
func rightOf(r *http.Request) string {
	_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(rest, "/")
	verb := changes()[r.Method]
	if len(parts) < 3 || verb == "" { // namespace, resource, name
		return ""
	}
	return strings.Join(append([]string{verb + " " + parts[1]}, parts[3:]...), "/")
}

// allUsed fails the test if the role for disruption allows what was not used.
func (l limited) allUsed(t *testing.T) {
	t.Helper()
	l.used.mu.Lock()
	defer l.used.mu.Unlock()
	for _, right := range l.wanted {
		if !l.used.rights[right] {
			t.Errorf("%s allows to %s, which nothing does", disrupts, right)
		}
	}
	if len(l.wanted) == 0 {
		t.Errorf("there is no role %s, or it allows nothing", disrupts)
	}
}

func (l limited) Config() *rest.Config { return rest.CopyConfig(l.config) }

// limit creates the roles of deploy/rbac.yaml, and acts as the user who has them.
func limit(t *testing.T, c *kind.Cluster) limited {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := limited{Cluster: c, config: c.Config(), used: &used{rights: map[string]bool{}}}
	for _, object := range manifest.Objects(t, "../../../deploy/rbac.yaml") {
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			if o.Name == disrupts {
				l.wanted = allowed(t, o.Rules)
			}
			created(t, client.RbacV1().ClusterRoles().Create, client.RbacV1().ClusterRoles().Delete, o)
		case *rbacv1.ClusterRoleBinding:
			created(t, client.RbacV1().ClusterRoleBindings().Create, client.RbacV1().ClusterRoleBindings().Delete, o)
		}
	}
	l.config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:crdconform:crdconform"}
	l.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noting{l.used, next} })
	return l
}

// allowed is what rules allow.
func allowed(t *testing.T, rules []rbacv1.PolicyRule) []string {
	t.Helper()
	var all []string
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains(slices.Collect(maps.Values(changes())), verb) {
				t.Errorf("the use of the verb %s is not noted", verb)
			}
			for _, resource := range rule.Resources {
				all = append(all, verb+" "+resource)
			}
		}
	}
	return all
}

// created creates an object, and deletes it in the end.
func created[T metav1.Object](t *testing.T, create func(context.Context, T, metav1.CreateOptions) (T, error), remove func(context.Context, string, metav1.DeleteOptions) error, o T) {
	t.Helper()
	if _, err := create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// TestDisrupted disrupts the pods of a webhook that reads its certificate once, and of one that drops what it has accepted, with the
// rights of deploy/rbac.yaml, of which those for disruption are all used. How long things take is for a quiet machine.
func TestDisrupted(t *testing.T) {
	all, archive, o := deployed.Shared(t)
	c, old := limit(t, all), deployed.Another(t, all)
	modes := map[string]map[requirement.ID]string{ // what is violated; empty for nothing
		"serve": {
			requirement.DisruptionRestartGraceful: "", requirement.DisruptionReplicasRollout: "", requirement.DisruptionReplicasSingleRollout: "", requirement.DisruptionCertificateLeaf: "still serves the former certificate",
		},
		"abrupt": {requirement.DisruptionRestartGraceful: "it dropped 4"},
	}
	var passed atomic.Int32
	t.Cleanup(func() { // when all of it is over
		if int(passed.Load()) == len(modes) {
			c.allUsed(t)
		} else {
			t.Log("whether all rights are used was not checked, since not all modes ran and passed")
		}
	})
	for mode, want := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel() // it is mostly waiting
			o := o
			o.Run += mode
			defer deployed.Gone(t, o) // the definition and the namespace of the objects, too
			o.Config = c.Config()
			w, err := deployed.DeployImage(t.Context(), deployed.Workload{
				Image: archive.Reference, Loaded: true, Args: []string{"--certs=/certs", "--mode=" + mode}, Certs: "/certs", Path: "/crdconvert",
			}, o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}()
			p := planned(w, o.Run, want)
			if mode == "serve" {
				p.Builds = &disruption.Builds{Old: old, New: deployed.Image{Reference: archive.Reference, Loaded: true}}
			}
			judged := 0
			err = disruption.Run(t.Context(), p, c, t.TempDir(), record.Header{}, objective.Set{}.For, func(o disruption.Outcome) {
				judged++
				violated(t, o, want[o.Scenario.ID])
			})
			if err != nil || judged != len(want) {
				t.Errorf("%d scenarios of %d were judged: %v", judged, len(want), err)
			}
			if !t.Failed() {
				passed.Add(1)
			}
		})
	}
}

// planned is a plan to disrupt a webhook with few and slow clients, and with CronTabs in a group of the run.
func planned(w *deployed.Webhook, run string, wanted map[requirement.ID]string) *disruption.Plan {
	kind := corpus.CronTabs("v1beta1", "v1")
	crd := kind.Definition.CRD.DeepCopy()
	crd.Spec.Group = run + ".example.com"
	crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
	p := &disruption.Plan{
		Definition: crd, Samples: map[string][]*unstructured.Unstructured{}, Pods: w, Path: w.Service.Path, Run: run, Settings: disruption.Defaults(),
	}
	p.Rate, p.Reached, p.Objects, p.Quiet, p.Limit, p.PickUp = 25, 0, 8, time.Second, 0, 3*time.Second
	for _, version := range kind.Definition.Versions() {
		for _, object := range kind.Objects(version) {
			sample := object.DeepCopy()
			sample.SetAPIVersion(crd.Spec.Group + "/" + version)
			p.Samples[version] = append(p.Samples[version], sample)
		}
	}
	for _, s := range disruption.Scenarios() {
		if _, is := wanted[s.ID]; is {
			p.Scenarios = append(p.Scenarios, s.ForPods())
		}
	}
	return p
}

// violated fails the test unless a scenario found what it should, and lost and converted nothing wrongly.
func violated(t *testing.T, o disruption.Outcome, want string) {
	t.Helper()
	if o.Err != nil || o.History == nil {
		t.Errorf("%s: %v %s", o.Scenario.ID, o.Err, o.Skipped)
		return
	}
	var found []string
	for _, m := range o.History.Marks {
		if strings.HasPrefix(m.Name, "violation ") {
			found = append(found, m.Text)
		}
	}
	if text := strings.Join(found, "\n"); (text == "") != (want == "") || !strings.Contains(text, want) {
		t.Errorf("%s found %q, want %q", o.Scenario.ID, text, want)
	}
	bounds := record.UsualBounds()
	bounds.Share, bounds.Lag = 0, time.Hour
	report, err := record.JudgeWithin(o.History, bounds)
	if err != nil || len(report.Void) > 0 || report.Facts.Operations == 0 || report.Facts.Compared == 0 {
		t.Errorf("%s: %v, void: %v, %d operations, %d compared", o.Scenario.ID, err, report.Void, report.Facts.Operations, report.Facts.Compared)
	}
	for _, kind := range []record.AnomalyKind{record.FoundLost, record.FoundWrong} {
		if f, is := report.Found(kind); is {
			t.Errorf("%s: %s", o.Scenario.ID, f.Text)
		}
	}
}
