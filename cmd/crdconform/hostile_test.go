package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/test/figures"
	"github.com/crdconform/crdconform/internal/test/hostile"
)

// moreMemory is what a command may take more when it meets a hostile webhook than when it meets a good one, in KiB.
const moreMemory = 300 << 10

// attack is a command that meets a hostile webhook.
type attack struct {
	command, server string
	args            []string
	code            int
}

// attacks are one of each class of what hostile webhooks do, each to one of the commands that read answers: a body without end, one that
// is short until it is decompressed, headers without end, what is just below the bound on memory, frames of HTTP/2 that nobody knows, and
// what only API servers get. Package hostile tries all servers without a process; those that remain are tried nightly.
func attacks() map[string]attack {
	return map[string]attack{
		"diff, no end":       {"diff", "body without end", []string{"--generate", "1"}, exitUnjudged},
		"check, a bomb":      {"check", "gzip bomb of lists", []string{"--generate", few, "--filter", "webhook.response"}, exitViolates},
		"check, much text":   {"check", "text just below the bound", []string{"--generate", few, "--filter", "webhook.response"}, exitConforms},
		"check, frames":      {"check", "HTTP/2, frames that nobody knows without end", []string{"--set", "webhook.http2=true", "--generate", few, "--filter", "webhook.response.in-time", "--set", "webhook.timeout=3s"}, exitViolates},
		"check, API servers": {"check", "endless to API servers", []string{"--generate", few, "--filter", "resource.read,webhook.response.uid"}, exitViolates},
		"load, headers":      {"load", "headers without end", []string{"--duration", "1s", "--rate", "4"}, exitViolates},
	}
}

// TestHostileWebhooks has commands meet webhooks that hurt.
func TestHostileWebhooks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: commands that meet the worst webhooks")
	}
	withstand(t, attacks())
}

// withstand has each command come to a verdict that says what is wrong, print little, and take little memory.
func withstand(t *testing.T, attacks map[string]attack) {
	t.Helper()
	most := mostMemory(t)
	for name, test := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, ca, says := meets(t, test.server)
			r := frugally(t, most, func() (result, int64) { return test.begin(t, url, ca).Watched() })
			if n := len(r.Out) + len(r.Err); n > 64<<10 {
				t.Errorf("it prints %d bytes:\n%.1000s", n, r.Out+r.Err)
			}
			if !void(r) {
				r.Exits(t, test.code)
			}
			said := strings.Join(strings.Fields(r.Out+r.Err), " ") // lines are wrapped
			if says != hostile.Accepted && !regexp.MustCompile(says).MatchString(said) {
				t.Errorf("it says nothing with %q:\n%.4000s", says, r.Out+r.Err)
			}
		})
	}
	t.Run("record, a bomb", func(t *testing.T) {
		t.Parallel()
		recordsBomb(t, most)
	})
}

// meets serves a hostile webhook, and returns what verdicts on it say.
func meets(t *testing.T, name string) (url, ca, says string) {
	t.Helper()
	server, found := hostile.Named(name)
	if !found {
		t.Fatalf("there is no server %q", name)
	}
	url, authority := server.Start(t)
	return url, file(t, "ca.crt", string(authority)), server.Says
}

// begin starts the program of an attack.
func (a attack) begin(t *testing.T, url, ca string) *executable.Running {
	t.Helper()
	args := slices.Concat([]string{a.command, url, "--ca-file", ca, "--crd", there(t, definitionFile), "--set", "webhook.timeout=10s"}, a.args)
	if a.command == "diff" {
		args = append(args, url)
	}
	return start(t, args...)
}

// mostMemory is what a command may take, in KiB: moreMemory more than a check of a good webhook, by an API server too. It is 0 where the
// memory of processes is not known.
func mostMemory(t *testing.T) int64 {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Logf("how much memory programs take is not known: %v", err)
		return 0
	}
	url, ca := serve(t, webhook.Handler(), nil)
	r, took := attack{command: "check", args: []string{"--generate", few, "--filter", "resource.read,webhook.response.uid"}}.begin(t, url, ca).Watched()
	r.Exits(t, exitConforms)
	return took + moreMemory
}

// frugally runs a program to its end, which may not take more than most memory unless that is 0. A busy machine may collect garbage late, and
// may be too busy to load anything, so there are three attempts: what keeps all that it is sent takes too much in each of them.
func frugally(t *testing.T, most int64, attempt func() (result, int64)) (r result) {
	t.Helper()
	var took int64
	for range 3 {
		r, took = attempt()
		if took <= most && !void(r) {
			break
		}
	}
	if most > 0 && (took == 0 || took > most) {
		t.Errorf("it took %d MiB, want %d at most", took>>10, most>>10)
	}
	t.Logf("it took %d MiB of %d", took>>10, most>>10)
	return r
}

// void is whether a machine was too busy for a load test to count.
func void(r result) bool {
	return r.Code == exitUnjudged && strings.Contains(r.Out, "the generator was too busy")
}

// recordsBomb has the proxy pass a bomb on: the caller gets an error, which says why.
func recordsBomb(t *testing.T, most int64) {
	t.Helper()
	url, ca, says := meets(t, "gzip bomb of spaces")
	body, err := contract.Request{ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{[]byte("{}")}}.Body()
	check(t, err)
	frugally(t, most, func() (result, int64) {
		p := start(t, "record", url, "--ca-file", ca, "--listen", "127.0.0.1:0", "--file", "r.jsonl")
		peak := figures.Peak(p.Cmd.Process.Pid)
		response := announced(t, p, url).client(t, nil).Send(t.Context(), body)
		if response.Status != http.StatusBadGateway || !regexp.MustCompile(says).Match(response.Body) {
			t.Errorf("got %d: %s, %v", response.Status, response.Body, response.Err)
		}
		took := peak()
		p.Signal(t, os.Interrupt)
		return p.End(), took
	}).Exits(t, exitConforms)
}

// TestStarved has a system that gives too little for an API server.
func TestStarved(t *testing.T) {
	t.Parallel()
	starved(t, "-n 400", "the limit of open files is 400, and 512 are needed")
	starved(t, "-v 4000000", "the address space is limited to 3906 MiB")
}

// starved has the program run with a limit of the shell: one sentence says of what there is too little, and nothing is left.
func starved(t *testing.T, limit, want string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell to set limits")
	}
	p := executable.Prepare(t, "crdconform", t.TempDir(), "run", "--filter", "storage")
	p.Cmd.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$@"`, "sh", p.Cmd.Path}, p.Cmd.Args[1:]...)
	p.Cmd.Path = shell
	p.Begin(t)
	r := p.End()
	r.Exits(t, exitUnjudged)
	if said := r.Out + r.Err; !strings.Contains(said, want) || strings.Contains(said, "goroutine ") {
		t.Errorf("it does not say %q:\n%s", want, said)
	}
}
