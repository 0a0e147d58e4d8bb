package disruption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/crdconform/crdconform/cluster"
)

// goneEvery is how often the API server is asked whether something is gone.
const goneEvery = 200 * time.Millisecond

// made is what was created in a cluster that outlives the run, in the order of its creation.
type made []creation

// creation is something that was created.
type creation struct {
	what   string
	uid    types.UID
	remove func(context.Context, metav1.DeleteOptions) error
	lookUp func(context.Context) (types.UID, error)
}

// creator is the client of a resource.
type creator[T metav1.Object] interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
}

// add adds something that a client has created.
func add[T metav1.Object](m *made, what string, o T, client creator[T]) {
	*m = append(*m, creation{
		what + " " + o.GetName(), o.GetUID(),
		func(ctx context.Context, options metav1.DeleteOptions) error {
			return client.Delete(ctx, o.GetName(), options)
		},
		func(ctx context.Context) (types.UID, error) {
			now, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return now.GetUID(), nil
		},
	})
}

// remove deletes what was created, the last first, and waits until it is gone. What others made in its place is left alone.
func (m *made) remove(ctx context.Context) error {
	within, cancel := undoing(ctx)
	defer cancel()
	var errs []error
	for _, c := range slices.Backward(*m) {
		err := c.remove(within, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.uid}})
		if err == nil {
			err = wait.PollUntilContextCancel(within, goneEvery, true, func(ctx context.Context) (bool, error) {
				uid, missing := c.lookUp(ctx)
				return apierrors.IsNotFound(missing) || missing == nil && uid != c.uid, nil
			})
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("removing %s: %w; \"crdconform cleanup\" removes it", c.what, err))
		}
	}
	*m = nil
	return errors.Join(errs...)
}

// labelled adds the label of the run to what outlives it otherwise.
func (l *lab) labelled(m metav1.ObjectMeta) metav1.ObjectMeta {
	if l.Run == "" {
		return m
	}
	m.Labels = maps.Clone(m.Labels)
	if m.Labels == nil {
		m.Labels = map[string]string{}
	}
	m.Labels[cluster.RunLabel] = l.Run
	return m
}

// createNamespace creates a namespace for the objects in a cluster that others may use.
func (l *lab) createNamespace(ctx context.Context) error {
	if l.Run == "" || l.api.namespace == "" {
		return nil
	}
	client, err := kubernetes.NewForConfig(l.cluster.Config())
	if err != nil {
		return err
	}
	namespaces := client.CoreV1().Namespaces()
	name := "crdconform-" + l.Run + "-objects"
	created, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: l.labelled(metav1.ObjectMeta{Name: name})}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the namespace %s: %w", name, err)
	}
	l.api.namespace = name
	add(&l.made, "the namespace", created, namespaces)
	return nil
}
