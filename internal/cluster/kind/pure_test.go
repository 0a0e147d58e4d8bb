package kind

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/crdconform/crdconform/internal/cluster/services"
)

// pretended is a cluster that is not there, of a program that only seems to be Docker.
func pretended(t *testing.T, options Options, answers map[string]string) *Cluster {
	t.Helper()
	fakeProgram(t, "docker", answers)
	engine, err := engineNamed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	options.Name = Prefix + "pretended"
	return &Cluster{
		options:  options,
		engine:   engine,
		provider: kindcluster.NewProvider(engine.option()),
		dir:      dir,
		router:   services.NewRouter(fake.NewClientset(), "test", nil, nil),
		stopped:  make(chan struct{}),
	}
}

func TestStop(t *testing.T) {
	for name, keep := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			removed := filepath.Join(t.TempDir(), "removed")
			c := pretended(t, Options{Keep: keep}, map[string]string{"ps": "echo node", "rm": "echo \"$@\" > " + removed})
			for range 2 {
				if err := c.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			_, nodes := os.Stat(removed)
			_, file := os.Stat(c.Kubeconfig())
			if (nodes != nil) != keep || (file == nil) != keep {
				t.Errorf("the nodes were removed: %v, and the kubeconfig is there: %v", nodes == nil, file == nil)
			}
		})
	}
}

func TestStopGivesUp(t *testing.T) {
	c := pretended(t, Options{}, map[string]string{"ps": "echo node", "rm": "/bin/sleep 1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still running: the deletion of the nodes") {
		t.Errorf("it did not wait: %v", err)
	}
	// It goes on nevertheless.
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.dir, err)
	}
}

func TestStopTellsWhatFails(t *testing.T) {
	c := pretended(t, Options{}, map[string]string{"ps": "echo node", "rm": says("Error response from daemon: it will not go")})
	err := c.Stop(t.Context())
	if err == nil || !strings.Contains(err.Error(), "deleting the cluster crdconform-pretended: ") || !strings.Contains(err.Error(), "it will not go") {
		t.Errorf("got %v", err)
	}
}

// TestLoadImageIntoSeveralNodes proves that each node gets all of an archive that can be read only once.
func TestLoadImageIntoSeveralNodes(t *testing.T) {
	into := t.TempDir()
	c := pretended(t, Options{}, map[string]string{
		"ps": "echo one; echo two",
		"exec": `case "$*" in
			*"config dump"*) echo 'version = 3'; echo '[plugins."io.containerd.cri.v1.images"]'; echo 'snapshotter = "overlayfs"' ;;
			*import*) /bin/cat > ` + into + `/$4 ;;
		esac`,
	})
	var err error
	if c.nodes, err = c.provider.ListNodes("pretended"); err != nil || len(c.nodes) != 2 {
		t.Fatalf("%v, %v", c.nodes, err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := c.LoadImage(t.Context(), bytes.NewBufferString("an archive")); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"one", "two"} {
		if got, err := os.ReadFile(filepath.Join(into, node)); err != nil || string(got) != "an archive" {
			t.Errorf("%s got %q, %v", node, got, err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestReady(t *testing.T) {
	node := func(status corev1.ConditionStatus, message string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, Message: message},
		}}}
	}
	proxy := func(running int32) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Namespace: "kube-system"},
			Status:     appsv1.DaemonSetStatus{NumberReady: running, DesiredNumberScheduled: 1},
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "default"}}
	ok := node(corev1.ConditionTrue, "")
	for name, test := range map[string]struct {
		there []runtime.Object
		want  string // empty for ready
	}{
		"ready":              {[]runtime.Object{ok, proxy(1), account}, ""},
		"without a proxy":    {[]runtime.Object{ok, account}, ""},
		"no node":            {[]runtime.Object{proxy(1), account}, "there is no node"},
		"a new node":         {[]runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, proxy(1), account}, "the node n has not reported ready yet"},
		"no network":         {[]runtime.Object{node(corev1.ConditionFalse, "cni plugin not initialized"), proxy(1), account}, "the node n is not ready: cni plugin not initialized"},
		"proxies to come":    {[]runtime.Object{ok, proxy(0), account}, "kube-proxy runs on 0 of 1 nodes"},
		"no service account": {[]runtime.Object{ok, proxy(1)}, `serviceaccounts "default" not found`},
	} {
		err := ready(t.Context(), fake.NewClientset(test.there...), 10*time.Millisecond)
		if test.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.want != "" && (err == nil || err.Error() != "the cluster is not ready after 10ms: "+test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ready(ctx, fake.NewClientset(), time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("broken off: %v", err)
	}
}

// TestForwardingIsSetUpAgain ends a forwarding from the other side, twice.
func TestForwardingIsSetUpAgain(t *testing.T) {
	f := &forward{stop: make(chan struct{}), done: make(chan struct{})}
	again := make(chan chan struct{})
	failed := false
	first := make(chan struct{})
	go f.keep(first, func() (<-chan struct{}, error) {
		if !failed {
			failed = true
			return nil, errors.New("the API server is away")
		}
		ended := make(chan struct{})
		again <- ended
		return ended, nil
	})
	next := func() chan struct{} {
		select {
		case ended := <-again:
			return ended
		case <-time.After(10 * time.Second):
			t.Fatal("it was not set up again")
			return nil
		}
	}
	close(first)
	second := next()
	close(second)
	third := next()
	closed := make(chan struct{})
	go func() { f.close(); close(closed) }()
	<-f.stop
	close(third)
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("it is not closed")
	}
}
