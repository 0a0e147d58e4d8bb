package kind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/crdconform/crdconform/cluster"
)

// Leftover is what a run left: a cluster, or a kubeconfig of one that is not there.
type Leftover struct {
	Name    string    // of the cluster
	Created time.Time // when the first of its nodes was, or the kubeconfig when there is no node
	Gone    bool      // whether there is no such cluster any more, and a kubeconfig of it alone
	Engine  string    // program that was asked for the cluster
}

// Left returns what runs have made and not deleted, by the names of the clusters. This includes what runs in progress have
// created. The provider is as in Options: clusters that another program runs are not seen. A cluster is a run's when its nodes
// got the label of one, or when there is a kubeconfig of a run for it; a name that begins with Prefix is not enough, because
// anyone can choose it.
func Left(ctx context.Context, provider string) ([]Leftover, error) {
	left, err := leftBy(ctx, provider)
	if err != nil {
		return nil, fmt.Errorf("kind: %w", err)
	}
	return left, nil
}

func leftBy(ctx context.Context, provider string) ([]Leftover, error) {
	by, clusters, err := asked(ctx, provider)
	if err != nil {
		return nil, err
	}
	names, err := clusters.List()
	if err != nil {
		return nil, explain(err)
	}
	dirs, err := kubeconfigDirs(Prefix + "*")
	if err != nil {
		return nil, err
	}
	left := map[string]Leftover{}
	for _, dir := range dirs {
		name, _, _ := strings.Cut(filepath.Base(dir), dirSuffix)
		if info, err := os.Stat(dir); err == nil { // it may have gone since
			left[name] = Leftover{Name: name, Created: info.ModTime(), Gone: true, Engine: by.name}
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		its, err := clusters.ListNodes(name)
		if err != nil {
			return nil, explain(err)
		}
		_, known := left[name]
		l, ours, err := by.leftover(ctx, name, its, known)
		if err != nil {
			if now, _ := clusters.ListNodes(name); len(now) == 0 && ctx.Err() == nil {
				continue // its run has deleted it meanwhile
			}
			return nil, fmt.Errorf("the cluster %s: %w", name, err)
		}
		if ours && len(its) > 0 {
			left[name] = l
		}
	}
	return slices.SortedFunc(maps.Values(left), func(a, b Leftover) int { return strings.Compare(a.Name, b.Name) }), nil
}

// leftover describes a cluster by its nodes, and reports whether it is a run's, unless that is known.
func (e engine) leftover(ctx context.Context, name string, its []nodes.Node, ours bool) (Leftover, bool, error) {
	l := Leftover{Name: name, Engine: e.name}
	for _, node := range its {
		said, err := e.run(ctx, "container", "inspect", "--format", "{{json .Created}}", node.String())
		if err != nil {
			return l, false, explain(err)
		}
		var created time.Time
		if err := json.Unmarshal([]byte(said), &created); err != nil {
			return l, false, fmt.Errorf("when the node %s was created: %w", node, err)
		}
		if l.Created.IsZero() || created.Before(l.Created) {
			l.Created = created
		}
		ours = ours || e.labelled(ctx, node.String())
	}
	return l, ours, ctx.Err()
}

// labelled reports whether a node was created with the label of a run. It is looked for in the file by which kubeadm makes the
// node, which is there while the node is stopped, and before it is ready. The owner of a node without that file is unknown.
func (e engine) labelled(ctx context.Context, node string) bool {
	archive, err := e.run(ctx, "cp", node+":/kind/kubeadm.conf", "-")
	return err == nil && strings.Contains(archive, cluster.RunLabel+"=")
}

// Delete deletes a cluster that a run made, and the kubeconfig that the run has left. The provider is as in Options. One whose name does
// not begin with Prefix is not a run's, and one that is not there cannot be deleted: both are errors.
func Delete(ctx context.Context, provider, name string) error {
	if !strings.HasPrefix(name, Prefix) {
		return fmt.Errorf("kind: the cluster %s was not created by a run (their names begin with %s)", name, Prefix)
	}
	_, clusters, err := asked(ctx, provider)
	if err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	there, err := clusters.ListNodes(name)
	if err != nil {
		return fmt.Errorf("kind: %w", explain(err))
	}
	if len(there) == 0 {
		if dirs, problem := kubeconfigDirs(name); problem == nil && len(dirs) == 0 {
			return fmt.Errorf("kind: there is no cluster %s", name)
		}
		return removeKubeconfigs(name)
	}
	// kind takes the cluster out of a kubeconfig file too. That must be none of the user's.
	dir, err := os.MkdirTemp("", Prefix)
	if err != nil {
		return fmt.Errorf("kind: %w", err)
	}
	err = clusters.Delete(name, filepath.Join(dir, "kubeconfig"))
	if err != nil {
		// The kubeconfig, which shows that the cluster belongs to a run, is kept.
		return errors.Join(fmt.Errorf("kind: deleting the cluster %s: %w", name, explain(err)), os.RemoveAll(dir))
	}
	return errors.Join(os.RemoveAll(dir), removeKubeconfigs(name))
}

// removeKubeconfigs removes what a run has left of its files.
func removeKubeconfigs(name string) error {
	dirs, err := kubeconfigDirs(name)
	for _, dir := range dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// kubeconfigDirs returns the temporary directories with kubeconfigs of clusters, of runs that are in progress or were killed.
func kubeconfigDirs(name string) ([]string, error) {
	return filepath.Glob(filepath.Join(os.TempDir(), name+dirSuffix+"*"))
}

// asked returns the program that runs the nodes, or the first that is there, and kind with it.
func asked(ctx context.Context, provider string) (engine, *kindcluster.Provider, error) {
	by, err := engineNamed(ctx, provider)
	if err != nil {
		return by, nil, err
	}
	return by, kindcluster.NewProvider(by.option()), nil
}
