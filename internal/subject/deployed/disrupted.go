package deployed

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/crdconform/crdconform/internal/pause"
)

// restartedAt is the annotation by which "kubectl rollout restart" has pods replaced.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// refreshedAt is the annotation of pods whose volumes are to be brought up to date.
const refreshedAt = "crdconform.dev/refreshed-at"

// ErrNotReady is returned when pods do not get ready, which is the webhook's fault or its cluster's.
var ErrNotReady = errors.New("the webhook's pods are not ready")

// Address is where the webhook answers on this machine: connections are led to its pods in turn.
func (w *Webhook) Address() string { return w.forward.address() }

// Scale gives the webhook another number of pods, and waits until there are exactly so many, all of them ready. It must not run beside
// other methods.
func (w *Webhook) Scale(ctx context.Context, replicas int) error {
	d, err := w.deployment(ctx)
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: int32(replicas)}} //nolint:gosec // a few
	if _, err = w.client.AppsV1().Deployments(d.Namespace).UpdateScale(ctx, d.Name, scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("webhook in the cluster: scaling the Deployment %s: %w", d.Name, err)
	}
	w.Replicas = replicas
	return w.Settle(ctx)
}

// RollOut replaces all pods as "kubectl rollout restart" does, and waits until the former ones are gone.
func (w *Webhook) RollOut(ctx context.Context) error {
	all := func(corev1.Pod) bool { return true }
	return w.roll(ctx, all, func(appsv1.Deployment) (string, error) {
		return fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, restartedAt, time.Now().UTC().Format(time.RFC3339Nano)), nil
	})
}

// Image is one that pods can be made of.
type Image struct {
	Reference string
	Loaded    bool // the nodes have it already, and are not to look for it in a registry
}

func (i Image) pullPolicy() corev1.PullPolicy {
	if i.Loaded {
		return corev1.PullNever
	}
	return corev1.PullIfNotPresent
}

// RollTo replaces the pods of other images by those of an image as "kubectl set image" does, and waits until they are gone. The pods must
// have one container.
func (w *Webhook) RollTo(ctx context.Context, image Image) error {
	other := func(pod corev1.Pod) bool {
		c, err := only(pod.Spec)
		return err != nil || c.Image != image.Reference
	}
	return w.roll(ctx, other, func(d appsv1.Deployment) (string, error) {
		c, err := only(d.Spec.Template.Spec)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":%q,"imagePullPolicy":%q}]}}}}`, c.Name, image.Reference, image.pullPolicy()), nil
	})
}

// Image returns the image of the pods, which must have one container.
func (w *Webhook) Image(ctx context.Context) (Image, error) {
	d, err := w.deployment(ctx)
	if err != nil {
		return Image{}, err
	}
	c, err := only(d.Spec.Template.Spec)
	if err != nil {
		return Image{}, fmt.Errorf("webhook in the cluster: the Deployment %s: %w", d.Name, err)
	}
	return Image{Reference: c.Image, Loaded: c.ImagePullPolicy == corev1.PullNever}, nil
}

// only returns the container of pods that have one.
func only(pod corev1.PodSpec) (corev1.Container, error) {
	if n := len(pod.Containers); n != 1 {
		return corev1.Container{}, fmt.Errorf("its pods have %d containers, and which of them is the webhook is not known", n)
	}
	return pod.Containers[0], nil
}

