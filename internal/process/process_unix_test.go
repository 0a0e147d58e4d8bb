//go:build unix

package process

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shell starts a script and makes sure that nothing is left of it at the end.
func shell(t *testing.T, script string, o Options, to io.Writer) *Process {
	t.Helper()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", script)
	if command.Stderr = to; !o.Output {
		command.Stdout = to
	}
	p, err := Start(command, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil || p.tree.alive() {
			t.Errorf("it is still there: %v", err)
		}
		if p.Output != nil {
			p.Output.Close()
		}
	})
	return p
}

// TestEnds has processes end by themselves.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, state, said string }{
		"well":                  {"echo hello", "exit status 0", "hello"},
		"badly":                 {"echo one; echo two >&2; exit 3", "exit status 3", "one\ntwo"},
		"while another has its": {"sleep 60 & echo last; exit 4", "exit status 4", "last"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said Tail
			p := shell(t, test.script, Options{}, &said)
			<-p.Exited()
			if p.State() != test.state || (p.Err() == nil) != (test.state == "exit status 0") || !p.Crashed() || said.Text(9) != test.said {
				t.Errorf("it ended by %s, %v, and said %q", p.State(), p.Err(), said.Text(9))
			}
		})
	}
}

// TestStop stops processes with what they have started, in each of the ways that there are.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script  string
		options Options
		state   string
	}{
		"by SIGTERM":    {"trap 'kill $!; exit 5' TERM; sleep 60 & echo ready; wait", Options{Output: true}, "exit status 5"},
		"by its input":  {"sleep 1 & echo ready; cat; exit 6", Options{Input: true, Output: true}, "exit status 6"},
		"by SIGKILL":    {"trap '' TERM; echo ready; while :; do sleep 60; done", Options{Output: true}, "signal: killed"},
		"what it left":  {"trap '' TERM; sleep 60 > /dev/null & echo ready", Options{Output: true}, "exit status 0"},
		"in background": {"trap '' TERM; sleep 60 & echo ready", Options{Output: true, Background: true}, "exit status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shell(t, test.script, test.options, nil)
			if line, err := bufio.NewReader(p.Output).ReadString('\n'); line != "ready\n" || err != nil {
				t.Fatalf("it says %q, %v", line, err)
			}
			if group, err := syscall.Getpgid(p.ID()); err == nil && group == syscall.Getpgrp() {
				t.Error("Ctrl-C reaches it")
			}
			grace := 10 * time.Second
			if test.state == "signal: killed" || test.state == "exit status 0" {
				grace = 50 * time.Millisecond
			}
			if name == "in background" && p.Ended() {
				t.Error("it ended, although it carries on")
			}
			if err := p.Stop(t.Context(), grace); err != nil || p.State() != test.state || p.tree.alive() {
				t.Errorf("stopped with %v, it ended by %s", err, p.State())
			}
			if name != "what it left" && p.Crashed() {
				t.Error("it is said to have ended by itself")
			}
		})
	}
}

// TestStartFails leaves no pipes behind when there is no such program.
func TestStartFails(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "./nowhere")
	command.Stderr = new(strings.Builder)
	if p, err := Start(command, Options{Input: true, Output: true}); !os.IsNotExist(err) {
		t.Errorf("got %v, %v", p, err)
	}
}
