package server_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/test/needs"
)

// controlPlane starts a kube-apiserver with RBAC, admission and leases that stops with the test.
func controlPlane(t *testing.T) *rest.Config {
	t.Helper()
	needs.APIServer(t)
	log.SetLogger(logr.Discard())
	environment := &envtest.Environment{ControlPlaneStartTimeout: 3 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config
}

// TestMigrateControlPlane migrates where there are leases, rights and admission.
func TestMigrateControlPlane(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	config := controlPlane(t)
	client := kubernetes.NewForConfigOrDie(config)
	t.Run("held", func(t *testing.T) { held(t, sceneOn(t, config, nil, fixtures.None), client) })
	t.Run("killed", func(t *testing.T) { killed(t, sceneOn(t, config, nil, fixtures.None), client) })
	t.Run("lost", func(t *testing.T) { lost(t, sceneOn(t, config, nil, fixtures.None), client) })
	t.Run("rights", func(t *testing.T) { rights(t, sceneOn(t, config, nil, fixtures.None), client) })
	t.Run("admission", func(t *testing.T) { admission(t, sceneOn(t, config, nil, fixtures.None), client) })
}

func (s *scene) lease(client kubernetes.Interface) (*coordinationv1.Lease, error) {
	return client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(s.Context(), migrate.LeaseName(s.name), metav1.GetOptions{})
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// held has two migrations at once: the second one refuses, and the first one goes on.
func held(t *testing.T, s *scene, client kubernetes.Interface) {
	t.Helper()
	s.populate(4)
	s.change(fixtures.StoredAt("v1"))
	options := migrate.Options{PageSize: 2, Concurrency: 1, LeaseDuration: 3 * time.Second}
	var second error
	config := hooked(s.config, writes, 2, func(_ *http.Request) *http.Response {
		_, second = migrate.Run(t.Context(), s.config, s.name, options)
		return nil
	})
	first, err := migrate.Run(t.Context(), config, s.name, options)
	if err != nil || first.Rewritten != 4 || !first.Trimmed || first.NoLock != "" {
		t.Errorf("the first: %+v, %v", first, err)
	}
	if second == nil || !strings.Contains(second.Error(), "another migration of the definition is in progress: ") {
		t.Errorf("the second: %v", second)
	}
	if _, err := s.lease(client); !apierrors.IsNotFound(err) {
		t.Errorf("the lease stays: %v", err)
	}
}

// killed takes over the lease of a migration that ended without giving it back, with its state.
func killed(t *testing.T, s *scene, client kubernetes.Interface) {
	t.Helper()
	s.populate(6)
	s.change(fixtures.StoredAt("v1"))
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var dead atomic.Bool
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && r.URL.Query().Has("continue") { // the first page is written
				dead.Store(true)
				kill()
			}
			if dead.Load() {
				return nil, errors.New("the process was killed")
			}
			return next.RoundTrip(r)
		})
	})
	options := migrate.Options{PageSize: 2, Concurrency: 1, LeaseDuration: 2 * time.Second, Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}}
	if first, err := migrate.Run(ctx, config, s.name, options); err == nil || first.Rewritten != 2 {
		t.Fatalf("the first: %+v, %v", first, err)
	}
	if lease, err := s.lease(client); err != nil || holderOf(lease) == "" {
		t.Fatalf("the lease is %v, %v", lease, err)
	}
	var waits []string
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{LeaseDuration: 2 * time.Second, Progress: func(p migrate.Progress) {
		if p.Waiting != "" {
			waits = append(waits, p.Waiting)
		}
	}})
	if err != nil || !result.Resumed || result.Newer != 2 || result.Rewritten != 4 || !result.Trimmed {
		t.Errorf("%+v, %v", result, err)
	}
	if len(waits) != 1 || !strings.HasSuffix(waits[0], ": waiting up to 2s to see whether it still runs") {
		t.Errorf("it said %q", waits)
	}
	if _, err := s.lease(client); !apierrors.IsNotFound(err) {
		t.Errorf("the lease stays: %v", err)
	}
}

// lost stops when somebody else took the lease.
func lost(t *testing.T, s *scene, client kubernetes.Interface) {
	t.Helper()
	s.populate(4)
	s.change(fixtures.StoredAt("v1"))
	config := hooked(s.config, writes, 2, func(r *http.Request) *http.Response {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { //nolint:contextcheck // that of the test, not of the request; the migration may renew it just then
			lease, err := s.lease(client)
			if err != nil {
				return err
			}
			lease.Spec.HolderIdentity = new("another")
			_, err = client.CoordinationV1().Leases(lease.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			t.Error(err)
			return nil // or nobody would end it
		}
		<-r.Context().Done()
		return nil
	})
	result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{PageSize: 2, Concurrency: 1, LeaseDuration: time.Second})
	if err == nil || !strings.Contains(err.Error(), "stopped, because the lease could not be renewed; run it again: another migration took the lease") || result.Trimmed {
		t.Errorf("%+v, %v", result, err)
	}
	if lease, err := s.lease(client); err != nil || holderOf(lease) != "another" {
		t.Errorf("the lease is %v, %v", lease, err)
	}
}

