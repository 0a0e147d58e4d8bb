package suites_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// apart is a cluster whose API server reaches nothing on this machine.
type apart struct {
	cluster.Cluster

	err error
}

func (a apart) Listen(context.Context) (net.Listener, string, error) { return nil, "", a.err }

func (a apart) Route(context.Context, string, string, int32, string) error { return a.err }

var errApart = fmt.Errorf("%w: there is a river", cluster.ErrNotReached)

// verdicts returns the verdict of each requirement, with the reason of those that did not pass.
func verdicts(outcome suites.Outcome) map[requirement.ID]string {
	all := map[requirement.ID]string{}
	for _, r := range outcome.Results {
		all[r.Requirement] = strings.TrimSuffix(r.Verdict.String()+": "+r.Reason, ": ")
	}
	return all
}

// TestWithoutAWayToWebhooks has specs that need a webhook, by every way to ask for one, and some that do not.
func TestWithoutAWayToWebhooks(t *testing.T) {
	outcome := runSpecs(t, suites.Options{Cluster: apart{apiServer.Cluster(t), errApart}}, func(env *suites.Env) {
		never := func(SpecContext, *suites.Resource) { Fail("it ran") }
		env.With(fixtures.Webhook).It(requirement.ConversionRequestPost, "is installed ahead", never)
		env.It(requirement.ConversionRequestReview, "installs", func(ctx SpecContext) {
			env.Install(ctx, requirement.ConversionRequestReview, 1, fixtures.Webhook)
			Fail("it ran")
		})
		env.It(requirement.ConversionRequestTimeout, "adds", func(ctx SpecContext) {
			env.With(fixtures.Webhook).Add(ctx, requirement.ConversionRequestTimeout)
			Fail("it ran")
		})
		env.It(requirement.ConversionClientServerName, "routes", func(ctx SpecContext) {
			env.Require(env.Services().Route(ctx, "a", "b", 443, "192.0.2.7:1"), "routing")
			Fail("it ran")
		})
		env.With(fixtures.None).It(requirement.StorageWriteInitialVersion, "needs none", func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Create(ctx, fixtures.LocalCronTab.At("v1"))).Error().NotTo(HaveOccurred())
		})
		env.With(fixtures.Webhook, func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Conversion = nil
		}).It(requirement.ConversionNoneDefault, "takes the webhook away", func(SpecContext, *suites.Resource) {})
	})
	got := verdicts(outcome)
	for _, id := range []requirement.ID{requirement.ConversionRequestPost, requirement.ConversionRequestReview, requirement.ConversionRequestTimeout, requirement.ConversionClientServerName} {
		if got[id] != "NotApplicable: needs a webhook of its own: the API server cannot reach this machine: there is a river" {
			t.Errorf("%s is %s", id, got[id])
		}
	}
	for _, id := range []requirement.ID{requirement.StorageWriteInitialVersion, requirement.ConversionNoneDefault} {
		if got[id] != "Passed" {
			t.Errorf("%s is %s", id, got[id])
		}
	}
}

// TestListenerThatFails is no reason to leave specs out: somebody expected it to work.
func TestListenerThatFails(t *testing.T) {
	_, err := suites.NewEnv(t.Context(), suites.Options{Cluster: apart{apiServer.Cluster(t), errors.New("the port is taken")}})
	if err == nil || !strings.Contains(err.Error(), "the port is taken") {
		t.Errorf("got %v", err)
	}
}

