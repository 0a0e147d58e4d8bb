package embedded

import (
	"flag"
	"fmt"
	"io"
	"sync"

	"k8s.io/klog/v2"
)

// LogTo sends the log of API servers to w, for the whole process: upstream's packages share one log. Without it the log goes
// to standard error.
func LogTo(w io.Writer) error {
	// One of these settings can be reached as a flag only.
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"--logtostderr=false", "--stderrthreshold=FATAL"}); err != nil {
		return fmt.Errorf("directing the log of API servers: %w", err)
	}
	klog.SetOutput(w)
	return nil
}

// captured is the log of the process: who began last to send it elsewhere has it, and when all have ended it is as before.
var captured struct {
	mu     sync.Mutex
	by     int
	before klog.State
}

// CaptureLog does as LogTo, until the function that it returns is called. The log of two at a time goes to the writer of the second.
func CaptureLog(w io.Writer) (restore func(), err error) {
	captured.mu.Lock()
	defer captured.mu.Unlock()
	if captured.by == 0 {
		captured.before = klog.CaptureState()
	}
	if err := LogTo(w); err != nil {
		captured.before.Restore()
		return nil, err
	}
	captured.by++
	return sync.OnceFunc(func() {
		captured.mu.Lock()
		defer captured.mu.Unlock()
		if captured.by--; captured.by == 0 {
			captured.before.Restore()
		}
	}), nil
}
