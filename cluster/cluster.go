// Package cluster defines the interface of a cluster that crdconform can check, and the interfaces that only some clusters implement.
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
	// Name returns the kind of the cluster as one word, such as "embedded".
	Name() string

	// Config returns a client configuration with all rights and without rate limits. The caller owns the copy.
	Config() *rest.Config

	// WatchCache reports whether the API server may serve reads from a watch cache. With one, webhook calls cannot be
	// counted, and reads may succeed even though conversion fails.
	WatchCache() bool

	// Listen opens a listener that the API server can reach, and returns it with the host at which the API server reaches it. The error
	// wraps ErrNotReached if the API server cannot reach this machine.
	Listen(ctx context.Context) (net.Listener, string, error)

	// Stop takes the cluster down and leaves nothing behind. It may be called more than once.
	Stop(ctx context.Context) error
}

// RunLabel is the label on everything that a run creates in a cluster that outlives it. Its value is the ID of the run.
const RunLabel = "crdconform.dev/run"

// Services is implemented by clusters that can route a service reference to a listener of the run.
type Services interface {
	// Route sends calls for a service to an address, <host>:<port>, and returns when the route is in effect. An empty address
	// removes it.
	Route(ctx context.Context, namespace, name string, port int32, address string) error
}

// Storage is implemented by clusters that give access to the storage of their API server.
type Storage interface {
	// Stored returns the object stored under a key. The error wraps ErrNotStored if there is none.
	Stored(ctx context.Context, key Key) (Stored, error)

	// StoredAll returns all stored objects of a resource, sorted by namespace and name.
	StoredAll(ctx context.Context, group, resource string) ([]Stored, error)

	// Overwrite replaces the data stored under a key, bypassing the API server. Only clusters created by the run allow it.
	Overwrite(ctx context.Context, key Key, data []byte) error
}

// Images is implemented by clusters whose nodes can load images from an archive.
type Images interface {
	// LoadImage loads an image onto the nodes from an archive in the format of `docker save`.
	LoadImage(ctx context.Context, archive io.Reader) error
}

// LocalImages is implemented by clusters whose nodes can load images from the container runtime that they run in, such as Docker.
type LocalImages interface {
	// LoadLocalImage loads an image onto the nodes by name. The error wraps ErrNoImage if the runtime does not have it.
	LoadLocalImage(ctx context.Context, image string) error
}

// ArtifactCollector is implemented by clusters that can collect logs.
type ArtifactCollector interface {
	// Artifacts writes logs and other files that help explain a failure into an existing directory. The error names everything that
	// could not be collected; the rest is still written. The files contain no secrets.
	Artifacts(ctx context.Context, dir string) error
}

// Shared is implemented by clusters that outlive the run and that others may be using. A run removes everything it creates there, and
// the API groups of its definitions end in a domain that no other run uses.
type Shared interface {
	// Domain returns the domain in which the API groups of the run end.
	Domain() string
}

// Apart is implemented by clusters whose nodes may be on a different network from this machine, such as nodes in containers. They may
// be unable to reach a URL that this machine can reach.
type Apart interface {
	// Apart reports whether the nodes are on a different network.
	Apart() bool
}

// Lasting is implemented by clusters that may be kept after the run.
type Lasting interface {
	// Lasts describes where to find the cluster after the run and how to remove it. It returns "" if the run removes the cluster.
	Lasts() string
}

// ErrNotStored is returned when nothing is stored under a key.
var ErrNotStored = errors.New("not in storage")

// ErrNoImage is returned when no image has the given name.
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