// TestForeignDefinitions has definitions in the groups of a run that are not its own, and others beside.
func TestForeignDefinitions(t *testing.T) {
	c := apiServer.Cluster(t)
	env := suitetest.Env(t, suites.Options{Cluster: c})
	install := func(group, run string) *apiextensionsv1.CustomResourceDefinition {
		crd := fixtures.None.New(fixtures.InGroup(group))
		if run != "" {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, cluster.RunLabel, run)
		}
		created, err := env.CRDs.Create(t.Context(), crd, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { env.CRDs.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}) })
		return created
	}
	connect := func(run, domain string) error {
		another, err := suites.NewEnv(t.Context(), suites.Options{Cluster: c, Run: run, Domain: domain})
		if err != nil {
			return err
		}
		return another.Close(t.Context())
	}
	// These are in no group of a run.
	install("example.com", "")
	install("widgets.example.com", "")
	install("versions-serving-kind.elsewhere.org", "")
	install("nx-versions-serving-kind.example.com", "")
	install("versions-serving-kind.example.com", "mine")
	if err := connect("mine", ""); err != nil {
		t.Errorf("with definitions of its own: %v", err)
	}

	labelled := install("storage-read-unserved.example.com", "theirs")
	bare := install("n3-versions-priority-any-set.example.com", "")
	err := connect("mine", "")
	var foreign *suites.ForeignError
	if !errors.As(err, &foreign) || !slices.Equal(foreign.Names, []string{"crontabs.n3-versions-priority-any-set.example.com", "crontabs.storage-read-unserved.example.com"}) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{foreign.Names[0], foreign.Names[1], "nothing was changed", "crdconform cleanup"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for _, before := range []*apiextensionsv1.CustomResourceDefinition{labelled, bare} {
		now, err := env.CRDs.Get(t.Context(), before.Name, metav1.GetOptions{})
		if err != nil || now.UID != before.UID || now.DeletionTimestamp != nil || !maps.Equal(now.Labels, before.Labels) || now.Generation != before.Generation {
			t.Errorf("%s was touched: %v, %v", before.Name, now, err)
		}
	}
	if err := connect("mine", "mine.example.com"); err != nil {
		t.Errorf("in a domain of its own: %v", err)
	}
	if err := connect("", ""); err != nil {
		t.Errorf("without an ID: %v", err)
	}
	for n := range 6 {
		install(fmt.Sprintf("n%d-versions-serving-kind.example.com", n), "")
	}
	if err := connect("mine", ""); err == nil || !strings.Contains(err.Error(), " and 3 more; ") || strings.Contains(err.Error(), "storage-read-unserved") {
		t.Errorf("got %v", err)
	}
}

// serverAsked is a cluster that notes the methods that are asked of it.
type serverAsked struct {
	cluster.Cluster

	mu      sync.Mutex
	methods []string
}

func (a *serverAsked) Config() *rest.Config {
	config := a.Cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			a.mu.Lock()
			a.methods = append(a.methods, r.Method)
			a.mu.Unlock()
			return next.RoundTrip(r)
		})
	})
	return config
}

