package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/process"
)

const (
	inTreeGroup    = "storagemigration.k8s.io"
	inTreeResource = "storageversionmigrations"

	// inTreePoll is how often the conditions of the in-tree migration are read.
	inTreePoll = 500 * time.Millisecond

	// inTreeStart is how long the controller may take until it begins.
	inTreeStart = 2 * time.Minute

	// grace is how long a command may take to end that is interrupted.
	grace = 10 * time.Second
)

// Migrator is somebody else who migrates the objects of a definition, and may trim its stored versions. An error that is an IncompleteError
// says that it failed; others, that it could not be had.
type Migrator func(ctx context.Context, target Target) error

// Target is what is to be migrated.
type Target struct {
	Definition string
	Resource   schema.GroupVersionResource // at the storage version
}

// InTree has kube-controller-manager migrate, by a StorageVersionMigration. Start is how long its controller may take to begin, two
// minutes if 0. The error says that the API server does not serve these.
func InTree(ctx context.Context, config *rest.Config, start time.Duration) (Migrator, error) {
	if start == 0 {
		start = inTreeStart
	}
	client, err1 := discovery.NewDiscoveryClientForConfig(config)
	objects, err2 := dynamic.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	version, err := inTreeVersion(ctx, client.RESTClient())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, target Target) error {
		migrations := objects.Resource(schema.GroupVersionResource{Group: inTreeGroup, Version: version, Resource: inTreeResource})
		made, err := migrations.Create(ctx, inTreeMigration(version, target.Resource), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating a StorageVersionMigration: %w", err)
		}
		if err := inTreeOutcome(ctx, migrations, made.GetName(), start); err != nil {
			return err
		}
		if err := migrations.Delete(ctx, made.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the StorageVersionMigration %s: %w", made.GetName(), err)
		}
		return nil
	}, nil
}

// inTreeVersion returns the most stable version of the API that is served.
func inTreeVersion(ctx context.Context, client rest.Interface) (string, error) {
	var group metav1.APIGroup
	err := client.Get().AbsPath("/apis", inTreeGroup).Do(ctx).Into(&group)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("asking the API server whether it serves %s: %w", inTreeGroup, err)
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		if slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == version }) {
			return version, nil
		}
	}
	return "", fmt.Errorf("the API server does not serve %s; it is on by default from Kubernetes 1.37, and before that it needs the feature gate StorageVersionMigrator", inTreeGroup)
}

func inTreeMigration(version string, resource schema.GroupVersionResource) *unstructured.Unstructured {
	of := map[string]any{"group": resource.Group, "resource": resource.Resource}
	if version == "v1alpha1" {
		of["version"] = resource.Version
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": inTreeGroup + "/" + version,
		"kind":       "StorageVersionMigration",
		"metadata":   map[string]any{"generateName": "crdconform-"},
		"spec":       map[string]any{"resource": of},
	}}
}

// inTreeOutcome waits until the conditions of a StorageVersionMigration say what came of it.
func inTreeOutcome(ctx context.Context, migrations dynamic.ResourceInterface, name string, start time.Duration) error {
	remedy := fmt.Sprintf("\"kubectl delete storageversionmigration %s\" removes it", name)
	for began := time.Now(); ; {
		now, err := migrations.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("the StorageVersionMigration %s: %w", name, err)
		}
		var status struct {
			Status struct {
				Conditions []metav1.Condition `json:"conditions"`
			} `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(now.Object, &status); err != nil {
			return fmt.Errorf("the StorageVersionMigration %s: %w", name, err)
		}
		for _, condition := range status.Status.Conditions {
			if condition.Status != metav1.ConditionTrue {
				continue
			}
			switch condition.Type {
			case "Succeeded":
				return nil
			case "Failed":
				return incomplete("the StorageVersionMigration %s failed: %s (%s); %s", name, condition.Message, condition.Reason, remedy)
			}
		}
		if len(status.Status.Conditions) == 0 && time.Since(began) >= start {
			return fmt.Errorf("no controller started the StorageVersionMigration %s within %s: the one of kube-controller-manager is not enabled; %s", name, start, remedy)
		}
		if err := pause.For(ctx, inTreePoll); err != nil {
			return err
		}
	}
}

// Command is a program that migrates, with $KUBECONFIG for one context alone.
type Command struct {
	Args       []string // the program and its arguments
	Kubeconfig string   // as existing.Options have it
	Context    string
	Out, Err   io.Writer
}

// Check reports whether the program exists.
func (c Command) Check() error {
	_, err := exec.LookPath(c.Args[0])
	return err
}

// Migrator runs the command. What it says is written to Out and Err.
func (c Command) Migrator() Migrator {
	return func(ctx context.Context, _ Target) (err error) {
		folder, err := files.TemporaryDir("", "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		file := filepath.Join(folder, "kubeconfig")
		if err = c.writeKubeconfig(file); err != nil {
			return err
		}
		command := exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx,gosec // the user's own; Stop ends it with all that it has started
		command.Env = process.Environment(file)
		command.Stdout, command.Stderr = c.Out, c.Err
		running, err := process.Start(command, process.Options{})
		if err != nil {
			return err
		}
		select {
		case <-running.Exited():
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), running.Stop(context.WithoutCancel(ctx), grace))
		}
		if running.Err() != nil {
			return incomplete("%s ended with %s", c.Args[0], running.State())
		}
		return nil
	}
}

// writeKubeconfig writes a file with the context alone, as the current one.
func (c Command) writeKubeconfig(file string) error {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(c.Kubeconfig)}
	config, err := rules.Load()
	if err != nil {
		return err
	}
	config.CurrentContext = c.Context
	if err := errors.Join(api.MinifyConfig(config), api.FlattenConfig(config)); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, file)
}
