package existing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/test/manifest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/reading"
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

// TestMissingRightIsNamed has a user without any right, one who has all but one, and one who has all.
func TestMissingRightIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	missingIsNamed(t, 1)
}

// missingIsNamed tries that for so many of the rights.
func missingIsNamed(t *testing.T, tried int) {
	t.Helper()
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
	for i, right := range rights[:min(tried, len(rights))] {
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

// TestMissingRightsOfAResource lists those of a resource together.
func TestMissingRightsOfAResource(t *testing.T) {
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
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
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

// patience is how long an effect may take in these tests, such as a deletion: far more than on any machine that is not stuck.
const patience = 3 * time.Minute

// environmentOf builds an Env that closes with the test.
func environmentOf(t *testing.T, options suites.Options) *suites.Env {
	t.Helper()
	env, err := suites.NewEnv(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return env
}

// TestReadOnlyRun reads as a user who may only read, in a cluster with definitions of others, and has nothing changed.
func TestReadOnlyRun(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	theirs := s.install(t, foreignDefinition("crontabs.stable.example.org"))
	s.allow(t, "reader", slices.DeleteFunc(Rights(Options{ReadOnly: true}), func(right Right) bool { return right.Path != "" })...)
	path := s.kubeconfig(t, s.as("reader"))
	eventually(t, func() error {
		return starts(t.Context(), Options{Kubeconfig: path, Context: "test", Run: "reads", ReadOnly: true})
	})
	c := &watched{Cluster: connected(t, Options{Kubeconfig: path, Run: "reads", ReadOnly: true}), used: map[string]bool{}}
	env := environmentOf(t, suites.Options{Cluster: c, Seed: 1, Domain: c.Domain(), Run: "reads", Readings: reading.Checks(), Effect: patience})
	outcome, err := suites.Run(t.Context(), env, append(chapters.Servers(), control.Area), spectest.Quiet{})
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
