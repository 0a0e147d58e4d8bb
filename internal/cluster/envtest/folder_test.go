package envtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/envtest/folder"
)

func TestProvide(t *testing.T) {
	const nowhere = "/dev/null/nowhere"
	for name, test := range map[string]struct {
		caches, temporary bool // can be written to
		others            []string
		changed           bool
	}{
		"cache folder":     {caches: true},
		"temporary folder": {temporary: true},
		"another folder":   {others: []string{nowhere, "other"}, changed: true},
		"no folder":        {others: []string{nowhere}},
	} {
		t.Run(name, func(t *testing.T) {
			in := func(writable bool) string {
				if writable {
					return t.TempDir()
				}
				return nowhere
			}
			caches, temporary, other := in(test.caches), in(test.temporary), t.TempDir()
			t.Setenv("XDG_CACHE_HOME", caches)
			t.Setenv("HOME", caches)
			t.Setenv("TMPDIR", temporary)
			for i := range test.others {
				if test.others[i] == "other" {
					test.others[i] = other
				}
			}
			want, wantVariable := "", temporary
			if test.changed {
				want, wantVariable = other, other
			}
			if got := folder.Provide(test.others); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := os.TempDir(); got != wantVariable {
				t.Errorf("TMPDIR is %q, want %q", got, wantVariable)
			}
			made := filepath.Join(other, "kubebuilder-envtest")
			if _, err := os.Stat(made); (err == nil) != test.changed {
				t.Errorf("%s: %v", made, err)
			}
		})
	}
}