// rights names those that are missing.
func rights(t *testing.T, s *scene, client kubernetes.Interface) {
	t.Helper()
	user := func(name string, rules ...rbacv1.PolicyRule) *rest.Config {
		name += "-" + s.group
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		config := rest.CopyConfig(s.config)
		config.Impersonate.UserName = name
		return config
	}
	definitions := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get"}}
	status := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions/status"}, Verbs: []string{"patch"}}
	objects := rbacv1.PolicyRule{APIGroups: []string{s.group}, Resources: []string{"crontabs"}, Verbs: []string{"list", "get", "patch"}}
	leases := rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update", "delete"}}
	for name, test := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  string
	}{
		"none":    {nil, `cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io"`},
		"looks":   {[]rbacv1.PolicyRule{definitions}, "the user may not list crontabs." + s.group + ", get crontabs." + s.group + ", patch crontabs." + s.group + ", patch customresourcedefinitions.apiextensions.k8s.io/status in all namespaces"},
		"unheld":  {[]rbacv1.PolicyRule{definitions, status, objects}, "the user may not get, create, update and delete leases of coordination.k8s.io in the namespace kube-system"},
		"allowed": {[]rbacv1.PolicyRule{definitions, status, objects, leases}, ""},
	} {
		config := user(name, test.rules...)
		var err error
		s.eventually("the rights of "+name, func(ctx context.Context) bool { // the API server sees roles a moment later
			_, err = migrate.Run(ctx, config, s.name, migrate.Options{})
			return (err == nil) == (test.want == "") && (err == nil || strings.Contains(err.Error(), test.want))
		})
	}
}

// admission refuses some objects before anything is written.
func admission(t *testing.T, s *scene, client kubernetes.Interface) {
	t.Helper()
	s.populate(4)
	s.change(fixtures.StoredAt("v1"))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{s.group}, APIVersions: []string{"*"}, Resources: []string{"crontabs"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.name != 'crontab-0002'", Message: "nobody may touch it"}},
		},
	}
	if _, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: s.name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if _, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var result migrate.Result
	var err error
	s.eventually("the policy is enforced", func(ctx context.Context) bool {
		result, err = migrate.Run(ctx, s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.DryRun}})
		return len(result.Refused) > 0
	})
	wantIncomplete(t, err, "1 object was refused by the dry run; nothing was written")
	if _, err := s.lease(client); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run made a lease: %v", err)
	}
	if one := result.Refused[0]; len(result.Refused) != 1 || one.Name != "crontab-0002" || !strings.Contains(one.Reason, "nobody may touch it") {
		t.Errorf("refused are %v", result.Refused)
	}
	if got := s.storedVersions(); !slices.Equal(got, []string{"v1beta1", "v1"}) {
		t.Errorf("the status lists %v", got)
	}
}

// leases is a transport that has leases, as the embedded API server has none.
type leases struct {
	next http.RoundTripper
	*leaseBook
}

type leaseBook struct {
	mu       sync.Mutex
	revision int
	all      map[string]*coordinationv1.Lease
}

func (l leases) RoundTrip(r *http.Request) (*http.Response, error) {
	path, is := strings.CutPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1")
	if !is {
		return l.next.RoundTrip(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	refuse := func(code int, reason metav1.StatusReason) (*http.Response, error) {
		return suitetest.Answer(r, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason}), nil
	}
	if path == "" {
		return suitetest.Answer(r, http.StatusOK, metav1.APIResourceList{GroupVersion: "coordination.k8s.io/v1"}), nil
	}
	sent := &coordinationv1.Lease{}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(suitetest.Body(r), nil, sent); err != nil {
			return nil, err
		}
	}
	name := cmp.Or(sent.Name, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
	there := l.all[name]
	switch {
	case r.Method == http.MethodPost && there != nil:
		return refuse(http.StatusConflict, metav1.StatusReasonAlreadyExists)
	case r.Method != http.MethodPost && there == nil:
		return refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodPut && sent.ResourceVersion != there.ResourceVersion:
		return refuse(http.StatusConflict, metav1.StatusReasonConflict)
	case r.Method == http.MethodDelete:
		delete(l.all, name)
	case r.Method != http.MethodGet:
		l.revision++
		sent.ResourceVersion, sent.Namespace = strconv.Itoa(l.revision), metav1.NamespaceSystem
		l.all[name], there = sent, sent
	}
	there.APIVersion, there.Kind = "coordination.k8s.io/v1", "Lease"
	return suitetest.Answer(r, http.StatusOK, there), nil
}

// TestMigrateLease migrates on an API server that has leases.
func TestMigrateLease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	c := shared.Cluster(t)
	config := c.Config()
	kept := &leaseBook{all: map[string]*coordinationv1.Lease{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return leases{next, kept} })
	client := kubernetes.NewForConfigOrDie(config)
	t.Run("held", func(t *testing.T) {
		t.Parallel()
		held(t, sceneOn(t, config, c, fixtures.None), client)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		killed(t, sceneOn(t, config, c, fixtures.None), client)
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		lost(t, sceneOn(t, config, c, fixtures.None), client)
	})
}
