package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/files"
)

// TestSizes reads what is as large as it may be, and nothing that is larger, even if it never ends.
func TestSizes(t *testing.T) {
	t.Parallel()
	for size, fits := range map[int]bool{0: true, 1 << 20: true, 1<<20 + 1: false} {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := files.Read(name, files.Certificates)
		if fits != (err == nil) || fits && len(data) != size {
			t.Errorf("%d bytes: %v, and %d were read", size, err, len(data))
		}
	}
	if _, err := files.ReadAll(endless{}, "stdin", files.Certificates); err == nil || !strings.Contains(err.Error(), "stdin: it is larger than 1 MiB; give less at a time") {
		t.Errorf("of what never ends it says: %v", err)
	}
	if _, err := files.Read(filepath.Join(t.TempDir(), "missing"), files.Objects); !os.IsNotExist(err) {
		t.Errorf("of a file that is not there it says: %v", err)
	}
}

// TestKeyPairs reads files that are too large, or none, in place of a certificate or its key.
func TestKeyPairs(t *testing.T) {
	t.Parallel()
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, files.Certificates+1), 0o600); err != nil {
		t.Fatal(err)
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(small, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{large, small}, {small, large}} {
		if _, err := files.KeyPair(pair[0], pair[1]); err == nil || !strings.HasPrefix(err.Error(), large+": it is larger than 1 MiB") {
			t.Errorf("%v: got %v", pair, err)
		}
	}
	if _, err := files.KeyPair(small, small); err == nil || !strings.Contains(err.Error(), "failed to find any PEM data") {
		t.Errorf("of an empty file it says: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
