package process

import (
	"os"
	"slices"
	"strings"
)

// clusterVariables name a cluster to Kubernetes' client libraries. The kubelet sets the two of the service in every pod, so also where
// CI jobs run as pods.
var clusterVariables = []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_MASTER"}

// Environment returns the environment of this process for a program that is to find no other cluster than that of a kubeconfig file.
func Environment(kubeconfig string) []string {
	others := slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains(clusterVariables, name)
	})
	return append(others, "KUBECONFIG="+kubeconfig)
}
