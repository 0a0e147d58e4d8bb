package embedded

import (
	"io"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestCaptureLogBesideLogging has something log while the log is captured and given back, as goroutines do that outlive their API
// server. The race detector reports a setting that is written without its lock.
func TestCaptureLogBesideLogging(t *testing.T) {
	defer func() {
		if err := LogTo(io.Discard); err != nil {
			t.Error(err)
		}
	}()
	klog.LogToStderr(true)
	var log strings.Builder
	restore, err := CaptureLog(&log)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			klog.V(10).Info("nobody wants to know")
		}
	}()
	klog.Info("captured")
	restore()
	<-done
	if before := klogFlags().Lookup("logtostderr").Value.String(); before != "true" || !strings.Contains(log.String(), "captured") {
		t.Errorf("logtostderr is %s afterwards, the log is %q", before, log.String())
	}
}
