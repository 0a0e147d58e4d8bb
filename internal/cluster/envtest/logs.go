//go:build unix

package envtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/crdconform/crdconform/internal/cluster/redact"
	"github.com/crdconform/crdconform/internal/visible"
)

// logs are the logs of the programs: a file for each, and a copy if the caller asked for one.
type logs struct {
	dir  string
	also io.Writer // may be nil

	files []*os.File
	mu    sync.Mutex // of also, to which two programs write
}

func (l *logs) path(program string) string { return filepath.Join(l.dir, program+".log") }

// open returns where a program is to write its log, which continues where an earlier attempt ended.
func (l *logs) open(program string) (io.Writer, error) {
	file, err := os.OpenFile(l.path(program), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	l.files = append(l.files, file)
	if l.also == nil {
		return file, nil
	}
	return &both{file, l}, nil
}

// both writes to a file and to the copy of the logs.
type both struct {
	file *os.File
	logs *logs
}

func (b *both) Write(text []byte) (int, error) {
	b.logs.mu.Lock()
	defer b.logs.mu.Unlock()
	// Somebody who does not take it must not stop the program.
	_, _ = b.logs.also.Write(text)
	return b.file.Write(text)
}

// lastWords returns the last line that a program wrote, shortened.
func (l *logs) lastWords(program string) string {
	text, err := os.ReadFile(l.path(program))
	if err != nil {
		return err.Error()
	}
	written := strings.TrimSpace(string(text))
	last := visible.Short(visible.Line(written[strings.LastIndexByte(written, '\n')+1:]), mostQuoted)
	if last == "" {
		return "it wrote nothing; check the free disk space in " + os.TempDir()
	}
	return "it wrote: " + last
}

// copyTo copies all logs into a directory, without what looks like a secret.
func (l *logs) copyTo(dir string) error {
	var errs []error
	for _, program := range []string{apiServerName, etcdName} {
		errs = append(errs, copyFile(l.path(program), filepath.Join(dir, program+".log")))
	}
	return errors.Join(errs...)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("no log: %w", err)
	}
	return os.WriteFile(to, []byte(redact.Text(string(text))), 0o600)
}

func (l *logs) close() error {
	var errs []error
	for _, file := range l.files {
		errs = append(errs, file.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}
