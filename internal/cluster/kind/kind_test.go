//go:build kind

package kind

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
)

// settings returns the options for tests on real nodes, which fail where there is no image of one.
func settings(t *testing.T) Options {
	t.Helper()
	image, config := os.Getenv("CRDCONFORM_TEST_KIND_IMAGE"), os.Getenv("CRDCONFORM_TEST_KIND_CONFIG") //nolint:forbidigo // CI sets them
	if image == "" {
		t.Fatal("CRDCONFORM_TEST_KIND_IMAGE names no node image to make a cluster of")
	}
	return Options{Image: image, ConfigFile: config, Run: "test"}
}

// one is the cluster that the tests share.
var one struct {
	sync.Once
	cluster *Cluster
	err     error
	log     bytes.Buffer
}

func shared(t *testing.T) *Cluster {
	t.Helper()
	options := settings(t)
	one.Do(func() {
		options.Name = "test-" + strings.ToLower(rand.Text()[:6])
		options.Log = &one.log
		begun := time.Now()
		one.cluster, one.err = Start(t.Context(), options)
		t.Logf("the cluster was ready after %s", time.Since(begun).Round(time.Millisecond))
	})
	if one.err != nil {
		t.Fatalf("%v\n%s", one.err, &one.log)
	}
	return one.cluster
}

func TestMain(m *testing.M) {
	code := m.Run()
	if one.cluster != nil {
		if err := stopped(one.cluster); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // this is the main function of the tests
}

// stopped stops the cluster and returns what is not right after that.
func stopped(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	begun := time.Now()
	first, second := c.Stop(ctx), c.Stop(ctx)
	fmt.Fprintf(os.Stderr, "the cluster was stopped after %s\n", time.Since(begun).Round(time.Millisecond))
	errs := []error{first, second}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("%s is still there: %w", c.dir, err))
	}
	left, err := clusters(ctx)
	if err != nil || slices.Contains(left, c.ClusterName()) {
		errs = append(errs, fmt.Errorf("after Stop there are %v, %w", left, err))
	}
	if out, err := exec.CommandContext(ctx, c.engine.name, "volume", "ls", "-q", "--filter", "label=io.x-k8s.kind.cluster="+c.ClusterName()).Output(); err != nil || len(out) > 0 {
		errs = append(errs, fmt.Errorf("volumes are left: %s, %w", out, err))
	}
	return errors.Join(errs...)
}

func TestCluster(t *testing.T) {
	c := shared(t)
	if c.Name() != "kind" || c.WatchCache() || !strings.HasPrefix(c.ClusterName(), Prefix) {
		t.Errorf("it is %s %s, with a watch cache: %v", c.Name(), c.ClusterName(), c.WatchCache())
	}
	if config := c.Config(); config.QPS != -1 || config.Insecure || len(config.CAData) == 0 {
		t.Errorf("the configuration limits rates or verifies nothing: %v, %v", config.QPS, config.Insecure)
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil || !strings.Contains(c.options.Image, ":"+version.GitVersion) {
		t.Errorf("the version is %v, %v", version, err)
	}
	nodes, err := c.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: cluster.RunLabel + "=test"})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("nodes with the label of the run: %d, %v", len(nodes.Items), err)
	}
	left, err := Left(t.Context(), "")
	if err != nil || !slices.ContainsFunc(left, func(l Leftover) bool {
		return l.Name == c.ClusterName() && !l.Gone && time.Since(l.Created) < time.Hour
	}) {
		t.Errorf("it is not among %v, %v", left, err)
	}
	again := c.options
	if _, err := Start(t.Context(), again); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("another one of the name: %v", err)
	}
}

func TestKubeconfigIsTheRunsOwn(t *testing.T) {
	c := shared(t)
	info, err := os.Stat(c.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if users, err := os.ReadFile(filepath.Join(home, ".kube", "config")); err == nil && bytes.Contains(users, []byte(c.ClusterName())) {
		t.Error("the cluster is in the kubeconfig of the user")
	}
}

// TestWatchCacheIsOff looks at how the API server was started, and that the configuration of the user still counts.
func TestWatchCacheIsOff(t *testing.T) {
	c := shared(t)
	pods, err := c.client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "component=kube-apiserver"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%v, %v", pods, err)
	}
	command := strings.Join(pods.Items[0].Spec.Containers[0].Command, " ")
	if !strings.Contains(command, "--watch-cache=false") {
		t.Errorf("the API server runs as %s", command)
	}
	if !strings.Contains(command, "storagemigration.k8s.io/v1beta1=true") || !strings.Contains(command, "StorageVersionMigrator=true") {
		t.Errorf("the base configuration does not count: %s", command)
	}
	if c.options.ConfigFile == "" {
		return
	}
	used, err := c.inNode(t.Context(), "cat", "/kind/kubeadm.conf")
	if err != nil {
		t.Fatal(err)
	}
	// What the file of the tests says, wherever it says something of the kubelet.
	file, err := os.ReadFile(c.options.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"failCgroupV1: false"} {
		if bytes.Contains(file, []byte(setting)) && !strings.Contains(used, setting) {
			t.Errorf("%s of the user's configuration is not in\n%s", setting, used)
		}
	}
}

