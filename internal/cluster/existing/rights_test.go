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
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/test/manifest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/defaulting"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/migration"
	"github.com/crdconform/crdconform/suites/objects"
	"github.com/crdconform/crdconform/suites/publishing"
	"github.com/crdconform/crdconform/suites/reading"
	"github.com/crdconform/crdconform/suites/schema"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/subresources"
	"github.com/crdconform/crdconform/suites/validation"
	"github.com/crdconform/crdconform/suites/versions"
)

// rbac is the manifest of what a run needs to be allowed.
const rbac = "../../../deploy/rbac.yaml"

// granted returns what a role of the manifest allows, sorted. Custom resources of all groups stand for those of one.
func granted(t *testing.T, group string, roles ...string) []string {
	t.Helper()
	var rights []string
	for _, object := range manifest.Objects(t, rbac) {
		role, ok := object.(*rbacv1.ClusterRole)
		if !ok || !slices.Contains(roles, role.Name) {
			continue
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					at := rule.APIGroups[0]
					if at == "*" {
						at = group
					}
					rights = append(rights, Right{Verb: verb, Group: at, Resource: resource}.String())
				}
			}
		}
	}
	slices.Sort(rights)
	return rights
}

// onResources returns the rights that are about resources, as the manifest has them, sorted.
func onResources(rights []Right) []string {
	var texts []string
	for _, right := range rights {
		if right.Path == "" {
			texts = append(texts, right.String())
		}
	}
	slices.Sort(texts)
	return texts
}

