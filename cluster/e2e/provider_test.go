package e2e

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/support"

	"github.com/crdconform/crdconform/internal/cluster/kind"
)

func TestWithoutCluster(t *testing.T) {
	p := &provider{}
	if p.SetDefaults() != support.E2EClusterProvider(p) || p.GetKubeconfig() != "" || p.GetKubectlContext() != "" || p.KubernetesRestConfig() != nil {
		t.Error("it reports a cluster that is not there")
	}
	_, generated := p.GenerateKubeconfig()
	for what, err := range map[string]error{
		"GenerateKubeconfig": generated,
		"ExportLogs":         p.ExportLogs(t.Context(), t.TempDir()),
		"LoadImage":          p.LoadImage(t.Context(), "x"),
		"LoadImageArchive":   p.LoadImageArchive(t.Context(), "x"),
	} {
		if !errors.Is(err, errNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := p.Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := p.Create(t.Context(), "--image=x"); err == nil || !strings.Contains(err.Error(), `takes no arguments such as "--image=x"`) {
		t.Errorf("arguments: %v", err)
	}
	p.WithName("n").WithVersion("1.35").WithPath("podman").WithOpts(Options(func(o *kind.Options) { o.Keep = true }))
	if o := p.options; o.Name != "n" || o.Kubernetes != "1.35" || o.Provider != "podman" || !o.Keep {
		t.Errorf("the options are %+v", o)
	}
}
