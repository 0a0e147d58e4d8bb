package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/options"
)

// TestOptionFlags compares the flags of commands with the table of options: a flag that is not there says how the command works, and
// nothing that crdconform.yaml could say.
func TestOptionFlags(t *testing.T) {
	t.Parallel()
	clusters, columns := "", ""
	for _, o := range new(kinds.Options).Table() {
		if o.Name != kinds.ReadOnly {
			clusters += o.Name + " "
		}
	}
	for _, k := range columnKinds() {
		columns += k.Columns.Flag + " " + strings.Join(k.Columns.Shared, " ") + " "
	}
	for name, own := range map[string]string{
		"check":  clusters + "config hold known-failing",
		"load":   "config metrics-address vegeta-results workers worker-image kubeconfig namespace kubernetes baseline max-regress",
		"run":    clusters + kinds.ReadOnly + " known-failing",
		"matrix": columns + "parallel known-failing",
		"column": clusters + "known-failing",
		"diff":   "recording ca-file-a ca-file-b server-name-a server-name-b output",
		"record": "listen name ca-out tls-cert tls-key out max-size max-exchanges",
	} {
		cmd, _, err := newRoot(streams{}).Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(own)
		for _, o := range options.All() {
			if slices.Contains(o.Commands, name) {
				want = append(want, o.Flag)
			}
		}
		var got []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { got = append(got, f.Name) })
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the flags\n%v, want\n%v", name, got, want)
		}
	}
}
