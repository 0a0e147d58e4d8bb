package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
)

// clusterFlags say which API server to check.
type clusterFlags struct {
	flags   *pflag.FlagSet
	sort    string // of cluster
	none    bool   // whether there may be none
	options kinds.Options
}

// bind binds the flags to a command.
func (f *clusterFlags) bind(s streams, flags *pflag.FlagSet) {
	f.flags = flags
	o := &f.options
	o.Variable = s.variable
	flags.StringVar(&f.sort, "cluster", kinds.All()[0].Name, "API server to check: "+summaries("run")+"; or "+lastKind())
	flags.BoolVar(&o.WatchCache, "watch-cache", false, "start the API server with a watch cache, as real ones have; requirements that count calls or check failures are then not applicable")
	flags.BoolVar(&o.Keep, "keep", false, "kind: keep the cluster for inspection; \"crdconform cleanup --kind --run ID\" removes it")
	flags.StringVar(&o.Kubernetes, "kubernetes", "", "embedded, kind: minor version, such as 1.36, as listed in docs/matrix.md and docs/kind.md; default: the newest")
	flags.StringVar(&o.KindImage, "kind-image", "", "kind: node image of your own, such as kindest/node:v1.36.3")
	flags.StringVar(&o.KindConfig, "kind-config", "", "kind: file with a kind configuration")
	flags.StringVar(&o.Assets, "assets", "", "envtest: folder with kube-apiserver and etcd; default: $KUBEBUILDER_ASSETS")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "existing: kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&o.Context, "context", "", "existing: context of the kubeconfig; the current one is never used by default")
	flags.StringVar(&o.WebhookHost, "webhook-host", "", "existing: IP address or name by which the API server reaches this machine; without it, requirements that need a webhook are not applicable")
	flags.StringVar(&o.WebhookListen, "webhook-listen", "", "existing: address to serve webhooks at, such as 0.0.0.0:9443; default: a free port")
}

// bindReadOnly binds the flag for looking on.
func (f *clusterFlags) bindReadOnly(flags *pflag.FlagSet) {
	flags.BoolVar(&f.options.ReadOnly, "read-only", false, "existing: check only what can be seen without writing, and reject every write")
}

// summaries says which kinds of clusters there are, but for the last, and what they are to a command.
func summaries(command string) string {
	all := kinds.All()
	var texts []string
	for _, k := range all[:len(all)-1] {
		texts = append(texts, k.Name+", "+strings.ReplaceAll(k.Summary, "%s", command))
	}
	return strings.Join(texts, "; ")
}

// lastKind is the name of the kind that a list ends with.
func lastKind() string {
	all := kinds.All()
	return all[len(all)-1].Name
}

// belongs returns the kinds of clusters that a flag is for; none when it is for all.
func (*clusterFlags) belongs(flag string) []string {
	deploys := slices.ContainsFunc(options.All(), func(o options.Option) bool { return o.Flag == flag && strings.HasPrefix(o.Key, "webhook.inCluster.") })
	var owners []string
	for _, k := range kinds.All() {
		from := k.Source(kinds.Options{})
		if slices.Contains(k.Options, flag) || deploys && from.Pods && (flag != "webhook-image-archive" || from.Images) {
			owners = append(owners, k.Name)
		}
	}
	return owners
}

// kind is the kind of cluster that is asked for; false for none.
func (f *clusterFlags) kind() (kinds.Kind, bool) { return kinds.Named(f.sort) }

// source is where the API server comes from; nil for none.
func (f *clusterFlags) source() *source.Source {
	if k, found := f.kind(); found {
		return k.Source(f.options)
	}
	return nil
}

// validate reports whether the flags go together.
func (f *clusterFlags) validate() error {
	var names []string
	for _, k := range kinds.All() {
		names = append(names, k.Name)
	}
	if f.none {
		names = append(names, string(config.None))
	}
	if !slices.Contains(names, f.sort) {
		return fmt.Errorf("--cluster %s: unknown cluster (want %s)", f.sort, strings.Join(names, ", "))
	}
	var errs []error
	f.flags.Visit(func(flag *pflag.Flag) {
		if owners := f.belongs(flag.Name); owners != nil && !slices.Contains(owners, f.sort) {
			errs = append(errs, fmt.Errorf("--%s is only valid with --cluster %s, not %s", flag.Name, strings.Join(owners, " or "), f.sort))
		}
	})
	kind, _ := f.kind()
	for _, option := range slices.Sorted(maps.Keys(kind.Needs)) {
		if value := f.flags.Lookup(option); value == nil || value.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--cluster %s requires --%s NAME, %s", f.sort, option, kind.Needs[option]))
		}
	}
	if len(errs) > 0 || kind.Validate == nil {
		return errors.Join(errs...)
	}
	return asFlag(kind.Validate(f.options))
}

// asFlag shows what is wrong with an option as a flag.
func asFlag(err error) error {
	if wrong, is := errors.AsType[*kinds.OptionError](err); is {
		return fmt.Errorf("--%w", wrong)
	}
	return err
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
			text.WriteString(" --" + flag.Name + " " + shell.Quote(value))
		}
	})
	return text.String()
}
