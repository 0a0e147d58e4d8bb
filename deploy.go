package crdconform

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/corpus"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/subject/deployed"
)

// Deployable tells what is wrong with the files that webhook.inCluster of a configuration names. It asks no cluster.
func Deployable(c config.Config) error {
	in := c.Webhook.InCluster
	if c.Cluster != config.KindCluster && c.Cluster != config.Existing {
		return fmt.Errorf("webhook.inCluster: there are no pods in a cluster of the sort %s; write cluster: kind, or existing", c.Cluster)
	}
	if in.Archive != "" {
		if c.Cluster != config.KindCluster {
			return errors.New("webhook.inCluster.archive: images can be loaded into nodes of kind only; push it to a registry, and give image")
		}
		if _, err := deployed.OpenArchive(c.Path(in.Archive), in.Image); err != nil {
			return fmt.Errorf("webhook.inCluster.archive: %w", err)
		}
	}
	if in.Image != "" {
		if err := deployed.CheckImage(in.Image); err != nil {
			return fmt.Errorf("webhook.inCluster.image: %w", err)
		}
	}
	if len(in.Manifests) == 0 {
		return nil
	}
	if err := manifestsOf(c).Check(); err != nil {
		return fmt.Errorf("webhook.inCluster.manifests: %s", strings.TrimPrefix(err.Error(), "manifests: "))
	}
	return nil
}

// manifestsOf are the manifests of a configuration. Definitions among them are left out, since they are installed for the specs,
// unless something in the cluster is to put the caBundle into them.
func manifestsOf(c config.Config) deployed.Manifests {
	in := c.Webhook.InCluster
	m := deployed.Manifests{
		Service: in.Service, Port: in.Port, Path: in.Path, Certificate: deployed.Certificate{Secret: in.Secret, Authority: in.CASecret},
		WithoutDefinitions: !bundled(*in),
	}
	for _, path := range in.Manifests {
		m.Paths = append(m.Paths, c.Path(path))
	}
	return m
}

// bundled tells whether it is a caBundle of the manifests that says by which authority to verify the webhook.
func bundled(in config.InCluster) bool {
	return len(in.Manifests) > 0 && in.Secret == "" && in.CASecret == ""
}

// Deploy deploys the webhook that webhook.inCluster of a configuration is about, and waits until it is ready and the API server
// reaches it. Whoever called it stops it. Images are loaded into the nodes first where they can be.
func Deploy(ctx context.Context, c config.Config, api cluster.Cluster, o deployed.Options) (*deployed.Webhook, error) {
	in := c.Webhook.InCluster
	if o.Progress != nil {
		o.Progress("loading the image of the webhook into the nodes")
	}
	image, err := loaded(ctx, c, api)
	if err != nil {
		return nil, err
	}
	o.Timeout = in.ReadyTimeout.Duration
	if len(in.Manifests) > 0 {
		return deployed.DeployManifests(ctx, manifestsOf(c), o)
	}
	w := deployed.Workload{
		Image: image.name, Loaded: image.loaded, Architecture: image.architecture, Args: in.Args, Env: in.Env,
		Name: in.Service, Port: in.TargetPort, ServicePort: in.Port, Path: in.Path, Replicas: in.Replicas, Certs: in.Certs,
	}
	if namespace, name, found := strings.Cut(in.Service, "/"); found {
		o.Namespace, w.Name = namespace, name
	}
	hook, err := deployed.DeployImage(ctx, w, o)
	if err != nil && image.missing {
		err = fmt.Errorf("%w\nDocker has no image %s here that could have been loaded into the nodes", err, image.name)
	}
	return hook, err
}

// image is what pods are made of.
type image struct {
	name, architecture string
	loaded             bool // into the nodes
	missing            bool // where it could have been loaded from
}

// loaded makes an image known to the nodes: from an archive, or from what runs the nodes. Other nodes have it, or pull it.
func loaded(ctx context.Context, c config.Config, api cluster.Cluster) (image, error) {
	in := c.Webhook.InCluster
	if in.Archive != "" {
		archive, err := deployed.OpenArchive(c.Path(in.Archive), in.Image)
		if err != nil {
			return image{}, err
		}
		return image{name: archive.Reference, architecture: archive.Architecture, loaded: true}, archive.Load(ctx, api)
	}
	local, able := api.(cluster.LocalImages)
	if in.Image == "" || !able {
		return image{name: in.Image}, nil
	}
	err := local.LoadLocalImage(ctx, in.Image)
	if errors.Is(err, cluster.ErrNoImage) {
		return image{name: in.Image, missing: true}, nil
	}
	return image{name: in.Image, loaded: true}, err
}

// aliveTimeout is how long a cluster may take to tell how the webhook fares.
const aliveTimeout = 10 * time.Second

// serveDeployed deploys the webhook in the cluster.
func (p *Plan) serveDeployed(ctx context.Context, progress Progress, api cluster.Cluster, report *reports.Report) (*served, error) {
	if api == nil {
		return nil, errors.New("webhook.inCluster: load is sent to a webhook that is there: give its URL (kubectl port-forward leads to one in a cluster, and --workers with --worker-image load it from inside), or let \"crdconform check\" deploy and judge it")
	}
	said, err := os.MkdirTemp("", "crdconform-webhook-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(said) }() // that it stays must not cost the webhook
	w, err := Deploy(ctx, p.check.Config, api, deployed.Options{Config: api.Config(), Run: p.run, Artifacts: filepath.Join(said, "webhook"), Progress: progress.Note})
	if err != nil {
		p.explain(ctx, api, nil, said, report)
		return nil, err
	}
	client := w.ClientConfig()
	return &served{
		endpoint: func(corpus.Corpus) (wire.Endpoint, error) {
			e := w.Endpoint()
			e.HTTP2, e.Timeout = p.check.Webhook.HTTP2, p.check.Webhook.Timeout.Duration
			return e, nil
		},
		alive: func() error {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), aliveTimeout)
			defer cancel()
			return w.Check(within)
		},
		stop:      w.Stop,
		client:    &client,
		installed: bundled(*p.check.Webhook.InCluster),
		deployed:  w,
	}, nil
}

// nodesReach tells why the nodes of a cluster do not reach a webhook that definitions refer to by its URL, if they do not. One on
// loopback, or with the certificate of a service, is led to by the run. What is wrong with a certificate is for the specs to tell.
func nodesReach(ctx context.Context, api cluster.Cluster, run string, endpoint wire.Endpoint) error {
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return err
	}
	if cluster.IsLoopback(u.Hostname()) || endpoint.ServerName != "" && endpoint.ServerName != u.Hostname() {
		return nil
	}
	err = deployed.Reachable(ctx, api, run, apiextensionsv1.WebhookClientConfig{URL: &endpoint.URL, CABundle: endpoint.CA})
	if errors.Is(err, cluster.ErrNotReached) {
		return err
	}
	return nil
}

// Explains writes what explains failures into a folder that is there: what the cluster knows, and the webhook that was deployed in
// it, which may be nil. Another folder, said, has what was kept of one that did not come up, and is copied; it may be empty. What
// could not be had is in the error.
func Explains(ctx context.Context, api cluster.Cluster, hook *deployed.Webhook, said, dir string) error {
	var errs []error
	if said != "" {
		errs = append(errs, os.CopyFS(dir, os.DirFS(said)))
	}
	if hook != nil {
		errs = append(errs, hook.Artifacts(ctx, filepath.Join(dir, "webhook")))
	}
	if witness, able := api.(cluster.Witness); able {
		errs = append(errs, witness.Artifacts(ctx, dir))
	}
	return errors.Join(errs...)
}
