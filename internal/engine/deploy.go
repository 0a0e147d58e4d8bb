package engine

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
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/loopback"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/subject/deployed"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// Deployable returns what is wrong with the files that webhook.inCluster names. It needs no cluster.
func Deployable(c config.Config, from *source.Source) error {
	in := c.Webhook.InCluster
	if from == nil || !from.Pods {
		return c.At("webhook.inCluster", "no pods can run with cluster %s; set %s to kind or existing", c.APIServer, options.Key("apiServer"))
	}
	if in.Archive != "" {
		if !from.Images {
			return c.At("webhook.inCluster.archive", "images can be loaded into nodes of kind only; push it to a registry, and give %s", options.Key("webhook.inCluster.image"))
		}
		if _, err := deployed.OpenArchive(c.Path(in.Archive), in.Image); err != nil {
			return unsaidIn(c, "archive", err)
		}
	}
	if in.Image != "" {
		if err := deployed.CheckImage(in.Image); err != nil {
			return c.At("webhook.inCluster.image", "%w", err)
		}
	}
	if len(in.Manifests) == 0 {
		return nil
	}
	if err := manifestsOf(c).Check(); err != nil {
		return unsaidIn(c, "manifests", err)
	}
	return nil
}

// unsaidIn returns an error about the value of a key of webhook.inCluster. If something is missing, it names the keys to set.
func unsaidIn(c config.Config, key string, err error) error {
	format, args := "%w", []any{err}
	if unsaid := (*deployed.UnsaidError)(nil); errors.As(err, &unsaid) {
		var keys []string
		for _, one := range unsaid.Keys {
			keys = append(keys, "%s")
			args = append(args, options.Key("webhook.inCluster."+one))
		}
		format += " (" + strings.Join(keys, " or ") + ")"
	}
	return c.At("webhook.inCluster."+key, format, args...)
}

// manifestsOf returns the manifests of a configuration. It leaves out definitions, which are installed for the specs, unless
// something in the cluster is to put the caBundle into them.
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

// bundled reports whether the webhook is verified by a caBundle of the manifests.
func bundled(in config.InCluster) bool {
	return len(in.Manifests) > 0 && in.Secret == "" && in.CASecret == ""
}

// deploy deploys the webhook of webhook.inCluster, and waits until it is ready and the API server reaches it. The caller stops it.
// If possible, images are loaded into the nodes first.
func deploy(ctx context.Context, c config.Config, api cluster.Cluster, o deployed.Options) (*deployed.Webhook, error) {
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
	if err != nil {
		err = fmt.Errorf("%w%s", err, image.advice())
	}
	return hook, err
}

// image is the image of the pods.
type image struct {
	name, architecture string
	loaded             bool // into the nodes
	missing            bool // where it could have been loaded from
}

// advice is what may help if pods of it do not start; it may be empty.
func (i image) advice() string {
	if !i.missing {
		return ""
	}
	return fmt.Sprintf("\nDocker on this machine has no image %s to load into the nodes", i.name)
}

// loaded loads an image into the nodes, from an archive or from what runs the nodes. Otherwise the nodes have it, or pull it.
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

// serveDeployed deploys the user's webhook in the cluster.
func (s *session) serveDeployed(ctx context.Context) (*served, error) {
	if s.api == nil {
		return nil, errors.New("webhook.inCluster: load requires a running webhook: give its URL (kubectl port-forward leads to one in a cluster, and workers in the cluster load it from inside), or let \"crdconform check\" deploy and judge it")
	}
	if err := s.deploying(ctx); err != nil {
		return nil, err
	}
	w := s.pods.Webhook
	client, hook := w.ClientConfig(), ofPods(ctx, w)
	hook.Stop = func(ctx context.Context) error {
		s.pods.Webhook = nil
		return w.Stop(ctx)
	}
	serving, err := s.serving(hook, nil)
	serving.client, serving.installed = &client, bundled(*s.want.Webhook.InCluster)
	return serving, err
}

