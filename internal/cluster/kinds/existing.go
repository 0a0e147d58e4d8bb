package kinds

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/existing"
	"github.com/crdconform/crdconform/internal/cluster/source"
)

func existingKind() Kind {
	return Kind{
		Name:    "existing",
		Options: []string{"kubeconfig", "context", "cluster.webhookHost", "cluster.listen", "read-only"},
		Needs:   map[string]string{"context": "so that no cluster is checked by accident; \"kubectl config get-contexts\" shows the names"},
		Validate: func(o Options) error {
			err := existingOptions(o, source.Run{ID: "validated"}).Validate()
			if wrong, is := errors.AsType[*existing.UsageError](err); is && wrong.Option != "" {
				return &OptionError{Option: wrong.Option, Value: wrong.Value, Err: wrong.Unwrap()}
			}
			return err
		},
		Source: func(o Options) *source.Source {
			return &source.Source{
				What: "the work at " + o.Context, Begins: "connecting to " + o.Context, Labels: true, Pods: true,
				Start: func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
					return source.Starts(existing.Start(ctx, existingOptions(o, run)))
				},
			}
		},
	}
}

func existingOptions(o Options, run source.Run) existing.Options {
	return existing.Options{
		Run: run.ID, Kubeconfig: Kubeconfigs(o.Kubeconfig), Context: o.Context,
		WebhookHost: o.WebhookHost, WebhookListen: o.WebhookListen, ReadOnly: o.ReadOnly, Definitions: run.Definitions,
	}
}

// Kubeconfigs returns the files that say how to reach clusters: the one that is given, or those that kubectl reads.
func Kubeconfigs(given string) string {
	if given != "" {
		return given
	}
	paths := slices.DeleteFunc(clientcmd.NewDefaultClientConfigLoadingRules().GetLoadingPrecedence(), func(path string) bool {
		return path == clientcmd.RecommendedHomeFile && !filepath.IsAbs(path) // without a home folder, that would be one in the current folder
	})
	return strings.Join(paths, string(os.PathListSeparator))
}
