package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/fixtures/webhook"
	"github.com/crdconform/crdconform/subject/deployed"
)

// inClusterFlags say which webhook to deploy as pods of the cluster.
type inClusterFlags struct {
	flags *pflag.FlagSet
	given config.InCluster
}

// bind binds the flags to a command.
func (f *inClusterFlags) bind(flags *pflag.FlagSet) {
	f.flags = flags
	g := &f.given
	flags.StringVar(&g.Image, "webhook-image", "", "kind, existing: image of a webhook to deploy and to check, such as widgets:dev; nodes of kind get it from Docker if it is there")
	flags.StringVar(&g.Archive, "webhook-image-archive", "", "kind: file with that image, as docker save writes it, to load into the nodes")
	flags.StringSliceVar(&g.Manifests, "webhook-manifests", nil, "kind, existing: files, folders or a kustomization that deploy the webhook, in place of what is made for an image")
	flags.StringVar(&g.Service, "webhook-service", "", "NAME or NAMESPACE/NAME of its service: which of the manifests, or what to call it; webhook, in a namespace of the run, when missing")
	flags.Int32Var(&g.Port, "webhook-port", 0, "port of its service; what a definition among the manifests says, or 443, when missing")
	flags.Int32Var(&g.TargetPort, "webhook-target-port", 0, "port that --webhook-image listens on; 9443 when missing")
	flags.StringVar(&g.Path, "webhook-path", "", "path of its URL; what a definition among the manifests says, or /convert, when missing")
	flags.Int32Var(&g.Replicas, "webhook-replicas", 0, "pods of --webhook-image; 1 when missing")
	flags.StringVar(&g.Secret, "webhook-secret", "", "Secret that the pods of the manifests mount, to put a certificate into")
	flags.StringVar(&g.CASecret, "webhook-ca-secret", "", "Secret with the authority of the certificate that the manifests bring, under ca.crt or tls.crt; the caBundle of their definitions when missing")
}

// keys are the flags by their keys in webhook.inCluster.
func (*inClusterFlags) keys() map[string]string {
	return map[string]string{
		"image": "webhook-image", "archive": "webhook-image-archive", "manifests": "webhook-manifests", "service": "webhook-service",
		"port": "webhook-port", "targetPort": "webhook-target-port", "path": "webhook-path", "replicas": "webhook-replicas",
		"secret": "webhook-secret", "caSecret": "webhook-ca-secret",
	}
}

// any tells whether one of the flags is given that say what to deploy.
func (f *inClusterFlags) any() bool {
	return f.flags != nil && slices.ContainsFunc([]string{"webhook-image", "webhook-image-archive", "webhook-manifests"}, f.flags.Changed)
}

// over puts what the flags say in the place of what a file says. Names of files are made to mean the same there.
func (f *inClusterFlags) over(in config.InCluster, here func(names ...string) []string) (*config.InCluster, error) {
	g := f.given
	if f.any() {
		in.Image, in.Archive, in.Manifests = g.Image, "", nil
		if g.Archive != "" {
			in.Archive = here(g.Archive)[0]
		}
		if len(g.Manifests) > 0 {
			in.Manifests = here(g.Manifests...)
		}
	}
	for name, set := range map[string]func(){
		"webhook-service":     func() { in.Service = g.Service },
		"webhook-port":        func() { in.Port = g.Port },
		"webhook-target-port": func() { in.TargetPort = g.TargetPort },
		"webhook-path":        func() { in.Path = g.Path },
		"webhook-replicas":    func() { in.Replicas = g.Replicas },
		"webhook-secret":      func() { in.Secret = g.Secret },
		"webhook-ca-secret":   func() { in.CASecret = g.CASecret },
	} {
		if f.flags.Changed(name) {
			set()
		}
	}
	for _, name := range []string{"webhook-port", "webhook-target-port", "webhook-replicas"} {
		if f.flags.Changed(name) && f.flags.Lookup(name).Value.String() == "0" {
			return nil, fmt.Errorf("--%s 0: it has to be 1 or more", name)
		}
	}
	return &in, nil
}

// stray is the error of flags that say more of a webhook than they say what to deploy.
func (f *inClusterFlags) stray() error {
	var err error
	if f.flags == nil {
		return nil
	}
	f.flags.Visit(func(flag *pflag.Flag) {
		if strings.HasPrefix(flag.Name, "webhook-") && flag.Name != "webhook-host" && flag.Name != "webhook-listen" {
			err = fmt.Errorf("--%s: it is not said which webhook to deploy; give --webhook-image, --webhook-image-archive or --webhook-manifests", flag.Name)
		}
	})
	return err
}