// deploying deploys the user's webhook, or the reference webhook if there is none. If it does not start, its output is kept.
func (s *session) deploying(ctx context.Context) error {
	folder, err := files.TemporaryDir("", "webhook-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // that it stays must not cost the webhook
	said := filepath.Join(folder, "said")
	if err = os.Mkdir(said, 0o700); err != nil {
		return err
	}
	o := deployed.Options{Config: s.api.Config(), Run: s.run, Artifacts: filepath.Join(said, "webhook"), Progress: s.progress.Note}
	if s.want.Webhook.InCluster == nil {
		err = s.reference(ctx, o)
	} else {
		s.pods.Webhook, err = deploy(ctx, s.want.Config, s.api, o)
	}
	if err != nil {
		s.collect(ctx, said)
	}
	return err
}

// Pods is the webhook that runs as pods of the cluster: the reference webhook, or the user's in its place.
type Pods struct {
	Webhook  *deployed.Webhook // nil when there is none
	Missing  string            // why there is none, where it was not tried to deploy one
	NoImages bool              // it is since the cluster takes no images from here
	Failed   error             // why it could not be deployed
}

// How the reference webhook is deployed.
const (
	referencePort  = 8443 // of the service: not the default, so that it is seen to be used
	referenceCerts = "/certs"
	referenceDrain = 5 * time.Second
)

// deployReference deploys the reference webhook if selected specs need a webhook that runs as pods and there is none. It returns a
// function that removes it. If it cannot be deployed, the specs report that.
func (s *session) deployReference(ctx context.Context) func(context.Context) error {
	wanted := s.selects(requirement.ControlWebhookService) || s.selects(requirement.ControlWebhookReplacedPod)
	if s.want.ServeReference == nil || !wanted || s.pods.Webhook != nil || s.want.Readings != nil {
		return func(context.Context) error { return nil }
	}
	if _, able := s.api.(cluster.Images); !able {
		s.pods.Missing, s.pods.NoImages = "images cannot be loaded from here into a cluster of the kind "+s.api.Name(), true
		return func(context.Context) error { return nil }
	}
	s.pods.Failed = s.deploying(ctx)
	return func(ctx context.Context) error {
		if s.pods.Webhook == nil {
			return nil
		}
		return s.pods.Webhook.Stop(ctx)
	}
}

// reference deploys the reference webhook from an image that it builds.
func (s *session) reference(ctx context.Context, o deployed.Options) error {
	command, err := s.want.ServeReference(":9443", referenceCerts, referenceDrain)
	if err != nil {
		return err
	}
	o.Progress("making an image of the reference webhook")
	archive, err := deployed.Build(command[0], command[1:]...)
	if err != nil { // of how the program was built, which says nothing about the API server
		s.pods.Missing = "no image can be made of this program: " + err.Error()
		return nil //nolint:nilerr // it is a reason for the specs to be skipped
	}
	o.Progress("loading the image of the reference webhook into the nodes")
	if err = archive.Load(ctx, s.api); err != nil {
		return err
	}
	s.pods.Webhook, err = deployed.DeployImage(ctx, deployed.Workload{
		Image: archive.Reference, Loaded: true, Architecture: archive.Architecture, Name: "reference", Path: webhook.Path,
		ServicePort: referencePort, Replicas: 2, Certs: referenceCerts, ReadOnlyRoot: true,
	}, o)
	return err
}

// nodesReach returns why the nodes of a cluster cannot reach a webhook that definitions refer to by URL. For a webhook on loopback,
// or with the certificate of a service, the run itself provides the route. Problems with certificates are left to the specs.
func nodesReach(ctx context.Context, api cluster.Cluster, run string, endpoint wire.Endpoint) error {
	u, err := url.Parse(endpoint.URL)
	if err != nil {
		return err
	}
	if loopback.Is(u.Hostname()) || endpoint.ServerName != "" && endpoint.ServerName != u.Hostname() {
		return nil
	}
	err = deployed.Reachable(ctx, api, run, apiextensionsv1.WebhookClientConfig{URL: &endpoint.URL, CABundle: endpoint.CA})
	if errors.Is(err, cluster.ErrNotReached) {
		return err
	}
	return nil
}

// collect keeps artifacts of the cluster and of the webhook deployed in it, after specs failed or could not run; not if the run was
// stopped. The folder said contains the output of a webhook that did not start; it may be empty. A note lists what is missing.
func (s *session) collect(ctx context.Context, said string) {
	collector, able := s.api.(cluster.ArtifactCollector)
	hook := s.pods.Webhook
	if s.want.CollectArtifacts == nil || !able && hook == nil && said == "" || ctx.Err() != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	err := s.want.CollectArtifacts(s.report, func(dir string) error {
		var errs []error
		if said != "" {
			errs = append(errs, os.CopyFS(dir, os.DirFS(said)))
		}
		if hook != nil {
			errs = append(errs, hook.Artifacts(within, filepath.Join(dir, "webhook")))
		}
		if able {
			errs = append(errs, collector.Artifacts(within, dir))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		s.note("the report does not contain everything from the cluster: " + err.Error())
	}
}
