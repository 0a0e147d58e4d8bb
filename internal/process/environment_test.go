package process

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for _, name := range clusterVariables {
		t.Setenv(name, "the caller's")
	}
	t.Setenv("KUBERNETES_NAMESPACE", "mine")
	got := Environment("/run/kubeconfig")
	for setting, want := range map[string]bool{
		"KUBECONFIG=/run/kubeconfig": true, "KUBERNETES_NAMESPACE=mine": true, "KUBECONFIG=the caller's": false,
		"KUBERNETES_SERVICE_HOST=the caller's": false, "KUBERNETES_SERVICE_PORT=the caller's": false, "KUBERNETES_MASTER=the caller's": false,
	} {
		if slices.Contains(got, setting) != want {
			t.Errorf("%s: got %t, want %t", setting, !want, want)
		}
	}
}
