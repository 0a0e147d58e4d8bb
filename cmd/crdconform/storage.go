package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
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
}

func (t *storageTarget) bind(flags *pflag.FlagSet) {
	flags.StringVar(&t.kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&t.context, "context", "", "context of the kubeconfig; default: the current one for read-only commands of the kubectl plugin, otherwise none")
	flags.StringVar(&t.overrides.Context.Cluster, "cluster", "", "cluster of the kubeconfig, instead of the context's")
	flags.StringVar(&t.overrides.Context.AuthInfo, "user", "", "user of the kubeconfig, instead of the context's")
	flags.StringVarP(&t.overrides.ClusterInfo.Server, "server", "s", "", "URL of the API server, instead of the cluster's")
	flags.StringVar(&t.overrides.AuthInfo.Impersonate, "as", "", "user to impersonate")
	flags.StringArrayVar(&t.overrides.AuthInfo.ImpersonateGroups, "as-group", nil, "group to impersonate; can be repeated")
	flags.StringVar(&t.overrides.AuthInfo.ImpersonateUID, "as-uid", "", "UID to impersonate")
	flags.StringVar(&t.overrides.Timeout, "request-timeout", "0", "time limit for each request, such as 30s; 0 for no limit")
}

// connect reaches the cluster. What is read only lets no request through that might change something.
func (t *storageTarget) connect(ctx context.Context, readOnly bool) (*existing.Cluster, error) {
	current := t.current && readOnly
	if t.context == "" && !current {
		return nil, errors.New("no cluster specified; give --context NAME")
	}
	c, err := existing.Connect(ctx, existing.Options{
		Kubeconfig: kinds.Kubeconfigs(t.kubeconfig), Context: t.context, Current: current, Overrides: t.overrides, ReadOnly: readOnly,
	})
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

// etcdFlags say where the stored bytes of a cluster can be read.
type etcdFlags struct{ storage.EtcdOptions }

func (e *etcdFlags) bind(flags *pflag.FlagSet) {
	flags.StringSliceVar(&e.Endpoints, "etcd-endpoints", nil, "read the stored versions from etcd at these URLs")
	flags.StringVar(&e.CAFile, "etcd-ca-file", "", "CA certificates to verify etcd; default: those of the system")
	flags.StringVar(&e.CertFile, "etcd-cert", "", "client certificate for etcd")
	flags.StringVar(&e.KeyFile, "etcd-key", "", "key of the client certificate for etcd")
	flags.StringVar(&e.Prefix, "etcd-prefix", "/registry", "prefix of the keys of the API server in etcd, also in a snapshot")
}

// check says what is wrong with the flags.
func (e *etcdFlags) check() error {
	switch {
	case len(e.Endpoints) == 0 && (e.CAFile != "" || e.CertFile != "" || e.KeyFile != ""):
		return errors.New("--etcd-ca-file, --etcd-cert and --etcd-key need --etcd-endpoints")
	case (e.CertFile == "") != (e.KeyFile == ""):
		return errors.New("--etcd-cert and --etcd-key must be given together")
	}
	return e.Check()
}