func (a *serverAsked) Listen(context.Context) (net.Listener, string, error) {
	return nil, "", errors.New("nobody needs a listener")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReadings runs specs as a run that only reads.
func TestReadings(t *testing.T) {
	c := &serverAsked{Cluster: apiServer.Cluster(t)}
	outcome := runSpecs(t, suites.Options{Cluster: c, Run: "a", Subject: suitetest.Subject(t), Readings: map[requirement.ID]suites.Reading{
		requirement.VersionsServingKind: {Text: "reads", Check: func(ctx context.Context, env *suites.Env) {
			Expect(env.Get(ctx, "/version").Status).To(Equal(http.StatusOK))
		}},
		requirement.VersionsServingDiscovery: {Text: "finds fault", Check: func(context.Context, *suites.Env) { Fail("so") }},
	}}, func(env *suites.Env) {
		env.With(fixtures.None).It(requirement.VersionsServingKind, "would write", func(SpecContext, *suites.Resource) { Fail("it ran") })
		env.It(requirement.VersionsServingDiscovery, "would write", func(SpecContext) { Fail("it ran") })
		env.With(fixtures.None).It(requirement.StorageWriteInitialVersion, "would write too", func(SpecContext, *suites.Resource) { Fail("it ran") })
		env.It(requirement.StorageWriteStorageVersion, "would write as well", func(SpecContext) { Fail("it ran") })
		env.It(someID, "asks a webhook", func(SpecContext) {})
		env.Own().It(requirement.ResourceCreateEveryVersion, "wants the definition", func(SpecContext, *suites.Resource) { Fail("it ran") })
	})
	const left = "NotApplicable: requires writing to the cluster, and this run is read-only"
	want := map[requirement.ID]string{
		requirement.VersionsServingKind: "Passed", requirement.VersionsServingDiscovery: "Failed: so", someID: "Passed",
		requirement.StorageWriteInitialVersion: left, requirement.StorageWriteStorageVersion: left, requirement.ResourceCreateEveryVersion: left,
	}
	if got := verdicts(outcome); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, r := range outcome.Results {
		if r.Requirement == requirement.VersionsServingKind && r.Text != "reads" {
			t.Errorf("it is said to be what %q", r.Text)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.methods) == 0 || slices.ContainsFunc(c.methods, func(method string) bool { return method != http.MethodGet }) {
		t.Errorf("it came to %v", c.methods)
	}
}

// TestFinalVersions compares what is concluded about storage without a look into it with what is there.
func TestFinalVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it runs whole chapters")
	}
	c := apiServer.Cluster(t)
	for name, blind := range map[string]bool{"looking": false, "concluding": true} {
		t.Run(name, func(t *testing.T) {
			var of cluster.Cluster = c
			if blind {
				of = bare{c}
			}
			stored := map[string]map[string]string{}
			outcome := runSpecs(t, suites.Options{Cluster: of}, func(env *suites.Env) {
				env.With(fixtures.Webhook).It(requirement.StorageUpdateRewrites, "has old and new objects", func(ctx SpecContext, crd *suites.Resource) {
					crd.Create(ctx, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
					crd.Create(ctx, "v1", serverNamed("at-v1", fixtures.LocalCronTab.At("v1")))
					stored["before"] = crd.FinalVersions(ctx)
					stored["twice"] = crd.FinalVersions(ctx)
					crd.Change(ctx, fixtures.StoredAt("v1"))
					crd.Create(ctx, "v1beta1", fixtures.RemoteCronTab.At("v1beta1"))
					env.Require(suites.ErrorOf(crd.At("v1").Update(ctx, crd.Get(ctx, "v1", "at-v1"))), "rewriting one")
					stored["changed"] = crd.FinalVersions(ctx)
					crd.Change(ctx, fixtures.NotServed("v1"))
					stored["unserved"] = crd.FinalVersions(ctx)
				})
				env.With(fixtures.None).It(requirement.StorageChangeNewObjects, "converts nothing", func(ctx SpecContext, crd *suites.Resource) {
					crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
					crd.Change(ctx, fixtures.StoredAt("v1"))
					stored["none"] = crd.FinalVersions(ctx)
				})
				env.With(fixtures.Deprecation).It(requirement.StorageStoredVersionsNoOtherInStorage, "has three versions", func(ctx SpecContext, crd *suites.Resource) {
					crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
					crd.Change(ctx, fixtures.StoredAt("v1beta1"))
					crd.Change(ctx, fixtures.StoredAt("v1alpha1"))
					stored["three"] = crd.FinalVersions(ctx)
				})
				env.With(fixtures.None).It(requirement.LifecycleFinalizersSupported, "looks for one object", func(ctx SpecContext, crd *suites.Resource) {
					crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
					Expect(crd.InStorage(ctx, "local-crontab")).To(BeTrue())
					Expect(crd.InStorage(ctx, "no-such-crontab")).To(BeFalse())
					Expect(crd.At("v1").List(ctx)).To(HaveLen(1), "nothing may have been created")
				})
				env.With(fixtures.None, fixtures.NotServed("v1"), fixtures.NotServed("v1beta1")).It(requirement.VersionsServingNoneServed,
					"serves nothing", func(ctx SpecContext, crd *suites.Resource) { Expect(crd.FinalVersions(ctx)).To(BeEmpty()) })
			})
			for _, r := range outcome.Results {
				skipped := blind && r.Requirement == requirement.VersionsServingNoneServed
				if (r.Verdict == requirement.Passed) == skipped || skipped && !strings.Contains(r.Reason, "no version is served") {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			want := map[string]map[string]string{
				"before":   {"local-crontab": "v1beta1", "at-v1": "v1beta1"},
				"twice":    {"local-crontab": "v1beta1", "at-v1": "v1beta1"},
				"changed":  {"local-crontab": "v1beta1", "at-v1": "v1", "remote-crontab": "v1"},
				"unserved": {"local-crontab": "v1beta1", "at-v1": "v1", "remote-crontab": "v1"},
				"none":     {"local-crontab": "v1beta1"},
				"three":    {"local-crontab": "v1"},
			}
			if blind {
				want["unserved"]["local-crontab"] = "v1" // it was written by the look before
				want["three"]["local-crontab"] = "not v1alpha1"
			}
			for when, versions := range want {
				if !maps.Equal(stored[when], versions) {
					t.Errorf("%s: got %v, want %v", when, stored[when], versions)
				}
			}
		})
	}
}

// serverNamed gives an object another name.
func serverNamed[T metav1.Object](name string, object T) T {
	object.SetName(name)
	return object
}

// TestFinalVersionsNoticesAServer shows that a conclusion about storage can be that the server is wrong: this one seems to have
// written an object that was at the storage version, or not to write an old one.
func TestFinalVersionsNoticesAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it runs whole chapters")
	}
	c := apiServer.Cluster(t)
	tampered := func(change func(meta map[string]any)) cluster.Cluster {
		return bare{&suitetest.Tampered{Cluster: c, Exchange: func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if about := suitetest.About(r); err != nil || r.Method != http.MethodPatch || !about.Objects {
				return response, err
			}
			return suitetest.Edit(response, func(body map[string]any) { change(body["metadata"].(map[string]any)) })
		}}}
	}
	seen := map[string]string{}
	for name, of := range map[string]cluster.Cluster{
		"rewrites":       tampered(func(meta map[string]any) { meta["resourceVersion"] = "999999" }),
		"never rewrites": tampered(func(meta map[string]any) { meta["resourceVersion"] = seen["old"] }),
	} {
		outcome := runSpecs(t, suites.Options{Cluster: of}, func(env *suites.Env) {
			env.With(fixtures.None).It(requirement.StorageWriteStorageVersion, "looks at both", func(ctx SpecContext, crd *suites.Resource) {
				if name == "never rewrites" {
					crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
					crd.Change(ctx, fixtures.StoredAt("v1"))
					seen["old"] = crd.Get(ctx, "v1", "local-crontab").GetResourceVersion()
				} else {
					crd.Change(ctx, fixtures.StoredAt("v1"))
					crd.Create(ctx, "v1", fixtures.LocalCronTab.At("v1"))
				}
				seen[name] = crd.FinalVersions(ctx)["local-crontab"]
			})
		})
		if r := outcome.Results[0]; r.Verdict != requirement.Passed {
			t.Errorf("%s: %s: %s", name, r.Verdict, r.Reason)
		}
	}
	if seen["rewrites"] != "v1beta1" || seen["never rewrites"] != "v1" {
		t.Errorf("concluded was %v", seen)
	}
}

