package disruption

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
)

// removeOwned deletes what was created in a cluster that outlives the run.
func (l *lab) removeOwned(ctx context.Context) error {
	within, cancel := undoing(ctx)
	defer cancel()
	if err := l.owned.Remove(within); err != nil {
		return fmt.Errorf("%w; \"crdconform cleanup\" removes it", err)
	}
	return nil
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
	if l.Run == "" || l.clients.Namespace == "" {
		return nil
	}
	name := "crdconform-" + l.Run + "-objects"
	created, err := l.owned.Namespace(ctx, name, l.Run)
	if err == nil && !created {
		err = fmt.Errorf("the namespace %s exists already, and does not belong to this run", name)
	}
	l.clients.Namespace = name
	return err
}
