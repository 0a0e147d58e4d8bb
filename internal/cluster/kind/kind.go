// Package kind runs Kubernetes clusters in containers by kind, which is used as a library: no other program is needed than
// Docker, Podman or nerdctl.
//
// A cluster is the run's own, and is deleted with all that is in it. Its name begins with Prefix and its nodes have the label of the
// run, so that one whose run was killed can be found again. kubeconfig files of the user are neither read nor changed.
package kind

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/services"
	"github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/shell"
)

// Prefix begins the name of every cluster that this package makes.
const Prefix = "crdconform-"

const (
	// dirSuffix comes after the name of a cluster in the name of the temporary directory with its kubeconfig.
	dirSuffix = "-kubeconfig-"

	// nameLimit is how long a name may be: the name of a node is a host name, and has "-control-plane" after it.
	nameLimit = 50

	// readyTimeout is how long a cluster that was created has to get ready, unless Options say otherwise.
	readyTimeout = 2 * time.Minute

	// breakOff is how often the nodes of an interrupted creation are removed, until kind notices.
	breakOff = 250 * time.Millisecond

	// giveUp is how long kind has to notice.
	giveUp = time.Minute
)

// Options say which cluster is wanted. The zero value is one node of the newest minor of package kindconfig, without a watch
// cache.
type Options struct {
	// Name is the name of the cluster. Prefix is put before it unless it begins with it. When it is empty, the cluster is
	// named after the run.
	Name string

	// Run is the ID of the run, which the nodes and what is made for the run have as a label: a random one if empty.
	Run string

	// Kubernetes is the minor whose configuration of package kindconfig is the base, such as "1.36". When it is empty, that
	// is the minor in the tag of the image. When there is no image either, it is the newest. An image of which nothing is
	// known has no base.
	Kubernetes string

	// Image is the node image of all nodes, instead of those that the configuration names.
	Image string

	// ConfigFile is a file with a configuration of kind (kind.x-k8s.io/v1alpha4), which is laid over the base: patches are
	// added to, feature gates and the runtime configuration merged, all else replaced. Its name for the cluster does not
	// count.
	ConfigFile string

	// Provider is what runs the nodes: docker, nerdctl, finch or podman. When it is empty, that is the first of them which is
	// there.
	Provider string

	// WatchCache lets API servers serve reads from a watch cache, as they do by default. Without it they are started with
	// --watch-cache=false.
	WatchCache bool

	// Keep makes Stop leave the cluster and its kubeconfig file.
	Keep bool

	// Timeout is how long the cluster has to get ready once it was created: 2 minutes if 0.
	Timeout time.Duration

	// Log gets what kind and kubeadm say. Nil discards it.
	Log io.Writer
}

// Cluster is a running cluster.
type Cluster struct {
	*storage.Etcd

	options    Options
	engine     engine
	provider   *kindcluster.Provider
	configured *v1alpha4.Cluster
	dir        string // of the kubeconfig
	config     *rest.Config
	client     kubernetes.Interface
	nodes      []nodes.Node
	control    nodes.Node // one with an API server
	router     *services.Router
	etcd       *etcd

	stop     sync.Once
	stopping atomic.Value  // what Stop is at, in words
	stopped  chan struct{} // closed when it is done
	stopErr  error         // what came of it
}

var (
	_ cluster.Cluster           = (*Cluster)(nil)
	_ cluster.Services          = (*Cluster)(nil)
	_ cluster.Storage           = (*Cluster)(nil)
	_ cluster.Images            = (*Cluster)(nil)
	_ cluster.LocalImages       = (*Cluster)(nil)
	_ cluster.ArtifactCollector = (*Cluster)(nil)
)

// Validate returns what is wrong with the options and with the file that they name.
func (o Options) Validate() error {
	_, err := configuration(o)
	return err
}

// Start creates a cluster and returns when it is ready: the nodes are, and services lead somewhere. When it fails, or the
// context ends before, nothing is left behind but the network that all clusters of kind share.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("kind: %w", err)
	}
	return c, nil
}

