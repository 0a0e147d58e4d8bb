package kind

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/kube"
)

// poll is how often a cluster is asked whether it is ready.
const poll = 200 * time.Millisecond

// Ready waits until a cluster is ready to be used, for 2 minutes if the time is 0. Start has done so.
func Ready(ctx context.Context, config *rest.Config, timeout time.Duration) error {
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		err = ready(ctx, client, cmp.Or(timeout, readyTimeout))
	}
	if err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	return nil
}

// ready waits until a cluster is: all nodes say that they are, the proxy of each runs so that services lead somewhere, and
// pods can be created in the default namespace.
func ready(ctx context.Context, client kubernetes.Interface, timeout time.Duration) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lacks := ""
	err := kube.Until(limit, poll, func(ctx context.Context) (bool, error) {
		lacks = missing(ctx, client)
		return lacks == "", nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return fmt.Errorf("the cluster is not ready after %s: %s", timeout, lacks)
}

// missing says what a cluster lacks to be ready, or nothing.
func missing(ctx context.Context, client kubernetes.Interface) string {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	if len(nodes.Items) == 0 {
		return "there is no node"
	}
	for _, node := range nodes.Items {
		if why := unready(node); why != "" {
			return why
		}
	}
	proxies, err := client.AppsV1().DaemonSets("kube-system").Get(ctx, "kube-proxy", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err): // a configuration may leave it out, and have something else in its place
	case err != nil:
		return err.Error()
	case proxies.Status.NumberReady == 0 || proxies.Status.NumberReady < proxies.Status.DesiredNumberScheduled:
		return fmt.Sprintf("kube-proxy runs on %d of %d nodes", proxies.Status.NumberReady, proxies.Status.DesiredNumberScheduled)
	}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

// unready says why a node is not ready, or nothing if it is.
func unready(node corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue {
			return ""
		}
		return fmt.Sprintf("the node %s is not ready: %s", node.Name, condition.Message)
	}
	return fmt.Sprintf("the node %s has not reported ready yet", node.Name)
}
