package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kind/pkg/cluster/constants"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/redact"
)

// Artifacts writes the logs of the control plane, of the kubelets and of containerd, the events and the definitions. With
// several nodes, the logs of each are in a directory of its name. Keys and tokens are taken out.
func (c *Cluster) Artifacts(ctx context.Context, dir string) error {
	var errs []error
	for _, node := range c.nodes {
		into := dir
		if len(c.nodes) > 1 {
			into = filepath.Join(dir, node.String())
			if err := os.MkdirAll(into, 0o700); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		errs = append(errs, logsOf(ctx, node, into))
	}
	errs = append(errs, c.writeEvents(ctx, dir), c.writeDefinitions(ctx, dir))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	return nil
}

// logsOf writes the logs of a node.
func logsOf(ctx context.Context, node nodes.Node, dir string) error {
	role, err := node.Role()
	if err != nil {
		return fmt.Errorf("the logs of %s: %w", node, explain(err))
	}
	logs := map[string][]string{
		"kubelet.log":    {"journalctl", "--no-pager", "--unit", "kubelet"},
		"containerd.log": {"journalctl", "--no-pager", "--unit", "containerd"},
	}
	if role == constants.ControlPlaneNodeRoleValue {
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "etcd"} {
			logs[name+".log"] = []string{"bash", "-c", "cat /var/log/pods/kube-system_" + name + "-*/*/*.log"}
		}
	}
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(logs)) {
		command := logs[file]
		var out, problems bytes.Buffer
		err := node.CommandContext(ctx, command[0], command[1:]...).SetStdout(&out).SetStderr(&problems).Run()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w: %s", file, node, explain(err), last(problems.String())))
		}
		if out.Len() > 0 {
			errs = append(errs, os.WriteFile(filepath.Join(dir, file), []byte(redact.Text(out.String())), 0o600))
		}
	}
	return errors.Join(errs...)
}

// writeEvents writes the events of all namespaces, the oldest first.
func (c *Cluster) writeEvents(ctx context.Context, dir string) error {
	events, err := c.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the events: %w", err)
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range events.Items {
		events.Items[i].ManagedFields = nil
	}
	return write(filepath.Join(dir, "events.yaml"), events.Items)
}

// writeDefinitions writes the CustomResourceDefinitions.
func (c *Cluster) writeDefinitions(ctx context.Context, dir string) error {
	client, err := clientset.NewForConfig(c.config)
	if err != nil {
		return err
	}
	definitions, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the definitions: %w", err)
	}
	for i := range definitions.Items {
		definitions.Items[i].ManagedFields = nil
	}
	return write(filepath.Join(dir, "definitions.yaml"), definitions.Items)
}

func write(file string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(redact.Text(string(text))), 0o600)
}
