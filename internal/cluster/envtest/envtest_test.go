//go:build unix

package envtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
)

// harness is set for a copy of the test that starts a cluster and waits to be killed.
const harness = "CRDCONFORM_TEST_HARNESS"

func TestMain(m *testing.M) {
	if os.Getenv(harness) != "" { //nolint:forbidigo // the test sets it for itself
		os.Exit(beKilled()) //nolint:forbidigo // it is a program of its own
	}
	m.Run()
}

func beKilled() int {
	c, err := Start(context.Background(), Options{Variable: os.LookupEnv}) //nolint:forbidigo // it is a program of its own
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		return 1
	}
	os.Stdout.WriteString(c.dir + "\n" + c.Config().Host + "\n")
	<-time.After(time.Hour)
	return 0
}

// inAssets returns options for the programs that the environment names, or skips the test.
func inAssets(t *testing.T) Options {
	t.Helper()
	assets := os.Getenv(assetsVariable) //nolint:forbidigo // tests get what they run on from the environment
	switch {
	case assets != "":
	case os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "": //nolint:forbidigo // CI sets it for the tests of all packages
		t.Fatal("KUBEBUILDER_ASSETS is not set, and CRDCONFORM_REQUIRE_TOOLS is")
	default:
		t.Skip("KUBEBUILDER_ASSETS is not set, which names a folder with kube-apiserver and etcd")
	}
	return Options{Assets: assets}
}

func running(t *testing.T, options Options) *Cluster {
	t.Helper()
	began := time.Now()
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return c
}

// processes are the processes whose command line has a text, on Linux.
func processes(t *testing.T, text string) []string {
	t.Helper()
	var found []string
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		line, err := os.ReadFile(one)
		if err == nil && bytes.Contains(line, []byte(text)) && !strings.Contains(one, "/self/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// gone fails the test unless nothing is left of a cluster before long.
func gone(t *testing.T, dir, host string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		left = processes(t, dir)
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			left = append(left, dir)
		}
		if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(host, "https://")); err == nil {
			connection.Close()
			left = append(left, host)
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("this is left: %q", left)
}

func TestNothingIsLeftBehind(t *testing.T) {
	options := inAssets(t)
	once := func() {
		c := running(t, options)
		if len(processes(t, c.dir)) < 3 {
			t.Errorf("kube-apiserver, etcd and what watches over them ought to run: %q", processes(t, c.dir))
		}
		began := time.Now()
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		t.Logf("stopped in %s", time.Since(began).Round(time.Millisecond))
		if err := c.Stop(t.Context()); err != nil {
			t.Errorf("stopping it twice: %v", err)
		}
		gone(t, c.dir, c.Config().Host)
	}
	// What the first leaves, such as caches of packages, a second one must not add to.
	once()
	before := goleak.IgnoreCurrent()
	once()
	goleak.VerifyNone(t, before)
}

// TestStopInTime does not let an API server that finishes requests keep it from stopping.
func TestStopInTime(t *testing.T) {
	options := inAssets(t)
	c := running(t, options)
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	watching, err := client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := c.Stop(ended); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s to kill it", took)
	}
	gone(t, c.dir, c.Config().Host)
}

// TestInterrupted ends the context at different points of the start.
func TestInterrupted(t *testing.T) {
	options := inAssets(t)
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			c, err := Start(ctx, options)
			if err == nil {
				t.Skipf("it was ready within %s: %v", after, c.Stop(t.Context()))
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			gone(t, temporary+"/crdconform-envtest", "127.0.0.1:1")
		})
	}
}

// TestKilledHarness kills a process that runs a cluster.
func TestKilledHarness(t *testing.T) {
	options := inAssets(t)
	var out bytes.Buffer
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), harness+"=1", assetsVariable+"="+options.Assets)
	command.Stdout = write
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var dir, host string
	buffer := make([]byte, 1024)
	for host == "" {
		n, err := read.Read(buffer)
		out.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		if lines := strings.Split(out.String(), "\n"); len(lines) > 2 {
			dir, host = lines[0], lines[1]
		}
	}
	if len(processes(t, dir)) < 3 {
		t.Errorf("there is too little to kill: %q", processes(t, dir))
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	command.Wait()
	gone(t, dir, host)
}

