package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/storage"
)

func newStorage(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "Show at which versions objects are stored, and migrate them",
		Long: `storage inspects the objects of definitions in an existing cluster: at which versions they are stored, and who still names or
requests a version.`,
		Example: `  crdconform storage status crontabs.stable.example.com --context staging
  crdconform storage safe-to-drop crontabs.stable.example.com v1beta1 --context staging
  crdconform storage migrate crontabs.stable.example.com --context staging --dry-run`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStorageStatus(s), newStorageDrop(s), newStorageMigrate(s))
	return cmd
}

// storageTarget is the cluster that a command of storage is about.
type storageTarget struct {
	kubeconfig string
	context    string
	overrides  clientcmd.ConfigOverrides
	current    bool // the current context will do for what only reads
	settings   optionFlags
}

func (t *storageTarget) bind(flags *pflag.FlagSet, command string) {
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&t.context, "context", "", "context of the kubeconfig; default: the current one for read-only commands of the kubectl plugin, otherwise none")
	t.settings.bind(flags, command)
}

// configure reads what crdconform.yaml and --set say of the connection, and returns all that they say.
func (t *storageTarget) configure() (config.Config, error) {
	c, err := readConfig("")
	if err == nil {
		err = t.settings.apply(&c)
	}
	if err == nil {
		err = c.Validate()
	}
	by := c.Connection
	t.overrides = clientcmd.ConfigOverrides{
		AuthInfo:    api.AuthInfo{Impersonate: by.As, ImpersonateGroups: by.AsGroup, ImpersonateUID: by.AsUID},
		ClusterInfo: api.Cluster{Server: by.Server},
		Context:     api.Context{Cluster: by.Cluster, AuthInfo: by.User},
		Timeout:     by.RequestTimeout.String(),
	}
	return c, err
}

// reading reaches the cluster, and lets no request through that might change something.
func (t *storageTarget) reading(ctx context.Context) (*existing.Cluster, error) {
	return t.connect(ctx, existing.Options{Current: t.current, ReadOnly: true})
}

// writing reaches a cluster that is named.
func (t *storageTarget) writing(ctx context.Context) (*existing.Cluster, error) {
	return t.connect(ctx, existing.Options{})
}

func (t *storageTarget) connect(ctx context.Context, o existing.Options) (*existing.Cluster, error) {
	if t.context == "" && !o.Current {
		return nil, errors.New("no cluster specified; give --context NAME")
	}
	o.Kubeconfig, o.Context, o.Overrides = kinds.Kubeconfigs(t.kubeconfig), t.context, t.overrides
	c, err := existing.Connect(ctx, o)
	if wrong, is := errors.AsType[*existing.UsageError](err); is {
		if wrong.Option != "" {
			return nil, errors.New("--" + wrong.Error())
		}
		return nil, wrong
	}
	if err != nil {
		return nil, unjudged(err)
	}
	t.context = c.Context()
	return c, nil
}

// etcdOf says where the stored bytes of a cluster can be read.
func etcdOf(c config.Config) (storage.EtcdOptions, error) {
	e := c.Storage.Etcd
	o := storage.EtcdOptions{Endpoints: e.Endpoints, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Prefix: options.Or(e.Prefix, "storage.etcd.prefix")}
	for _, file := range []*string{&o.CAFile, &o.CertFile, &o.KeyFile} {
		if *file != "" {
			*file = c.Path(*file)
		}
	}
	return o, o.Check()
}
