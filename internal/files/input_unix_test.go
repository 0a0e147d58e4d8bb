//go:build unix

package files_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/files"
)

// TestPipes reads pipes, with and without another program that writes to them.
func TestPipes(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := files.Read(name, files.Objects); err == nil || !strings.HasSuffix(err.Error(), "pipe is a pipe to which nothing writes; give a file") {
		t.Errorf("without a writer: %q, %v", data, err)
	}
	writer, err := os.OpenFile(name, os.O_RDWR, 0) // which does not wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	reader, err := files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := writer.WriteString("a: b"); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(reader); string(data) != "a: b" || err != nil {
		t.Errorf("with a writer: %q, %v", data, err)
	}
}
