package suites_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/spectest"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/webhook"
)

// arguments are those of the test binary.
var arguments struct {
	cluster string
	options kinds.Options
	claims  string // a folder in which a process of TestFaultsAreCaught claims trials, each by making a folder
}

// apiServer is for all other tests that leave nothing behind.
var apiServer suitetest.Shared

func TestMain(m *testing.M) {
	flag.StringVar(&arguments.cluster, "cluster", "embedded", "where TestSuites runs the specs: embedded, kind, envtest or existing")
	flag.StringVar(&arguments.claims, "claims", "", "where the processes of TestFaultsAreCaught claim trials")
	for _, option := range arguments.options.Table() {
		switch value := option.Value.(type) {
		case *bool:
			flag.BoolVar(value, option.Name, false, option.Help)
		case *string:
			if flag.Lookup(option.Name) == nil { // controller-runtime has one for a kubeconfig
				flag.StringVar(value, option.Name, "", option.Help)
			}
		}
	}
	debug.SetGCPercent(400) // an API server makes a lot of garbage, and there is enough memory
	flag.Parse()
	arguments.options.Set("kubeconfig", flag.Lookup("kubeconfig").Value.String())
	if run := flag.Lookup("test.run"); run.Value.String() == "" && chosen() {
		_ = run.Value.Set("^TestSuites$")
	}
	apiServer.Main(m)
}

// chosen reports whether the arguments are about TestSuites alone, so that no other test is to run: they select specs, or a cluster.
func chosen() bool {
	suite, _ := ginkgo.GinkgoConfiguration()
	options := false
	for _, option := range arguments.options.Table() {
		flag.Visit(func(f *flag.Flag) { options = options || f.Name == option.Name })
	}
	return options || suite.DryRun || suite.LabelFilter != "" || len(suite.FocusStrings)+len(suite.SkipStrings)+len(suite.FocusFiles)+len(suite.SkipFiles) > 0 ||
		arguments.cluster != "embedded"
}

// TestSuites runs the specs of all chapters: go test ./suites -ginkgo.label-filter='versions && !slow'. Each spec has as labels the ID of
// its requirement, the chapter, the level (MUST, SHOULD, MAY), whom it binds (binds-server, binds-webhook), and slow if it waits for seconds.
func TestSuites(t *testing.T) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	areas := chapters.All()
	options := suites.Options{Seed: 1}
	if testing.Short() && !chosen() {
		options.Select = firstOfEach(areas) // of all, -short leaves out the others
	}
	if len(suites.Preview(areas, suite)) == 0 {
		t.Fatal("no spec matches; -ginkgo.dry-run -ginkgo.v shows all with their labels")
	}
	if !hasKubectl() && os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
		t.Error("there is no kubectl on PATH, so its specs and their faults are left out")
	}
	if !suite.DryRun {
		areas = setUp(t, &options, areas)
	}
	env := suitetest.Env(t, options)
	results := suites.RunSpecs(t, env, areas, suite, reporter)
	if arguments.cluster != "embedded" || suite.DryRun || arguments.options.WatchCache || arguments.options.Kubernetes != "" {
		return
	}
	for _, r := range results {
		if why := unexpected(r, env.Minor()); why != "" {
			t.Errorf("%s is %s, and %s: %s", r.Requirement, r.Verdict, why, r.Reason)
		}
	}
}

// unexpected says what is wrong with a result on an embedded API server, where nothing may be tolerated, and nothing skipped but what nobody
// can have there. It is empty where nothing is, or where the spec failed, which Ginkgo says.
func unexpected(r suites.Result, minor requirement.Minor) string {
	area := r.Requirement.Area()
	around := area == control.Area.Name && (!strings.HasPrefix(string(r.Requirement), "control.kubectl.") || !hasKubectl())
	switch r.Verdict { //nolint:exhaustive // of the others Ginkgo says what is wrong
	case requirement.Tolerated:
		return "nothing is to be tolerated"
	case requirement.Passed:
		if around {
			return "there is no control plane"
		}
	case requirement.NotApplicable:
		held, _ := requirement.Lookup(r.Requirement)
		switch {
		case !r.Immaterial:
			return "that takes something from the outcome"
		case around && !strings.HasPrefix(r.Reason, "needs "):
			return "it does not say what it needs"
		case !around && area != webhook.Area.Name && held.HoldsFor(minor): // package webhook has what its chapter wants
			return "it can be judged here"
		}
	}
	return ""
}

// firstOfEach selects one spec of each chapter.
func firstOfEach(areas []suites.Area) func(requirement.ID) bool {
	first := map[string]requirement.ID{}
	for _, spec := range suites.Preview(areas) {
		if area := spec.Requirement.Area(); first[area] == "" {
			first[area] = spec.Requirement
		}
	}
	return func(id requirement.ID) bool { return first[id.Area()] == id }
}

// documents say what the kinds of clusters need.
var documents = map[string]string{"embedded": "matrix.md", "kind": "kind.md", "envtest": "envtest.md", "existing": "existing-cluster.md"}

// setUp brings the cluster up that the arguments name, and the reference webhook as the one to judge. It returns the chapters with what they
// can use there.
func setUp(t *testing.T, options *suites.Options, areas []suites.Area) []suites.Area {
	t.Helper()
	kind, found := kinds.Named(arguments.cluster)
	if !found {
		t.Fatalf("-cluster=%s: there is no such kind of cluster; want embedded, kind, envtest or existing", arguments.cluster)
	}
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, option := range arguments.options.Table() {
		if given[option.Name] && !slices.Contains(kind.Options, option.Name) {
			t.Fatalf("-%s is not for -cluster=%s; leave it out", option.Name, kind.Name)
		}
	}
	for name, why := range kind.Needs {
		if !given[name] {
			t.Fatalf("-cluster=%s needs -%s, %s", kind.Name, name, why)
		}
	}
	arguments.options.Variable = os.LookupEnv //nolint:forbidigo // what the machine has for tests
	if err := errors.Join(kind.Validate(arguments.options), embedded.LogTo(io.Discard)); err != nil {
		t.Fatalf("-cluster=%s: -%v", kind.Name, err)
	}
	from := kind.Source(arguments.options)
	run := source.Run{ID: strings.ToLower(rand.Text()[:10]), Log: io.Discard}
	c, err := from.Start(t.Context(), run)
	if err != nil {
		t.Fatalf("%s failed, so no spec ran; docs/%s says what it needs: %v", from.Beginning(), documents[kind.Name], err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	options.Cluster, options.Subject = c, spectest.Subject(t)
	options.Subject.Corpus, options.Subject.Objects = reference(t), 6
	if from.Labels {
		options.Run = run.ID
	}
	if from.Images {
		i := slices.IndexFunc(areas, func(a suites.Area) bool { return a.Name == control.Area.Name })
		areas[i] = control.New(control.Options{Webhook: deploy(t, c)})
	}
	return areas
}
