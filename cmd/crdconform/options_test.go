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
	var clusters, columns []string
	for _, o := range new(kinds.Options).Table() {
		if o.Name != kinds.ReadOnly {
			clusters = append(clusters, o.Name)
		}
	}
	for _, k := range columnKinds() {
		columns = append(append(columns, k.Columns.Flag), k.Columns.Shared...)
	}
	for name, own := range map[string][]string{
		"check":  append(strings.Fields("config history hold known-failing write-lossy"), clusters...),
		"load":   strings.Fields("config history metrics-address vegeta-results workers worker-image kubeconfig namespace kubernetes baseline max-regress"),
		"run":    append([]string{kinds.ReadOnly, "history", "known-failing", "load-profile"}, clusters...),
		"matrix": append([]string{"parallel", "known-failing"}, columns...),
		"column": append([]string{"known-failing"}, clusters...),
		"diff":   strings.Fields("recording ca-file-a ca-file-b server-name-a server-name-b output"),
		"record": strings.Fields("listen name ca-out tls-cert tls-key out max-size max-exchanges"),
	} {
		cmd, _, err := newRoot(streams{}).Find([]string{name})
		check(t, err)
		want := own
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
