package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/pause"
)

const (
	defaultClients = 8
	defaultAround  = 2 * time.Second
)

// Kill deletes a pod of the webhook that is ready, the oldest, and returns its name and ID. It does not wait until it is gone.
// The pod has so long to stop, in whole seconds; 0 is no time at all, and a negative time what the pod itself says.
func (w *Webhook) Kill(ctx context.Context, grace time.Duration) (string, types.UID, error) {
	now, err := w.look(ctx)
	if err != nil {
		return "", "", fmt.Errorf("killing a pod of the webhook: %w", err)
	}
	pods := now.behind()
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return isReady(pod) && pod.DeletionTimestamp == nil })
	if i < 0 {
		return "", "", errors.New("killing a pod of the webhook: none is ready")
	}
	o := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pods[i].UID}}
	if grace >= 0 {
		o.GracePeriodSeconds = new(int64(grace / time.Second))
	}
	if err := w.client.CoreV1().Pods(pods[i].Namespace).Delete(ctx, pods[i].Name, o); err != nil {
		return "", "", fmt.Errorf("killing a pod of the webhook: %w", err)
	}
	return pods[i].Name, pods[i].UID, nil
}

// Kills says how a pod is killed under load.
type Kills struct {
	// Convert makes one conversion, for instance by reading an object at another version than the stored one, and fails when
	// that fails. Many goroutines call it at a time.
	Convert func(ctx context.Context) error

	Clients int           // that convert, each one after another; 0 for 8
	Around  time.Duration // how long they do so before the pod is killed, and after it was replaced; 0 for 2 s

	// Grace is how long the pod has to stop, in whole seconds: 0 for no time at all, negative for what the pod itself says.
	Grace time.Duration
}

// Outage is what clients met while a pod was killed.
type Outage struct {
	Pod         string        // that was killed
	Conversions int           // all of them
	Replaced    time.Duration // from the deletion until there were as many ready pods as before

	// InFlight failed, and were under way when the pod was deleted.
	InFlight []Failure
	// Stopping failed, and began after the pod was deleted and before it was gone: the service led them to a pod that was about
	// to stop, or had.
	Stopping []Failure
	// Others failed at any other time.
	Others []Failure
}

// Failure is a conversion that failed. Its times are counted from the deletion of the pod, negative before it.
type Failure struct {
	Began, Ended time.Duration
	Err          error
}

// Problem reports failures that clients should not have seen: all but those of conversions in progress when the pod was
// deleted. It is nil when there is none.
func (o Outage) Problem() error {
	late := slices.Concat(o.Stopping, o.Others)
	if len(late) == 0 {
		return nil
	}
	slices.SortStableFunc(late, func(x, y Failure) int { return cmp.Compare(x.Began, y.Began) })
	first, last := late[0], late[len(late)-1]
	return fmt.Errorf("%d of %d conversions that were not in progress when the pod %s was deleted failed, from %s to %s after that; the first: %w",
		len(late), o.Conversions, o.Pod, first.Began.Round(time.Millisecond), last.Ended.Round(time.Millisecond), first.Err)
}

// String says it in a line.
func (o Outage) String() string {
	return fmt.Sprintf("%d conversions, pod %s killed and replaced in %s; failed: %d in progress, %d while it stopped, %d others",
		o.Conversions, o.Pod, o.Replaced.Round(time.Millisecond), len(o.InFlight), len(o.Stopping), len(o.Others))
}

// KillUnderLoad has clients convert, kills one of the webhook's pods meanwhile, and waits until there is another one in its
// place. It requires at least two pods, because otherwise none is left to convert. The error says why it could not be tried.
func (w *Webhook) KillUnderLoad(ctx context.Context, k Kills) (Outage, error) {
	if w.Replicas < 2 {
		return Outage{}, fmt.Errorf("killing a pod under load: the webhook has %d, but at least two are required; deploy it with more replicas", w.Replicas)
	}
	if k.Convert == nil {
		return Outage{}, errors.New("killing a pod under load: there is no load")
	}
	if err := w.Await(ctx); err != nil {
		return Outage{}, err
	}
	if err := k.Convert(ctx); err != nil {
		return Outage{}, fmt.Errorf("killing a pod under load: conversions fail before a pod is killed: %w", err)
	}
	var o Outage
	var deleted, gone time.Time
	calls, err := k.load(ctx, func(ctx context.Context) error {
		if err := pause.For(ctx, cmp.Or(k.Around, defaultAround)); err != nil {
			return err
		}
		deleted = time.Now()
		name, id, err := w.Kill(ctx, k.Grace)
		if err != nil {
			return err
		}
		o.Pod = name
		if err := w.Gone(ctx, name, id); err != nil {
			return err
		}
		gone = time.Now()
		if err := w.Await(ctx); err != nil {
			return err
		}
		o.Replaced = time.Since(deleted)
		return pause.For(ctx, cmp.Or(k.Around, defaultAround))
	})
	if err != nil {
		return Outage{}, fmt.Errorf("killing a pod under load: %w", err)
	}
	return o.with(calls, deleted, gone), nil
}

// call is a conversion.
type call struct {
	began, ended time.Time
	err          error
}

// load has clients convert while something is done, and returns what they met. Conversions in progress at the end are
// finished.
func (k Kills) load(ctx context.Context, during func(context.Context) error) ([]call, error) {
	var clients sync.WaitGroup
	stop := make(chan struct{})
	all := make([][]call, cmp.Or(k.Clients, defaultClients))
	for i := range all {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := call{began: time.Now(), err: k.Convert(ctx)}
				c.ended = time.Now()
				all[i] = append(all[i], c)
			}
		})
	}
	err := during(ctx)
	close(stop)
	clients.Wait()
	return slices.Concat(all...), err
}

// with counts the conversions and classifies the failures.
func (o Outage) with(calls []call, deleted, gone time.Time) Outage {
	o.Conversions = len(calls)
	for _, c := range calls {
		if c.err == nil {
			continue
		}
		f := Failure{c.began.Sub(deleted), c.ended.Sub(deleted), c.err}
		switch {
		case c.began.Before(deleted) && !c.ended.Before(deleted):
			o.InFlight = append(o.InFlight, f)
		case !c.began.Before(deleted) && c.began.Before(gone):
			o.Stopping = append(o.Stopping, f)
		default:
			o.Others = append(o.Others, f)
		}
	}
	return o
}