// TestWithoutShell finds nothing to guard the programs with.
func TestWithoutShell(t *testing.T) {
	options := inAssets(t)
	t.Setenv("PATH", t.TempDir())
	interrupted, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if c, err := Start(interrupted, options); err == nil {
		t.Errorf("it was ready at once: %v", c.Stop(t.Context()))
	}
	c := running(t, options)
	if left := processes(t, c.dir); len(left) != 2 {
		t.Errorf("kube-apiserver and etcd ought to run alone: %q", left)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	gone(t, c.dir, c.Config().Host)
}

// TestReadOnlyFileSystem starts a process that finds nothing to write to where envtest's packages look for it.
func TestReadOnlyFileSystem(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("there is no /dev/shm here, so that there is no other place either")
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	command.Env = []string{"HOME=/dev/null/home", "TMPDIR=/dev/null/tmp"}
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFullServer looks for what an embedded API server does not have.
func TestFullServer(t *testing.T) {
	options := inAssets(t)
	var log bytes.Buffer
	options.Log = &log
	options.Run = "run-1"
	c := running(t, options)
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}

	t.Run("RBAC", func(t *testing.T) {
		config := c.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: "somebody"}
		somebody, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := somebody.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("somebody without rights lists namespaces: %v", err)
		}
	})

	t.Run("namespaces", func(t *testing.T) {
		_, err := client.CoreV1().ConfigMaps("missing").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("something is created in a namespace that is missing: %v", err)
		}
	})

	t.Run("storage", func(t *testing.T) { lookIntoStorage(t, c) })

	t.Run("services", func(t *testing.T) {
		if err := c.Route(t.Context(), "system", "converter", 443, loopback+":1"); err != nil {
			t.Fatal(err)
		}
		service, err := client.CoreV1().Services("system").Get(t.Context(), "converter", metav1.GetOptions{})
		if err != nil || service.Labels[cluster.RunLabel] != "run-1" || net.ParseIP(service.Spec.ClusterIP) == nil {
			t.Errorf("the service is %+v: %v", service, err)
		}
		namespace, err := client.CoreV1().Namespaces().Get(t.Context(), "system", metav1.GetOptions{})
		if err != nil || namespace.Labels[cluster.RunLabel] != "run-1" {
			t.Errorf("the namespace is %+v: %v", namespace, err)
		}
	})

	t.Run("artifacts", func(t *testing.T) {
		dir := t.TempDir()
		if err := c.Artifacts(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		for file, has := range map[string]string{"kube-apiserver.log": "Serving securely", "etcd.log": "ready to serve client requests"} {
			if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Contains(text, []byte(has)) {
				t.Errorf("%s lacks %q: %v", file, has, err)
			}
		}
		if err := c.Artifacts(t.Context(), filepath.Join(dir, "missing")); err == nil {
			t.Error("logs were written into a directory that is missing")
		}
	})

	t.Run("etcd keeps to itself", func(t *testing.T) { etcdKeepsToItself(t, c) })

	if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{"Serving securely", "ready to serve client requests"} {
		if !strings.Contains(log.String(), has) {
			t.Errorf("the log lacks %q", has)
		}
	}
}

func lookIntoStorage(t *testing.T, c *Cluster) {
	t.Helper()
	crds, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	crd, err := crds.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), fixtures.None.New(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := cluster.Key{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: crd.Name}
	stored, err := c.Stored(t.Context(), key)
	if err != nil || !bytes.Contains(stored.Data, []byte(crd.UID)) {
		t.Errorf("stored is %s: %v", stored.Data, err)
	}
	key.Name = "missing"
	if _, err := c.Stored(t.Context(), key); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("the error is %v", err)
	}
}

// etcdKeepsToItself asks the port of etcd's health for what is in it.
func etcdKeepsToItself(t *testing.T, c *Cluster) {
	t.Helper()
	ask := func(method, path, body string) (status int, answer []byte) {
		u := url.URL{Scheme: "http", Host: c.etcd.URL.Host, Path: path}
		request, err := http.NewRequestWithContext(t.Context(), method, u.String(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if answer, err = io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer
	}
	if status, answer := ask(http.MethodGet, "/health", ""); status != http.StatusOK {
		t.Errorf("etcd says of its health %d %s", status, answer)
	}
	if status, answer := ask(http.MethodPost, "/v3/kv/range", `{"key": "AA==", "range_end": "AA=="}`); status != http.StatusNotFound {
		t.Errorf("everybody can ask etcd for what is in it: %d %.200s", status, answer)
	}
}

// TestWatchCache distinguishes an API server with a watch cache from one without by its metrics.
func TestWatchCache(t *testing.T) {
	options := inAssets(t)
	for _, with := range []bool{false, true} {
		options.WatchCache = with
		c := running(t, options)
		if c.WatchCache() != with {
			t.Errorf("it says %t, want %t", c.WatchCache(), with)
		}
		client, err := kubernetes.NewForConfig(c.Config())
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(metrics, []byte("\napiserver_watch_cache_initializations_total{")); has != with {
			t.Errorf("it has a watch cache: %t, want %t", has, with)
		}
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
