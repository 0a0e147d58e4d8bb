// Package kinds is the table of the kinds of clusters that the command line and crdconform.yaml know. Each has a file with its row;
// nothing else knows one by its name.
package kinds

import (
	"fmt"

	"github.com/crdconform/crdconform/internal/cluster/source"
)

// Kind is a kind of cluster.
type Kind struct {
	// Name is its name, as in --api-server and in crdconform.yaml.
	Name string

	// Summary says what it is, after the name and a comma. It may be empty.
	Summary string

	// Options are the names of the options that it has.
	Options []string

	// Needs are options that it cannot do without, with what to say of those.
	Needs map[string]string

	// Validate says what is wrong with the options that it has. Its errors are OptionErrors, or say all by themselves.
	Validate func(Options) error

	// Source is where such a cluster comes from.
	Source func(Options) *source.Source

	// Columns says how the command matrix has such clusters; nil if it has none.
	Columns *Columns
}

// Columns are the clusters of a kind in a matrix: one for each value of a flag.
type Columns struct {
	Flag    string   // that has the values
	Help    string   // of the flag
	Option  string   // of the kind, that each value is for
	Default []string // the values if the flag is not given; with these, the flag can be "none"
	Shared  []string // options that the matrix has as flags too, for all of them
	Named   bool     // whether the value is part of a column's name
	Alone   bool     // whether one such cluster is all that a machine can be expected to run

	// Validate reports whether there is what the options name. Its errors are OptionErrors, or say all by themselves.
	Validate func(Options) error
}

// All returns the kinds of clusters.
func All() []Kind { return []Kind{embeddedKind(), kindKind(), envtestKind(), existingKind()} }

// Named returns the kind with a name.
func Named(name string) (Kind, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Options are those of all kinds of clusters. Zero values are for what is not given.
type Options struct {
	// Variable looks up a variable of the environment. Nil means that none is set.
	Variable func(name string) (value string, set bool)

	WatchCache, Keep, ReadOnly                      bool
	Kubernetes, KindImage, KindConfig, Assets       string
	Kubeconfig, Context, WebhookHost, WebhookListen string
}

// Option is one of the options of clusters.
type Option struct {
	Name  string // such as context, or the key of one that has no flag, such as cluster.kindImage
	Help  string // of the flag
	Value any    // leads to the value, a bool or a string
}

// ReadOnly is the name of the option for looking on.
const ReadOnly = "read-only"

// Table returns all options.
func (o *Options) Table() []Option {
	return []Option{
		{"kubernetes", "embedded, kind: minor version, such as 1.36, as listed in docs/matrix.md and docs/kind.md; default: the newest", &o.Kubernetes},
		{"kubeconfig", "existing: kubeconfig; default: $KUBECONFIG or ~/.kube/config", &o.Kubeconfig},
		{"context", "existing: context of the kubeconfig; the current one is never used by default", &o.Context},
		{ReadOnly, "existing: check only what can be seen without writing, and reject every write", &o.ReadOnly},
		{"cluster.watchCache", "", &o.WatchCache},
		{"cluster.keep", "", &o.Keep},
		{"cluster.kindImage", "", &o.KindImage},
		{"cluster.kindConfig", "", &o.KindConfig},
		{"cluster.assets", "", &o.Assets},
		{"cluster.webhookHost", "", &o.WebhookHost},
		{"cluster.listen", "", &o.WebhookListen},
	}
}

// Set sets the value of an option that is text.
func (o *Options) Set(name, value string) {
	for _, option := range o.Table() {
		if text, is := option.Value.(*string); is && option.Name == name {
			*text = value
		}
	}
}

// variable looks up a variable of the environment; empty when it is not set.
func (o *Options) variable(name string) string {
	if o.Variable == nil {
		return ""
	}
	value, _ := o.Variable(name)
	return value
}

// OptionError is what is wrong with an option.
type OptionError struct {
	Option string // its name, such as kubernetes
	Value  string // to be named; may be empty
	Err    error
}

func (e *OptionError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", e.Option, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Option, e.Value, e.Err)
}

func (e *OptionError) Unwrap() error { return e.Err }
