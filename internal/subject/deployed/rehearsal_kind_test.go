//go:build kind

package deployed

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/requirement"
)

// pods is a build of a webhook that runs as pods.
type pods struct {
	workload Workload
	options  Options
}

// Starts is true.
func (pods) Starts() bool { return true }

// Acts is false: it asks the API server for nothing.
func (pods) Acts() bool { return false }

// Start deploys it.
func (p pods) Start(ctx context.Context, _ cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	w, err := DeployImage(ctx, p.workload, p.options)
	if err != nil {
		return nil, err
	}
	return &rehearsal.Webhook{Stop: w.Stop}, at(w.ClientConfig())
}

// TestRehearsal rehearses an upgrade on a cluster with everything: objects are written to the etcd of its node, the new release runs as
// pods, and there is a garbage collector.
func TestRehearsal(t *testing.T) {
	c, archive := shared(t)
	definition := func(storage string) string {
		crd := fixtures.Reference.New(fixtures.StoredAt(storage), fixtures.InGroup("rehearsal.example.com"))
		crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	workload := Workload{Image: archive.Reference, Loaded: true, Args: []string{"--certs=" + defaultCerts}, Path: "/crdconvert"}
	plan := rehearsaltest.Upgrade{
		Releases: []rehearsaltest.Release{{Definitions: definition("v1beta1")}, {Definitions: definition("v1"), Build: pods{workload, options(t, c)}}},
		Objects: `
apiVersion: rehearsal.example.com/v1beta1
kind: CronTab
metadata: {name: a, namespace: rehearsal, uid: 00000000-0000-4000-8000-000000000001}
hostPort: localhost:1234
---
apiVersion: rehearsal.example.com/v1beta1
kind: CronTab
metadata: {name: b, namespace: rehearsal, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: gone, uid: 00000000-0000-4000-8000-000000000009}]}
hostPort: localhost:1235
`,
	}.Plan(t)
	plan.CollectTimeout = 0
	plan.Cluster = func(context.Context) (cluster.Cluster, func(context.Context) error, error) {
		return c, func(ctx context.Context) error { return rehearsaltest.Remove(ctx, c, plan.Releases) }, nil
	}
	outcome, err := rehearsal.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range outcome.Results {
		if r.ID == requirement.UpgradeUseCollected && r.Verdict != requirement.Passed || r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable {
			t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
		}
	}
	if leg := outcome.Legs[0]; leg.Kinds[0].Objects != 2 || leg.Kinds[0].Stored["v1beta1"] != 2 {
		t.Errorf("got %+v", leg.Kinds)
	}
	if notes := strings.Join(outcome.Notes, "\n"); !strings.Contains(notes, "1 object was brought in without owner references") {
		t.Errorf("the notes are %s", notes)
	}
}