func start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Run == "" {
		options.Run = strings.ToLower(rand.Text()[:8])
	}
	var err error
	if options.Name, err = named(options); err != nil {
		return nil, err
	}
	configured, err := configuration(options)
	if err != nil {
		return nil, err
	}
	engine, err := engineNamed(ctx, options.Provider)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, engine: engine, configured: configured, stopped: make(chan struct{})}
	c.provider = kindcluster.NewProvider(engine.option(), kindcluster.ProviderWithLogger(newLogger(options.Log)))
	if err = c.prepare(ctx); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", options.Name+dirSuffix); err != nil {
		return nil, err
	}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(err, c.undo(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// validName is what kind takes for a name.
var validName = regexp.MustCompile(`^[a-z0-9.-]+$`)

// named returns the name for a cluster.
func named(options Options) (string, error) {
	name := options.Name
	if name == "" {
		name = strings.ToLower(options.Run)
	}
	if !strings.HasPrefix(name, Prefix) {
		name = Prefix + name
	}
	if !validName.MatchString(name) || name == Prefix {
		return "", fmt.Errorf("%q is not a valid cluster name: it must consist of lower-case letters, digits, dots and dashes", name)
	}
	if len(name) > nameLimit {
		return "", fmt.Errorf("the cluster name %q is too long: at most %d characters, including %q", name, nameLimit, Prefix)
	}
	return name, nil
}

// prepare sees to what can go wrong before anything is made.
func (c *Cluster) prepare(ctx context.Context) error {
	there, err := c.provider.ListNodes(c.options.Name)
	if err != nil {
		return explain(err)
	}
	if len(there) > 0 {
		return fmt.Errorf("a cluster named %s already exists; choose another name, or delete it with `kind delete cluster --name %s`", c.options.Name, c.options.Name)
	}
	images := map[string]bool{}
	for _, node := range c.configured.Nodes {
		images[node.Image] = true
	}
	for image := range images {
		if err := c.engine.ensure(ctx, image); err != nil {
			return err
		}
	}
	return nil
}

// up creates the cluster and waits until it is ready.
func (c *Cluster) up(ctx context.Context) error {
	if err := c.create(ctx); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := ready(ctx, c.client, cmp.Or(c.options.Timeout, readyTimeout)); err != nil {
		return err
	}
	c.etcd = c.openEtcd(ctx)
	c.Etcd = storage.New(c.etcd.get)
	c.router = services.NewRouter(c.client, c.options.Run, c.answers, c.refuses)
	return nil
}

// create has kind create the cluster. An API server that runs but is too slow for kubeadm is one of a busy machine, so it gets a
// second chance; kind has taken the nodes away by then.
func (c *Cluster) create(ctx context.Context) error {
	err := c.createOnce(ctx)
	if isSlow(err) && ctx.Err() == nil {
		newLogger(c.options.Log).Warn("The API server did not answer in time; the cluster is created once more.")
		err = c.createOnce(ctx)
	}
	return explain(err)
}

// createOnce has kind create the cluster. kind cannot be interrupted, but without its nodes its current step fails.
func (c *Cluster) createOnce(ctx context.Context) error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = c.provider.Create(c.options.Name,
			kindcluster.CreateWithV1Alpha4Config(c.configured),
			kindcluster.CreateWithKubeconfigPath(c.kubeconfig()))
	}()
	select {
	case <-done:
		if ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		if late := c.breakOff(done); late != nil {
			return late
		}
	}
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}

// breakOff takes the nodes away until the creation of the cluster has failed.
func (c *Cluster) breakOff(done <-chan struct{}) error {
	again := time.NewTicker(breakOff)
	defer again.Stop()
	timeout := time.NewTimer(giveUp)
	defer timeout.Stop()
	for {
		// What cannot be deleted yet is deleted at the end, which reports what went wrong.
		_ = c.provider.Delete(c.options.Name, c.kubeconfig())
		select {
		case <-done:
			return nil
		case <-again.C:
		case <-timeout.C:
			return fmt.Errorf("the creation did not end within %s after the interruption; `kind delete cluster --name %s` deletes what exists", giveUp, c.options.Name)
		}
	}
}

// connect makes clients, and finds the nodes.
func (c *Cluster) connect() error {
	raw, err := os.ReadFile(c.kubeconfig())
	if err != nil {
		return err
	}
	if c.config, err = clientcmd.RESTConfigFromKubeConfig(raw); err != nil {
		return fmt.Errorf("the kubeconfig of the cluster: %w", err)
	}
	c.config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	if c.nodes, err = c.provider.ListInternalNodes(c.options.Name); err != nil {
		return explain(err)
	}
	c.control, err = nodeutils.BootstrapControlPlaneNode(c.nodes)
	return err
}