func TestListen(t *testing.T) {
	c := shared(t)
	listener, host, err := c.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		t.Errorf("the host is %s", host)
	}
	if bound := listener.Addr().(*net.TCPAddr).IP; bound.IsUnspecified() {
		t.Errorf("it listens on all addresses: %s", bound)
	}
	// It is as good as new: what comes next is what is accepted next.
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	accepted := make(chan string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			accepted <- err.Error()
			return
		}
		defer connection.Close()
		said := make([]byte, 5)
		connection.Read(said)
		accepted <- string(said)
	}()
	if _, err := c.inNode(t.Context(), "bash", "-c", fmt.Sprintf("echo hello > /dev/tcp/%s/%s", host, port)); err != nil {
		t.Error(err)
	}
	select {
	case said := <-accepted:
		if said != "hello" {
			t.Errorf("it heard %q", said)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody came")
	}
}

// TestListenIsVerified proves that an address by which the node does not reach the listener is found out.
func TestListenIsVerified(t *testing.T) {
	c := shared(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := c.reaches(t.Context(), listener, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a port that nobody listens at in the node: %v", err)
	}
	// 10250 is the kubelet's, which answers in the listener's place.
	other, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:10250")
	if err != nil {
		t.Skipf("another kubelet is here: %v", err)
	}
	defer other.Close()
	if err := c.reaches(t.Context(), other, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "another server responds there") {
		t.Errorf("a port at which the kubelet answers: %v", err)
	}
}

func TestNotReached(t *testing.T) {
	c := shared(t)
	lonely := &Cluster{control: secluded{c.control}, configured: c.configured, engine: c.engine}
	_, _, err := lonely.Listen(t.Context())
	if !errors.Is(err, cluster.ErrNotReached) || !strings.Contains(err.Error(), "open the firewall") {
		t.Errorf("got %v", err)
	}
}

// secluded is a node that reaches nobody.
type secluded struct{ nodes.Node }

func (n secluded) CommandContext(ctx context.Context, command string, arguments ...string) kindexec.Cmd {
	if command == "timeout" {
		return n.Node.CommandContext(ctx, "false")
	}
	return n.Node.CommandContext(ctx, command, arguments...)
}

// install installs the documents' definition with two versions and returns a client for its objects at v1.
func install(t *testing.T, c *Cluster, group string) dynamic.ResourceInterface {
	t.Helper()
	crds, err := clientset.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := crds.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := definitions.Create(t.Context(), fixtures.None.New(fixtures.InGroup(group)), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { definitions.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}) })
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
	return client.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "crontabs"}).Namespace("default")
}

