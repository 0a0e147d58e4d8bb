package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/test/hostile"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// stopping is when a signal stops a command that would go on.
type stopping struct {
	name   string
	args   []string
	hang   int64 // how many answers a webhook has, the URL of which follows; 0 for no webhook
	until  func(*testing.T, *executable.Running)
	signal os.Signal
	judged int  // at least; the last one that was shown may have been cut off all the same
	load   bool // it is under load by then
}

// stoppings are a run in each of its parts.
func stoppings() []stopping {
	return []stopping{
		{"run while starting", []string{"run", "--filter", "storage"}, 0, starting, syscall.SIGTERM, 0, false},
		{"run in specs", []string{"run", "--filter", "storage", "--load-duration", "10m"}, 0, said("[ 2/"), syscall.SIGHUP, 1, false},
		{"run under load", []string{"run", "--filter", "versions.scope.cluster", "--load-duration", "10m"}, 0, said("load: "), os.Interrupt, 1, true},
	}
}

// TestInterrupted stops a run in each of its parts, check and load while a webhook lets them wait for the full 30 seconds after a number of
// answers, and check while its program starts, and later.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	load := []string{"load", "--duration", "10m"}
	for _, part := range append(stoppings(), []stopping{
		{"check, first answer", []string{"check"}, 1, nil, os.Interrupt, 0, false},
		{"check in the middle", []string{"check"}, 10, nil, os.Interrupt, 0, false},
		{"load, first answer", load, 1, nil, os.Interrupt, 0, true},
		{"load in the middle", load, 50, nil, os.Interrupt, 0, true},
		{"program while it starts", append([]string{"check"}, webhookProgram(t, "never")...), 0, certified, os.Interrupt, 0, false},
		{"program in specs", append([]string{"check"}, webhookProgram(t, "serve")...), 0, said("[ 2/"), os.Interrupt, 0, false},
	}...) {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && part.args[0] == "run" {
				t.Skip("left out by -short: a run")
			}
			part.interrupt(t)
		})
	}
}

// interrupt stops the command. The report has to have what was judged by then. That the terminal is closed is said by the shell and by the
// system, which is no lack of patience.
func (i stopping) interrupt(t *testing.T) {
	t.Helper()
	var handler http.Handler
	if i.hang > 0 {
		var hangs <-chan struct{}
		handler, hangs = hostile.Hanging(i.hang - 1)
		url, ca := serve(t, handler, nil)
		i.args = append(i.args, url, "--ca-file", ca)
		i.until = func(*testing.T, *executable.Running) { <-hangs }
	}
	p := start(t, i.args...)
	i.until(t, p)
	if i.signal == syscall.SIGHUP {
		p.Insist(i.signal)
	} else {
		p.Signal(t, i.signal)
	}
	r := p.End()
	r.Exits(t, exitInterrupted)
	report := reportOf(t, r)
	judged := len(report.Results) - report.Counts[requirement.Unknown]
	if report.Outcome != reports.Interrupted || !report.Interrupted || report.Error != "" || judged < i.judged {
		t.Errorf("%s with %v and the error %q, want at least %d judged", report.Outcome, report.Counts, report.Error, i.judged)
	}
	if n := report.Counts[requirement.Failed] + report.Counts[requirement.Errored]; n > 0 {
		t.Errorf("the interruption is held against somebody: %v", report.Counts)
	}
	// On a busy machine the load may have begun before the signal came.
	l := report.Load
	if i.load && l == nil || l != nil && !i.load && judged < len(report.Results) || handler != nil && !i.load && report.Counts[requirement.Unknown] == 0 {
		t.Errorf("the load is %+v, with %v", l, report.Counts)
	}
	if i.load {
		unanswered := l.Stages[0].Unanswered
		if !l.Stages[0].Partial || reporter.FailedRequests(l) > 0 || reporter.Requests(l)+unanswered == 0 || handler != nil && unanswered == 0 {
			t.Errorf("the load is %+v", l)
		}
	}
	if want := "\n" + reporter.Headline(report) + ", in "; !strings.Contains(r.Out, want) || !strings.Contains(r.Out, "Report: ") || r.Err != "" {
		t.Errorf("it says:\n%s%swant something with %q", r.Out, r.Err, want)
	}
	executable.Gone(t, p.Temporary)
}

// certified waits until a program has its certificate.
func certified(t *testing.T, p *executable.Running) {
	t.Helper()
	eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(p.Temporary, "crdconform-certs-*", "ca.crt"))
		return err == nil && len(found) > 0
	})
}

func said(text string) func(*testing.T, *executable.Running) {
	return func(t *testing.T, p *executable.Running) {
		t.Helper()
		p.Await(t, text)
	}
}

// starting waits until the API server is about to start: its log is there by then.
func starting(t *testing.T, p *executable.Running) {
	t.Helper()
	eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(p.Dir, "crdconform-report", "apiserver.log"))
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
	p.Await(t, "[ 1/")
	p.Insist(os.Interrupt)
	r := p.End()
	t.Cleanup(func() { os.RemoveAll(p.Temporary) }) // which nobody cleans up then
	r.Exits(t, exitInterrupted)
	const want = "crdconform: interrupted twice: no report, no cleanup. Remove leftovers on kind with " +
		"\"crdconform cleanup --kind\", in an existing cluster with \"crdconform cleanup --context NAME\", and temporary files with " +
		"\"crdconform cleanup --temporary\", within the next hour with --older-than 0s\n"
	if r.Err != want {
		t.Errorf("it says %q, want %q", r.Err, want)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "crdconform-report", "report.json")); !os.IsNotExist(err) {
		t.Errorf("there is a report: %v", err)
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
	p := executable.Prepare(t, "crdconform", t.TempDir(), "check", url, "--ca-file", ca, "--filter", "webhook.response")
	p.Cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, p.Cmd.Path}, p.Cmd.Args[1:]...)
	p.Cmd.Path = "/bin/sh"
	p.Begin(t)
	<-asked
	p.Signal(t, syscall.SIGHUP)
	close(closed)
	p.End().Exits(t, exitConforms)
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
		p.Signal(t, syscall.SIGTERM)
		r := p.End()
		check(t, pipe.Close())
		r.Exits(t, exitInterrupted)
		if r.Err != "crdconform: interrupted\n" {
			t.Errorf("%v: it says %q", args, r.Err)
		}
	}
}
