package crdconform

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/gomega"
	"go.uber.org/zap"
	"k8s.io/klog/v2"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
)

// crontabs is the definition of what the reference webhook converts.
const crontabs = "fixtures/definitions/reference.yaml"

// faulty is the reference webhook with a fault.
func faulty(t *testing.T, name string) http.Handler {
	t.Helper()
	fault, found := webhook.FaultNamed(name)
	if !found {
		t.Fatalf("there is no fault %s", name)
	}
	return webhook.Handler(fault)
}

// TestRun is a use of Run. Others run it with a fault in the environment.
func TestRun(t *testing.T) {
	handler := webhook.Handler()
	if name := os.Getenv("CRDCONFORM_TEST_FAULT"); name != "" { //nolint:forbidigo // see TestRunFails
		handler = faulty(t, name)
	}
	Run(t, Check{Config: config.Config{CRDs: []string{crontabs}, APIServer: config.None, Filter: []string{"webhook.response"}, Generate: config.Generate{Objects: 2}}, Handler: handler})
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestRunUndoes has an API server in this process, after which everything that belongs to the process is as it was.
func TestRunUndoes(t *testing.T) {
	defer klog.CaptureState().Restore()
	var log logged
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	klog.Info("before")
	type global struct {
		Gomega       gomega.Gomega
		Zap          *zap.Logger
		Out, Failing io.Writer
	}
	now := func() global {
		return global{gomega.Default, zap.L(), formatter.ColorableStdOut, formatter.ColorableStdErr}
	}
	before, environment := now(), os.Environ()
	Run(t, Check{
		Config:  config.Config{CRDs: []string{crontabs}, Filter: []string{"resource.read.every-version"}, Generate: config.Generate{Objects: 2}, ReportDir: t.TempDir()},
		Handler: webhook.Handler(),
	})
	klog.Info("after")
	klog.Flush()
	if text := log.String(); !strings.Contains(text, "] before\n") || !strings.Contains(text, "] after\n") || strings.Count(text, "\n") != 2 {
		t.Errorf("the log is %q", text)
	}
	if now() != before || !slices.Equal(os.Environ(), environment) {
		t.Errorf("the process has %+v, had %+v", now(), before)
	}
}

// TestRunAtOnce has two tests of a package run at the same time.
func TestRunAtOnce(t *testing.T) {
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, Check{Config: config.Config{APIServer: config.None, Filter: []string{"webhook.response"}, ReportDir: t.TempDir()}, Handler: webhook.Handler()})
		})
	}
}

// TestRunFails runs TestRun in a process of its own, with faults: the right subtests fail, or none.
func TestRunFails(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"wrong-uid":         "--- FAIL: TestRun/crontabs.example.com/webhook.response.uid",
		"content-type-text": "",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			text, err := withFault(t, "TestRun", fault)
			failed := strings.Count(text, "--- FAIL: TestRun/crontabs.example.com/")
			if want == "" {
				if err != nil || !strings.Contains(text, "tolerated by API servers: ") {
					t.Errorf("%v:\n%s", err, text)
				}
				return
			}
			if err == nil || failed != 1 || !strings.Contains(text, want) || !strings.Contains(text, "why it matters: ") || !strings.Contains(text, "crdconform: seed ") {
				t.Errorf("%v, %d failed, want %q alone:\n%s", err, failed, want, text)
			}
		})
	}
}

// withFault runs a test in a process of its own, with a fault, and returns what it writes.
func withFault(t *testing.T, test, fault string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.v")
	command.Env = append(os.Environ(), "CRDCONFORM_TEST_FAULT="+fault)
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestRehearse is a use of Rehearse. TestRehearseFails runs it with a fault in the environment.
func TestRehearse(t *testing.T) {
	handler, dir := webhook.Handler(), t.TempDir()
	if name := os.Getenv("CRDCONFORM_TEST_FAULT"); name != "" { //nolint:forbidigo // see TestRehearseFails
		handler = faulty(t, name)
	}
	Rehearse(t, Upgrade{
		Config: config.Config{
			Old: []string{crontabs}, CRDs: []string{crontabs}, Generate: config.Generate{Objects: 2, Seed: 1}, Filter: []string{"upgrade.read"}, ReportDir: dir,
		},
		Handler: handler, OldHandlers: []http.Handler{webhook.Handler()},
	})
	report, err := reports.ReadFile(dir)
	if err != nil || len(report.Upgrade) != 1 || report.Upgrade[0].Kinds[0].Objects < 6 {
		t.Errorf("%v, the report has %+v", err, report)
	}
}

// TestRehearseFails runs TestRehearse in a process of its own: the subtest of what the fault breaks fails, and no other.
func TestRehearseFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it rehearses an upgrade once more")
	}
	text, err := withFault(t, "TestRehearse", "loses-port")
	const want = "--- FAIL: TestRehearse/crontabs.example.com/upgrade.read.content"
	if err == nil || strings.Count(text, "--- FAIL: TestRehearse/crontabs.example.com/") != 1 || !strings.Contains(text, want) {
		t.Errorf("%v, want %q alone:\n%s", err, want, text)
	}
}
