package deployed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/crdconform/crdconform/cluster"
)

// scene is what there is in a cluster that exists in memory only.
type scene struct {
	pods      []corev1.Pod
	ready     int // endpoints
	selector  map[string]string
	more      []runtime.Object
	timeout   time.Duration
	wantReady int
}

func (s scene) webhook(t *testing.T) (*Webhook, *[]string) {
	t.Helper()
	if s.selector == nil {
		s.selector = map[string]string{"app": "webhook"}
	}
	objects := slices.Clone(s.more)
	objects = append(objects, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook", Namespace: "ns"},
		Spec:       corev1.ServiceSpec{Selector: s.selector, Ports: []corev1.ServicePort{{Port: 443}}},
	})
	for i := range s.pods {
		objects = append(objects, &s.pods[i])
	}
	slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new(""), Port: ptr.To[int32](9443)}}, ObjectMeta: metav1.ObjectMeta{Name: "webhook-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "webhook"}}}
	for i := range s.ready {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	objects = append(objects, slice)
	var notes []string
	w := &Webhook{
		Service: Service{"ns", "webhook", 443, "/convert"}, Replicas: max(s.wantReady, 1), client: fake.NewClientset(objects...), redactor: new(redactor),
		options: Options{Run: "r1", Timeout: max(s.timeout, 300*time.Millisecond), Progress: func(note string) { notes = append(notes, note) }},
	}
	return w, &notes
}

func pod(name string, change func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"app": "webhook", cluster.RunLabel: "r1"}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	change(&p)
	return p
}

func waiting(reason, message string, restarts int32, last *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "manager", Image: "widgets:v1", RestartCount: restarts, LastTerminationState: corev1.ContainerState{Terminated: last},
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

func stating(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string, since time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(time.Now().Add(-since))})
	}
}

func event(of string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "ns", CreationTimestamp: metav1.Now()}, Type: "Warning", Reason: "Unhealthy", Count: 3,
		Message: "the probe failed, password=hunter22", InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: of, UID: types.UID(of)},
	}
}

