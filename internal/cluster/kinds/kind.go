package kinds

import (
	"context"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/kind"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/kindconfig"
)

func kindKind() Kind {
	return Kind{
		Name:     "kind",
		Summary:  "a cluster made for the %s",
		Options:  []string{"cluster.watchCache", "kubernetes", "cluster.keep", "cluster.kindImage", "cluster.kindConfig"},
		Validate: validateKind,
		Source: func(o Options) *source.Source {
			return &source.Source{
				What: "a kind cluster", Labels: true, Pods: true, Images: true,
				Start: func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
					return source.Starts(kind.Start(ctx, kind.Options{
						Run: run.ID, Provider: KindProvider(o), Kubernetes: o.Kubernetes, Image: o.KindImage, ConfigFile: o.KindConfig,
						WatchCache: o.WatchCache, Keep: o.Keep, Log: run.Log,
					}))
				},
			}
		},
		Columns: &Columns{
			Flag: "kind-image", Help: "node images of kind", Option: "cluster.kindImage", Shared: []string{"cluster.kindConfig"}, Alone: true, Validate: validateKind,
		},
	}
}

func validateKind(o Options) error {
	if o.Kubernetes != "" {
		if _, err := kindconfig.For(o.Kubernetes); err != nil {
			return &OptionError{Option: "kubernetes", Err: err}
		}
	}
	if o.KindImage != "" {
		if err := (kind.Options{Kubernetes: o.Kubernetes, Image: o.KindImage}).Validate(); err != nil {
			return &OptionError{Option: "cluster.kindImage", Err: err}
		}
	}
	if o.KindConfig != "" {
		if err := (kind.Options{Kubernetes: o.Kubernetes, ConfigFile: o.KindConfig}).Validate(); err != nil {
			return &OptionError{Option: "cluster.kindConfig", Err: err}
		}
	}
	return nil
}

// KindProvider is what runs the nodes of kind, if the environment says so, as to kind's own command; empty otherwise.
func KindProvider(o Options) string { return o.variable("KIND_EXPERIMENTAL_PROVIDER") }
