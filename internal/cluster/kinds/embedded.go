package kinds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/minors"
	"github.com/crdconform/crdconform/internal/cluster/source"
	"github.com/crdconform/crdconform/requirement"
)

func embeddedKind() Kind {
	return Kind{
		Name:    "embedded",
		Summary: "one that runs in this process",
		Options: []string{"cluster.watchCache", "kubernetes"},
		Validate: func(o Options) error {
			_, _, err := EmbeddedMinor(o.Kubernetes)
			return err
		},
		Source: EmbeddedSource,
		Columns: &Columns{
			Flag: "embedded", Help: "minors of embedded API servers, or none", Option: "kubernetes", Default: []string{minors.BuiltIn().String()}, Named: true,
			Validate: func(o Options) error {
				minor, older, err := EmbeddedMinor(o.Kubernetes)
				if err == nil && older {
					_, err = Programs(o).Find(minor)
				}
				return err
			},
		},
	}
}

// EmbeddedSource is where an embedded API server comes from: this process, or a program where it is of an older minor.
func EmbeddedSource(o Options) *source.Source {
	from := &source.Source{What: "an API server"}
	from.Start = func(ctx context.Context, run source.Run) (cluster.Cluster, error) {
		minor, older, err := EmbeddedMinor(o.Kubernetes)
		switch {
		case err != nil:
			return nil, err
		case older:
			return source.Starts(minors.Start(ctx, minors.Options{Minor: minor, Programs: Programs(o), WatchCache: o.WatchCache, Log: run.Log}))
		}
		// This cannot be broken off: upstream's API server ends the process when it is stopped before it is up.
		return source.Starts(embedded.Start(context.WithoutCancel(ctx), embedded.Options{WatchCache: o.WatchCache}))
	}
	if minor, older, err := EmbeddedMinor(o.Kubernetes); err == nil && older {
		from.Begins = "starting an API server of Kubernetes " + minor.String()
	}
	return from
}

// MinorsVariable names the folder with API servers of older minors.
const MinorsVariable = "CRDCONFORM_MINORS"

// Programs is where API servers of older minors are.
func Programs(o Options) minors.Programs { return minors.Programs{Dir: o.variable(MinorsVariable)} }

// EmbeddedMinor reads a minor of which there is an embedded API server, the built-in one if empty, and reports whether it is one in
// a program of its own. Errors are OptionErrors.
func EmbeddedMinor(text string) (minor requirement.Minor, older bool, err error) {
	if text == "" {
		return minors.BuiltIn(), false, nil
	}
	all := append(minors.All(), minors.BuiltIn())
	if minor, err = requirement.ParseMinor(text); err != nil {
		return minor, false, &OptionError{Option: "kubernetes", Err: err}
	}
	if text != minor.String() || !slices.Contains(all, minor) {
		var names []string
		for _, m := range all {
			names = append(names, m.String())
		}
		return minor, false, &OptionError{"kubernetes", text, fmt.Errorf("no such embedded API server (want %s)", strings.Join(names, ", "))}
	}
	return minor, minor != minors.BuiltIn(), nil
}
