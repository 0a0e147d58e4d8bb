package kinds

import (
	"context"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/envtest"
	"github.com/crdconform/crdconform/internal/cluster/source"
)

func envtestKind() Kind {
	return Kind{
		Name:     "envtest",
		Summary:  "kube-apiserver and etcd as programs",
		Options:  []string{"cluster.watchCache", "cluster.assets"},
		Validate: func(Options) error { return nil },
		Source: func(o Options) *source.Source {
			return &source.Source{
				What: "kube-apiserver and etcd", Labels: true,
				Start: func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
					return source.Starts(envtest.Start(ctx, envtest.Options{Run: run.ID, Assets: o.Assets, Variable: o.Variable, WatchCache: o.WatchCache, Log: run.Log}))
				},
			}
		},
		Columns: &Columns{
			Flag: "assets", Help: "folders with kube-apiserver and etcd", Option: "cluster.assets",
			Validate: func(o Options) error {
				if err := (envtest.Options{Assets: o.Assets}).Validate(); err != nil {
					return &OptionError{"cluster.assets", o.Assets, err}
				}
				return nil
			},
		},
	}
}