// byFlags tells a problem of webhook.inCluster by the flags. It is nil for other problems.
func (f *inClusterFlags) byFlags(err error) error {
	rest, found := strings.CutPrefix(problemText(err), "webhook.inCluster")
	if !found || f.flags == nil {
		return nil
	}
	key, what, _ := strings.Cut(strings.TrimPrefix(rest, "."), ": ")
	key, _, _ = strings.Cut(key, "[")
	what = strings.NewReplacer(
		"write cluster: kind, or existing", "give --cluster kind, or existing",
		"webhook.inCluster.secret", "--webhook-secret",
		"name a Secret that its pods mount", "give --webhook-secret, a Secret that its pods mount",
		"or one that has the ca.crt", "or --webhook-ca-secret, one that has the ca.crt",
		"choose one as the port", "choose one by --webhook-port",
	).Replace(what)
	name, known := f.keys()[key]
	switch {
	case key == "" && f.any():
		return errors.New("--" + f.first() + ": " + what)
	case !known || !f.flags.Changed(name):
		return nil
	}
	return fmt.Errorf("--%s: %s", name, strings.ReplaceAll(what, "and give image", "and give --webhook-image"))
}

// first is the first of the flags that say what to deploy.
func (f *inClusterFlags) first() string {
	all := []string{"webhook-image", "webhook-image-archive", "webhook-manifests"}
	return all[slices.IndexFunc(all, f.flags.Changed)]
}

// problemText is what an error says, without the place in a file.
func problemText(err error) string {
	if problem := (*config.ProblemError)(nil); errors.As(err, &problem) {
		return problem.Message
	}
	return err.Error()
}

// inCluster is the webhook that run deploys.
type inCluster struct {
	flags   inClusterFlags
	checked config.Config // with webhook.inCluster when the flags say one

	hook   *deployed.Webhook // once it is there
	reason string            // why there is none
	failed error             // why the reference webhook could not be deployed
}

// validate tells whether the flags go together. All that they say is of this machine.
func (w *inCluster) validate(sort string) error {
	w.checked = config.Default()
	w.checked.Cluster = config.Cluster(sort)
	if !w.flags.any() {
		return w.flags.stray()
	}
	var err error
	if w.checked.Webhook.InCluster, err = w.flags.over(config.InCluster{}, func(names ...string) []string { return names }); err != nil {
		return err
	}
	err = w.checked.Validate()
	if err == nil {
		err = crdconform.Deployable(w.checked)
	}
	if err == nil {
		return nil
	}
	var all []error
	several, is := err.(interface{ Unwrap() []error })
	if !is {
		return cmpError(w.flags.byFlags(err), err)
	}
	for _, one := range several.Unwrap() {
		all = append(all, cmpError(w.flags.byFlags(one), one))
	}
	return errors.Join(all...)
}

func cmpError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// users tells whether it is the user's own webhook.
func (w *inCluster) users() bool { return w.checked.Webhook.InCluster != nil }

// What the reference webhook is like in a cluster.
const (
	referencePort  = 8443 // of the service: not the default, so that it is seen to be used
	referenceCerts = "/certs"
	referenceDrain = 5 * time.Second
)

// deploy deploys the webhook of the flags, or the reference webhook. When the latter fails, that is for its specs to tell. What one
// says that does not come up gets into a folder.
func (w *inCluster) deploy(ctx context.Context, c cluster.Cluster, run, said string, note func(string)) (err error) {
	o := deployed.Options{Config: c.Config(), Run: run, Artifacts: filepath.Join(said, "webhook"), Progress: note}
	if w.users() {
		w.hook, err = crdconform.Deploy(ctx, w.checked, c, o)
		return err
	}
	w.failed = w.deployReference(ctx, c, o)
	return nil
}

// deployReference deploys the reference webhook where images can be loaded.
func (w *inCluster) deployReference(ctx context.Context, c cluster.Cluster, o deployed.Options) error {
	if _, able := c.(cluster.Images); !able {
		w.reason = fmt.Sprintf("a cluster of the sort %s takes no images from here", c.Name())
		if c.Name() == existingCluster {
			w.reason += "; give one by --webhook-image"
		}
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	o.Progress("making an image of the reference webhook")
	archive, err := deployed.Build(program, "serve", "--address=:9443", "--cert-dir="+referenceCerts, "--drain="+referenceDrain.String())
	if err != nil { // of how this program was built, which says nothing about the API server
		w.reason = "this program cannot be one: " + err.Error()
		return nil //nolint:nilerr // it is a reason for the specs to be skipped
	}
	o.Progress("loading the image of the reference webhook into the nodes")
	if err = archive.Load(ctx, c); err != nil {
		return err
	}
	w.hook, err = deployed.DeployImage(ctx, deployed.Workload{
		Image: archive.Reference, Loaded: true, Architecture: archive.Architecture, Name: "reference", Path: webhook.Path,
		ServicePort: referencePort, Replicas: 2, Certs: referenceCerts, ReadOnlyRoot: true,
	}, o)
	return err
}

// stop takes the webhook down.
func (w *inCluster) stop(ctx context.Context) error {
	if w.hook == nil {
		return nil
	}
	return w.hook.Stop(ctx)
}
