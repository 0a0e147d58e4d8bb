package kind

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/log"

	"github.com/crdconform/crdconform/internal/cluster/redact"
)

// logger writes what kind says, line by line.
type logger struct {
	mu sync.Mutex
	w  io.Writer
}

// newLogger returns a logger that writes to w, or nowhere if that is nil.
func newLogger(w io.Writer) log.Logger {
	if w == nil {
		return log.NoopLogger{}
	}
	return &logger{w: w}
}

var (
	_ log.Logger     = (*logger)(nil)
	_ log.InfoLogger = (*logger)(nil)
)

func (l *logger) write(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(l.w, redact.Text(strings.TrimRight(fmt.Sprintf(format, arguments...), "\n")))
}

func (l *logger) Warn(message string)                    { l.write("%s", message) }
func (l *logger) Warnf(format string, arguments ...any)  { l.write(format, arguments...) }
func (l *logger) Error(message string)                   { l.write("%s", message) }
func (l *logger) Errorf(format string, arguments ...any) { l.write(format, arguments...) }
func (l *logger) Info(message string)                    { l.write("%s", message) }
func (l *logger) Infof(format string, arguments ...any)  { l.write(format, arguments...) }
func (l *logger) Enabled() bool                          { return true }
func (l *logger) V(log.Level) log.InfoLogger             { return l }
