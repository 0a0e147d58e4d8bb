package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/crdconform/crdconform/cluster"
)

const (
	// patience is how long a state is borne that may pass by itself, such as pods for which a scheduler finds no node.
	patience = 15 * time.Second

	// crashes is how often a container may end before it is said to do nothing else. Some end once, until what they need is
	// there.
	crashes = 2
)

// errTooLate is why a wait ends when its time is over.
var errTooLate = errors.New("it takes too long")

// seen is what there is of the webhook at a moment.
type seen struct {
	at          time.Time
	service     *corev1.Service
	endpoints   []discoveryv1.Endpoint // of the service's port, ready or not
	pods        []corev1.Pod           // of the run in the namespace of the service, sorted by age
	deployments []appsv1.Deployment    // the same
}

// look finds out what there is.
func (w *Webhook) look(ctx context.Context) (seen, error) {
	s := seen{at: time.Now()}
	ours := metav1.ListOptions{LabelSelector: labels.Set{cluster.RunLabel: w.options.Run}.String()}
	var err error
	if s.service, err = w.client.CoreV1().Services(w.Service.Namespace).Get(ctx, w.Service.Name, metav1.GetOptions{}); err != nil {
		return s, err
	}
	slicesOf, err := w.client.DiscoveryV1().EndpointSlices(w.Service.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{discoveryv1.LabelServiceName: w.Service.Name}.String(),
	})
	if err != nil {
		return s, err
	}
	i := slices.IndexFunc(s.service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == w.Service.Port })
	if i < 0 {
		return s, &fault{sentence: fmt.Sprintf("the service %s/%s has no port %d", w.Service.Namespace, w.Service.Name, w.Service.Port)}
	}
	for _, one := range slicesOf.Items {
		// Without a port of that name the service leads to the pods, and to none of their ports.
		if slices.ContainsFunc(one.Ports, func(p discoveryv1.EndpointPort) bool {
			return ptr.Deref(p.Name, "") == s.service.Spec.Ports[i].Name && p.Port != nil
		}) {
			s.endpoints = append(s.endpoints, one.Endpoints...)
		}
	}
	pods, err := w.client.CoreV1().Pods(w.Service.Namespace).List(ctx, ours)
	if err != nil {
		return s, err
	}
	s.pods = pods.Items
	slices.SortFunc(s.pods, func(x, y corev1.Pod) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), strings.Compare(x.Name, y.Name))
	})
	deployments, err := w.client.AppsV1().Deployments(w.Service.Namespace).List(ctx, ours)
	if err != nil {
		return s, err
	}
	s.deployments = deployments.Items
	return s, nil
}

// ready is how many endpoints take calls.
func (s seen) ready() int {
	count := 0
	for _, e := range s.endpoints {
		if ptr.Deref(e.Conditions.Ready, true) {
			count++
		}
	}
	return count
}

// behind returns the pods that the service selects.
func (s seen) behind() []corev1.Pod {
	var selected []corev1.Pod
	for _, pod := range s.pods {
		if len(s.service.Spec.Selector) > 0 && labels.SelectorFromSet(s.service.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			selected = append(selected, pod)
		}
	}
	return selected
}

// summary says how far it is.
func (s seen) summary(want int) string {
	text := fmt.Sprintf("%d of %d pods ready", min(s.ready(), want), want)
	var states []string
	for _, pod := range s.behind() {
		if state := stateOf(pod); state != "" {
			states = append(states, pod.Name+" "+state)
		}
	}
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	return text
}

// stateOf says in few words what a pod waits for, and nothing for one that is ready.
func stateOf(pod corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "is stopping"
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting != nil && status.State.Waiting.Reason != "" {
			return "has " + status.State.Waiting.Reason
		}
	}
	if isReady(pod) {
		return ""
	}
	return "is " + strings.ToLower(string(cmp.Or(pod.Status.Phase, corev1.PodPending))) + " and not ready"
}

func isReady(pod corev1.Pod) bool {
	return podCondition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func podCondition(pod corev1.Pod, of corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == of {
			return c
		}
	}
	return corev1.PodCondition{}
}

// fault is why a webhook does not get ready.
type fault struct {
	sentence  string
	pod       *corev1.Pod // at fault; nil for none in particular
	container string      // of the pod, whose log says more; empty for none
	previous  bool        // whether the log is of the container before the present one
}

func (f *fault) Error() string { return f.sentence }

// await waits until so many pods are behind the service and ready. It fails before the context does when nothing will come
// of it.
func (w *Webhook) await(ctx context.Context, want int) error {
	last := ""
	var lonely time.Time // since when all pods are ready and none is behind the service
	return poll(ctx, func() (bool, error) {
		now, err := w.look(ctx)
		if err != nil {
			return false, err
		}
		if now.ready() >= want && want > 0 {
			return true, nil
		}
		if f := now.fault(); f != nil {
			return false, f
		}
		if !now.isLonely() {
			lonely = time.Time{}
		} else if lonely.IsZero() {
			lonely = now.at
		} else if now.at.Sub(lonely) > patience/3 {
			return false, now.noEndpoints()
		}
		if text := now.summary(want); text != last {
			w.options.note("waiting for the webhook: %s", text)
			last = text
		}
		return false, nil
	})
}

