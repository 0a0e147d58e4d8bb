package workers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// pulling is how long an image may fail to be pulled. A registry may be away for a moment; a name with a mistake in it
	// stays wrong.
	pulling = time.Minute

	// listing is how long the API server may take to list the pods, and dismissing how long to delete one.
	listing    = 30 * time.Second
	dismissing = 10 * time.Second
)

// workerPods are the pods of one Job.
type workerPods struct {
	*Job

	name    string   // of the Job
	created bool     // whether the Job may be there
	secrets []string // that may be

	mu    sync.Mutex
	last  *glance  // at all pods; nil before the first
	names []string // of the pods by their index; empty for those that are not there yet
}

// Follow reads the log of a pod, again from its beginning when the connection broke, until the pod has ended. One that is
// given up is deleted, since it would go on loading.
func (c *workerPods) Follow(ctx context.Context, index int, line func([]byte)) error {
	over, err := c.follow(ctx, index, line)
	if name := c.podName(index); !over && name != "" {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), dismissing)
		defer cancel()
		if left := gone(c.pods.Delete(within, name, metav1.DeleteOptions{})); left != nil {
			return fmt.Errorf("%w; it may continue to send load, because it could not be deleted: %w", err, c.explain("delete the pod "+name, left))
		}
	}
	return err
}

// follow returns why a worker ended or is to be given up, and whether its pod is over.
func (c *workerPods) follow(ctx context.Context, index int, line func([]byte)) (over bool, _ error) {
	state := errors.New("it has no pod yet; see kubectl describe job -n " + c.namespace + " " + c.name)
	var failing time.Time // since when its image cannot be pulled; zero when that is not so
	for {
		pod, err := c.pod(ctx, index)
		switch {
		case ctx.Err() != nil:
			return false, state
		case apierrors.IsForbidden(err):
			return false, c.explain("look for pods", err)
		case err != nil:
			state = c.explain("look for pods", err)
		case pod == nil && c.podName(index) != "":
			return true, fmt.Errorf("pod %s is gone", c.podName(index))
		case pod == nil:
		case pod.Status.Phase == corev1.PodPending:
			reason, final := pending(pod)
			state = fmt.Errorf("pod %s: %s", pod.Name, reason)
			switch {
			case !hopeless(pod):
				failing = time.Time{}
			case failing.IsZero():
				failing = time.Now()
			}
			if final || !failing.IsZero() && time.Since(failing) > c.pulling {
				return false, state
			}
		default:
			state = fmt.Errorf("pod %s is still running", pod.Name)
			err = c.read(ctx, pod.Name, line)
			switch {
			case ctx.Err() != nil:
			case apierrors.IsForbidden(err):
				return false, c.explain("read the log of the pod "+pod.Name, err)
			case err != nil:
				state = fmt.Errorf("pod %s: its log: %w", pod.Name, err)
			case ended(pod): // before its log was read, so that is all of it
				return true, outcome(pod)
			}
		}
		if !c.wait(ctx) {
			return false, state
		}
	}
}

// wait waits until it is time to look again. It returns false when the context ends.
func (c *workerPods) wait(ctx context.Context) bool { return pause.For(ctx, c.polling) == nil }

// glance is a list of all pods of the Job.
type glance struct {
	began time.Time
	done  chan struct{} // closed when the rest is known
	pods  []corev1.Pod  // the oldest first
	err   error
}

