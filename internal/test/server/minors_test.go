package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/requirement"
)

// parentOf makes the test binary start the program that it names, and wait to be killed.
const parentOf = "CRDCONFORM_TEST_PARENT_OF"

// built is where the program is put that the tests run.
var built string

// builtCurrent builds the program with crdconform's own modules, which are there already, for the first test that runs it.
var builtCurrent = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "apiserver")
	const in = " -X k8s.io/component-base/version."
	release := embedded.Release()
	minor, err := requirement.ParseMinor(release)
	if err != nil {
		return "", err
	}
	flags := fmt.Sprintf("-s -w%sgitVersion=%s%sgitMajor=%d%sgitMinor=%d", in, release, in, minor.Major, in, minor.Minor)
	build := exec.CommandContext(context.Background(), "go", "build", "-ldflags="+flags, "-o", path, "../../cluster/minors/apiserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // make build has compiled most of it like this
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func currentProgram(t *testing.T) string {
	t.Helper()
	path, err := builtCurrent()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runMinor starts a program that stops with the test.
func runMinor(t *testing.T, path string, options minors.Options) *minors.Cluster {
	t.Helper()
	c, err := minors.StartAt(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestMinorsCurrent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	worksAsCluster(t, runMinor(t, currentProgram(t), minors.Options{}), embedded.Release())
}

// worksAsCluster checks what the suites need of an API server: objects at both versions by a webhook that is reached as a service, storage,
// and the list of groups.
func worksAsCluster(t *testing.T, c *minors.Cluster, release string) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	if version, err := client.ServerVersion(); err != nil || version.GitVersion != release || "v"+version.Major+"."+version.Minor+"." != release[:strings.LastIndex(release, ".")+1] {
		t.Errorf("it says of itself: %v, %v, and is %s", version, err, release)
	}
	listener, host, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	// The certificate is for the name by which a service is called.
	server, err := webhook.Start(t.Context(), host+":0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	crontabs := installRouted(t, c, server)
	if _, err := crontabs("v1").Get(t.Context(), "none", metav1.GetOptions{}); err == nil {
		t.Error("it has an object that nobody created")
	}
	if _, err := crontabs("v1beta1").Create(t.Context(), fixtures.LocalCronTab.At("v1beta1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stored(t.Context(), cluster.Key{Group: "example.com", Resource: "crontabs", Namespace: "default", Name: "local-crontab"}); err != nil {
		t.Error(err)
	}
	_, err = crontabs("v1").Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "has no port 9443") {
		t.Errorf("without a route to the service it says: %v", err)
	}
	if err := c.Route(t.Context(), "default", "crdconform-webhook", 9443, strings.TrimSuffix(strings.TrimPrefix(server.URL, "https://"), webhookPath)); err != nil {
		t.Fatal(err)
	}
	read, err := crontabs("v1").Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "certificate is valid for") {
		// It reached the webhook, whose certificate is for the address and not for the service.
		t.Errorf("with a route to the service it says: %v, %v", read, err)
	}
	if err := c.Route(t.Context(), "", "", 0, ""); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("a route to nowhere: %v", err)
	}
	eventually(t, func() error {
		body, err := client.RESTClient().Get().AbsPath("/apis").SetHeader("Accept", "application/json").DoRaw(t.Context())
		var groups metav1.APIGroupList
		if err != nil || json.Unmarshal(body, &groups) != nil {
			return fmt.Errorf("/apis: %s, %w", body, err)
		}
		for _, group := range groups.Groups {
			if group.Name == "example.com" && group.PreferredVersion.Version == "v1" && len(group.Versions) == 2 {
				return nil
			}
		}
		return fmt.Errorf("the list of groups is %s", body)
	})
}

const webhookPath = "/crdconvert"

// installRouted installs the documents' definition, with a service for its webhook, and returns clients for the objects.
func installRouted(t *testing.T, c *minors.Cluster, server *webhook.Server) func(version string) dynamic.ResourceInterface {
	t.Helper()
	all, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	definition := fixtures.Webhook.New()
	path, port := webhookPath, int32(9443)
	definition.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
		Service:  &apiextensionsv1.ServiceReference{Namespace: "default", Name: "crdconform-webhook", Path: &path, Port: &port},
		CABundle: server.CA,
	}
	definitions := all.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		crd, err = definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
		if err == nil && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			err = errors.New("not established")
		}
		return err
	})
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "crontabs"}).Namespace("default")
	}
}

func TestMinorsNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	c, err := minors.StartAt(t.Context(), currentProgram(t), minors.Options{WatchCache: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "embedded" || !c.WatchCache() {
		t.Errorf("it is %s, with a watch cache: %t", c.Name(), c.WatchCache())
	}
	if _, err := os.Stat(c.Dir()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if !c.Process().Ended() {
		t.Error("its process is still there")
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
	if _, err := c.Stored(t.Context(), cluster.Key{}); err == nil {
		t.Error("its storage answers")
	}
	if err := c.Route(t.Context(), "default", "one", 443, "127.0.0.1:1"); err == nil {
		t.Error("it takes a route")
	}
}

// TestMinorsDies kills the API server behind the back of everybody.
func TestMinorsDies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	c, err := minors.StartAt(t.Context(), currentProgram(t), minors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Route(t.Context(), "default", "one", 443, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "its process ended") {
		t.Errorf("a route: %v", err)
	}
	if err := c.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "its process ended") {
		t.Errorf("stopping it: %v", err)
	}
}

// TestMinorsStartThatFails starts a program that is no API server, or cancels the start.
func TestMinorsStartThatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	script := func(text string) string {
		path := filepath.Join(t.TempDir(), "program")
		executable.Write(t, path, []byte("#!/bin/sh\n"+text+"\n"))
		return path
	}
	for name, test := range map[string]struct{ path, want string }{
		"no program":          {filepath.Join(temporary, "nowhere"), "no such file"},
		"ends at once":        {script("exit 0"), "its process ended: exit status 0"},
		"fails":               {script("echo alas >&2; exit 7"), "its process ended (exit status 7): alas"},
		"says something else": {script("echo hello; exec cat > /dev/null"), "does not use the protocol"},
		"another protocol":    {script(`echo '{"protocol":99,"url":"x"}'; exec cat > /dev/null`), "uses another protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := minors.StartAt(t.Context(), test.path, minors.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something with %q", err, test.want)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := minors.StartAt(ctx, script("exec cat > /dev/null"), minors.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the start was cancelled while the program said nothing: %v", err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestMinorsLongPath has temporary files where no socket can be.
func TestMinorsLongPath(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: an API server for one path")
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	if c := runMinor(t, currentProgram(t), minors.Options{}); strings.HasPrefix(c.Dir(), long) {
		t.Error(c.Dir())
	}
}

// TestMinorsProtocol talks to the program itself.
func TestMinorsProtocol(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	for in, want := range map[string]string{
		"":                  "the first line must say how to run",
		"hello":             "the first line must say how to run",
		`{"protocol":99}`:   "the first line asks for 99",
		`{"protocol":1}`:    "tls.crt",
		`{"protocol":"1"}`:  "the first line must say how to run",
		`[{"protocol":1}]x`: "the first line must say how to run",
	} {
		cmd := exec.CommandContext(t.Context(), currentProgram(t))
		var said bytes.Buffer
		cmd.Stdin, cmd.Stderr = strings.NewReader(in), &said
		out, err := cmd.Output()
		if err == nil || len(out) > 0 || !strings.Contains(said.String(), want) {
			t.Errorf("%q: %v, it says %q and %q, want something with %q", in, err, out, &said, want)
		}
	}
}

// parentOfMinor starts the program, says where its process and its files are, and waits to be killed.
func parentOfMinor(path string) {
	c, err := minors.StartAt(context.Background(), path, minors.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(os.Stdout, "%d %s\n", c.Process().ID(), c.Dir())
	<-time.After(time.Hour)
}

// TestMinorsParentIsKilled kills the process that started the API server, which can clean up nothing then.
func TestMinorsParentIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), parentOf+"="+currentProgram(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	if _, err := fmt.Fscan(out, &pid, &dir); err != nil {
		t.Fatal(err)
	}
	if !processRuns(pid) {
		t.Error("the process is not there")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	eventually(t, func() error {
		if processRuns(pid) {
			return fmt.Errorf("process %d still runs", pid)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is still there: %w", dir, err)
		}
		return nil
	})
}

func TestMinorsUnknownMinor(t *testing.T) {
	t.Parallel()
	if _, err := minors.Start(t.Context(), minors.Options{Minor: requirement.Minor{Major: 1, Minor: 5}}); err == nil || !strings.Contains(err.Error(), "no embedded API server of Kubernetes 1.5 (want 1.21, 1.28, ") {
		t.Error(err)
	}
}