// Stop deletes the cluster and its kubeconfig, unless they are to be kept. If the context ends before that is done, Stop
// returns what is still running. The cluster is still deleted, and another call waits for that. Calls after that return the
// same again.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop.Do(func() {
		c.stopping.Store("the deletion of the nodes")
		without := context.WithoutCancel(ctx)
		go func() {
			defer close(c.stopped)
			c.stopErr = c.undo(without)
		}()
	})
	select {
	case <-c.stopped:
		return c.stopErr
	case <-ctx.Done():
		return fmt.Errorf("kind: not stopped yet, still running: %s: %w", c.stopping.Load(), context.Cause(ctx))
	}
}

// undo takes back what Start did.
func (c *Cluster) undo(ctx context.Context) error {
	err := c.etcd.close()
	started := c.router != nil
	if started && c.options.Keep {
		return errors.Join(err, c.router.Close(ctx))
	}
	if deleted := c.provider.Delete(c.options.Name, c.kubeconfig()); deleted != nil {
		err = errors.Join(err, fmt.Errorf("deleting the cluster %s: %w", c.options.Name, explain(deleted)))
	}
	c.stopping.Store("the removal of its files")
	return errors.Join(err, os.RemoveAll(c.dir))
}

func (c *Cluster) kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Name is "kind".
func (c *Cluster) Name() string { return "kind" }

// Apart is true: the nodes are containers.
func (c *Cluster) Apart() bool { return true }

// Lasts says where to find a cluster that is kept.
func (c *Cluster) Lasts() string {
	if !c.options.Keep {
		return ""
	}
	return fmt.Sprintf("The kind cluster %s is kept: see kubectl --kubeconfig %s; crdconform cleanup --kind --run %s removes it",
		c.ClusterName(), shell.Quote(c.Kubeconfig()), c.options.Run)
}

// ClusterName is the name by which kind knows the cluster.
func (c *Cluster) ClusterName() string { return c.options.Name }

// Kubeconfig returns the path of a kubeconfig file with all rights, which is gone after Stop unless the cluster is kept. Only
// its owner can read it.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig() }

// WatchCache reports whether API servers were started with one.
func (c *Cluster) WatchCache() bool { return c.options.WatchCache }

// Config returns how to reach the API server as a member of system:masters or kubeadm:cluster-admins.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// LoadLocalImage makes an image known to all nodes that the program which runs them has here, by its name. The error is a
// cluster.ErrNoImage when it has none of that name.
func (c *Cluster) LoadLocalImage(ctx context.Context, image string) error {
	platform, err := c.engine.platformOf(ctx, image)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("kind: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("kind: %s has no image %s: %w: %w", c.engine.name, image, cluster.ErrNoImage, explain(err))
	}
	var own string
	if own, err = c.engine.ownPlatform(ctx); err != nil || own != "" && own != platform {
		return cmp.Or(err, fmt.Errorf("kind: the image %s is for %s, but the nodes are %s; build it for those, or give another image", image, platform, own))
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(c.engine.save(ctx, image, to)) }()
	err = c.LoadImage(ctx, from)
	_ = from.Close() // ends writes that have no reader any more
	return err
}

// LoadImage makes an image known to all nodes.
func (c *Cluster) LoadImage(ctx context.Context, archive io.Reader) error {
	if len(c.nodes) > 1 {
		file, remove, err := kept(archive)
		if err != nil {
			return fmt.Errorf("kind: loading an image: %w", err)
		}
		defer remove()
		return c.loadImage(ctx, func() (io.Reader, error) { _, err := file.Seek(0, io.SeekStart); return file, err })
	}
	return c.loadImage(ctx, func() (io.Reader, error) { return archive, nil })
}

func (c *Cluster) loadImage(ctx context.Context, archive func() (io.Reader, error)) error {
	for _, node := range c.nodes {
		from, err := archive()
		if err != nil {
			return fmt.Errorf("kind: loading an image: %w", err)
		}
		if err := nodeutils.LoadImageArchive(node, &untilDone{ctx, from}); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("kind: loading an image into %s: %w", node, explain(err))
		}
	}
	return nil
}

// kept copies an archive to a temporary file, to be read for each node.
func kept(archive io.Reader) (*os.File, func(), error) {
	dir, err := files.TemporaryDir("", "image-")
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Create(filepath.Join(dir, "archive.tar"))
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	remove := func() {
		_ = file.Close()
		_ = os.RemoveAll(dir)
	}
	if _, err := io.Copy(file, archive); err != nil {
		remove()
		return nil, nil, err
	}
	return file, remove, nil
}

// untilDone is a reader that fails once a context has ended, so that its user gives up.
type untilDone struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to be interrupted
	io.Reader
}

func (r *untilDone) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}
