package workers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/wire"
)

// jobLoad is one of 100 requests a second for so long, by two workers, on a webhook that serves until the test is over.
func jobLoad(t *testing.T, duration time.Duration) Load {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	w := load.Workload{Phases: load.Constant(100, duration), Batch: 2, ReviewVersion: "v1", Pairs: []corpus.Pair{{From: "v1beta1", To: "v1"}}}
	requests, err := load.Bodies(corpus.CronTabs("v1beta1", "v1"), w)
	if err != nil {
		t.Fatal(err)
	}
	return Load{Endpoint: wire.Endpoint{URL: server.URL, CA: server.CA, Timeout: time.Minute}, Requests: requests, Workload: w, Workers: 2}
}

// empty fails when something is left in a cluster that the launcher made.
func (c *cluster) empty(t *testing.T) {
	t.Helper()
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	if c.job != nil || len(c.secrets) > 0 {
		t.Errorf("left in the cluster: %v, %v", c.job, c.secrets)
	}
}

func TestJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	// The API server is away for a moment now and then.
	var asked atomic.Int32
	c.refuse = func(r *http.Request) *apierrors.StatusError {
		if strings.Contains(r.URL.Path, "/pods") && asked.Add(1)%3 == 0 {
			return apierrors.NewInternalError(errors.New("no leader"))
		}
		return nil
	}
	// One pod's log breaks off twice, in the middle of a line.
	c.container[1] = func(ctx context.Context, p *pod) int {
		p.set(func() { p.broken = 2 })
		return podWorker(ctx, p)
	}
	var last load.Snapshot
	summary, err := Run(t.Context(), c.launcher(JobOptions{}), jobLoad(t, 1500*time.Millisecond), load.Watch{Second: func(s load.Snapshot) { last = s }})
	if err != nil {
		t.Fatal(err)
	}
	if summary.Requests != 150 || summary.Good != 150 || summary.Partial || len(summary.Seconds) < 2 || last.Requests != 150 {
		t.Errorf("got %+v; the watch got %+v last", summary, last)
	}
	c.empty(t)
}

