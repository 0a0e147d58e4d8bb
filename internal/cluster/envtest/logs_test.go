//go:build unix

package envtest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLogsAreRedacted copies logs with a secret in one of them.
func TestLogsAreRedacted(t *testing.T) {
	t.Parallel()
	l := logs{dir: fakes(t, map[string][]byte{"kube-apiserver.log": []byte("a webhook said token=hidden-value\n"), "etcd.log": []byte("ready\n")})}
	dir := t.TempDir()
	if err := l.copyTo(dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"kube-apiserver.log": "a webhook said token=[redacted]\n", "etcd.log": "ready\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s is %q, want %q: %v", file, got, want, err)
		}
	}
}
