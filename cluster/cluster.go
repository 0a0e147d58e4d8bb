// Package cluster says what the suites need of a cluster: an API server, and a few abilities that not every cluster has.
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

	// Config returns how to reach the API server with all rights. The caller owns the copy. It limits no rates.
	Config() *rest.Config

	// WatchCache reports whether the API server may serve reads from a watch cache. With one, webhook calls cannot be
	// counted, and reads may succeed although the conversion fails.
	WatchCache() bool

	// Listen opens a listener that the API server can reach, and returns it with the host by which it can. The error is an
	// ErrNotReached when the API server can reach nothing on this machine.
	Listen(ctx context.Context) (net.Listener, string, error)

	// Stop takes the cluster down and leaves nothing behind. It may be called more than once.
	Stop(ctx context.Context) error
}

// RunLabel is the label of whatever a run creates in a cluster that outlives it. Its value is the ID of the run.
const RunLabel = "crdconform.dev/run"

// Services is a cluster in which a service reference can be pointed to a listener of the run.
type Services interface {
	// Route makes calls to a service go to an address, <host>:<port>, and returns when they do. An empty address removes the
	// route.
	Route(ctx context.Context, namespace, name string, port int32, address string) error
}

// Storage is a cluster whose storage can be looked into.
type Storage interface {
	// Stored returns what is stored under a key, or ErrNotStored.
	Stored(ctx context.Context, key Key) (Stored, error)

	// StoredAll returns all objects of a resource, sorted by namespace and name.
	StoredAll(ctx context.Context, group, resource string) ([]Stored, error)

	// Overwrite replaces what is stored under a key, behind the API server's back. Only clusters of the run's own allow
	// it.
	Overwrite(ctx context.Context, key Key, data []byte) error
}

// Images is a cluster whose pods can run images that are in no registry.
type Images interface {
	// LoadImage makes an image known to the nodes, from an archive as `docker save` writes it.
	LoadImage(ctx context.Context, archive io.Reader) error
}

// LocalImages is a cluster whose nodes can get images from what runs them, such as Docker.
type LocalImages interface {
	// LoadLocalImage makes an image known to the nodes by its name. The error is an ErrNoImage when it is not there.
	LoadLocalImage(ctx context.Context, image string) error
}

// ArtifactCollector is a cluster that can write down what went on in it.
type ArtifactCollector interface {
	// Artifacts writes logs and whatever else explains a failure into a directory that exists. Whatever is missing is in the
	// error; the rest is still written. Nothing that it writes is secret.
	Artifacts(ctx context.Context, dir string) error
}

// Shared is a cluster that others use as well, and that stays. What a run creates there it has to remove, and the API groups of its
// definitions end with a domain that no other run has.
type Shared interface {
	// Domain is what the API groups of the run end with.
	Domain() string
}

// Apart is a cluster whose nodes are not on this machine's network, as those in containers: a URL that is reached from here may be
// out of their reach.
type Apart interface {
	// Apart reports whether that is so.
	Apart() bool
}

// Lasting is a cluster that may be left when the run is over.
type Lasting interface {
	// Lasts says where the cluster is found after the run, and how to remove it; it is empty when the cluster goes with the run.
	Lasts() string
}

// ErrNotStored says that there is nothing in storage under a key.
var ErrNotStored = errors.New("not in storage")

// ErrNoImage says that there is no image of a name.
var ErrNoImage = errors.New("no such image")

// ErrNotReached says that the API server cannot reach this machine, so that no webhook can run here. What wraps it says why,
// and what to do.
var ErrNotReached = errors.New("the API server cannot reach this machine")

// Key is where an object is stored. The namespace is empty for objects outside of namespaces.
type Key struct{ Group, Resource, Namespace, Name string }

// Stored is an object as it is in storage.
type Stored struct {
	Data     []byte // as it is there, in JSON for custom resources
	Revision int64  // of the storage at which it was last written
}

// IsLoopback reports whether a host, a name or an IP address, is the machine on which it is looked up.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
