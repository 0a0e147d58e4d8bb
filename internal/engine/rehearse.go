package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/subject"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
)

// Rehearsal is an upgrade to rehearse: from the releases of Old to the one of CRDs and Webhook. If Source is nil, the clusters are embedded.
type Rehearsal struct {
	Description

	// OldHandlers are webhooks of the old releases, one for each entry of Old, in the place of programs; nil for none.
	OldHandlers []http.Handler

	// Stdin is what the file - stands for. It may be nil.
	Stdin io.Reader

	// Connect returns a client for the context of a kubeconfig which lets no request through that might change something. It may be nil if
	// no context is named.
	Connect func(ctx context.Context, name string) (dynamic.Interface, error)
}

// RehearsalPlan is a rehearsal whose files were read. Nothing was started yet.
type RehearsalPlan struct {
	*Plan

	given    Rehearsal
	releases []rehearsal.Release
	objects  *rehearsal.Objects
	dir      string // of temporary files
}

// contextScheme begins the names of releases whose definitions are read from a cluster.
const contextScheme = "context://"

// Prepare reads the files of a rehearsal, and the objects. Its errors are about these, and say what to do. The caller closes the plan.
func (r Rehearsal) Prepare(ctx context.Context) (_ *RehearsalPlan, err error) {
	p := &RehearsalPlan{given: r, Plan: r.plan()}
	if err = p.want.Validate(); err != nil {
		return nil, err
	}
	if p.want.Source == nil {
		p.want.Source = unknownSource(p.want.APIServer)
	}
	if !slices.ContainsFunc(rehearsal.IDs(), p.selects) {
		return nil, errors.New("filter and skip leave no requirement to judge; \"crdconform list --filter upgrade\" shows those of upgrades")
	}
	if p.dir, err = files.TemporaryDir("", "rehearsal-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err = p.readReleases(ctx); err != nil {
		return nil, err
	}
	if err = p.readObjects(ctx); err != nil {
		return nil, err
	}
	return p, p.findPrograms()
}

// findPrograms fails if the file of a program is not there: that says nothing about the release.
func (p *RehearsalPlan) findPrograms() error {
	for i, release := range p.releases {
		build, is := release.Build.(programBuild)
		if !is || strings.ContainsRune(build.command.Args[0], '{') { // a placeholder
			continue
		}
		if err := build.command.Find(); err != nil {
			if i == len(p.releases)-1 {
				return p.want.At("webhook.command", "%w", err)
			}
			return p.want.At(options.Item("rehearse.programs", i), "%w", err)
		}
	}
	return nil
}

// Close removes the temporary files of a rehearsal.
func (p *RehearsalPlan) Close() error { return errors.Join(p.objects.Close(), os.RemoveAll(p.dir)) }

// Objects returns how many objects there are.
func (p *RehearsalPlan) Objects() int { return p.objects.Len() }

// readReleases reads the definitions of all releases, and finds out what converts for each.
func (p *RehearsalPlan) readReleases(ctx context.Context) error {
	if err := p.readCertificates(); err != nil {
		return err
	}
	if len(p.want.CRDs) == 0 {
		return p.want.At("crds", "the definitions of the new release are missing; give %s", options.Key("crds"))
	}
	if len(p.want.Old) == 0 {
		return p.want.At("old", "the definitions of the old release are missing; give %s", options.Key("old"))
	}
	to := rehearsal.Release{Name: releaseName(strings.Join(p.want.CRDs, ", ")), Apply: applyFlags(p.want.CRDs)}
	for i, name := range p.want.CRDs {
		read, err := p.definitions(ctx, name, options.Item("crds", i))
		if err != nil {
			return err
		}
		for _, d := range read {
			if slices.ContainsFunc(to.Definitions, func(other dump.Definition) bool { return other.Name == d.Name }) {
				return p.want.At("crds", "%s: the definition %s is given twice; leave one of them out", d.From, d.Name)
			}
		}
		to.Definitions = append(to.Definitions, read...)
	}
	for i, name := range p.want.Old {
		release, err := p.oldRelease(ctx, i, name, to)
		if err != nil {
			return err
		}
		p.releases = append(p.releases, release)
	}
	var err error
	if to.Build, err = p.newBuild(); err != nil {
		return err
	}
	to.Assumed = p.assume(to)
	to.Shipped = !slices.ContainsFunc(p.want.CRDs, func(name string) bool { return !isShipped(p.want.Path(name)) })
	if to.Build == nil {
		if i := slices.IndexFunc(to.Definitions, hasWebhookIn); i >= 0 {
			return fmt.Errorf("the objects of %s are converted by a webhook, and none is given; give the new program after --, or its URL", to.Definitions[i].Name)
		}
	}
	p.releases = append(p.releases, to)
	return p.apart()
}

