package manifest_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/internal/manifest"
)

// TestBelow has a folder show what can be read of it, through a link to it as well.
func TestBelow(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // names of sockets are short
	for _, name := range []string{"all/b.yaml", "all/a/c.json", "all/a/d.txt", "all/.git/e.yaml", "elsewhere/f.yml", "elsewhere/.hidden.yaml"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"all/link.yaml": "../elsewhere/f.yml", "all/folder.yaml": "../elsewhere", "all/nowhere.yaml": "gone", "linked": "all"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := new(net.ListenConfig).Listen(t.Context(), "unix", "all/socket.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, folder := range []string{"all", "linked"} {
		want := []string{folder + "/a/c.json", folder + "/b.yaml", folder + "/link.yaml", folder + "/nowhere.yaml"}
		if got, err := manifest.Below(folder, manifest.IsFile); err != nil || !slices.Equal(got, want) {
			t.Errorf("below %s there are %q, %v; want %q", folder, got, err, want)
		}
	}
	if got, err := manifest.Below("elsewhere", manifest.IsFile); err != nil || !slices.Equal(got, []string{"elsewhere/.hidden.yaml", "elsewhere/f.yml"}) {
		t.Errorf("files whose names begin with a dot: %q, %v", got, err)
	}
	for _, none := range []string{"gone", "all/b.yaml"} {
		if got, err := manifest.Below(none, manifest.IsFile); err == nil {
			t.Errorf("below %s there are %q", none, got)
		}
	}
}
