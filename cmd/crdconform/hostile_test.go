package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/test/hostile"
)

// mostMemory is what a command may take when it meets a hostile webhook, in KiB: 300 MiB more than with any other.
const mostMemory = (200 + 300) << 10

// TestHostileWebhooks has each command meet the webhooks that hurt most. Package hostile tries all of them without a process. It runs
// without the race detector, which takes memory and time of its own.
func TestHostileWebhooks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: commands that meet the worst webhooks")
	}
	definition, err := filepath.Abs("../../fixtures/definitions/reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		command, server string
		args            []string
		code            int
	}{
		"check, a bomb":       {"check", "gzip bomb of lists", []string{"--objects", few}, exitViolates},
		"check, no end":       {"check", "body without end", []string{"--objects", few}, exitViolates},
		"check, nested":       {"check", "objects 9,000 deep", []string{"--objects", few}, exitViolates},
		"check, API servers":  {"check", "endless to API servers", []string{"--objects", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, deep to them": {"check", "9,000 deep to API servers", []string{"--objects", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, many values":  {"check", "objects just below the bound", []string{"--objects", few, "--filter", "webhook"}, exitViolates},
		"check, much text":    {"check", "text just below the bound", []string{"--objects", few, "--filter", "webhook"}, exitViolates},
		"check, frames":       {"check", "HTTP/2, frames that nobody knows without end", []string{"--http2", "--objects", few, "--filter", "webhook.response.in-time"}, exitViolates},
		"load, headers":       {"load", "headers without end", []string{"--duration", "2s", "--rate", "20"}, exitViolates},
		"load, a message":     {"load", "message of 250 MB", []string{"--duration", "2s", "--rate", "20"}, exitViolates},
		"diff, no end":        {"diff", "body without end", []string{"--objects", few}, exitUnjudged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, found := hostile.Named(test.server)
			if !found {
				t.Fatalf("there is no server %q", test.server)
			}
			url, ca := server.Start(t)
			args := slices.Concat([]string{test.command, url, "--ca-file", file(t, "ca.crt", string(ca)), "--crd", definition, "--timeout", "10s"}, test.args)
			if test.command == "diff" {
				args = append(args, url)
			}
			p := prepare(t, t.TempDir(), args...)
			p.begin(t)
			ended := p.frugally(t)
			r := p.end()
			ended()
			if n := len(r.out) + len(r.err); n > 64<<10 {
				t.Errorf("it prints %d bytes:\n%.1000s", n, r.out+r.err)
			}
			if test.command == "load" && r.code == exitUnjudged && strings.Contains(r.out, "the generator was too busy") {
				t.Skipf("the machine is too busy to load anything:\n%s", r.out)
			}
			r.exits(t, test.code)
			if server.Says == hostile.Accepted {
				return
			}
			said := strings.Join(strings.Fields(r.out+r.err), " ") // lines are wrapped
			if !regexp.MustCompile(server.Says).MatchString(said) {
				t.Errorf("it says nothing with %q:\n%.4000s", server.Says, r.out+r.err)
			}
		})
	}
}

// frugally watches the memory of a process until the function that it returns is called, which fails the test if it was too much.
func (p *running) frugally(t *testing.T) (ended func()) {
	t.Helper()
	peak := peakOf(p.cmd.Process.Pid)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Logf("how much memory it takes is not known: %v", err)
		return func() { peak() }
	}
	return func() {
		t.Helper()
		took := peak()
		if took == 0 || took > mostMemory {
			t.Errorf("it took %d KiB, want %d at most", took, mostMemory)
		}
		t.Logf("it took %d MiB", took>>10)
	}
}

// peakOf watches the memory of a process until the function that it returns is called, which returns the most that it had, in KiB; 0 if
// that is not known. What the system says of a process that has ended would not do: it counts the memory of the test, of which the
// process was a copy.
func peakOf(pid int) (ended func() int64) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	var most atomic.Int64
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			if text, err := os.ReadFile(status); err == nil { // it has ended otherwise
				if found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text); found != nil {
					now, err := strconv.ParseInt(string(found[1]), 10, 64)
					if err == nil {
						most.Store(max(most.Load(), now))
					}
				}
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 {
		close(stop)
		watching.Wait()
		return most.Load()
	}
}

// TestHostileWebhooksAreRecorded has the proxy pass a bomb on: the caller gets an error, and the recording says why.
func TestHostileWebhooksAreRecorded(t *testing.T) {
	t.Parallel()
	server, found := hostile.Named("gzip bomb of spaces")
	if !found {
		t.Fatal("there is no such server")
	}
	url, ca := server.Start(t)
	p := start(t, "record", url, "--ca-file", file(t, "ca.crt", string(ca)), "--listen", "localhost:0", "--out", "r.jsonl", "--ca-out", "proxy.crt")
	ended := p.frugally(t)
	t.Cleanup(func() {
		p.signal(t, os.Interrupt)
		p.end().exits(t, exitConforms)
		ended()
	})
	at := regexp.MustCompile(`https://\S+`).FindString(p.await(t, "https://localhost:"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, filepath.Join(p.dir, "proxy.crt")))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	body, err := contract.Request{ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1", Objects: []json.RawMessage{[]byte("{}")}}.Body()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusBadGateway || !regexp.MustCompile(server.Says).Match(said) {
		t.Errorf("got %d: %s, %v", response.StatusCode, said, err)
	}
}

// TestStarved has a system that gives too little for an API server: one sentence says of what, and nothing is left.
func TestStarved(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]string{
		"-n 128":     "the limit of open files is 128, and 512 are needed",
		"-n 400":     "the limit of open files is 400, and 512 are needed",
		"-v 4000000": "the address space is limited to 3906 MiB",
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, t.TempDir(), "run", "--filter", "storage")
			shell, err := exec.LookPath("sh")
			if err != nil {
				t.Skip("there is no shell to set limits")
			}
			p.cmd.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$@"`, "sh", p.cmd.Path}, p.cmd.Args[1:]...)
			p.cmd.Path = shell
			p.begin(t)
			r := p.end()
			r.exits(t, exitUnjudged)
			if said := r.out + r.err; !strings.Contains(said, want) || strings.Contains(said, "goroutine ") {
				t.Errorf("it does not say %q:\n%s", want, said)
			}
		})
	}
}
