package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/cluster/embedded"
	"github.com/crdconform/crdconform/cluster/envtest"
	"github.com/crdconform/crdconform/cluster/existing"
	"github.com/crdconform/crdconform/cluster/kind"
	"github.com/crdconform/crdconform/cluster/minors"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/kindconfig"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites"
	"github.com/crdconform/crdconform/suites/reading"
)

// The sorts of clusters that --cluster knows.
const (
	embeddedCluster = "embedded"
	kindCluster     = "kind"
	envtestCluster  = "envtest"
	existingCluster = "existing"
)

// clusterFlags say which API server to check.
type clusterFlags struct {
	flags      *pflag.FlagSet
	variable   func(name string) (value string, set bool) // of the environment
	sort       string
	watchCache bool
	keep       bool
	minor      string
	image      string
	config     string
	assets     string
	kubeconfig string
	context    string
	host       string
	listen     string
	readOnly   bool
	none       bool // whether there may be none

	definitions []*apiextensionsv1.CustomResourceDefinition // that are checked; nil for those of the documents
}

// bind binds the flags to a command.
func (f *clusterFlags) bind(s streams, flags *pflag.FlagSet) {
	f.flags, f.variable = flags, s.variable
	if f.variable == nil {
		f.variable = func(string) (string, bool) { return "", false }
	}
	flags.StringVar(&f.sort, "cluster", embeddedCluster, "API server to check: embedded, one that runs in this process; kind, a cluster made for the run; envtest, kube-apiserver and etcd as programs; or existing")
	flags.BoolVar(&f.watchCache, "watch-cache", false, "let the API server that is started serve reads from a watch cache, as real ones do; what counts calls or looks at failures is not applicable then")
	flags.BoolVar(&f.keep, "keep", false, "kind: leave the cluster for a look at it; \"crdconform cleanup --kind --run ID\" removes it")
	flags.StringVar(&f.minor, "kubernetes", "", "embedded, kind: minor version, such as 1.36; docs/matrix.md and docs/kind.md say which there are; the newest when missing")
	flags.StringVar(&f.image, "kind-image", "", "kind: node image of your own, such as kindest/node:v1.36.3")
	flags.StringVar(&f.config, "kind-config", "", "kind: file with a configuration of kind's")
	flags.StringVar(&f.assets, "assets", "", "envtest: folder with kube-apiserver and etcd; $KUBEBUILDER_ASSETS when missing")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "existing: kubeconfig; $KUBECONFIG or ~/.kube/config when missing")
	flags.StringVar(&f.context, "context", "", "existing: context of the kubeconfig; never the current one by itself")
	flags.StringVar(&f.host, "webhook-host", "", "existing: IP address or name by which the API server reaches this machine; without it, what needs a webhook is not applicable")
	flags.StringVar(&f.listen, "webhook-listen", "", "existing: address to serve webhooks at, such as 0.0.0.0:9443; a free port when missing")
}

// bindReadOnly binds the flag for looking on.
func (f *clusterFlags) bindReadOnly(flags *pflag.FlagSet) {
	flags.BoolVar(&f.readOnly, "read-only", false, "existing: check only what can be seen without writing, and refuse every write")
}

// belongs tells to which sorts of clusters a flag belongs.
func (*clusterFlags) belongs(flag string) []string {
	switch flag {
	case "watch-cache":
		return []string{embeddedCluster, kindCluster, envtestCluster}
	case "kubernetes":
		return []string{embeddedCluster, kindCluster}
	case "keep", "kind-image", "kind-config":
		return []string{kindCluster}
	case "assets":
		return []string{envtestCluster}
	case "webhook-image-archive":
		return []string{kindCluster}
	case "webhook-image", "webhook-manifests", "webhook-service", "webhook-port", "webhook-target-port", "webhook-path", "webhook-replicas", "webhook-secret", "webhook-ca-secret":
		return []string{kindCluster, existingCluster}
	case "kubeconfig", "context", "webhook-host", "webhook-listen", "read-only":
		return []string{existingCluster}
	}
	return nil
}