// apart fails if the programs of two releases cannot run beside each other.
func (p *RehearsalPlan) apart() error {
	var fixed []string // releases whose programs are given no port
	for _, r := range p.releases {
		if b, is := r.Build.(programBuild); is && movable(b.command) != nil {
			fixed = append(fixed, r.Name)
		}
	}
	if len(fixed) > 1 {
		return fmt.Errorf("the programs of %s are given no {port}, and run at the same time as in a rollout, so they cannot both serve at 9443; give one of them {port} in an argument or a variable",
			strings.Join(fixed, " and "))
	}
	return nil
}

// oldRelease reads a release of old.
func (p *RehearsalPlan) oldRelease(ctx context.Context, i int, name string, to rehearsal.Release) (rehearsal.Release, error) {
	key := options.Item("old", i)
	r := rehearsal.Release{Name: releaseName(name), Apply: applyFlags([]string{name})}
	var err error
	if from, is := strings.CutPrefix(name, contextScheme); is {
		r.Definitions, err = p.definitionsOf(ctx, from, to.Definitions)
		r.Apply = "-f old.yaml"
	} else {
		r.Definitions, err = p.definitions(ctx, name, key)
	}
	if err != nil {
		return r, err
	}
	if !slices.ContainsFunc(r.Definitions, func(d dump.Definition) bool {
		return slices.ContainsFunc(to.Definitions, func(other dump.Definition) bool { return other.Name == d.Name || other.Spec.Group == d.Spec.Group })
	}) {
		return r, p.want.At(key, "no definition of %s, nor any of its group, is among the new ones, which are %s; is it the same project?", name, namesOf(to.Definitions))
	}
	if r.Build, err = p.oldBuild(i); err != nil {
		return r, err
	}
	r.Assumed = p.assume(r)
	return r, nil
}

