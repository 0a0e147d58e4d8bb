package server_test

import (
	"flag"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// TestEmbeddedCaptureLogBesideLogging has something log while the log is captured and given back, as goroutines do that outlive their API
// server. The race detector reports a setting that is written without its lock.
func TestEmbeddedCaptureLogBesideLogging(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	if !alone(t) { // nobody has called LogTo there
		return
	}
	klog.LogToStderr(true)
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	text := captureBesideLogging(t)
	if to := flags.Lookup("logtostderr").Value.String(); to != "true" || !strings.Contains(text, "captured") {
		t.Errorf("logtostderr is %s afterwards, the log is %q", to, text)
	}

	var usual strings.Builder
	if err := embedded.LogTo(&usual); err != nil {
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
	restore, err := embedded.CaptureLog(&log)
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
