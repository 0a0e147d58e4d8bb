// Package cluster defines what crdconform needs of a cluster: an API server, and interfaces for what only some clusters can do.
package cluster

import (
	"context"
	"errors"
	"io"
	"net"

	"k8s.io/client-go/rest"
)

// Cluster is an API server to check, with everything needed to reach it.
type Cluster interface {
	// Name is the kind of the cluster in a word, such as "embedded".
	Name() string

	// Config returns a client configuration with all rights and without rate limits. The caller owns the copy.
	Config() *rest.Config

	// WatchCache reports whether the API server may serve reads from a watch cache. With one, webhook calls cannot be
	// counted, and reads may succeed even though conversion fails.
	WatchCache() bool

	// Listen opens a listener that the API server can reach, and returns it with the host to reach it by. The error wraps
	// ErrNotReached if the API server cannot reach this machine.
	Listen(ctx context.Context) (net.Listener, string, error)

	// Stop takes the cluster down and leaves nothing behind. It may be called again.
	Stop(ctx context.Context) error
}

// RunLabel is the label on everything that a run creates in a cluster that outlives it. Its value is the ID of the run.
const RunLabel = "crdconform.dev/run"

// Services is a cluster that can route a service reference to a listener of the run.
type Services interface {
	// Route sends calls for a service to an address, <host>:<port>, and returns when the route is in effect. An empty address
	// removes it.
	Route(ctx context.Context, namespace, name string, port int32, address string) error
}

// Storage is a cluster that gives access to what its API server stores.
type Storage interface {
	// Stored returns what is stored under a key, or ErrNotStored.
	Stored(ctx context.Context, key Key) (Stored, error)

	// StoredAll returns all objects of a resource, sorted by namespace and name.
	StoredAll(ctx context.Context, group, resource string) ([]Stored, error)

	// Overwrite replaces what is stored under a key, bypassing the API server. Only clusters created by the run allow it.
	Overwrite(ctx context.Context, key Key, data []byte) error
}

// Images is a cluster whose nodes can load images from an archive.
type Images interface {
	// LoadImage loads an image onto the nodes from an archive in the format of `docker save`.
	LoadImage(ctx context.Context, archive io.Reader) error
}

// LocalImages is a cluster whose nodes can load images from the container runtime that they run in, such as Docker.
type LocalImages interface {
	// LoadLocalImage loads an image onto the nodes by name. The error wraps ErrNoImage if the runtime does not have it.
	LoadLocalImage(ctx context.Context, image string) error
}

// ArtifactCollector is a cluster that can collect logs.
type ArtifactCollector interface {
	// Artifacts writes logs and whatever else explains a failure into an existing directory. The error names what could not be
	// collected; the rest is still written. Nothing written is secret.
	Artifacts(ctx context.Context, dir string) error
}

// Shared is a cluster that outlives the run and that others may be using. A run removes everything it creates there, and the API
// groups of its definitions end in a domain that no other run uses.
type Shared interface {
	// Domain is the domain that the API groups of the run end in.
	Domain() string
}

// Apart is a cluster whose nodes may be on another network than this machine, such as nodes in containers: they may be unable to
// reach a URL that this machine can.
type Apart interface {
	// Apart reports whether the nodes are on another network.
	Apart() bool
}

// Lasting is a cluster that may be kept after the run.
type Lasting interface {
	// Lasts says where to find the cluster after the run and how to remove it; it is empty when the run removes the cluster.
	Lasts() string
}

// ErrNotStored is returned when nothing is stored under a key.
var ErrNotStored = errors.New("not in storage")

// ErrNoImage is returned when there is no image of a name.
var ErrNoImage = errors.New("no such image")

// ErrNotReached is returned when the API server cannot reach this machine, so no webhook can run here. The error that wraps it says
// why and what to do.
var ErrNotReached = errors.New("the API server cannot reach this machine")

// Key identifies a stored object. The namespace is empty for cluster-scoped objects.
type Key struct{ Group, Resource, Namespace, Name string }

// Stored is an object as it is stored.
type Stored struct {
	Data     []byte // the stored bytes: JSON for custom resources
	Revision int64  // storage revision of the last write
}
