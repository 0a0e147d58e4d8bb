package engine

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/requirement"
)

// counted is a cluster that counts the definitions that are there when it is stopped.
type counted struct {
	*embedded.Cluster

	left *int
}

func (c counted) Stop(ctx context.Context) error {
	if clients, err := kube.Connect(c.Config()); err == nil {
		if all, err := clients.Definitions.Client.List(ctx, metav1.ListOptions{}); err == nil {
			*c.left = len(all.Items)
		}
	}
	return c.Cluster.Stop(ctx)
}

// lasting is one that may be there after the run.
type lasting struct {
	counted

	where string
}

func (l lasting) Lasts() string { return l.where }

// TestOnlyWhatOutlivesTheRunIsCleanedUp has a run leave its definition in a cluster that is thrown away, and in no other.
func TestOnlyWhatOutlivesTheRunIsCleanedUp(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts API servers")
	}
	emptied(t)
	for where, want := range map[string]int{"": 1, "in a folder": 0} {
		left := -1
		d := Description{
			Config:  config.Config{CRDs: []string{crontabs}, Filter: []string{string(requirement.ResourceReadEveryVersion)}, Generate: config.Generate{Objects: 3, Seed: 5}},
			Handler: webhook.Handler(),
			Source: &source.Source{What: "an API server", Start: func(ctx context.Context, _ source.Run) (cluster.Cluster, error) {
				c, err := embedded.Start(context.WithoutCancel(ctx), embedded.Options{})
				if err != nil {
					return nil, err
				}
				return lasting{counted{c, &left}, where}, nil
			}},
		}
		plan, err := d.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if report := plan.Run(t.Context(), nil, nil); report.Error != "" || len(report.With(requirement.Passed)) != 1 {
			t.Errorf("%q: %s, %+v", where, report.Error, report.Results)
		}
		if left != want {
			t.Errorf("%q: %d definitions were left, want %d", where, left, want)
		}
	}
	if !outlives(outlasting{}) || outlives(&embedded.Cluster{}) {
		t.Error("an API server that is kept for the next run is cleaned up, and no other embedded one")
	}
}
