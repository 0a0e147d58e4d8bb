package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/kinds"
	"github.com/crdconform/crdconform/internal/options"
)

// TestKindsNames compares the kinds with the names that crdconform.yaml and --api-server know.
func TestKindsNames(t *testing.T) {
	t.Parallel()
	cluster, _ := options.Of("apiServer")
	var names []string
	for _, k := range kinds.All() {
		names = append(names, k.Name)
	}
	if want := append(names, "none"); !slices.Equal(cluster.Values, want) || cluster.Default != names[0] {
		t.Errorf("package options knows the clusters %v, and %v by default, want %v", cluster.Values, cluster.Default, want)
	}
}

// TestKindsOptions wants what the kinds say of their options to be about options that there are.
func TestKindsOptions(t *testing.T) {
	t.Parallel()
	var names []string
	for _, o := range new(kinds.Options).Table() {
		names = append(names, o.Name)
	}
	for _, k := range kinds.All() {
		used := slices.Clone(k.Options)
		for option := range k.Needs {
			used = append(used, option)
		}
		if k.Columns != nil {
			used = append(append(used, k.Columns.Option), k.Columns.Shared...)
		}
		for _, option := range used {
			if !slices.Contains(names, option) {
				t.Errorf("%s has an option %q, which is not in the table", k.Name, option)
			}
		}
	}
}

// TestKindsKubeconfigs takes the flag, or the files of kubectl.
func TestKindsKubeconfigs(t *testing.T) {
	for _, test := range []struct{ variable, flag, want string }{{"/a:/b", "/c", "/c"}, {"/a:/b", "", "/a:/b"}, {"", "", "/.kube/config"}} {
		t.Setenv("KUBECONFIG", test.variable)
		if got := kinds.Kubeconfigs(test.flag); got != test.want && (test.variable != "" || !strings.HasSuffix(got, test.want)) {
			t.Errorf("%q: got %s", test, got)
		}
	}
}