// validate tells whether the flags go together.
func (f *clusterFlags) validate() error {
	sorts := []string{embeddedCluster, kindCluster, envtestCluster, existingCluster}
	if f.none {
		sorts = append(sorts, string(config.None))
	}
	if !slices.Contains(sorts, f.sort) {
		return fmt.Errorf("--cluster %s: there is no such sort of cluster; there are %s", f.sort, strings.Join(sorts, ", "))
	}
	var errs []error
	f.flags.Visit(func(flag *pflag.Flag) {
		if owners := f.belongs(flag.Name); owners != nil && !slices.Contains(owners, f.sort) {
			errs = append(errs, fmt.Errorf("--%s is for --cluster %s, and this is %s", flag.Name, strings.Join(owners, " or "), f.sort))
		}
	})
	if f.sort == existingCluster && f.context == "" {
		errs = append(errs, errors.New("--cluster existing wants --context NAME, so that no cluster is checked by accident; \"kubectl config get-contexts\" shows the names"))
	}
	if len(errs) == 0 && f.sort == existingCluster {
		return f.existing(newRunID()).Validate()
	}
	if f.sort == kindCluster && f.minor != "" {
		if _, err := kindconfig.For(f.minor); err != nil {
			errs = append(errs, fmt.Errorf("--kubernetes: %w", err))
		}
	}
	if f.sort == kindCluster && f.image != "" && len(errs) == 0 {
		if err := (kind.Options{Kubernetes: f.minor, Image: f.image}).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("--kind-image: %w", err))
		}
	}
	if f.sort == kindCluster && f.config != "" && len(errs) == 0 {
		if err := (kind.Options{Kubernetes: f.minor, ConfigFile: f.config}).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("--kind-config: %w", err))
		}
	}
	if len(errs) == 0 {
		_, _, err := f.older()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// again is what a command needs to have the same cluster again.
func (f *clusterFlags) again() string {
	var text strings.Builder
	f.flags.Visit(func(flag *pflag.Flag) {
		switch {
		case flag.Name != "cluster" && f.belongs(flag.Name) == nil, flag.Name == "keep":
		case flag.Value.Type() == "bool":
			if flag.Value.String() == "true" {
				text.WriteString(" --" + flag.Name)
			}
		default:
			value := flag.Value.String()
			if list, ok := flag.Value.(pflag.SliceValue); ok { // it would come in brackets
				value = strings.Join(list.GetSlice(), ",")
			}
			text.WriteString(" --" + flag.Name + " " + crdconform.Quoted(value))
		}
	})
	return text.String()
}

// newRunID returns an ID for a run.
func newRunID() string { return strings.ToLower(rand.Text()[:10]) }

// what is the cluster in words.
func (f *clusterFlags) what() string {
	switch f.sort {
	case kindCluster:
		return "a kind cluster"
	case envtestCluster:
		return "kube-apiserver and etcd"
	case existingCluster:
		return "the work at " + f.context
	}
	return "an API server"
}

// title is what begins, for whoever waits.
func (f *clusterFlags) title() string {
	if f.sort == existingCluster {
		return "connecting to " + f.context
	}
	return "starting " + f.what()
}

// bringUp brings the cluster up, or connects to it, and says where to find one that stays.
func (f *clusterFlags) bringUp(ctx context.Context, p *progress, run string, log io.Writer) (cluster.Cluster, error) {
	p.show(f.title())
	c, err := f.start(ctx, run, log)
	p.wipe()
	if made, is := c.(*kind.Cluster); is && f.keep {
		p.say("The kind cluster %s stays: see kubectl --kubeconfig %s; crdconform cleanup --kind --run %s removes it", made.ClusterName(), crdconform.Quoted(made.Kubeconfig()), run)
	}
	return c, err
}

// start brings the cluster up, or connects to it.
func (f *clusterFlags) start(ctx context.Context, run string, log io.Writer) (cluster.Cluster, error) {
	switch f.sort {
	case kindCluster:
		return started(kind.Start(ctx, kind.Options{
			Run: run, Provider: kindProvider(f.variable), Kubernetes: f.minor, Image: f.image, ConfigFile: f.config, WatchCache: f.watchCache, Keep: f.keep, Log: log,
		}))
	case envtestCluster:
		return started(envtest.Start(ctx, envtest.Options{Run: run, Assets: f.assets, Variable: f.variable, WatchCache: f.watchCache, Log: log}))
	case existingCluster:
		return started(existing.Start(ctx, f.existing(run)))
	}
	if minor, older, err := f.older(); err != nil || older {
		if err != nil {
			return nil, err
		}
		return started(minors.Start(ctx, minors.Options{Minor: minor, Programs: f.programs(), WatchCache: f.watchCache, Log: log}))
	}
	// This cannot be broken off: upstream's API server ends the process when it is stopped before it is up.
	return started(embedded.Start(context.WithoutCancel(ctx), embedded.Options{WatchCache: f.watchCache}))
}

// kindProvider is what runs the nodes of kind, if the environment says so, as to kind's own command; empty otherwise.
func kindProvider(variable func(string) (string, bool)) string {
	if variable == nil {
		return ""
	}
	provider, _ := variable("KIND_EXPERIMENTAL_PROVIDER")
	return provider
}

// older returns the minor of an embedded API server that is a program of its own, and whether it is one.
func (f *clusterFlags) older() (requirement.Minor, bool, error) {
	if f.sort != embeddedCluster || !f.flags.Changed("kubernetes") {
		return requirement.Minor{}, false, nil
	}
	return olderMinor("--kubernetes", f.minor)
}

// programs is where API servers of older minors are.
func (f *clusterFlags) programs() minors.Programs { return programsOf(f.variable) }

// started keeps a cluster that is nil from becoming one that is not.
func started[C cluster.Cluster](c C, err error) (cluster.Cluster, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// existing is the cluster that is there already.
func (f *clusterFlags) existing(run string) existing.Options {
	return existing.Options{
		Run: run, Kubeconfig: kubeconfigs(f.kubeconfig), Context: f.context,
		WebhookHost: f.host, WebhookListen: f.listen, ReadOnly: f.readOnly, Definitions: f.definitions,
	}
}

// options says how a run goes about in a cluster, over and above what others say.
func (f *clusterFlags) options(o suites.Options, c cluster.Cluster, run string) suites.Options {
	o.Cluster = c
	if f.sort != embeddedCluster {
		o.Run = run
	}
	if there, ok := c.(*existing.Cluster); ok {
		o.Domain = there.Domain()
	}
	if f.readOnly {
		o.Readings = reading.Checks()
	}
	return o
}
