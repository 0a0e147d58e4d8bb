package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/options"
)

// TestOptionFlags compares the flags of commands with the table of options: a flag that is not there says how the command works, and
// nothing that crdconform.yaml could say.
func TestOptionFlags(t *testing.T) {
	t.Parallel()
	cluster := "cluster watch-cache keep kubernetes kind-image kind-config assets kubeconfig context webhook-host webhook-listen "
	for name, own := range map[string]string{
		"check":  cluster + "config hold known-failing",
		"load":   "config metrics-address vegeta-results workers worker-image kubeconfig namespace kubernetes baseline max-regress",
		"run":    cluster + "read-only known-failing",
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
