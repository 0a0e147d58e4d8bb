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
	before := captured.usual
	defer func() {
		if before == nil {
			before = io.Discard
		}
		if err := LogTo(before); err != nil {
			t.Error(err)
		}
	}()
	captured.usual = nil
	klog.LogToStderr(true)
	text := captureBesideLogging(t)
	if to := klogFlags().Lookup("logtostderr").Value.String(); to != "true" || !strings.Contains(text, "captured") {
		t.Errorf("logtostderr is %s afterwards, the log is %q", to, text)
	}

	var usual strings.Builder
	if err := LogTo(&usual); err != nil {
		t.Fatal(err)
	}
	text = captureBesideLogging(t)
	klog.Info("after")
	if !strings.Contains(usual.String(), "after") || !strings.Contains(text, "captured") || strings.Contains(usual.String(), "captured") {
		t.Errorf("the log is %q afterwards, what was captured is %q", usual.String(), text)
	}
}

func captureBesideLogging(t *testing.T) string {
	t.Helper()
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
	return log.String()
}
