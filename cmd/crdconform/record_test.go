package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/test/executable"
	"github.com/crdconform/crdconform/internal/wire"
)

// recordingProxy is crdconform record while it runs.
type recordingProxy struct {
	url      string        // of the proxy
	caBundle []byte        // PEM; nil when it says none
	file     string        // that it records to
	stop     func() result // interrupts it, and waits for its end
}

// record runs crdconform record in front of a webhook, with a file to record to and more arguments.
func record(t *testing.T, url, ca, file string, args ...string) *recordingProxy {
	t.Helper()
	program := start(t, append([]string{"record", url, "--ca-file", ca, "--listen", "127.0.0.1:0", "--file", file}, args...)...)
	p := announced(t, program, url)
	if p.file = file; !filepath.IsAbs(file) {
		p.file = filepath.Join(program.Dir, file)
	}
	p.stop = sync.OnceValue(func() result {
		program.Signal(t, syscall.SIGTERM)
		return program.End()
	})
	t.Cleanup(func() { p.stop() })
	return p
}

// announced is the proxy of a program that says where it serves and what it forwards to.
func announced(t *testing.T, program *executable.Running, forwardedTo string) *recordingProxy {
	t.Helper()
	p := &recordingProxy{url: strings.TrimPrefix(program.Await(t, "Serving "), "Serving ")}
	program.Await(t, "Forwarding to "+forwardedTo+", ")
	// It is either the bundle, or that of the user's certificate.
	if bundle, found := strings.CutPrefix(program.Await(t, "caBundle"), "caBundle: "); found {
		var err error
		p.caBundle, err = base64.StdEncoding.DecodeString(bundle)
		check(t, err)
	}
	return p
}

// client returns a client of the proxy.
func (p *recordingProxy) client(t *testing.T, change func(*wire.Endpoint)) *wire.Client {
	t.Helper()
	endpoint := wire.Endpoint{URL: p.url, CA: p.caBundle}
	if change != nil {
		change(&endpoint)
	}
	client, err := wire.Connect(endpoint)
	check(t, err)
	t.Cleanup(client.Close)
	return client
}

// crontabs are the bodies of questions about CronTabs.
func crontabs(t *testing.T) (bodies [][]byte) {
	t.Helper()
	questions, err := recording.About(t.Context(), corpus.CronTabs("v1beta1", "v1"), "v1", 10, 1)
	check(t, err)
	for _, q := range questions {
		bodies = append(bodies, q.Body)
	}
	return bodies
}

// TestRecordHost knows by which name it is reached.
func TestRecordHost(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]recorder{
		"localhost": {{listen: "localhost:1"}}, "::1": {{listen: "[::1]:1"}}, "127.0.0.1": {{listen: ":1"}, {listen: "0.0.0.0:1"}, {listen: "[::]:1"}},
		"10.0.0.5": {{listen: "10.0.0.5:1"}, {listen: "0.0.0.0:1", names: []string{"10.0.0.5", "b"}}},
	} {
		for _, r := range all {
			if got := r.host(); got != want {
				t.Errorf("%s, %q: %s, want %s", r.listen, r.names, got, want)
			}
		}
	}
}

// TestRecord has requests pass, and reads what was recorded. What passes is compared in package recording.
func TestRecord(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("mine")
	check(t, err)
	pair, err := authority.Server("a.b.svc")
	check(t, err)
	for name, test := range map[string]struct {
		file string
		args []string
	}{
		"compressed":      {"out.jsonl.gz", nil},
		"HTTP/2":          {"out.jsonl", []string{"--set", "webhook.http2=true", "--name", "a.b.svc,10.1.2.3"}},
		"own certificate": {"out.jsonl", []string{"--set", "record.tlsCert=" + file(t, "tls.crt", string(pair.Certificate)), "--set", "record.tlsKey=" + file(t, "tls.key", string(pair.Key))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webhookURL, ca := serve(t, webhook.Handler(), nil)
			p := record(t, webhookURL, ca, test.file, test.args...)
			client := p.client(t, func(e *wire.Endpoint) {
				switch name {
				case "HTTP/2":
					e.HTTP2, e.ServerName = true, "a.b.svc"
				case "own certificate":
					e.CA, e.ServerName = authority.PEM(), "a.b.svc"
				}
			})
			questions := crontabs(t)
			for _, body := range questions {
				if got := client.Send(t.Context(), body); got.Err != nil || got.Status != http.StatusOK {
					t.Fatalf("through the proxy came %+v", got)
				}
			}
			client.SendRaw(t.Context(), http.MethodGet, http.Header{"Authorization": {"Bearer s3cr3t-token"}}, nil)
			r := p.stop()
			r.Exits(t, exitConforms)
			written := read(t, p.file)
			summary := regexp.MustCompile(fmt.Sprintf("Recorded %d exchanges, %d bytes, in \\S*%s\nNot recorded: 1 request for something other than a conversion\n$",
				len(questions), len(written), test.file))
			if !summary.MatchString(r.Out) || r.Err != "" || name == "own certificate" && len(p.caBundle) > 0 {
				t.Errorf("it says %q and %q, want %q", r.Out, r.Err, summary)
			}
			whole, err := recording.Read(bytes.NewReader(written))
			check(t, err)
			if len(whole.Exchanges) != len(questions) || whole.Cut || whole.Tool == "" || time.Since(whole.Started) > time.Hour {
				t.Fatalf("%d exchanges, and the header %+v", len(whole.Exchanges), whole.Header)
			}
			for i, x := range whole.Exchanges {
				if !bytes.Equal(x.Body, questions[i]) || x.Response.Status != http.StatusOK || x.Service <= 0 || i > 0 && x.Offset <= whole.Exchanges[i-1].Offset {
					t.Errorf("line %d: %+v", x.Line, x)
				}
			}
			if bytes.Contains(written, []byte("s3cr3t-token")) {
				t.Error("credentials are recorded")
			}
			if info, err := os.Stat(p.file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the file is %v, %v", info.Mode(), err)
			}
			if err := client.Reach(t.Context()); err == nil {
				t.Error("the proxy still serves")
			}
		})
	}
}

// TestRecordIsIncomplete has it say what is missing in the end, which is no success.
func TestRecordIsIncomplete(t *testing.T) {
	t.Parallel()
	for want, missing := range map[string]struct {
		traffic recording.Traffic
		summary recording.Summary
	}{
		"--file: broken pipe; 3 requests not recorded; o can be read up to its last complete line": {summary: recording.Summary{Err: syscall.EPIPE, Dropped: 3}},
		"--file o: 1 request not recorded": {summary: recording.Summary{Unread: 1}},
		"--file o: 1 request not recorded, because no answer came within 5s of the interruption": {traffic: recording.Traffic{UnderWay: 1}},
	} {
		err := (&recorder{streams: streams{out: io.Discard}, file: "o"}).conclude(missing.traffic, missing.summary)
		if exit, is := errors.AsType[*exitError](err); !is || exit.code != exitUnjudged || exit.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