func eventually(t *testing.T, condition func() error) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func TestStorage(t *testing.T) {
	c := shared(t)
	const group = "stored.example.com"
	crontabs := install(t, c, group)
	key := cluster.Key{Group: group, Resource: "crontabs", Namespace: "default", Name: "local-crontab"}
	if _, err := c.Stored(t.Context(), key); !errors.Is(err, cluster.ErrNotStored) {
		t.Errorf("before it was created: %v", err)
	}
	object := fixtures.LocalCronTab.At("v1")
	object.SetAPIVersion(group + "/v1")
	var created *unstructured.Unstructured
	eventually(t, func() (err error) {
		created, err = crontabs.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
	if c.etcd.forward != nil {
		t.Log("etcd is reached through the API server")
	}
	forwarded := c.openEtcdForwarded(t.Context())
	t.Cleanup(func() {
		if err := forwarded.close(); err != nil {
			t.Error(err)
		}
	})
	direct := c.etcd
	for name, way := range map[string]*etcd{"as usual": direct, "forwarded": forwarded} {
		t.Run(name, func(t *testing.T) {
			client, err := way.get()
			if err != nil {
				t.Fatal(err)
			}
			if way == forwarded && !strings.HasPrefix(client.Endpoints()[0], "https://127.0.0.1:") {
				t.Errorf("it is not forwarded: %v", client.Endpoints())
			}
			response, err := client.Get(t.Context(), "/registry/"+group+"/crontabs/default/local-crontab")
			if err != nil || len(response.Kvs) != 1 {
				t.Fatalf("%v, %v", response, err)
			}
		})
	}
	stored, err := c.Stored(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var inside unstructured.Unstructured
	if err := json.Unmarshal(stored.Data, &inside.Object); err != nil {
		t.Fatal(err)
	}
	if inside.GetAPIVersion() != group+"/v1beta1" || inside.GetUID() != created.GetUID() {
		t.Errorf("stored is %s", stored.Data)
	}
	all, err := c.StoredAll(t.Context(), group, "crontabs")
	if err != nil || len(all) != 1 || all[0].Revision != stored.Revision {
		t.Errorf("all that is stored: %v, %v", all, err)
	}
	changed := strings.Replace(string(stored.Data), `"localhost"`, `"elsewhere"`, 1)
	if err := c.Overwrite(t.Context(), key, []byte(changed)); err != nil {
		t.Fatal(err)
	}
	read, err := crontabs.Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err != nil || read.Object["host"] != "elsewhere" {
		t.Errorf("after it was overwritten: %v, %v", read, err)
	}
}

func TestForwardingIsClosed(t *testing.T) {
	c := shared(t)
	forwarded := c.openEtcdForwarded(t.Context())
	if forwarded.err != nil {
		t.Fatal(forwarded.err)
	}
	address := forwarded.forward.address
	if err := forwarded.close(); err != nil {
		t.Error(err)
	}
	if connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		connection.Close()
		t.Errorf("%s is still listened on", address)
	}
}

func TestRoute(t *testing.T) {
	c := shared(t)
	const namespace, service = "routed", "my-service"
	say := func(word string) string {
		listener, host, err := c.Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(connection, word)
				connection.Close()
			}
		}()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		return net.JoinHostPort(host, port)
	}
	hear := func() (string, error) {
		found, err := c.client.CoreV1().Services(namespace).Get(t.Context(), service, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return c.inNode(t.Context(), "timeout", "5", "bash", "-c", fmt.Sprintf("cat < /dev/tcp/%s/1234", found.Spec.ClusterIP))
	}
	for _, word := range []string{"one", "two"} {
		begun := time.Now()
		if err := c.Route(t.Context(), namespace, service, 1234, say(word)); err != nil {
			t.Fatal(err)
		}
		t.Logf("routed after %s", time.Since(begun).Round(time.Millisecond))
		if said, err := hear(); err != nil || strings.TrimSpace(said) != word {
			t.Errorf("it says %q, %v", said, err)
		}
	}
	if err := c.Route(t.Context(), namespace, service, 1234, ""); err != nil {
		t.Error(err)
	}
	if _, err := hear(); err == nil {
		t.Error("the service is still there")
	}
}

func TestRouteToNowhere(t *testing.T) {
	c := shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	// Port 1 of the node itself: nobody listens there.
	ip, _, err := c.control.IP()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Route(ctx, "nowhere", "my-service", 443, net.JoinHostPort(ip, "1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := c.Route(t.Context(), "nowhere", "my-service", 443, ""); err != nil {
		t.Error(err)
	}
}

func TestLoadImage(t *testing.T) {
	c := shared(t)
	tag, err := name.NewTag("example.com/crdconform-test:loaded")
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(1024, 1)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(tag, image, &archive); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		list, err := c.inNode(t.Context(), "ctr", "--namespace=k8s.io", "images", "ls", "-q")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(list, tag.Name())
	}
	if there() {
		t.Fatal("it is there already")
	}
	if err := c.LoadImage(t.Context(), bytes.NewReader(archive.Bytes())); err != nil {
		t.Fatal(err)
	}
	if !there() {
		t.Error("it was not loaded")
	}
	if err := c.LoadImage(t.Context(), strings.NewReader("this is no archive")); err == nil || !strings.Contains(err.Error(), "loading an image into") {
		t.Errorf("no archive: %v", err)
	}
	if err := c.LoadLocalImage(t.Context(), "example.com/no-such-image"); err == nil || !strings.Contains(err.Error(), "has no image example.com/no-such-image") {
		t.Errorf("no image: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.LoadImage(ctx, bytes.NewReader(archive.Bytes())); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
}

func TestArtifacts(t *testing.T) {
	c := shared(t)
	install(t, c, "witnessed.example.com")
	dir := t.TempDir()
	if err := c.Artifacts(t.Context(), dir); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{
		"kube-apiserver.log":          "apiserver",
		"kube-controller-manager.log": "controller",
		"etcd.log":                    "etcd",
		"kubelet.log":                 "kubelet",
		"containerd.log":              "containerd",
		"events.yaml":                 "reason:",
		"definitions.yaml":            "crontabs.witnessed.example.com",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s has %d bytes without %q, %v", file, len(text), want, err)
		}
		if bytes.Contains(text, []byte("PRIVATE KEY-----")) || bytes.Contains(text, []byte("abcdef.0123456789abcdef")) {
			t.Errorf("%s has a secret", file)
		}
	}
	if strings.Contains(one.log.String(), "abcdef.0123456789abcdef") {
		t.Error("the log of the creation has the token")
	}
	if !strings.Contains(one.log.String(), "kubeadm") {
		t.Error("the log of the creation says nothing of kubeadm")
	}
}