// fault returns why it will not get ready, or nil while it may.
func (s seen) fault() *fault {
	pods := s.behind()
	if len(pods) == 0 {
		pods = s.pods
	}
	for i := range pods {
		if f := faultOf(&pods[i], s.at); f != nil {
			return f
		}
	}
	for _, d := range s.deployments {
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue && s.at.Sub(c.LastTransitionTime.Time) > patience {
				return &fault{sentence: fmt.Sprintf("the pods of the Deployment %s cannot be created: %s", d.Name, c.Message)}
			}
		}
	}
	return nil
}

// faultOf returns why a pod will not get ready, or nil while it may.
func faultOf(pod *corev1.Pod, now time.Time) *fault {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	name := "pod " + pod.Namespace + "/" + pod.Name
	if c := podCondition(*pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable && now.Sub(c.LastTransitionTime.Time) > patience {
		return &fault{sentence: fmt.Sprintf("%s is not scheduled: %s", name, c.Message), pod: pod}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if f := faultOfContainer(name, status); f != nil {
			f.pod = pod
			return f
		}
	}
	return nil
}

func faultOfContainer(pod string, status corev1.ContainerStatus) *fault {
	waiting := status.State.Waiting
	if waiting == nil {
		return nil
	}
	at := fmt.Sprintf("%s, container %s", pod, status.Name)
	switch waiting.Reason {
	case "ErrImageNeverPull":
		return &fault{sentence: fmt.Sprintf("%s: the image %s should have been loaded into the node, but is not there: %s", at, status.Image, waiting.Message)}
	case "ImagePullBackOff", "InvalidImageName", "ErrImageNotFound":
		return &fault{sentence: fmt.Sprintf("%s: the image %s cannot be pulled: %s", at, status.Image, waiting.Message)}
	case "CrashLoopBackOff":
		if status.RestartCount < crashes {
			return nil
		}
		return &fault{sentence: fmt.Sprintf("%s repeatedly exits: %s, %d times so far", at, ending(status.LastTerminationState.Terminated), status.RestartCount+1), container: status.Name, previous: true}
	}
	return nil
}

// ending says how a container ended.
func ending(t *corev1.ContainerStateTerminated) string {
	switch {
	case t == nil:
		return "it ended"
	case strings.Contains(t.Message, "exec format error"):
		return "its program is for another architecture than the node, or not a program (exec format error)"
	case t.Reason == "OOMKilled":
		return "it ran out of memory (OOMKilled)"
	case t.Reason == "StartError" || t.Reason == "ContainerCannotRun":
		return "it cannot be started: " + t.Message
	case t.Signal != 0:
		return fmt.Sprintf("it was terminated by signal %d", t.Signal)
	}
	return fmt.Sprintf("it exited with code %d", t.ExitCode)
}

// isLonely reports whether there are pods, all of them ready, and the service leads to none.
func (s seen) isLonely() bool {
	return len(s.endpoints) == 0 && len(s.pods) > 0 && !slices.ContainsFunc(s.pods, func(pod corev1.Pod) bool { return !isReady(pod) })
}

// noEndpoints says why a service leads nowhere.
func (s seen) noEndpoints() *fault {
	name := fmt.Sprintf("the service %s/%s has no endpoints", s.service.Namespace, s.service.Name)
	selector := labels.SelectorFromSet(s.service.Spec.Selector).String()
	if len(s.service.Spec.Selector) == 0 {
		return &fault{sentence: name + ": it has no selector, so it selects no pods"}
	}
	pods := s.behind()
	if len(pods) == 0 {
		pod := s.pods[len(s.pods)-1]
		return &fault{sentence: fmt.Sprintf("%s: it selects pods with %s, but the pods, which are ready, have other labels, such as %s with %s", name, selector, pod.Name, labels.Set(pod.Labels))}
	}
	var targets []string
	for _, port := range s.service.Spec.Ports {
		targets = append(targets, port.TargetPort.String())
	}
	return &fault{sentence: fmt.Sprintf("%s, though the pods that it selects with %s are ready: check that its targetPort (%s) is a port of theirs", name, selector, strings.Join(targets, ", "))}
}

// explain completes the error of a wait by what the pod at fault says of itself.
func (w *Webhook) explain(ctx context.Context, err error, limit time.Duration) error {
	var known *fault
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted while it was starting: %w", cmp.Or(context.Cause(ctx), ctx.Err()))
	case errors.As(err, &known):
		return w.describe(ctx, known)
	case !errors.Is(err, errTooLate):
		return err
	}
	now, lookErr := w.look(ctx)
	if lookErr != nil {
		return errors.Join(fmt.Errorf("it is not ready after %s", limit), lookErr)
	}
	return w.blame(ctx, now, fmt.Sprintf("it is not ready after %s: %s", limit, now.summary(w.Replicas)))
}

// blame finds the pod that is most likely at fault when none is for certain, and adds what it says to a sentence.
func (w *Webhook) blame(ctx context.Context, now seen, sentence string) error {
	pods := now.behind()
	if len(pods) == 0 {
		pods = now.pods
	}
	f := &fault{sentence: sentence}
	for i := range pods {
		if isReady(pods[i]) || pods[i].DeletionTimestamp != nil {
			continue
		}
		f.pod = &pods[i]
		for _, status := range slices.Concat(pods[i].Status.ContainerStatuses, pods[i].Status.InitContainerStatuses) {
			if !status.Ready && (status.State.Waiting == nil || status.RestartCount > 0) { // one that never ran has no log
				f.container = status.Name
				f.previous = status.State.Running == nil && status.RestartCount > 0
			}
		}
		break
	}
	if len(pods) == 0 {
		f.sentence += "; there are no pods"
	}
	return w.describe(ctx, f)
}