// TestLostPods has the second of two pods be lost, in several ways.
func TestLostPods(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for pods")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		container func(ctx context.Context, p *pod) int
		want      string
	}{
		"killed": {func(ctx context.Context, p *pod) int {
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				p.c.changed.L.Lock()
				defer p.c.changed.L.Unlock()
				for !strings.Contains(p.log.String(), `{"second"`) {
					p.c.changed.Wait()
				}
				p.terminated(137, "OOMKilled")
				p.c.changed.Broadcast()
				cancel()
			}()
			podWorker(ctx, p)
			return 137
		}, "-1-abcde: exit status 137, OOMKilled"},
		"evicted": {func(_ context.Context, p *pod) int {
			p.set(func() {
				p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory."
				p.log.WriteString("no log at all\n")
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "another", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
			})
			return 0
		}, "-1-abcde: it failed, Evicted, The node was low on memory.: no log at all"},
		"deleted": {func(_ context.Context, p *pod) int {
			p.set(func() { p.waiting("ContainerCreating", "") })
			for seen := 0; seen < 3; seen = p.c.count(http.MethodGet, "/pods") { // the first may be under way
				<-time.After(500 * time.Millisecond)
			}
			p.set(func() { delete(p.c.pods, p.Name) })
			return 0
		}, "-1-abcde is gone"},
		"no such image": {func(_ context.Context, p *pod) int {
			p.set(func() { p.waiting("InvalidImageName", "couldn't parse it") })
			return 0
		}, "-1-abcde: it waits, InvalidImageName, couldn't parse it"},
		"not pulled": {func(_ context.Context, p *pod) int {
			p.set(func() { p.waiting("ImagePullBackOff", "no such host") })
			return 0
		}, "-1-abcde: it waits, ImagePullBackOff, no such host"},
		"not scheduled": {func(_ context.Context, p *pod) int {
			p.set(func() {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}
			})
			return 0
		}, "-1-abcde: it is not scheduled, Unschedulable, 0/1 nodes are available"},
		"another release": {func(_ context.Context, p *pod) int {
			p.set(func() {
				p.Status.Phase = corev1.PodRunning
				p.log.WriteString("crdconform: unknown command \"worker\"\ncrdconform: see \"crdconform --help\"\n")
			})
			return 2
		}, `-1-abcde: exit status 2: crdconform: unknown command "worker"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.container[1] = test.container
			l := jobLoad(t, 2*time.Second)
			l.Patience = 4 * time.Second
			summary, err := Run(t.Context(), c.launcher(JobOptions{}), l, load.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			reason := summary.PartialReason()
			if !strings.HasPrefix(reason, "50 % of the requests are missing from all figures: worker 2 of 2: ") || !strings.Contains(reason, test.want) || summary.Requests != 100 {
				t.Errorf("got %d requests, %s, want something with %q", summary.Requests, reason, test.want)
			}
			c.empty(t)
		})
	}
}

// TestSlowPull has an image be pulled in the end. Neither the time before the first attempt nor that between two of them counts.
func TestSlowPull(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the pull takes 11 s")
	}
	c := newCluster(t)
	c.container[1] = func(_ context.Context, p *pod) int {
		for _, waiting := range []struct {
			reason string
			so     time.Duration
		}{{"ContainerCreating", 4500 * time.Millisecond}, {"ErrImagePull", 2500 * time.Millisecond}, {"ContainerCreating", 1500 * time.Millisecond}, {"ImagePullBackOff", 2500 * time.Millisecond}} {
			p.set(func() { p.waiting(waiting.reason, "") })
			<-time.After(waiting.so)
		}
		p.set(func() {
			p.Status.Phase = corev1.PodRunning
			p.log.WriteString("it was pulled\n")
		})
		return 1
	}
	f := c.launcher(JobOptions{})
	f.pulling = 4 * time.Second
	summary, err := Run(t.Context(), f, jobLoad(t, time.Second), load.Watch{})
	if reason := summary.PartialReason(); err != nil || !strings.HasSuffix(reason, "-1-abcde: exit status 1: it was pulled") {
		t.Errorf("got %s, %v", reason, err)
	}
	c.empty(t)
}

// TestInterruptedJob ends a run in the middle, and one whose pods do not come up.
func TestInterruptedJob(t *testing.T) {
	t.Parallel()
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		summary, err := Run(ctx, c.launcher(JobOptions{}), jobLoad(t, time.Hour), load.Watch{Second: func(load.Snapshot) { cancel() }})
		if err != nil || !summary.Partial || summary.PartialReason() != "" || summary.Requests == 0 || summary.Requests != summary.Good {
			t.Errorf("got %+v, %v", summary, err)
		}
		c.empty(t)
	})
	t.Run("before the start", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.container[0] = func(ctx context.Context, p *pod) int {
			p.set(func() { p.waiting("ContainerCreating", "") })
			cancel()
			<-ctx.Done()
			return 0
		}
		summary, err := Run(ctx, c.launcher(JobOptions{}), jobLoad(t, time.Hour), load.Watch{})
		if err != nil || !summary.Partial || summary.Requests+summary.Unanswered != 0 {
			t.Errorf("got %+v, %v", summary, err)
		}
		c.empty(t)
	})
}

// TestManyWorkers has so many that orders would not arrive in time if the client of the API server held itself back. All pods
// are looked at at once.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	const n = 100
	c := newCluster(t)
	for index := range n {
		c.container[index] = func(ctx context.Context, p *pod) int {
			if p.mounted(ctx) {
				fmt.Fprintln(p, "here")
			}
			<-ctx.Done()
			return 0
		}
	}
	f := c.launcher(JobOptions{})
	f.polling = 500 * time.Millisecond
	started, err := f.Start(t.Context(), Task{Spec: []byte("{}"), Workers: n, Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	began, here := time.Now(), make(chan int, n)
	following, stop := context.WithCancel(t.Context())
	var follow, send sync.WaitGroup
	for index := range n {
		follow.Go(func() {
			if err := started.Follow(following, index, func([]byte) { here <- index }); err == nil {
				t.Error("a worker ended with success")
			}
		})
	}
	for range n {
		<-here
	}
	lists, most := c.count(http.MethodGet, "/pods"), int(time.Since(began)/f.polling)+1
	if lists == 0 || lists > most {
		t.Errorf("the pods were listed %d times, want %d at most", lists, most)
	}
	within, cancel := context.WithTimeout(t.Context(), 17*time.Second) // a client that holds itself back takes 18 s for 100 requests
	defer cancel()
	for index := range n {
		send.Go(func() {
			if err := started.Send(within, index, []byte(`{"number":1}`)); err != nil {
				t.Error(err)
			}
		})
	}
	send.Wait()
	stop()
	follow.Wait()
	if err := started.End(t.Context()); err != nil {
		t.Error(err)
	}
	c.empty(t)
}

// count is how many requests there were to a path that ends so.
func (c *cluster) count(method, path string) int {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	n := 0
	for _, asked := range c.asked {
		if strings.HasPrefix(asked, method+" ") && strings.HasSuffix(asked, path) {
			n++
		}
	}
	return n
}

// TestGivenUp has a worker be given up that goes on: its pod is deleted, while the others go on.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for name, forbidden := range map[string]bool{"deleted": false, "left": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			ended := make(chan struct{})
			c.container[1] = func(ctx context.Context, p *pod) int {
				if p.mounted(ctx) {
					fmt.Fprintln(p, `{"hello":{"protocol":1000,"index":1}}`)
				}
				<-ctx.Done()
				close(ended)
				return 0
			}
			if forbidden {
				c.refuse = func(r *http.Request) *apierrors.StatusError {
					if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/pods/") {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "name", errors.New("you may not"))
					}
					return nil
				}
			}
			over := false // by the end of the first second of the others
			summary, err := Run(t.Context(), c.launcher(JobOptions{}), jobLoad(t, 2*time.Second), load.Watch{Second: func(load.Snapshot) {
				select {
				case <-ended:
					over = true
				default:
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			reason := summary.PartialReason()
			if !strings.Contains(reason, "speaks version 1000") || summary.Requests != 100 || over == forbidden {
				t.Errorf("it is over: %t; got %d requests, %s", over, summary.Requests, reason)
			}
			if strings.Contains(reason, "it may continue to send load, because it could not be deleted: delete the pod crdconform-load-") != forbidden {
				t.Errorf("got %s", reason)
			}
			c.empty(t)
		})
	}
}

// TestUncertain loses the responses to requests that take effect, and ends the context in the middle of one. Nothing is left.
func TestUncertain(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/jobs", "/secrets"} {
		of := func(r *http.Request) bool { return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, path) }
		t.Run("no answer of "+path, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.lose = of
			if _, err := Run(t.Context(), c.launcher(JobOptions{}), jobLoad(t, time.Second), load.Watch{}); err == nil || !strings.Contains(err.Error(), "EOF") {
				t.Errorf("got %v", err)
			}
			c.empty(t)
		})
		t.Run("interrupted in "+path, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.refuse = func(r *http.Request) *apierrors.StatusError {
				if of(r) {
					cancel()
					<-time.After(100 * time.Millisecond)
				}
				return nil
			}
			summary, err := Run(ctx, c.launcher(JobOptions{}), jobLoad(t, time.Hour), load.Watch{})
			if err != nil || !summary.Partial || summary.Requests+summary.Unanswered != 0 {
				t.Errorf("got %+v, %v", summary, err)
			}
			c.empty(t)
		})
		t.Run("left after "+path, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for index := range 2 { // whose pods nobody deletes
				c.container[index] = func(context.Context, *pod) int { return 0 }
			}
			c.lose = of
			c.refuse = func(r *http.Request) *apierrors.StatusError {
				if of(r) {
					cancel()
				}
				if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/jobs/") {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "name", errors.New("you may not"))
				}
				return nil
			}
			summary, err := Run(ctx, c.launcher(JobOptions{}), jobLoad(t, time.Hour), load.Watch{})
			if err == nil || !strings.Contains(err.Error(), "run kubectl delete job,secret -n load ") || !summary.Partial {
				t.Errorf("got %+v, %v", summary, err)
			}
		})
	}
}

// TestRefused has the API server refuse what the launcher needs, one after the other.
func TestRefused(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "name", errors.New("you may not"))
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
	for name, test := range map[string]struct {
		method, path string // that is refused
		err          *apierrors.StatusError
		want         string
		left         bool // whether something cannot be deleted
	}{
		"jobs":        {"POST", "/jobs", forbidden, "create the Job in namespace load: ", false},
		"namespace":   {"POST", "/jobs", missing, "if the namespace is what was not found, create it first", false},
		"secrets":     {"POST", "/secrets", forbidden, "create the Secret crdconform-load-", false},
		"pods":        {"GET", "/pods", forbidden, "look for pods in namespace load: ", false},
		"logs":        {"GET", "/log", forbidden, "read the log of the pod crdconform-load-", false},
		"annotations": {"PATCH", "/pods/", forbidden, "could not start it: annotate the pod crdconform-load-", false},
		"deleting":    {"DELETE", "/jobs/", forbidden, "run kubectl delete job,secret -n load crdconform-load-", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.refuse = func(r *http.Request) *apierrors.StatusError {
				if r.Method == test.method && strings.Contains(r.URL.Path, test.path) {
					return test.err
				}
				return nil
			}
			summary, err := Run(t.Context(), c.launcher(JobOptions{}), jobLoad(t, 200*time.Millisecond), load.Watch{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something with %q", err, test.want)
			}
			if test.err == forbidden && !test.left && !strings.Contains(err.Error(), "pods/log") {
				t.Errorf("it does not say what is needed: %v", err)
			}
			if test.left {
				if summary.Requests != 20 {
					t.Errorf("the figures are gone: %+v", summary)
				}
				return
			}
			c.empty(t)
		})
	}
}

// TestDeletedMeanwhile has somebody else delete everything. There is nothing to complain of then.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	started, err := c.launcher(JobOptions{}).Start(t.Context(), Task{Spec: []byte("{}"), Workers: 1, Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c.changed.L.Lock()
	c.job, c.secrets = nil, map[string]*corev1.Secret{}
	c.changed.L.Unlock()
	if err := started.End(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestEndWaits has a Job take a while to be gone, and one that is not gone in time.
func TestEndWaits(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	started, err := c.launcher(JobOptions{}).Start(t.Context(), Task{Spec: []byte("{}"), Workers: 1, Limit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var lasting atomic.Int32
	lasting.Store(3)
	c.refuse = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/jobs/") && lasting.Add(-1) >= 0 {
			return apierrors.NewConflict(schema.GroupResource{}, "", errors.New("it is being deleted"))
		}
		return nil
	}
	if err := started.End(t.Context()); err != nil || lasting.Load() != -1 {
		t.Errorf("got %v, with %d questions left", err, lasting.Load())
	}
	lasting.Store(1 << 30)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := started.End(ctx); err == nil || !strings.Contains(err.Error(), "run kubectl delete job,secret -n load crdconform-load-") {
		t.Errorf("got %v", err)
	}
}

// TestLargeSpecs spreads a spec that does not compress over several Secrets.
func TestLargeSpecs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: the specs are of megabytes")
	}
	c := newCluster(t)
	l := jobLoad(t, 200*time.Millisecond)
	noise := make([]byte, 2<<20)
	rand.Read(noise)
	for i := range l.Requests {
		text := hex.EncodeToString(noise[i<<16 : (i+1)<<16])
		l.Requests[i].Objects = []json.RawMessage{[]byte(fmt.Sprintf(
			`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"one","uid":"1","annotations":{"noise":%q}},"hostPort":"localhost:1"}`, text))}
	}
	var most atomic.Int32
	c.refuse = func(*http.Request) *apierrors.StatusError {
		c.changed.L.Lock()
		defer c.changed.L.Unlock()
		most.Store(max(most.Load(), int32(len(c.secrets))))
		return nil
	}
	summary, err := Run(t.Context(), c.launcher(JobOptions{}), l, load.Watch{})
	if err != nil || summary.Requests != 20 || summary.Good != 20 || summary.Partial {
		t.Errorf("got %+v, %v", summary, err)
	}
	if most.Load() != 2 {
		t.Errorf("there were %d Secrets", most.Load())
	}
	c.empty(t)
}

// TestObject looks at the Job as it is created.
func TestObject(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	j := c.launcher(JobOptions{}).job("name", Task{Workers: 7, Limit: 90 * time.Second}, 2)
	encoded, err := yaml.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(encoded, new(batchv1.Job)); err != nil {
		t.Error(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	at := func(path ...any) any {
		var v any = got
		for _, step := range path {
			switch step := step.(type) {
			case string:
				v = v.(map[string]any)[step]
			case int:
				v = v.([]any)[step]
			}
		}
		return v
	}
	pod := []any{"spec", "template", "spec"}
	container := append(pod[:3:3], "containers", 0)
	for _, test := range []struct {
		path []any
		want any
	}{
		{[]any{"metadata", "name"}, "name"},
		{[]any{"metadata", "namespace"}, namespace},
		{[]any{"spec", "completionMode"}, "Indexed"},
		{[]any{"spec", "completions"}, 7.},
		{[]any{"spec", "parallelism"}, 7.},
		{[]any{"spec", "suspend"}, nil},
		{[]any{"spec", "backoffLimitPerIndex"}, 0.},
		{[]any{"spec", "activeDeadlineSeconds"}, 91.},
		{[]any{"spec", "ttlSecondsAfterFinished"}, 300.},
		{append(pod[:3:3], "restartPolicy"), "Never"},
		{append(pod[:3:3], "automountServiceAccountToken"), false},
		{append(pod[:3:3], "securityContext", "runAsNonRoot"), true},
		{append(container[:5:5], "image"), image},
		{append(container[:5:5], "args"), []any{
			"worker", "--spec", "/var/run/crdconform.dev/spec-0", "--spec", "/var/run/crdconform.dev/spec-1", "--orders", "/var/run/crdconform.dev/orders", "--index", "$(JOB_COMPLETION_INDEX)",
		}},
		{append(container[:5:5], "volumeMounts"), []any{map[string]any{"name": "input", "mountPath": "/var/run/crdconform.dev", "readOnly": true}}},
		{append(container[:5:5], "securityContext", "readOnlyRootFilesystem"), true},
		{append(pod[:3:3], "volumes"), []any{map[string]any{"name": "input", "projected": map[string]any{"sources": []any{
			map[string]any{"downwardAPI": map[string]any{"items": []any{
				map[string]any{"path": "orders", "fieldRef": map[string]any{"fieldPath": "metadata.annotations['crdconform.dev/order']"}},
			}}},
			map[string]any{"secret": map[string]any{"name": "name-0"}},
			map[string]any{"secret": map[string]any{"name": "name-1"}},
		}}}}},
	} {
		if got := at(test.path...); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v is %v, want %v", test.path, got, test.want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options JobOptions
		config  rest.Config
		want    string
	}{
		{JobOptions{Image: "b"}, rest.Config{}, "need a namespace"},
		{JobOptions{Namespace: "a"}, rest.Config{}, "need an image"},
		{JobOptions{Namespace: "a", Image: "b"}, rest.Config{AuthProvider: &api.AuthProviderConfig{Name: "none"}}, "none"},
	} {
		if _, err := NewJob(&test.config, test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want something with %q", test.options, err, test.want)
		}
	}
	if f, err := NewJob(&rest.Config{}, JobOptions{Namespace: "a", Image: "b"}); err != nil || f.Lead() != 5*time.Second {
		t.Errorf("got %+v, %v", f, err)
	}
}
