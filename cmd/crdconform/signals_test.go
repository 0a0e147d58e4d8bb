package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/hostile"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// stopping is a part of a run in which a signal stops it.
type stopping struct {
	name   string
	args   []string // of a run that does not end by itself
	until  func(*testing.T, *running)
	signal os.Signal
	judged int // at least; the last one that was shown may have been cut off all the same
	load   bool
}

func interruptible() []stopping {
	return []stopping{
		{"while starting", []string{"--filter", "storage"}, starting, syscall.SIGTERM, 0, false},
		{"in specs", []string{"--filter", "storage", "--load-duration", "10m"}, said("[ 2/"), syscall.SIGHUP, 1, false},
		{"under load", []string{"--filter", "versions.scope.cluster", "--load-duration", "10m"}, said("load: "), os.Interrupt, 1, true},
	}
}

// TestInterruptedRun stops a run in each of its parts.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	for _, part := range interruptible() {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("left out by -short: a run")
			}
			part.interrupt(t)
		})
	}
}

// interrupt stops a run. The report has to have what was judged by then. That the terminal is closed is said by the shell and by the system,
// which is no lack of patience.
func (i stopping) interrupt(t *testing.T) {
	t.Helper()
	p := start(t, append([]string{"run"}, i.args...)...)
	i.until(t, p)
	if i.signal == syscall.SIGHUP {
		insist(p, i.signal)
	} else {
		p.signal(t, i.signal)
	}
	r := p.end()
	r.exits(t, exitInterrupted)
	report := r.report(t)
	judged := len(report.Results) - report.Counts[requirement.Unknown]
	if report.Outcome != reports.Interrupted || !report.Interrupted || report.Error != "" || judged < i.judged {
		t.Errorf("%s with %v and the error %q, want at least %d judged", report.Outcome, report.Counts, report.Error, i.judged)
	}
	if n := report.Counts[requirement.Failed] + report.Counts[requirement.Errored]; n > 0 {
		t.Errorf("the interruption is held against somebody: %v", report.Counts)
	}
	// On a busy machine the load may have begun before the signal came.
	sent := report.Load != nil
	if i.load && !sent || sent && !i.load && judged < len(report.Results) || i.load && (!report.Load.Stages[0].Partial || reporter.Requests(report.Load) == 0) {
		t.Errorf("the load is %+v", report.Load)
	}
	if want := "\n" + reporter.Headline(report) + ", in "; !strings.Contains(r.out, want) || !strings.Contains(r.out, "Report: ") || r.err != "" {
		t.Errorf("it says:\n%s%swant something with %q", r.out, r.err, want)
	}
}

func said(text string) func(*testing.T, *running) {
	return func(t *testing.T, p *running) {
		t.Helper()
		p.await(t, text)
	}
}

// starting waits until the API server is about to start: its log is there by then.
func starting(t *testing.T, p *running) {
	t.Helper()
	eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.dir, "crdconform-report", "apiserver.log"))
		return err == nil
	})
}

// TestInterruptedTwice stops a run without patience: it has to end at once.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a run of a chapter")
	}
	p := start(t, "run", "--filter", "storage", "--load-duration", "10m")
	p.await(t, "[ 1/")
	insist(p, os.Interrupt)
	r := p.end()
	t.Cleanup(func() { os.RemoveAll(p.temporary) }) // which nobody cleans up then
	r.exits(t, exitInterrupted)
	const want = "crdconform: interrupted twice: no report, no cleanup. Remove leftovers on kind with " +
		"\"crdconform cleanup --kind\", in an existing cluster with \"crdconform cleanup --context NAME\", and temporary files with " +
		"\"crdconform cleanup --temporary\", within the next hour with --older-than 0s\n"
	if r.err != want {
		t.Errorf("it says %q, want %q", r.err, want)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "crdconform-report", "report.json")); !os.IsNotExist(err) {
		t.Errorf("there is a report: %v", err)
	}
}

// insist sends a signal to a process until it is over.
func insist(p *running, signal os.Signal) {
	ended := make(chan result)
	go func() { ended <- p.end() }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		p.cmd.Process.Signal(signal)
		select {
		case <-ended:
			return
		case <-again.C:
		}
	}
}

// TestWithoutATerminal has a check go on that was started by nohup.
func TestWithoutATerminal(t *testing.T) {
	t.Parallel()
	asked, closed := make(chan struct{}), make(chan struct{})
	url, ca := serve(t, hostile.After(0, webhook.Handler(), sync.OnceFunc(func() {
		close(asked)
		<-closed
	})), nil)
	p := prepare(t, t.TempDir(), "check", url, "--ca-file", ca, "--filter", "webhook.response")
	p.cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, p.cmd.Path}, p.cmd.Args[1:]...)
	p.cmd.Path = "/bin/sh"
	p.begin(t)
	<-asked
	p.signal(t, syscall.SIGHUP)
	close(closed)
	p.end().exits(t, exitConforms)
}

// TestInterruptedWhileWaiting stops check and load while a webhook lets them wait for the full 30 seconds, after a number of answers.
func TestInterruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]int64{"check": 0, "check in the middle": 10, "load": 0, "load in the middle": 50} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, hangs := hostile.Hanging(good)
			url, ca := serve(t, handler, nil)
			args, loads := []string{"check"}, strings.HasPrefix(name, "load")
			if loads {
				args = []string{"load", "--duration", "10m"}
			}
			p := start(t, append(args, url, "--ca-file", ca)...)
			select {
			case <-hangs:
			case <-time.After(time.Minute):
				t.Fatal("the webhook was not asked")
			}
			p.signal(t, os.Interrupt)
			r := p.end()
			r.exits(t, exitInterrupted)
			report := r.report(t)
			if report.Outcome != reports.Interrupted || report.Error != "" || !loads && report.Counts[requirement.Unknown] == 0 {
				t.Errorf("%s with %v and the error %q", report.Outcome, report.Counts, report.Error)
			}
			if n := report.Counts[requirement.Failed] + report.Counts[requirement.Errored]; n > 0 {
				t.Errorf("the interruption is held against the webhook: %v", report.Counts)
			}
			if l := report.Load; loads != (l != nil) || loads && (!l.Stages[0].Partial || reporter.FailedRequests(l) > 0 || l.Stages[0].Unanswered == 0) {
				t.Errorf("the load is %+v", l)
			}
		})
	}
}

// TestInterruptedWhileReading interrupts commands once while they read what does not come to an end: they have nothing to report yet.
func TestInterruptedWhileReading(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"lint", "pipe"}, {"check", "https://127.0.0.1:1/convert", "--crd", "pipe"}} {
		dir := t.TempDir()
		check(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		p := startIn(t, dir, args...)
		pipe, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_WRONLY, 0) // which waits for somebody to read
		check(t, err)
		p.signal(t, syscall.SIGTERM)
		r := p.end()
		if err := pipe.Close(); err != nil {
			t.Error(err)
		}
		r.exits(t, exitInterrupted)
		if r.err != "crdconform: interrupted\n" {
			t.Errorf("%v: it says %q", args, r.err)
		}
	}
}