// TestManifestAndRightsAgree holds deploy/rbac.yaml to what is asked for.
func TestManifestAndRightsAgree(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		roles   []string
	}{
		"reading":  {Options{ReadOnly: true}, []string{"crdconform-read-only"}},
		"suites":   {Options{}, []string{"crdconform"}},
		"a name":   {Options{WebhookHost: "example.org"}, []string{"crdconform"}},
		"loopback": {Options{WebhookHost: "127.0.0.1"}, []string{"crdconform"}},
		"services": {Options{WebhookHost: "192.0.2.7"}, []string{"crdconform", "crdconform-services"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Run = "a"
			got, want := granted(t, "run-a.example.com", test.roles...), onResources(Rights(test.options))
			if !slices.Equal(got, want) {
				t.Errorf("the manifest allows\n%s\nand needed is\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestManifestAndCleanupAgree holds the role for cleaning up to what runs create.
func TestManifestAndCleanupAgree(t *testing.T) {
	t.Parallel()
	var want []string
	for _, text := range created() {
		resource := k8sschema.ParseGroupResource(text)
		if resource.Resource == definitions {
			continue // which the role for the suites is for
		}
		verbs := []string{"get", "list", "delete"}
		if text == "namespaces" || text == "configmaps" { // which have finalizers
			verbs = append(verbs, "patch")
		}
		for _, verb := range verbs {
			want = append(want, Right{Verb: verb, Group: resource.Group, Resource: resource.Resource}.String())
		}
	}
	slices.Sort(want)
	if got := granted(t, "*", "crdconform-cleanup"); !slices.Equal(got, want) {
		t.Errorf("the manifest allows\n%s\nand needed is\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestEachMissingRightIsNamed has a user without any right, and one for each right who has all others.
func TestEachMissingRightIsNamed(t *testing.T) {
	s := apiServer(t)
	options := Options{Context: "test", Run: "missing", WebhookHost: "192.0.2.7"}
	rights := slices.DeleteFunc(Rights(options), func(right Right) bool { return right.Path != "" }) // everybody has those
	named := func(user string, want []Right) func() error {
		options.Kubeconfig = s.kubeconfig(t, s.as(user))
		return func() error {
			_, err := Start(t.Context(), options)
			var missing *MissingError
			if !errors.As(err, &missing) || !slices.Equal(missing.Missing, want) {
				return fmt.Errorf("got %w, want %v", err, want)
			}
			return nil
		}
	}
	eventually(t, named("nobody", rights))
	for i, right := range rights {
		t.Run(strings.ReplaceAll(right.String(), "/", "."), func(t *testing.T) {
			user := fmt.Sprintf("all-but-%d", i)
			s.allow(t, user, slices.Delete(slices.Clone(rights), i, i+1)...)
			eventually(t, named(user, []Right{right}))
		})
	}
	t.Run("nothing", func(t *testing.T) {
		s.allow(t, "everything", rights...)
		options.Kubeconfig = s.kubeconfig(t, s.as("everything"))
		eventually(t, func() error { return starts(t.Context(), options) })
	})
}

// TestMissingRightsAreToldTogether has those of a resource told in one breath.
func TestMissingRightsAreToldTogether(t *testing.T) {
	t.Parallel()
	widgets := foreignDefinition("widgets.example.org")
	widgets.Spec.Names.Plural, widgets.Spec.Group = "widgets", "example.org"
	widgets.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{}}
	for _, test := range []struct {
		missing MissingError
		want    string
	}{
		{
			MissingError{Missing: []Right{{Verb: "get", Path: "/apis"}, {Verb: "create", Resource: "services"}, {Verb: "delete", Resource: "services"}, {Verb: "get", Group: "a.b", Resource: "c/status"}}},
			"the user may not get /apis; create, delete services; get c/status of a.b; deploy/rbac.yaml of crdconform has the required rights",
		},
		{
			MissingError{Missing: Rights(Options{Run: "r", WebhookHost: "host", Definitions: []*apiextensionsv1.CustomResourceDefinition{widgets}})[12:], custom: true},
			"the user may not create, get, list, watch, update, patch, delete, deletecollection widgets of example.org; get, update, patch widgets/scale of example.org; " +
				"create, get, patch crontabs of run-r.example.com; deploy/rbac.yaml of crdconform has the required rights, with resources of your own",
		},
	} {
		if got := test.missing.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// starts reports whether a connection can be started.
func starts(ctx context.Context, options Options) error {
	c, err := Start(ctx, options)
	if err != nil {
		return err
	}
	return c.Stop(ctx)
}

// TestPathsAreAskedFor asks for paths that everybody has, and for one that nobody has.
func TestPathsAreAskedFor(t *testing.T) {
	s := apiServer(t)
	c := connected(t, Options{Run: "paths", Kubeconfig: s.kubeconfig(t, s.admin())})
	c.config.Impersonate.UserName = "nobody"
	if err := c.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret := Right{Verb: "get", Path: "/debug/pprof/"}
	err := c.preflight(t.Context(), []Right{{Verb: "get", Path: "/version"}, secret, {Verb: "get", Path: "/apis"}})
	var missing *MissingError
	if !errors.As(err, &missing) || !slices.Equal(missing.Missing, []Right{secret}) || !strings.Contains(err.Error(), "may not get /debug/pprof/;") {
		t.Errorf("got %v", err)
	}
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

// watched is a cluster that notes what is asked of it.
type watched struct {
	*Cluster

	mu   sync.Mutex
	used map[string]bool // rights on resources

	created, there, most int // definitions: in all, now, and at the same time
}

// Config returns how to reach the API server, by way of what takes notes.
func (w *watched) Config() *rest.Config {
	config := w.Cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noting{w, next} })
	return config
}

type noting struct {
	*watched

	next http.RoundTripper
}

func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(r)
	// What is not there needs no right, and specs ask for much that is not. A right that a spec goes without makes it not
	// applicable, or it fails.
	if err == nil && response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusForbidden {
		n.mu.Lock()
		defer n.mu.Unlock()
		right := rightOf(r, n.Domain())
		if right != "" {
			n.used[right] = true
		}
		switch {
		case strings.HasPrefix(right, "create customresourcedefinitions ") && response.StatusCode == http.StatusCreated && r.URL.Query().Get("dryRun") == "":
			n.created++
			n.there++
			n.most = max(n.most, n.there)
		case strings.HasPrefix(right, "delete customresourcedefinitions "):
			n.there--
		}
	}
	return response, err
}

// rightOf is the right that a request takes, with one group for all of the run; empty when it is about no resource.
func rightOf(r *http.Request, domain string) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 4 || parts[0] != "apis" {
		return ""
	}
	group, rest := parts[1], parts[3:]
	if strings.HasSuffix(group, "."+domain) {
		group = domain
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		rest = rest[2:]
	}
	resource, named := rest[0], len(rest) > 1
	if len(rest) > 2 {
		resource += "/" + rest[2]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodGet: "get"}[r.Method]
	query := r.URL.Query()
	switch {
	case verb == "get" && (query.Get("watch") == "true" || query.Get("watch") == "1"):
		verb = "watch"
	case verb == "get" && !named:
		verb = "list"
	case verb == "delete" && !named:
		verb = "deletecollection"
	}
	return Right{Verb: verb, Group: group, Resource: resource}.String()
}

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
	if passed := c.runSuites(t, servers()...); passed < 150 {
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
		env := suitetest.Env(t, suites.Options{Cluster: c, Seed: 1, Domain: c.Domain(), Run: test.name})
		outcome, err := suites.Run(t.Context(), env, []suites.Area{control.Area}, suitetest.Quiet{})
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

// servers are the chapters that bind API servers.
func servers() []suites.Area {
	return []suites.Area{
		versions.Area, conversion.Area, storage.Area, lifecycle.Area, migration.Area, schema.Area, validation.Area, defaulting.Area, publishing.Area, subresources.Area,
		objects.Area,
	}
}

// runSuites runs chapters, of which nothing may fail, and nothing may lack a webhook. It returns how many requirements passed.
func (w *watched) runSuites(t *testing.T, areas ...suites.Area) int {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: w, Seed: 1, Domain: w.Domain(), Run: w.options.Run})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, areas, suitetest.Quiet{})
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
	t.Logf("%d passed in %s, with %d definitions, of which up to %d at the same time; not applicable: %v",
		passed, outcome.Duration.Round(time.Second), w.created, w.most, skipped)
	for reason := range skipped {
		if strings.Contains(reason, cluster.ErrNotReached.Error()) {
			t.Errorf("the webhook was not reached: %s", reason)
		}
	}
	return passed
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

// TestReadOnlyRun reads as a user who may only read, in a cluster with definitions of others, and has nothing changed.
func TestReadOnlyRun(t *testing.T) {
	s := apiServer(t)
	theirs := s.install(t, foreignDefinition("crontabs.stable.example.org"))
	s.allow(t, "reader", slices.DeleteFunc(Rights(Options{ReadOnly: true}), func(right Right) bool { return right.Path != "" })...)
	path := s.kubeconfig(t, s.as("reader"))
	eventually(t, func() error {
		return starts(t.Context(), Options{Kubeconfig: path, Context: "test", Run: "reads", ReadOnly: true})
	})
	c := &watched{Cluster: connected(t, Options{Kubeconfig: path, Run: "reads", ReadOnly: true}), used: map[string]bool{}}
	env := suitetest.Env(t, suites.Options{Cluster: c, Seed: 1, Domain: c.Domain(), Run: "reads", Readings: reading.Checks()})
	areas := []suites.Area{
		versions.Area, conversion.Area, storage.Area, lifecycle.Area, migration.Area, schema.Area, validation.Area, defaulting.Area, publishing.Area,
		subresources.Area, objects.Area, control.Area,
	}
	outcome, err := suites.Run(t.Context(), env, areas, suitetest.Quiet{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		want := requirement.NotApplicable
		if _, found := reading.Checks()[r.Requirement]; found {
			want = requirement.Passed
		}
		if r.Verdict != want {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
	for right := range c.used {
		if !strings.HasPrefix(right, "get ") && !strings.HasPrefix(right, "list ") {
			t.Errorf("it came to %s", right)
		}
	}
	s.untouched(t, theirs)
	if _, err := env.CRDs.Create(t.Context(), foreignDefinition("crontabs.not.example.org"), metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "is not sent in a read-only run") {
		t.Errorf("a write: %v", err)
	}
}
