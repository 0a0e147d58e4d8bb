package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "serve" { // it is the program that a test disrupts
		os.Exit(serveReference(os.Args[2], os.Args[3])) //nolint:forbidigo // it is main
	}
	if path := os.Getenv(parentOf); path != "" { //nolint:forbidigo // it is the process that a test kills
		parentOfMinor(path)
		return
	}
	os.Exit(run(m)) //nolint:forbidigo // it is main
}

// run runs the tests, and cleans up after them.
func run(m *testing.M) int {
	// Parallel tests mostly wait for API servers, so more run at once than there are cores, unless somebody wants something else. The flag
	// must not seem to be given, which Ginkgo refuses.
	if err := flag.Lookup("test.parallel").Value.Set("6"); err != nil {
		panic(err)
	}
	flag.Parse()
	if os.Getenv(aloneVariable) == "" { //nolint:forbidigo // see alone
		if err := embedded.LogTo(io.Discard); err != nil {
			panic(err)
		}
	}
	var err error
	if built, err = os.MkdirTemp("", "crdconform-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(built)
	code := m.Run()
	if err := shared.stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience is how long tests wait for what comes at once unless the machine is busy.
const patience = 5 * time.Minute

// shared is the API server of tests that have definitions of their own, and remove them. They run at the same time.
var shared sharedServer

type sharedServer struct {
	start   sync.Once
	cluster *embedded.Cluster
	failed  error
}

// Cluster returns the API server, which is started for the first test.
func (s *sharedServer) Cluster(t *testing.T) *embedded.Cluster {
	t.Helper()
	s.start.Do(func() {
		s.cluster, s.failed = embedded.Start(context.WithoutCancel(t.Context()), embedded.Options{})
	})
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	return s.cluster
}

// stop stops the API server if there is one. The error says which definitions tests have left.
func (s *sharedServer) stop(ctx context.Context) error {
	if s.cluster == nil {
		return nil
	}
	return errors.Join(empty(ctx, s.cluster), s.cluster.Stop(ctx))
}

// start starts an API server for one test, which must leave no definition.
func start(t *testing.T) *embedded.Cluster {
	t.Helper()
	c := suitetest.Cluster(t, embedded.Options{})
	wantEmpty(t, c)
	return c
}

// wantEmpty fails the test if it leaves a definition.
func wantEmpty(t *testing.T, c *embedded.Cluster) {
	t.Helper()
	t.Cleanup(func() {
		if err := empty(context.WithoutCancel(t.Context()), c); err != nil {
			t.Error(err)
		}
	})
}

// empty waits until there is no definition.
func empty(ctx context.Context, c *embedded.Cluster) error {
	client, err := clientset.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		left, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(left.Items) == 0 {
			return nil
		}
		if time.Since(began) > patience {
			return fmt.Errorf("tests left %s and %d more definitions", left.Items[0].Name, len(left.Items)-1)
		}
	}
}

// aloneVariable names the test that has the process for itself.
const aloneVariable = "CRDCONFORM_TEST_ALONE"

// alone runs a test in a process of its own, where nothing else belongs to the process, and reports whether this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() { //nolint:forbidigo // see below
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// eventually waits until a condition holds, and fails the test with its error if it never does.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	for began := time.Now(); ; <-time.After(10 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