// look lists the pods. However many workers ask, the API server is asked once for each time that they are looked at.
func (c *workerPods) look(ctx context.Context) ([]corev1.Pod, error) {
	c.mu.Lock()
	g := c.last
	if g == nil || g.over() && time.Since(g.began) >= c.polling {
		g = &glance{began: time.Now(), done: make(chan struct{})}
		c.last = g
		go c.list(context.WithoutCancel(ctx), g) // it is for all workers, of which one may be given up
	}
	c.mu.Unlock()
	select {
	case <-g.done:
		return g.pods, g.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *glance) over() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (c *workerPods) list(ctx context.Context, g *glance) {
	defer close(g.done)
	within, cancel := context.WithTimeout(ctx, listing)
	defer cancel()
	list, err := c.pods.List(within, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + c.name})
	if err != nil {
		g.err = err
		return
	}
	g.pods = list.Items
	slices.SortStableFunc(g.pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
}

// pod returns the first pod with an index, or nil if there is none.
func (c *workerPods) pod(ctx context.Context, index int) (*corev1.Pod, error) {
	pods, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range pods {
		pod, known := &pods[i], c.names[index]
		if pod.Name == known || known == "" && pod.Annotations[batchv1.JobCompletionIndexAnnotation] == strconv.Itoa(index) {
			c.names[index] = pod.Name
			return pod, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and nothing is wrong
}

func (c *workerPods) podName(index int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[index]
}

// read passes the lines of a pod's log on until the log ends.
func (c *workerPods) read(ctx context.Context, pod string, line func([]byte)) error {
	log, err := c.pods.GetLogs(pod, &corev1.PodLogOptions{Container: c.container(), Follow: true}).Stream(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	buffered := bufio.NewReader(log)
	for {
		text, err := buffered.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			line(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// container is the name of the container of a worker.
func (f *Job) container() string { return f.template.Spec.Template.Spec.Containers[0].Name }

// status returns the status of the worker's container, or nil if it has none yet.
func status(pod *corev1.Pod) *corev1.ContainerStatus {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == pod.Spec.Containers[0].Name {
			return s
		}
	}
	return nil
}

// pending says what a pod waits for, and whether in vain.
func pending(pod *corev1.Pod) (reason string, final bool) {
	if s := status(pod); s != nil && s.State.Waiting != nil {
		waiting := s.State.Waiting
		return join("it waits", waiting.Reason, waiting.Message), slices.Contains([]string{"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}, waiting.Reason)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status == corev1.ConditionFalse && condition.Type == corev1.PodScheduled {
			return join("it is not scheduled", condition.Reason, condition.Message), false
		}
	}
	return "it is pending", false
}

// hopeless reports whether the image of a pod could not be pulled so far.
func hopeless(pod *corev1.Pod) bool {
	s := status(pod)
	return s != nil && s.State.Waiting != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff"}, s.State.Waiting.Reason)
}

// ended reports whether a pod writes no more.
func ended(pod *corev1.Pod) bool {
	s := status(pod)
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || s != nil && s.State.Terminated != nil
}

// outcome says why a pod did not end with success; nil when it did.
func outcome(pod *corev1.Pod) error {
	s := status(pod)
	switch {
	case s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0, pod.Status.Phase == corev1.PodSucceeded:
		return nil
	case s != nil && s.State.Terminated != nil:
		return fmt.Errorf("pod %s: %s", pod.Name, join(fmt.Sprintf("exit status %d", s.State.Terminated.ExitCode), s.State.Terminated.Reason, s.State.Terminated.Message, pod.Status.Message))
	}
	return fmt.Errorf("pod %s: %s", pod.Name, join("it failed", pod.Status.Reason, pod.Status.Message))
}

// join joins the messages about a pod to one sentence. "Error" adds nothing, so it is left out.
func join(what string, more ...string) string {
	all := []string{what}
	for _, text := range more {
		if text != "" && text != "Error" {
			all = append(all, strings.TrimSpace(text))
		}
	}
	return strings.Join(all, ", ")
}

// Send annotates the pod of a worker with an order.
func (c *workerPods) Send(ctx context.Context, index int, order []byte) error {
	name := c.podName(index)
	if name == "" {
		return errors.New("it has no pod")
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{orderAnnotation: string(order)}}})
	if err != nil {
		return err
	}
	for {
		_, err = c.pods.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		// The API server may be away for a moment.
		if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || !c.wait(ctx) {
			return c.explain("annotate the pod "+name, err)
		}
	}
}