// TestNobodyElsesDefinitionIsAdopted has a definition in the cluster that somebody else has installed, where the subject's own is said
// to be installed already.
func TestNobodyElsesDefinitionIsAdopted(t *testing.T) {
	c := suitetest.Cluster(t, embedded.Options{})
	subject := suitetest.Subject(t)
	subject.Installed = true
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: c, Subject: subject, Run: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	crd := subject.Corpus.Definition.CRD.DeepCopy()
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	metav1.SetMetaDataLabel(&crd.ObjectMeta, cluster.RunLabel, "theirs")
	before, err := env.CRDs.Create(t.Context(), crd, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.Own().It(requirement.ResourceReadEveryVersion, "uses it", func(SpecContext, *suites.Resource) { Fail("it ran") })
	}}}, suitetest.Quiet{})
	if err := errors.Join(err, env.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(outcome)[requirement.ResourceReadEveryVersion]; !strings.HasPrefix(got, "Errored: ") || !strings.Contains(got, crd.Name+" exists and does not belong to this run") {
		t.Errorf("it is %s", got)
	}
	after, err := env.CRDs.Get(t.Context(), crd.Name, metav1.GetOptions{})
	if err != nil || after.UID != before.UID || after.Generation != before.Generation || after.DeletionTimestamp != nil {
		t.Errorf("it was touched: %v, %+v", err, after.ObjectMeta)
	}
}

// TestNobodyElsesDefinitionIsRemoved has somebody put a definition of his own in place of one of the run.
func TestNobodyElsesDefinitionIsRemoved(t *testing.T) {
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: suitetest.Cluster(t, embedded.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	var theirs *apiextensionsv1.CustomResourceDefinition
	outcome, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.With(fixtures.None).It(requirement.LifecycleDeletionEndpoint, "loses it", func(ctx SpecContext, crd *suites.Resource) {
			Expect(env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{})).To(Succeed())
			Eventually(ctx, func() bool { return crd.Gone(ctx) }).Should(BeTrue())
			var err error
			theirs, err = env.CRDs.Create(ctx, fixtures.None.New(fixtures.InGroup(crd.Group())), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		})
	}}}, suitetest.Quiet{})
	if err := errors.Join(err, env.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(outcome)[requirement.LifecycleDeletionEndpoint]; got != "Passed" || theirs == nil {
		t.Fatalf("it is %s", got)
	}
	after, err := env.CRDs.Get(t.Context(), theirs.Name, metav1.GetOptions{})
	if err != nil || after.UID != theirs.UID || after.DeletionTimestamp != nil {
		t.Errorf("it was removed: %v, %+v", err, after.ObjectMeta)
	}
}

// TestFinalizersThatAreLeft has a spec end with an object that its definition cannot go without.
func TestFinalizersThatAreLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: an object is waited for that does not go")
	}
	env, err := suites.NewEnv(t.Context(), suites.Options{Cluster: apiServer.Cluster(t), Effect: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	outcome, err := suites.Run(t.Context(), env, []suites.Area{{Name: "test", Register: func(env *suites.Env) {
		env.With(fixtures.Stable).It(requirement.LifecycleFinalizersSupported, "leaves an object", func(ctx SpecContext, crd *suites.Resource) {
			object := fixtures.Finalizer.At("v1")
			object.SetFinalizers([]string{"example.com/stays"})
			crd.Create(ctx, "v1", object)
			name = crd.Name()
		})
	}}}, suitetest.Quiet{})
	if err := errors.Join(err, env.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := verdicts(outcome)[requirement.LifecycleFinalizersSupported]; got != "Passed" {
		t.Fatalf("it is %s", got)
	}
	if _, err := env.CRDs.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the definition is there: %v", err)
	}
}
