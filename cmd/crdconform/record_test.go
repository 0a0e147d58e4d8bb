package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/internal/wire"
)

// recordingProxy is crdconform record while it runs.
type recordingProxy struct {
	url      string        // of the proxy
	caBundle []byte        // PEM; nil when it says none
	file     string        // that it records to
	stop     func() result // interrupts it, and waits for its end
}

// record runs crdconform record in front of a webhook in this process, with a file to record to and more arguments.
func record(t *testing.T, url, ca, file string, args ...string) *recordingProxy {
	t.Helper()
	dir := t.TempDir()
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	reader, writer := io.Pipe()
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		code := execute(ctx, append([]string{"record", url, "--ca-file", ca, "--listen", "127.0.0.1:0", "--out", file}, args...), streams{out: writer, err: &errs})
		writer.Close()
		ended <- code
	}()
	p, lines := &recordingProxy{file: file}, bufio.NewReader(reader)
	said := p.announced(t, lines, url)
	p.stop = sync.OnceValue(func() result {
		interrupt()
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Error(err)
		}
		return result{dir, <-ended, said + string(rest), errs.String()}
	})
	t.Cleanup(func() { p.stop() })
	return p
}

// announced reads what the proxy says when it begins, and returns it.
func (p *recordingProxy) announced(t *testing.T, lines *bufio.Reader, forwardedTo string) (said string) {
	t.Helper()
	last := regexp.MustCompile(`(?m)^(?:caBundle: (\S+)|The certificate is that of .*)\n`)
	for !last.MatchString(said) {
		line, err := lines.ReadString('\n')
		if said += line; err != nil {
			t.Fatalf("it ended: %s", said)
		}
	}
	begin := regexp.MustCompile(`^Serving (\S+)\nForwarding to (\S+), `).FindStringSubmatch(said)
	ca, err := base64.StdEncoding.DecodeString(last.FindStringSubmatch(said)[1])
	if begin == nil || begin[2] != forwardedTo || err != nil {
		t.Fatalf("it says %s", said)
	}
	p.url, p.caBundle = begin[1], ca
	return said
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

// recordingIn reads a recording.
func recordingIn(t *testing.T, path string) *recording.Recording {
	t.Helper()
	r, err := recording.Read(bytes.NewReader(read(t, path)))
	check(t, err)
	return r
}

// crontabs are questions about CronTabs.
func crontabs(t *testing.T) []recording.Question {
	t.Helper()
	questions, err := recording.About(t.Context(), corpus.CronTabs("v1beta1", "v1"), "v1", 10, 1)
	check(t, err)
	return questions
}

// pass passes questions about CronTabs, and returns how many they were.
func (p *recordingProxy) pass(t *testing.T) int {
	t.Helper()
	client, questions := p.client(t, nil), crontabs(t)
	for _, q := range questions {
		client.Send(t.Context(), q.Body)
	}
	return len(questions)
}

// asks passes a number of requests.
func (p *recordingProxy) asks(t *testing.T, n int) {
	t.Helper()
	client := p.client(t, nil)
	for range n {
		if response := client.Send(t.Context(), fixtures.ReviewRequest("v1")); response.Status != 200 {
			t.Errorf("got %+v", response)
		}
	}
}

// TestRecord compares what passes with what the webhook answers when it is asked directly, and reads what was recorded.
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
		"compressed":       {"out.jsonl.gz", nil},
		"HTTP/2":           {"out.jsonl", []string{"--http2", "--name", "a.b.svc,10.1.2.3"}},
		"own certificate":  {"out.jsonl", []string{"--tls-cert", file(t, "tls.crt", string(pair.Certificate)), "--tls-key", file(t, "tls.key", string(pair.Key))}},
		"program, SIGTERM": {"out.jsonl", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webhookURL, ca := serve(t, webhook.Handler(), nil)
			var p *recordingProxy
			if name == "program, SIGTERM" {
				program := start(t, "record", webhookURL, "--ca-file", ca, "--listen", "127.0.0.1:0", "--out", test.file)
				p = &recordingProxy{file: filepath.Join(program.dir, test.file), stop: func() result {
					program.signal(t, syscall.SIGTERM)
					return program.end()
				}}
				p.announced(t, program.lines, webhookURL)
			} else {
				p = record(t, webhookURL, ca, test.file, test.args...)
			}
			direct, err := wire.Connect(wire.Endpoint{URL: webhookURL, CA: read(t, ca)})
			check(t, err)
			defer direct.Close()
			client := p.client(t, func(e *wire.Endpoint) {
				switch name {
				case "HTTP/2":
					e.HTTP2, e.ServerName = true, "a.b.svc"
				case "own certificate":
					e.CA, e.ServerName = authority.PEM(), "a.b.svc"
				}
			})
			questions := crontabs(t)
			var want []string
			for _, q := range questions {
				got, right := client.Send(t.Context(), q.Body), direct.Send(t.Context(), q.Body)
				if got.Err != nil || got.Status != right.Status || got.ContentType != right.ContentType || !bytes.Equal(got.Body, right.Body) {
					t.Fatalf("through the proxy came\n%+v\nwant\n%+v", got, right)
				}
				want = append(want, string(right.Body))
			}
			client.SendRaw(t.Context(), http.MethodGet, http.Header{"Authorization": {"Bearer s3cr3t-token"}}, nil)
			r := p.stop()
			r.exits(t, exitConforms)
			summary := regexp.MustCompile(fmt.Sprintf("Recorded %d exchanges, %d bytes, in \\S*%s\nNot recorded: 1 request for something other than a conversion\n$", len(questions), len(read(t, p.file)), test.file))
			if !summary.MatchString(r.out) || r.err != "" || name == "own certificate" && len(p.caBundle) > 0 {
				t.Errorf("it says %q and %q, want %q", r.out, r.err, summary)
			}
			whole := recordingIn(t, p.file)
			if len(whole.Exchanges) != len(questions) || whole.Cut || whole.Tool == "" || time.Since(whole.Started) > time.Hour {
				t.Fatalf("%d exchanges, and the header %+v", len(whole.Exchanges), whole.Header)
			}
			for i, x := range whole.Exchanges {
				if !bytes.Equal(x.Body, questions[i].Body) || string(x.Response.Body) != want[i] || x.Response.Status != 200 || x.Service <= 0 || i > 0 && x.Offset <= whole.Exchanges[i-1].Offset {
					t.Errorf("line %d: %+v", x.Line, x)
				}
			}
			if bytes.Contains(read(t, p.file), []byte("s3cr3t-token")) {
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

// TestRecordBehindAnAPIServer puts the proxy between a real API server and the reference webhook.
func TestRecordBehindAnAPIServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it wants an API server")
	}
	var mu sync.Mutex
	var seen []string
	webhookURL, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("User-Agent") != "kube-apiserver-admission" || r.URL.RawQuery != "timeout=30s" || r.URL.Path != webhook.Path {
			t.Errorf("the webhook is asked for %s by %v: %v", r.URL, r.Header, err)
		}
		mu.Lock()
		seen = append(seen, string(body))
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	}), nil)
	p := record(t, webhookURL, ca, "out.jsonl", "--redact", "host")
	config := suitetest.Cluster(t, embedded.Options{}).Config()
	definitions, err := clientset.NewForConfig(config)
	check(t, err)
	crd := fixtures.Reference.New(fixtures.StoredAt("v1beta1"))
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &p.url, CABundle: p.caBundle}
	_, err = definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{})
	check(t, err)
	client, err := dynamic.NewForConfig(config)
	check(t, err)
	objects := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).Namespace("default")
	}
	eventually(t, func() bool {
		_, err := objects("v1").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetNamespace("default")
	want, err := objects("v1beta1").Create(t.Context(), object, metav1.CreateOptions{})
	check(t, err)
	converted, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{})
	if err != nil || converted.Object["host"] != "localhost" || converted.Object["port"] != "1234" {
		t.Fatalf("got %v, %v", converted, err)
	}
	p.stop().exits(t, exitConforms)
	whole := recordingIn(t, p.file)
	mu.Lock()
	defer mu.Unlock()
	if len(whole.Exchanges) == 0 || len(whole.Exchanges) != len(seen) {
		t.Fatalf("%d exchanges are recorded, and the webhook saw %d", len(whole.Exchanges), len(seen))
	}
	found := false
	for _, x := range whole.Exchanges {
		if j := x.Request.Judge(x.Response); len(j.Violations) > 0 || !slices.ContainsFunc(seen, func(body string) bool { return strings.Contains(body, x.Request.UID) }) {
			t.Errorf("line %d: %v, or the webhook has not seen it", x.Line, j.Violations)
		}
		found = found || bytes.Contains(x.Response.Body, []byte(`"host":"xxxxxxxxx"`)) && !bytes.Contains(x.Response.Body, []byte(`"host":"localhost"`))
	}
	if !found {
		t.Errorf("no recorded response has the host redacted:\n%s", read(t, p.file))
	}
	// The proxy was in between, so that there is no conversion without it.
	if _, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{}); err == nil || !apierrors.IsInternalError(err) && !strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("without the proxy: %v", err)
	}
}