// TestWhatIsAtFault has each way not to get ready described in a sentence, before the time is over where nothing will come of it.
func TestWhatIsAtFault(t *testing.T) {
	t.Parallel()
	ended := func(reason, message string, code, signal int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{Reason: reason, Message: message, ExitCode: code, Signal: signal}
	}
	ready := stating(corev1.PodReady, corev1.ConditionTrue, "", "", 0)
	running := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager", State: corev1.ContainerState{Running: new(corev1.ContainerStateRunning)}}}
	}
	elsewhere := func(p *corev1.Pod) { ready(p); p.Labels["app"] = "other" }
	for name, test := range map[string]struct {
		scene scene
		want  []string
		late  bool // found when the time is over, and not before
	}{
		"crash loop": {
			scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 2, ended("Error", "", 3, 0)))}, more: []runtime.Object{event("a")}},
			[]string{"pod ns/a, container manager repeatedly exits: it exited with code 3, 3 times so far; its last output:\nfake logs", "Warning Pod/a Unhealthy: the probe failed, password=[redacted] (3 times)"},
			false,
		},
		"killed":       {scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 2, ended("OOMKilled", "", 137, 0)))}}, []string{"it ran out of memory"}, false},
		"architecture": {scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 2, ended("StartError", "exec /webhook: exec format error", 128, 0)))}}, []string{"is for another architecture than the node"}, false},
		"no program":   {scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 2, ended("StartError", "no such file: /manager", 128, 0)))}}, []string{"it cannot be started: no such file: /manager"}, false},
		"signal":       {scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 5, ended("Error", "", 0, 11)))}}, []string{"it was terminated by signal 11, 6 times"}, false},
		"one crash":    {scene{pods: []corev1.Pod{pod("a", waiting("CrashLoopBackOff", "", 1, ended("Error", "", 1, 0)))}}, []string{"it is not ready after 300ms: 0 of 1 pods ready: a has CrashLoopBackOff; its last output"}, true},
		"not loaded":   {scene{pods: []corev1.Pod{pod("a", waiting("ErrImageNeverPull", "never", 0, nil))}}, []string{"the image widgets:v1 should have been loaded into the node, but is not there: never"}, false},
		"no pull":      {scene{pods: []corev1.Pod{pod("a", waiting("ImagePullBackOff", "no such host", 0, nil))}}, []string{"the image widgets:v1 cannot be pulled: no such host"}, false},
		"a first pull": {scene{pods: []corev1.Pod{pod("a", waiting("ErrImagePull", "", 0, nil))}}, []string{"0 of 1 pods ready: a has ErrImagePull"}, true},
		"no node":      {scene{pods: []corev1.Pod{pod("a", stating(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "0/1 nodes are available", time.Minute))}}, []string{"pod ns/a is not scheduled: 0/1 nodes are available"}, false},
		"no node yet":  {scene{pods: []corev1.Pod{pod("a", stating(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable", "", -time.Hour))}}, []string{"it is not ready after 300ms: 0 of 1 pods ready: a is pending and not ready"}, true},
		"not ready":    {scene{pods: []corev1.Pod{pod("a", ready), pod("b", running)}, ready: 1, wantReady: 2, more: []runtime.Object{event("b")}}, []string{"1 of 2 pods ready: b is running and not ready; its last output:\nfake logs", "Pod/b Unhealthy"}, true},
		"no pods":      {scene{}, []string{"0 of 1 pods ready; there are no pods"}, true},
		"no creation": {
			scene{more: []runtime.Object{&appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", Labels: map[string]string{cluster.RunLabel: "r1"}},
				Status:     appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}}},
			}}},
			[]string{"the pods of the Deployment d cannot be created: exceeded quota"},
			false,
		},
		"no selector":  {scene{pods: []corev1.Pod{pod("a", ready)}, selector: map[string]string{}}, []string{"has no endpoints: it has no selector"}, false},
		"other labels": {scene{pods: []corev1.Pod{pod("a", elsewhere)}}, []string{"the service ns/webhook has no endpoints: it selects pods with app=webhook, but the pods, which are ready, have other labels, such as a with app=other"}, false},
		"no port":      {scene{pods: []corev1.Pod{pod("a", ready)}}, []string{"though the pods that it selects with app=webhook are ready: check that its targetPort (0) is a port of theirs"}, false},
		"another run's": {
			scene{pods: []corev1.Pod{pod("a", func(p *corev1.Pod) {
				p.Labels[cluster.RunLabel] = "r2"
				waiting("ImagePullBackOff", "", 0, nil)(p)
			})}},
			[]string{"there are no pods"},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !test.late {
				test.scene.timeout = time.Minute
			}
			w, _ := test.scene.webhook(t)
			begun := time.Now()
			err := w.Await(t.Context())
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if late := time.Since(begun) >= w.options.Timeout; late != test.late {
				t.Errorf("it took %s of %s", time.Since(begun), w.options.Timeout)
			}
		})
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	w, notes := scene{pods: []corev1.Pod{pod("a", waiting("ContainerCreating", "", 0, nil))}, timeout: 10 * time.Second}.webhook(t)
	timer := time.AfterFunc(350*time.Millisecond, func() {
		slice, err := w.client.DiscoveryV1().EndpointSlices("ns").Get(t.Context(), "webhook-1", metav1.GetOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		slice.Endpoints = []discoveryv1.Endpoint{{}} // one that says nothing is ready
		if _, err := w.client.DiscoveryV1().EndpointSlices("ns").Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	defer timer.Stop()
	if err := w.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "0 of 1 pods ready: a has ContainerCreating") {
		t.Errorf("before it is ready: %v", err)
	}
	if err := w.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"waiting for the webhook: 0 of 1 pods ready: a has ContainerCreating"}; !slices.Equal(*notes, want) {
		t.Errorf("it said %q, want %q", *notes, want)
	}
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("when it is ready: %v", err)
	}

	w, _ = scene{}.webhook(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := w.Await(ctx); !errors.Is(err, enough) || !strings.Contains(err.Error(), "interrupted while it was starting") {
		t.Errorf("broken off: %v", err)
	}
}
