package disruption

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
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
	namespaces := corev1.SchemeGroupVersion.WithResource("namespaces")
	name := "crdconform-" + l.Run + "-objects"
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(name)
	namespace.SetLabels(map[string]string{cluster.RunLabel: l.Run})
	created, err := l.owned.Client.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the namespace %s: %w", name, err)
	}
	l.clients.Namespace = name
	l.owned.Add(kube.Object{Kind: namespace.GroupVersionKind(), Resource: namespaces, Name: name, UID: created.GetUID()})
	return nil
}