// TestRecordToAPipe goes on passing when no more can be recorded: a pipe whose reader goes away fails as a disk does that is full.
func TestRecordToAPipe(t *testing.T) {
	t.Parallel()
	webhookURL, ca := serve(t, webhook.Handler(), nil)
	pipe := fifo(t)
	opened := make(chan *os.File, 1)
	go func() {
		file, err := os.Open(pipe)
		if err != nil {
			t.Error(err)
		}
		opened <- file
	}()
	p := record(t, webhookURL, ca, pipe)
	file := <-opened
	p.asks(t, 2)
	lines := bufio.NewReader(file)
	for range 3 { // they are written when the answers are on their way
		if _, err := lines.ReadBytes('\n'); err != nil {
			t.Fatal(err)
		}
	}
	check(t, file.Close())
	p.asks(t, 3)
	r := p.stop()
	r.exits(t, exitUnjudged)
	at := "crdconform: --out " + pipe + ": write " + pipe + ": broken pipe; the recording ends here, and the proxy continues\n"
	end := "crdconform: --out: write " + pipe + ": broken pipe; 3 requests not recorded; " + pipe + " can be read up to its last complete line\n"
	if r.err != at+end || !strings.Contains(r.out, "\nRecorded 2 exchanges, ") {
		t.Errorf("it says %q and %q, want %q", r.out, r.err, at+end)
	}
}

