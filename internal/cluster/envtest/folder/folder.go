// Package folder keeps envtest's packages from ending the process where they find no folder to write to.
//
// One of them makes the folder kubebuilder-envtest while it is initialised, in the user's cache folder or else in the one for
// temporary files, and panics where it can make neither. That is the case in containers with a read-only file system, where
// crdconform runs as a webhook or a worker and has no use for envtest at all. This package is initialised earlier: Go
// initialises packages whose imports are ready in the order of their import paths, and this one needs less than envtest's
// and comes before them in the alphabet.
package folder

import (
	"os"
	"path/filepath"
)

var _ = Provide([]string{"/dev/shm", "/var/tmp", "/run"})

// Provide makes TMPDIR name the first of some folders in which envtest's can be made, where it can be made in none of those
// that envtest tries. It changes nothing where all of them are read-only. The result is TMPDIR if it was changed.
func Provide(others []string) string {
	if caches, err := os.UserCacheDir(); err == nil && fits(caches) {
		return ""
	}
	if fits(os.TempDir()) {
		return ""
	}
	for _, other := range others {
		if fits(other) && os.Setenv("TMPDIR", other) == nil {
			return other
		}
	}
	return ""
}

// fits reports whether envtest's folder is in another, or can be made there.
func fits(in string) bool {
	return os.MkdirAll(filepath.Join(in, "kubebuilder-envtest"), 0o750) == nil
}
