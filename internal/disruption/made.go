package disruption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
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

func (m *made) definition(crds apiextensionsclient.CustomResourceDefinitionInterface, crd *apiextensionsv1.CustomResourceDefinition) {
	*m = append(*m, creation{
		"the definition " + crd.Name, crd.UID,
		func(ctx context.Context, o metav1.DeleteOptions) error { return crds.Delete(ctx, crd.Name, o) },
		func(ctx context.Context) (types.UID, error) {
			now, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return now.UID, nil
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
	l.made = append(l.made, creation{
		"the namespace " + name, created.UID,
		func(ctx context.Context, o metav1.DeleteOptions) error { return namespaces.Delete(ctx, name, o) },
		func(ctx context.Context) (types.UID, error) {
			now, err := namespaces.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			return now.UID, nil
		},
	})
	return nil
}
