// Package kinds is the table of the kinds of clusters that the command line and crdconform.yaml know. Each has a file with its row;
// nothing else knows one by its name.
package kinds

import (
	"fmt"

	"github.com/crdconform/crdconform/internal/cluster/source"
)

// Kind is a kind of cluster.
type Kind struct {
	// Name is its name, as in --cluster and in crdconform.yaml.
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

	WatchCache    bool   // watch-cache
	Keep          bool   // keep
	Kubernetes    string // kubernetes: a minor, such as 1.36
	KindImage     string // kind-image
	KindConfig    string // kind-config: file
	Assets        string // assets: folder
	Kubeconfig    string // kubeconfig
	Context       string // context
	WebhookHost   string // webhook-host
	WebhookListen string // webhook-listen: host:port
	ReadOnly      bool   // read-only
}

// variable looks up a variable of the environment; empty when it is not set.
func (o Options) variable(name string) string {
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
