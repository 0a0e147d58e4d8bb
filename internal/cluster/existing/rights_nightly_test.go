//go:build nightly

package existing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/test/manifest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
)

// TestEachMissingRightIsNamed has a user for each right who has all others.
func TestEachMissingRightIsNamed(t *testing.T) { missingIsNamed(t, 1<<31-1) }

// TestSuitesRunWithExactlyTheseRights runs the chapters that bind API servers as the user of deploy/rbac.yaml. Every right
// must be used, or it would be too many.
func TestSuitesRunWithExactlyTheseRights(t *testing.T) {
	s := apiServer(t)
	s.finalize(t)
	begun := time.Now()
	path := s.kubeconfig(t, s.account(t))
	eventually(t, func() error { // until RBAC has the roles
		return starts(t.Context(), Options{Kubeconfig: path, Context: "test", Run: "rights", WebhookHost: ip(t)})
	})
	c := &watched{Cluster: connected(t, Options{Kubeconfig: path, Run: "rights", WebhookHost: ip(t)}), used: map[string]bool{}}
	if passed := c.runSuites(t, chapters.Servers()...); passed < 150 {
		t.Errorf("%d requirements passed", passed)
	}
	compareRights(t, c)
	s.nothingLeft(t, "rights")
	ownWrites(t, begun)
}