// roll patches the Deployment, and waits until the pods are gone that it replaces by that.
func (w *Webhook) roll(ctx context.Context, replaces func(corev1.Pod) bool, patch func(appsv1.Deployment) (string, error)) error {
	d, err := w.deployment(ctx)
	if err != nil {
		return err
	}
	before, err := w.look(ctx)
	if err != nil {
		return fmt.Errorf("webhook in the cluster: %w", err)
	}
	change, err := patch(*d)
	if err == nil {
		_, err = w.client.AppsV1().Deployments(d.Namespace).Patch(ctx, d.Name, types.StrategicMergePatchType, []byte(change), metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("webhook in the cluster: replacing the pods of the Deployment %s: %w", d.Name, err)
	}
	var former []types.UID
	for _, pod := range before.behind() {
		if replaces(pod) {
			former = append(former, pod.UID)
		}
	}
	return w.Settle(ctx, former...)
}

// stoppingPatience is how long the event may take that a kubelet has begun to stop a pod. Events can be lost.
const stoppingPatience = 3 * time.Second

// Stopping waits until a kubelet has begun to stop a pod that was deleted, or a moment if nothing says so.
func (w *Webhook) Stopping(ctx context.Context, id types.UID) error {
	within, cancel := context.WithTimeout(ctx, stoppingPatience)
	defer cancel()
	about := metav1.ListOptions{FieldSelector: fields.Set{"involvedObject.uid": string(id), "reason": "Killing"}.String()}
	_ = poll(within, func() (bool, error) { // an event that can't be read is one that is lost
		events, err := w.client.CoreV1().Events(w.Service.Namespace).List(within, about)
		return err == nil && len(events.Items) > 0, nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Gone waits until a pod that was deleted is gone, which is when its node has said that nothing of it runs any more.
func (w *Webhook) Gone(ctx context.Context, name string, id types.UID) error {
	limit := cmp.Or(w.options.Timeout, defaultTimeout)
	until, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the pod %s still exists after %s", name, limit))
	defer cancel()
	err := poll(until, func() (bool, error) {
		pod, err := w.client.CoreV1().Pods(w.Service.Namespace).Get(until, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && pod.UID != id, err
	})
	if err != nil {
		return fmt.Errorf("webhook in the cluster: %w", err)
	}
	return nil
}

// Grace is how long a pod of the webhook is given to stop.
func (w *Webhook) Grace(ctx context.Context) (time.Duration, error) {
	d, err := w.deployment(ctx)
	if err != nil {
		return 0, err
	}
	return time.Duration(ptr.Deref(d.Spec.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second, nil
}

// Crashes describes containers of the webhook's pods that ended by themselves and were started again.
func (w *Webhook) Crashes(ctx context.Context) ([]string, error) {
	now, err := w.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	var all []string
	for _, pod := range now.behind() {
		for _, status := range pod.Status.ContainerStatuses {
			if status.RestartCount > 0 {
				all = append(all, fmt.Sprintf("container %s of the pod %s ended by itself, and was started again (restarts: %d)", status.Name, pod.Name, status.RestartCount))
			}
		}
	}
	return all, nil
}

// Issued reports whether the certificate of the webhook is one of the run, so that it can be replaced.
func (w *Webhook) Issued() bool { return w.authority != nil }

// refreshPause is how long a kubelet has until it knows of a Secret that was changed.
const refreshPause = time.Second

// ReplaceCertificate puts another certificate of the same authority into the Secret that the pods mount, and returns it. Kubelets bring
// volumes up to date when they look after a pod, which is once a minute unless the pod changes, so the pods get an annotation.
func (w *Webhook) ReplaceCertificate(ctx context.Context) (*x509.Certificate, error) {
	if !w.Issued() {
		return nil, errors.New("webhook in the cluster: its certificate is not one of the run")
	}
	secret, err := issueBy(w.authority, w.Service, w.secret)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	w.redactor.Secret(secret.Data)
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	secrets := w.client.CoreV1().Secrets(w.Service.Namespace)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, wrong := secrets.Get(ctx, w.secret, metav1.GetOptions{})
		if wrong != nil {
			return wrong
		}
		maps.Copy(now.Data, secret.Data)
		_, wrong = secrets.Update(ctx, now, metav1.UpdateOptions{})
		return wrong
	})
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: replacing its certificate: %w", err)
	}
	if err = pause.For(ctx, refreshPause); err != nil {
		return nil, err
	}
	return leaf, w.refresh(ctx)
}

// refresh has the kubelets look after the pods.
func (w *Webhook) refresh(ctx context.Context) error {
	now, err := w.look(ctx)
	if err != nil {
		return fmt.Errorf("webhook in the cluster: %w", err)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, refreshedAt, time.Now().UTC().Format(time.RFC3339Nano))
	for _, pod := range now.behind() {
		if _, err = w.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("webhook in the cluster: %w", err)
		}
	}
	return nil
}

// deployment returns the one that makes the pods of the webhook.
func (w *Webhook) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	now, err := w.look(ctx)
	if err != nil {
		return nil, fmt.Errorf("webhook in the cluster: %w", err)
	}
	selected := slices.DeleteFunc(now.deployments, func(d appsv1.Deployment) bool {
		return !labels.SelectorFromSet(now.service.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels))
	})
	if len(selected) != 1 {
		return nil, fmt.Errorf("webhook in the cluster: %d Deployments make pods of the service %s; to scale and restart them, there must be exactly one", len(selected), w.Service)
	}
	return &selected[0], nil
}

// Settle waits until exactly as many pods are there as there should be, all of them ready and none of them a former one.
func (w *Webhook) Settle(ctx context.Context, former ...types.UID) error {
	limit := cmp.Or(w.options.Timeout, defaultTimeout)
	until, cancel := context.WithTimeoutCause(ctx, limit, errTooLate)
	defer cancel()
	err := poll(until, func() (bool, error) {
		now, err := w.look(until)
		if err != nil {
			return false, err
		}
		if f := now.without(former).fault(); f != nil {
			return false, f
		}
		return now.settled(w.Replicas, former), nil
	})
	if err == nil {
		return nil
	}
	blamed := errors.Is(err, errTooLate) || errors.As(err, new(*fault)) // which an explanation replaces
	if err = w.explain(ctx, err, limit); blamed {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return fmt.Errorf("webhook in the cluster: %w", err)
}

// without is what is seen apart from some pods. What is wrong with these is over as soon as they are gone.
func (s seen) without(former []types.UID) seen {
	s.pods = slices.DeleteFunc(slices.Clone(s.pods), func(pod corev1.Pod) bool { return slices.Contains(former, pod.UID) })
	return s
}

// settled reports whether there are exactly so many pods, all ready and in the service, and none of them a former one.
func (s seen) settled(want int, former []types.UID) bool {
	pods := s.behind()
	if len(pods) != want || s.ready() != want {
		return false
	}
	for _, pod := range pods {
		if !isReady(pod) || pod.DeletionTimestamp != nil || slices.Contains(former, pod.UID) {
			return false
		}
	}
	for _, e := range s.endpoints {
		if e.TargetRef != nil && slices.Contains(former, e.TargetRef.UID) {
			return false
		}
	}
	return true
}