// TestRecordInterruptedWhilePassing has a request under way when the proxy is to end. It is recorded if it is answered; if not, record says
// that it is missing.
func TestRecordInterruptedWhilePassing(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]int{"answered": 1, "cut off": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && recorded == 0 {
				t.Skip("left out by -short: requests under way have five seconds")
			}
			asked, answer := make(chan struct{}), make(chan struct{})
			webhookURL, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				<-answer
				webhook.Handler().ServeHTTP(w, r)
			}), nil)
			p := record(t, webhookURL, ca, "out.jsonl")
			client := p.client(t, nil)
			answered := make(chan contract.Response)
			go func() { answered <- client.Send(context.WithoutCancel(t.Context()), fixtures.ReviewRequest("v1")) }()
			<-asked
			stopped := make(chan result, 1)
			go func() { stopped <- p.stop() }()
			eventually(t, func() bool { return client.Reach(t.Context()) != nil }) // the port is closed first
			if recorded == 1 {
				close(answer)
			} else {
				defer close(answer)
			}
			response, r := <-answered, <-stopped
			missing := "crdconform: --out " + p.file + ": 1 request not recorded, because no answer came within 5s of the interruption\n"
			if recorded == 1 && (r.code != exitConforms || r.err != "" || response.Status != 200) || recorded == 0 && (r.code != exitUnjudged || r.err != missing || response.Err == nil) {
				t.Errorf("exit code %d, it says %q, and the response is %+v", r.code, r.err, response)
			}
			whole := recordingIn(t, p.file)
			if !strings.Contains(r.out, fmt.Sprintf("Recorded %d exchange", recorded)) || len(whole.Exchanges) != recorded || recorded == 1 && whole.Exchanges[0].Response.Status != 200 {
				t.Errorf("it says %s, and recorded %+v", r.out, whole.Exchanges)
			}
		})
	}
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

// TestLoadOfARedactedRecording sends what was redacted again, but for what the webhook refuses for that.
func TestLoadOfARedactedRecording(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a recording and a load")
	}
	const masked = `"hostPort":"xxxxxxxxx:`
	picky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(masked)) {
			http.Error(w, "no such host", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
	url, ca := serve(t, webhook.Handler(), nil)
	p := record(t, url, ca, "out.jsonl", "--redact", "hostPort")
	n := uint64(p.pass(t))
	p.stop().exits(t, exitConforms)
	redacted := uint64(bytes.Count(read(t, p.file), []byte(`"objects":[{"apiVersion":"example.com/v1beta1",`+masked)))
	if redacted == 0 || redacted == n {
		t.Fatalf("%d of %d requests are for a host of nine letters", redacted, n)
	}
	for sent, handler := range map[uint64]http.Handler{n: webhook.Handler(), n - redacted: picky} {
		url, ca := serve(t, handler, nil)
		report := ran(t, "load", url, "--ca-file", ca, "--recording", p.file).report(t) // which is void where the machine is busy
		noted := slices.ContainsFunc(report.Notes, func(note string) bool {
			return strings.Contains(note, fmt.Sprintf("%d of %d requests are not sent: they were redacted at hostPort", redacted, n))
		})
		if stages := report.Load.Stages; len(stages) != 1 || stages[0].Requests != sent || stages[0].Failed > 0 || noted != (sent < n) {
			t.Errorf("got %+v, want %d of %d; the notes are %q", stages, sent, n, report.Notes)
		}
	}
}