// ownWrites looks into the audit log: since then, the user of deploy/rbac.yaml has written to nothing but what belongs to the run.
// What the log has from before is of other tests, which the shuffle may have put first.
func ownWrites(t *testing.T, since time.Time) {
	t.Helper()
	file, err := os.Open(filepath.Join(audited, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	writes := 0
	for events := json.NewDecoder(file); ; {
		var e auditv1.Event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e.RequestReceivedTimestamp.Time.Before(since) || e.User.Username != "system:serviceaccount:crdconform:crdconform" || e.ObjectRef == nil || e.ResponseStatus.Code >= http.StatusBadRequest ||
			strings.Contains(e.RequestURI, "dryRun=All") || e.ObjectRef.Resource == "selfsubjectaccessreviews" { // which leave nothing
			continue
		}
		writes++
		if !ofRun(e.ObjectRef) {
			t.Errorf("it came to %s %s: %+v", e.Verb, e.RequestURI, e.ObjectRef)
		}
	}
	if writes < 1000 {
		t.Errorf("the audit log has %d writes", writes)
	}
}

// ofRun reports whether a run may write to something: to a definition or an object in its group, or in the namespace of the documents'
// service, which it creates.
func ofRun(ref *auditv1.ObjectReference) bool {
	const group, service = "run-rights.example.com", "my-service-namespace"
	if ref.Resource == "namespaces" {
		return ref.Name == service
	}
	if ref.Resource == definitions {
		return strings.HasSuffix(ref.Name, "."+group)
	}
	return ref.APIGroup == group || strings.HasSuffix(ref.APIGroup, "."+group) || ref.Namespace == service
}

// TestControlWithTheRightsOfTheManifest runs the chapter control as the user of deploy/rbac.yaml, and as one who has no role but
// that of the suites. What somebody lacks a right for is not applicable.
func TestControlWithTheRightsOfTheManifest(t *testing.T) {
	s := apiServer(t)
	s.finalize(t)
	all := s.account(t)
	s.bind(t, "few", "crdconform")
	for _, test := range []struct {
		name    string
		user    api.AuthInfo
		host    string // where its webhooks are
		lacking map[requirement.ID]string
	}{
		{"all", all, ip(t), map[requirement.ID]string{requirement.ControlKubectlNames: "", requirement.ControlAccessGroup: ""}},
		{"few", s.as("few"), "", map[requirement.ID]string{
			requirement.ControlKubectlNames: "needs the right to list namedtabs.*, which the user of this run does not have",
		}},
	} {
		path := s.kubeconfig(t, test.user)
		eventually(t, func() error {
			return starts(t.Context(), Options{Kubeconfig: path, Context: "test", Run: test.name, WebhookHost: test.host})
		})
		c := connected(t, Options{Kubeconfig: path, Run: test.name, WebhookHost: test.host})
		env := environmentOf(t, suites.Options{Cluster: c, Seed: 1, Domain: c.Domain(), Run: test.name, Effect: patience})
		outcome, err := suites.Run(t.Context(), env, []suites.Area{control.Area}, spectest.Quiet{})
		if err := errors.Join(err, env.Close(context.WithoutCancel(t.Context()))); err != nil {
			t.Fatal(err)
		}
		for _, r := range outcome.Results {
			want, known := test.lacking[r.Requirement]
			if r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable || known && r.Reason != want {
				t.Errorf("%s: %s is %s: %q, want %q", test.name, r.Requirement, r.Verdict, r.Reason, want)
			}
		}
		s.nothingLeft(t, test.name)
	}
}

// compareRights compares the rights that were used with those that a run has.
func compareRights(t *testing.T, c *watched) {
	t.Helper()
	var rights []string
	for _, right := range Rights(c.options) {
		// The router and the probe have connections of their own.
		if right.Path == "" && (right.Group != "" && right.Resource != "endpointslices") {
			rights = append(rights, right.String())
		}
	}
	slices.Sort(rights)
	var used []string
	for right := range c.used {
		used = append(used, right)
	}
	slices.Sort(used)
	if !slices.Equal(used, rights) {
		t.Errorf("used were\n%s\nand a run has\n%s", strings.Join(used, "\n"), strings.Join(rights, "\n"))
	}
}

// nothingLeft wants nothing of a run to be left.
func (s server) nothingLeft(t *testing.T, run string) {
	t.Helper()
	cleaner := s.cleaner(t, s.kubeconfig(t, s.admin()))
	eventually(t, func() error {
		found, unlisted, err := cleaner.Find(t.Context(), run)
		// The probe stays for as long as the connection.
		found = slices.DeleteFunc(found, func(l Leftover) bool { return strings.Contains(l.Name, ".probe.") || l.Kind == "Namespace" })
		if err != nil || len(unlisted) > 0 || len(found) > 0 {
			return fmt.Errorf("left are %v, not seen %v, %w", found, unlisted, cmp.Or(err, errors.New("some are left")))
		}
		return nil
	})
}

// account makes what the manifest has, and returns the credentials of its user.
func (s server) account(t *testing.T) api.AuthInfo {
	t.Helper()
	ctx := t.Context()
	for _, object := range manifest.Objects(t, rbac) {
		var err error
		switch o := object.(type) {
		case *corev1.Namespace:
			_, err = s.client.CoreV1().Namespaces().Create(ctx, o, metav1.CreateOptions{})
		case *corev1.ServiceAccount:
			_, err = s.client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = s.client.RbacV1().ClusterRoles().Create(ctx, o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = s.client.RbacV1().ClusterRoleBindings().Create(ctx, o, metav1.CreateOptions{})
		default:
			t.Fatalf("the manifest has a %T", object)
		}
		if err != nil && !apierrors.IsAlreadyExists(err) { // from another test
			t.Fatal(err)
		}
	}
	token, err := s.client.CoreV1().ServiceAccounts("crdconform").CreateToken(ctx, "crdconform", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return api.AuthInfo{Token: token.Status.Token}
}

// runSuites runs chapters, of which nothing may fail, and nothing may lack a webhook. It returns how many requirements passed.
func (w *watched) runSuites(t *testing.T, areas ...suites.Area) int {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: w, Seed: 1, Domain: w.Domain(), Run: w.options.Run, Effect: patience})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, areas, spectest.Quiet{})
	if err := errors.Join(err, env.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
	passed, skipped := 0, map[string]int{}
	for _, r := range outcome.Results {
		switch r.Verdict {
		case requirement.Passed:
			passed++
		case requirement.NotApplicable:
			skipped[r.Reason]++
		default:
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
	t.Logf("%d passed, with %d definitions, of which up to %d at the same time; not applicable: %v",
		passed, w.created, w.most, skipped)
	for reason := range skipped {
		if strings.Contains(reason, cluster.ErrNotReached.Error()) {
			t.Errorf("the webhook was not reached: %s", reason)
		}
	}
	return passed
}
