// Package envtest runs a full kube-apiserver on an etcd of its own, from the programs that operators test with, by
// controller-runtime's envtest.
//
// There are namespaces, RBAC, admission and the aggregator. There is no controller manager, no kubelet and no proxy: nothing
// is collected as garbage, namespaces never go, and calls to services are routed by this package.
package envtest

import "io"

// Options say which programs are to run, and how. The zero value runs what is in envtest's usual folder.
type Options struct {
	// Assets is a folder with the programs kube-apiserver and etcd. When it is empty, they are where envtest looks for them:
	// where TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD say, in the folder KUBEBUILDER_ASSETS, or in
	// /usr/local/kubebuilder/bin.
	Assets string

	// Variable looks up what is set in the environment for envtest: the variables above,
	// KUBEBUILDER_CONTROLPLANE_START_TIMEOUT, KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT and USE_EXISTING_CLUSTER. It is
	// os.LookupEnv in a program. When it is nil, nothing is set.
	Variable func(name string) (value string, set bool)

	// WatchCache makes the API server serve reads from a watch cache, as real ones do.
	WatchCache bool

	// Log gets what kube-apiserver and etcd log while they run. It may be nil.
	Log io.Writer

	// Run is the ID of the run, which services and namespaces get as a label: none if empty.
	Run string
}
