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
	captured.mu.Lock()
	defer captured.mu.Unlock()
	captured.usual = w
	return direct(w)
}

func direct(w io.Writer) error {
	if err := klogFlags().Set("stderrthreshold", "FATAL"); err != nil {
		return fmt.Errorf("directing the log of API servers: %w", err)
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
	return nil
}

// klogFlags is those settings of klog that have no function.
func klogFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	return flags
}

// captured is the log of the process: who began last to send it elsewhere has it, and when all have ended it is as before.
var captured struct {
	mu      sync.Mutex
	usual   io.Writer // where LogTo sent it; nil unless it did
	by      int
	restore func()
}

// CaptureLog does as LogTo, until the function that it returns is called. The log of two at a time goes to the writer of the second.
func CaptureLog(w io.Writer) (restore func(), err error) {
	captured.mu.Lock()
	defer captured.mu.Unlock()
	if captured.by == 0 {
		captured.restore = restoreLog()
	}
	if err := direct(w); err != nil {
		return nil, err
	}
	captured.by++
	return sync.OnceFunc(func() {
		captured.mu.Lock()
		defer captured.mu.Unlock()
		if captured.by--; captured.by == 0 {
			captured.restore()
		}
	}), nil
}

// restoreLog returns what makes the log as it is now.
//
// Goroutines of an API server outlive it for a moment and log, which klog.State.Restore is not safe against. It is what brings back
// writers that somebody else set. A log that goes where LogTo sent it, or to standard error, as it does unless somebody changed that,
// needs functions only that are safe.
func restoreLog() func() {
	if usual := captured.usual; usual != nil {
		return func() { klog.SetOutput(usual) }
	}
	flags := klogFlags()
	if flags.Lookup("logtostderr").Value.String() != "true" {
		return klog.CaptureState().Restore
	}
	threshold := flags.Lookup("stderrthreshold").Value
	before := threshold.String()
	return func() {
		klog.SetOutput(nil)
		klog.LogToStderr(true)
		_ = threshold.Set(before) // cannot fail: it was its value
	}
}