func namesOf(definitions []dump.Definition) string {
	var names []string
	for _, d := range definitions {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// releaseName is what messages call a release.
func releaseName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return filepath.ToSlash(name)
}

// applyFlags are the flags of kubectl for files.
func applyFlags(names []string) string {
	var flags []string
	for _, name := range names {
		if ref, path, isGit := strings.Cut(strings.TrimPrefix(name, "git://"), ":"); isGit && strings.HasPrefix(name, "git://") {
			name = path + " # at " + ref
		}
		flags = append(flags, "-f "+shell.Quote(name))
	}
	return strings.Join(flags, " ")
}

// definitions reads definitions, which are converted if they are at v1beta1.
func (p *RehearsalPlan) definitions(ctx context.Context, name, key string) ([]dump.Definition, error) {
	at := p.want.Path(name)
	if name == "-" {
		at = name
	}
	read, err := dump.Definitions(ctx, at, p.given.Stdin)
	if err != nil {
		return nil, p.want.At(key, "%w", err)
	}
	for _, d := range read {
		if d.Converted != nil {
			p.notes = append(p.notes, fmt.Sprintf("%s: the definition %s is at v1beta1, which no API server has had since 1.22, and was converted to v1", d.From, d.Name))
		}
	}
	return read, nil
}

// definitionsOf reads from a cluster those definitions that the new release has.
func (p *RehearsalPlan) definitionsOf(ctx context.Context, from string, wanted []dump.Definition) ([]dump.Definition, error) {
	client, err := p.connect(ctx, from)
	if err != nil {
		return nil, err
	}
	var found []dump.Definition
	for _, d := range wanted {
		one, missing, err := dump.DefinitionIn(ctx, client, d.Name)
		if err != nil {
			return nil, err
		}
		if !missing {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the cluster of the context %s has none of the new definitions %s", from, namesOf(wanted))
	}
	return found, nil
}

func (p *RehearsalPlan) connect(ctx context.Context, name string) (dynamic.Interface, error) {
	if p.given.Connect == nil {
		return nil, fmt.Errorf("the context %s: only the command crdconform reads from clusters", name)
	}
	return p.given.Connect(ctx, name)
}

func hasWebhookIn(d dump.Definition) bool {
	conversion := d.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter
}

// assume returns the definitions of a release that are taken to be converted by its webhook, although their manifests do not say so:
// all with several versions that say nothing, if none names a webhook. Kustomize and some programs add the stanza later.
func (p *RehearsalPlan) assume(r rehearsal.Release) []string {
	if r.Build == nil || slices.ContainsFunc(r.Definitions, hasWebhookIn) {
		return nil
	}
	var names []string
	for _, d := range r.Definitions {
		if len(d.Spec.Versions) > 1 && !statesConversion(d) {
			names = append(names, d.Name)
			p.notes = append(p.notes, fmt.Sprintf("%s of %s has no spec.conversion in the file; it is taken to name the webhook of the release", d.Name, r.Name))
		}
	}
	if len(names) == 0 {
		p.notes = append(p.notes, fmt.Sprintf("the webhook of %s converts nothing, since no definition of the release with several versions names it or leaves spec.conversion open", r.Name))
	}
	return names
}

// statesConversion reports whether the manifest of a definition has a conversion stanza, also one that says None.
func statesConversion(d dump.Definition) bool {
	manifest := d.Manifest
	if d.Converted != nil {
		manifest = d.Converted
	}
	return gjson.GetBytes(manifest, "spec.conversion").Exists()
}

// isShipped reports whether definitions are what users install, and not bases that a kustomization is to add to.
func isShipped(source string) bool {
	if slices.Contains(strings.Split(filepath.ToSlash(source), "/"), "bases") {
		return false
	}
	file := source
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		file = filepath.Join(source, "file")
	}
	above := manifest.KustomizationIn(filepath.Dir(filepath.Dir(file)))
	return manifest.IsKustomization(source) || manifest.KustomizationIn(filepath.Dir(file)) != "" || above == ""
}

// oldBuild is the build of an old release, or nil if nobody says which it is.
func (p *RehearsalPlan) oldBuild(i int) (rehearsal.Build, error) {
	r := p.want.Rehearse
	switch {
	case i < len(p.given.OldHandlers) && p.given.OldHandlers[i] != nil:
		return handlerBuild{p.given.OldHandlers[i], p.want.HandlerPath}, nil
	case i < len(r.Images) && r.Images[i] != "":
		return p.imageBuild(config.InCluster{Image: r.Images[i]}, options.Item("rehearse.images", i), fmt.Sprintf("%s-%d", p.run, i))
	case i >= len(r.Programs) || strings.TrimSpace(r.Programs[i]) == "":
		return nil, nil //nolint:nilnil // there is none
	}
	args, err := shell.Split(r.Programs[i])
	if err != nil {
		return nil, p.want.At(options.Item("rehearse.programs", i), "%w", err)
	}
	c := config.Config{Webhook: config.Webhook{Command: &config.Command{}}}
	options.SetDefaults(&c, "webhook.command")
	if known := p.want.Webhook.Command; known != nil {
		*c.Webhook.Command = *known
	}
	c.Webhook.Command.Args = args
	build, err := p.programBuild(*c.Webhook.Command)
	if err != nil {
		return nil, p.want.At(options.Item("rehearse.programs", i), "%w", err)
	}
	return build, nil
}

func (p *RehearsalPlan) programBuild(c config.Command) (rehearsal.Build, error) {
	build := programBuild{command: subject.Command{
		Args: c.Args, Env: c.Env, Dir: p.want.Path(c.Dir), Path: c.Path, ServerName: c.ServerName, ReadyTimeout: c.ReadyTimeout.Duration,
	}}
	return build, build.command.Validate()
}

// imageBuild is a build that is an image.
func (p *RehearsalPlan) imageBuild(in config.InCluster, key, run string) (rehearsal.Build, error) {
	c := p.want.Config
	if known := c.Webhook.InCluster; known != nil {
		in.Path, in.TargetPort, in.Env, in.Certs, in.ReadyTimeout = known.Path, known.TargetPort, known.Env, known.Certs, known.ReadyTimeout
	}
	if len(in.Manifests) > 0 {
		return nil, p.want.At(key, "a rehearsal deploys images, and no manifests; give %s", options.Key("webhook.inCluster.image"))
	}
	c.Webhook = config.Webhook{InCluster: &in}
	options.SetDefaults(&c, "webhook.inCluster")
	if err := Deployable(c, p.want.Source); err != nil {
		return nil, err
	}
	return imageBuild{config: c, run: run, note: func(string) {}}, nil
}

// newBuild is the build of the new release, or nil if nobody says which it is.
func (p *RehearsalPlan) newBuild() (rehearsal.Build, error) {
	w := p.want.Webhook
	switch {
	case p.want.Handler != nil:
		return handlerBuild{p.want.Handler, p.want.HandlerPath}, nil
	case w.Command != nil:
		return p.programBuild(*w.Command)
	case w.InCluster != nil:
		return p.imageBuild(*w.InCluster, "webhook.inCluster.manifests", p.run)
	case w.URL != "":
		return runningBuild{wire.Endpoint{URL: w.URL, CA: p.ca, ServerName: w.ServerName, ClientCertificate: p.client, HTTP2: w.HTTP2, Timeout: w.Timeout.Duration}}, nil
	case w.FromCRD != nil:
		return nil, p.want.At("webhook.fromCRD", "a rehearsal runs in a cluster of its own, from which your services cannot be reached; give the new program, or the URL of a webhook that is already running")
	case w.Reference != nil:
		return nil, p.want.At("webhook.reference", "it belongs to no release; give the new program")
	}
	return nil, nil //nolint:nilnil // there is none
}

// Run rehearses, and stops everything that it started. The report says what could not be judged, and why. If the context ends, it is partial.
func (p *RehearsalPlan) Run(ctx context.Context, progress Progress, apiServerLog io.Writer) *reports.Report {
	s := p.begin(progress, apiServerLog)
	ctx = s.limited(ctx)
	defer s.limit.lift()
	s.say(s.notes...)
	outcome, err := rehearsal.Run(ctx, rehearsal.Plan{
		Releases: p.releases, Objects: p.objects, Way: rehearsal.Way(p.want.Rehearse.Install), Selects: p.selects, Seed: p.Seed(), Dir: p.dir, Lossy: p.lossy,
		Progress: s.progress,
		Cluster: func(ctx context.Context) (cluster.Cluster, func(context.Context) error, error) {
			api, stop, err := s.start(ctx, p.want.Source)
			if err == nil {
				s.describeCluster(api)
			}
			return api, stop, err
		},
	})
	s.fail(ctx, err)
	s.say(outcome.Notes...)
	s.report.Upgrade, s.report.Notes = outcome.Legs, append(s.report.Notes, outcome.Notes...)
	for _, result := range outcome.Results {
		result.Verdict, result.Reason = p.Revise(result.ID, result.Verdict, result.Reason)
		result.Rerun = p.rerun("", result.ID)
		s.report.Results = append(s.report.Results, result)
	}
	s.end(ctx)
	return s.report
}

// lossy returns why a loss is right, if the configuration declares it.
func (p *RehearsalPlan) lossy(crd *apiextensionsv1.CustomResourceDefinition, version, path string) (string, bool) {
	for _, l := range p.want.Lossy {
		if l.Matches(crd.Spec.Group, crd.Spec.Names.Kind, version, l.Through, path) {
			return l.Reason, true
		}
	}
	return "", false
}

// describeCluster notes which API server it is.
func (s *session) describeCluster(api cluster.Cluster) {
	described := &reports.Cluster{Name: api.Name(), WatchCache: api.WatchCache()}
	if client, err := discovery.NewDiscoveryClientForConfig(api.Config()); err == nil {
		if version, err := client.ServerVersion(); err == nil {
			described.Version = version.GitVersion
		}
	}
	s.report.Cluster = described
}
