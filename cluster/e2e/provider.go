// Package e2e lets tests that are written with sigs.k8s.io/e2e-framework run on the clusters of package kind. It stands apart
// from that so that programs which do not use the framework do not contain it.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/crdconform/crdconform/internal/cluster/kind"
)

// KindOptions are the options of a kind cluster. All may be left out.
type KindOptions = kind.Options

// provider makes clusters of package kind, one at a time.
type provider struct {
	options kind.Options
	cluster *kind.Cluster
}

// NewProvider returns a provider of clusters with the given options, for envfuncs.CreateCluster and its relatives. Name and ConfigFile
// are what the framework says. It provides one cluster at a time. Unlike the framework's own provider it needs no kind binary, changes
// no kubeconfig of the user, and never takes over a cluster that is there already.
func NewProvider(options KindOptions) support.E2EClusterProviderWithImageLoader {
	return &provider{options: options}
}

// Options changes what clusters the provider makes; for envfuncs.CreateClusterWithOpts.
func Options(change func(*KindOptions)) support.ClusterOpts {
	return func(p support.E2EClusterProvider) {
		if own, ok := p.(*provider); ok {
			change(&own.options)
		}
	}
}

// SetDefaults changes nothing: the zero values of the options are the defaults.
func (p *provider) SetDefaults() support.E2EClusterProvider { return p }

// WithName sets the name of the cluster, which gets kind.Prefix before it.
func (p *provider) WithName(name string) support.E2EClusterProvider {
	p.options.Name = name
	return p
}

// WithVersion sets the Kubernetes minor, such as 1.36. See KindOptions.
func (p *provider) WithVersion(minor string) support.E2EClusterProvider {
	p.options.Kubernetes = minor
	return p
}

// WithPath sets what runs the nodes: docker, nerdctl, finch or podman. There is no kind binary that could have a path.
func (p *provider) WithPath(program string) support.E2EClusterProvider {
	p.options.Provider = program
	return p
}

// WithOpts applies options such as Options returns.
func (p *provider) WithOpts(options ...support.ClusterOpts) support.E2EClusterProvider {
	for _, option := range options {
		option(p)
	}
	return p
}

// Create starts a cluster and returns the path of its kubeconfig file. It takes no arguments, since there is no command that
// they could be for.
func (p *provider) Create(ctx context.Context, args ...string) (string, error) {
	if len(args) > 0 {
		return "", fmt.Errorf("kind is used as a library, and takes no arguments such as %q: set the fields of KindOptions", args[0])
	}
	if p.cluster != nil {
		return "", fmt.Errorf("the provider already has the cluster %s; destroy it, or use another provider", p.cluster.ClusterName())
	}
	cluster, err := kind.Start(ctx, p.options)
	if err != nil {
		return "", err
	}
	p.cluster = cluster
	return cluster.Kubeconfig(), nil
}

// CreateWithConfig is Create with a configuration file of kind.
func (p *provider) CreateWithConfig(ctx context.Context, file string) (string, error) {
	p.options.ConfigFile = file
	return p.Create(ctx)
}

// GetKubeconfig returns the path of the kubeconfig file, which is gone when the cluster is; without a cluster it is empty.
func (p *provider) GetKubeconfig() string {
	if p.cluster == nil {
		return ""
	}
	return p.cluster.Kubeconfig()
}

// errNone is for what needs a cluster.
var errNone = errors.New("the provider has no cluster; create one first")

// GenerateKubeconfig returns the path of the kubeconfig file too: there is one, which changes with nothing. It takes no
// arguments.
func (p *provider) GenerateKubeconfig(args ...string) (string, error) {
	if p.cluster == nil {
		return "", errNone
	}
	if len(args) > 0 {
		return "", fmt.Errorf("kind is used as a library, and takes no arguments such as %q", args[0])
	}
	return p.cluster.Kubeconfig(), nil
}

// GetKubectlContext returns the context in the kubeconfig file.
func (p *provider) GetKubectlContext() string {
	if p.cluster == nil {
		return ""
	}
	return "kind-" + p.cluster.ClusterName()
}

// ExportLogs writes logs, events and definitions into a directory, which is made if it is not there.
func (p *provider) ExportLogs(ctx context.Context, dest string) error {
	if p.cluster == nil {
		return errNone
	}
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return err
	}
	return p.cluster.Artifacts(ctx, dest)
}

// Destroy stops the cluster. Without one it does nothing.
func (p *provider) Destroy(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	if err := p.cluster.Stop(ctx); err != nil {
		return err
	}
	p.cluster = nil
	return nil
}

// WaitForControlPlane waits until the cluster is ready, as Create did already.
func (p *provider) WaitForControlPlane(ctx context.Context, client klient.Client) error {
	return kind.Ready(ctx, client.RESTConfig(), p.options.Timeout)
}

// KubernetesRestConfig returns how to reach the API server; nil without a cluster.
func (p *provider) KubernetesRestConfig() *rest.Config {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Config()
}

// LoadImage makes an image known to the nodes that the program which runs them has here. It takes no arguments.
func (p *provider) LoadImage(ctx context.Context, image string, args ...string) error {
	if err := p.loads(args); err != nil {
		return err
	}
	return p.cluster.LoadLocalImage(ctx, image)
}

// LoadImageArchive makes an image known to the nodes that is in a file as `docker save` writes it. It takes no arguments.
func (p *provider) LoadImageArchive(ctx context.Context, archive string, args ...string) error {
	if err := p.loads(args); err != nil {
		return err
	}
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	return errors.Join(p.cluster.LoadImage(ctx, file), file.Close())
}

func (p *provider) loads(args []string) error {
	if p.cluster == nil {
		return errNone
	}
	if len(args) > 0 {
		return fmt.Errorf("kind is used as a library, and takes no arguments such as %q", args[0])
	}
	return nil
}
