// Package source says where the API server of a run comes from, without naming a kind of cluster: what brings it up, and what is
// known of it before. What a running cluster can do is asked by the interfaces of package cluster.
package source

import (
	"context"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
)

// Source brings up the API server of a run, or connects to it.
type Source struct {
	// What is brought up, in words, such as "a kind cluster".
	What string

	// Begins is what Start does, for users who wait: "starting" and What if empty.
	Begins string

	// Labels reports whether what the run creates there gets cluster.RunLabel, since it may outlive the run.
	Labels bool

	// Pods reports whether pods run there, so that a webhook can be deployed.
	Pods bool

	// Images reports whether images can be loaded into its nodes from a file.
	Images bool

	// Start brings the API server up.
	Start func(context.Context, Run) (cluster.Cluster, error)
}

// Run is what an API server is for.
type Run struct {
	ID          string                                      // whatever is created gets it as its label, where the source says so
	Log         io.Writer                                   // of the API server
	Definitions []*apiextensionsv1.CustomResourceDefinition // of the user, that are checked; nil for those of the documents
}

// Beginning is what Start does, such as "starting a kind cluster".
func (s *Source) Beginning() string {
	if s.Begins != "" {
		return s.Begins
	}
	return "starting " + s.What
}

// Starts adapts the function that starts one kind of cluster. It keeps a cluster that is nil from becoming one that is not.
func Starts[C cluster.Cluster](c C, err error) (cluster.Cluster, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
