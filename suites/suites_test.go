package suites_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"os"
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
)

// arguments are those of the test binary.
var arguments struct {
	cluster string
	options kinds.Options
	share   int // of the trials, for a process of TestFaultsAreCaught; all if it is negative
}

// apiServer is for all other tests that leave nothing behind.
var apiServer suitetest.Shared

func TestMain(m *testing.M) {
	flag.StringVar(&arguments.cluster, "cluster", "embedded", "where TestSuites runs the specs: embedded, kind, envtest or existing")
	flag.IntVar(&arguments.share, "share", -1, "what one of the processes of TestFaultsAreCaught judges")
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
	return suite.DryRun || suite.LabelFilter != "" || len(suite.FocusStrings)+len(suite.SkipStrings)+len(suite.FocusFiles)+len(suite.SkipFiles) > 0 ||
		arguments.cluster != "embedded"
}

// TestSuites runs the specs of all chapters: go test ./suites -ginkgo.label-filter='versions && !slow'. Each spec has as labels the ID of
// its requirement, the chapter, the level (MUST, SHOULD, MAY), whom it binds (binds-server, binds-webhook), and slow if it waits for seconds.
func TestSuites(t *testing.T) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	areas := chapters.All()
	options := suites.Options{Seed: suite.RandomSeed}
	if testing.Short() && !chosen() {
		options.Select = firstOfEach(areas) // of all, -short leaves out the others
	}
	if len(suites.Preview(areas, suite)) == 0 {
		t.Fatal("no spec matches; -ginkgo.dry-run -ginkgo.v shows all with their labels")
	}
	if !suite.DryRun {
		areas = setUp(t, &options, areas)
	}
	suites.RunSpecs(t, suitetest.Env(t, options), areas, suite, reporter)
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
	options.Subject.Corpus = reference(t)
	if from.Labels {
		options.Run = run.ID
	}
	if from.Images {
		i := slices.IndexFunc(areas, func(a suites.Area) bool { return a.Name == control.Area.Name })
		areas[i] = control.New(control.Options{Webhook: deploy(t, c)})
	}
	return areas
}
