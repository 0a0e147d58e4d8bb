package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	*running
	url      string // of the proxy
	caBundle []byte // PEM; nil when it says none
}

// record runs crdconform record in front of a webhook, with more arguments.
func record(t *testing.T, url, ca string, args ...string) *recordingProxy {
	t.Helper()
	all := append([]string{"record", url, "--ca-file", ca}, args...)
	if !slices.Contains(args, "--listen") {
		all = append(all, "--listen", "127.0.0.1:0")
	}
	if !slices.Contains(args, "--out") {
		all = append(all, "--out", "out.jsonl")
	}
	p := &recordingProxy{running: start(t, all...)}
	p.url = strings.TrimPrefix(p.await(t, "Serving "), "Serving ")
	p.await(t, "Forwarding to "+url)
	if slices.Contains(args, "--tls-cert") {
		p.await(t, "The certificate is that of ")
		return p
	}
	var err error
	if p.caBundle, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(p.await(t, "caBundle: "), "caBundle: ")); err != nil {
		t.Fatal(err)
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// ended interrupts the proxy and returns what came of it.
func (p *recordingProxy) ended(t *testing.T) result {
	t.Helper()
	p.signal(t, os.Interrupt)
	return p.end()
}

// recorded reads a recording.
func recorded(t *testing.T, path string) *recording.Recording {
	t.Helper()
	r, err := recording.Read(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// crontabs are questions about CronTabs.
func crontabs(t *testing.T) []recording.Question {
	t.Helper()
	questions, err := recording.About(t.Context(), corpus.CronTabs("v1beta1", "v1"), "v1", 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	return questions
}

// TestRecord compares what passes with what the webhook answers when it is asked directly, and reads what was recorded.
func TestRecord(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"as it is":   {"--out", "out.jsonl", "--ca-out", "ca.crt"},
		"compressed": {"--out", "out.jsonl.gz"},
		"HTTP/2":     {"--out", "out.jsonl", "--http2", "--name", "a.b.svc,10.1.2.3"},
		"terminated": {"--out", "out.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webhookURL, ca := serve(t, webhook.Handler(), nil)
			p := record(t, webhookURL, ca, args...)
			direct, err := wire.Connect(wire.Endpoint{URL: webhookURL, CA: read(t, ca)})
			if err != nil {
				t.Fatal(err)
			}
			defer direct.Close()
			client := p.client(t, func(e *wire.Endpoint) {
				if name == "HTTP/2" {
					e.HTTP2, e.ServerName = true, "a.b.svc"
				}
			})
			if name == "as it is" && !bytes.Equal(read(t, filepath.Join(p.dir, "ca.crt")), p.caBundle) {
				t.Error("--ca-out has another certificate than caBundle")
			}
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
			sent := os.Interrupt
			if name == "terminated" {
				sent = syscall.SIGTERM
			}
			p.signal(t, sent)
			r := p.end()
			r.exits(t, exitConforms)
			file := filepath.Join(p.dir, args[1])
			summary := fmt.Sprintf("Recorded %d exchanges, %d bytes, in %s\nNot recorded: 1 request for something other than a conversion\n", len(questions), len(read(t, file)), args[1])
			if !strings.HasSuffix(r.out, summary) || r.err != "" {
				t.Errorf("it says %q and %q, want %q", r.out, r.err, summary)
			}
			whole := recorded(t, file)
			if len(whole.Exchanges) != len(questions) || whole.Cut || whole.Tool == "" || time.Since(whole.Started) > time.Hour {
				t.Fatalf("%d exchanges, and the header %+v", len(whole.Exchanges), whole.Header)
			}
			for i, x := range whole.Exchanges {
				if !bytes.Equal(x.Body, questions[i].Body) || string(x.Response.Body) != want[i] || x.Response.Status != 200 || x.Service <= 0 || i > 0 && x.Offset <= whole.Exchanges[i-1].Offset {
					t.Errorf("line %d: %+v", x.Line, x)
				}
			}
			if bytes.Contains(read(t, file), []byte("s3cr3t-token")) {
				t.Error("credentials are recorded")
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
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
	hook := webhook.Handler()
	webhookURL, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Header.Get("User-Agent") != "kube-apiserver-admission" || r.URL.RawQuery != "timeout=30s" || r.URL.Path != webhook.Path {
			t.Errorf("the webhook is asked for %s by %v", r.URL, r.Header)
		}
		mu.Lock()
		seen = append(seen, string(body))
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		hook.ServeHTTP(w, r)
	}), nil)
	p := record(t, webhookURL, ca, "--redact", "host")
	objects := install(t, p.url, p.caBundle)
	object := fixtures.LocalCronTab.At("v1beta1")
	object.SetNamespace("default")
	want, err := objects("v1beta1").Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	converted, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{})
	if err != nil || converted.Object["host"] != "localhost" || converted.Object["port"] != "1234" {
		t.Fatalf("got %v, %v", converted, err)
	}
	r := p.ended(t)
	r.exits(t, exitConforms)
	whole := recorded(t, filepath.Join(p.dir, "out.jsonl"))
	mu.Lock()
	defer mu.Unlock()
	if len(whole.Exchanges) == 0 || len(whole.Exchanges) != len(seen) {
		t.Fatalf("%d exchanges are recorded, and the webhook saw %d", len(whole.Exchanges), len(seen))
	}
	found := false
	for _, x := range whole.Exchanges {
		if j := x.Request.Judge(x.Response); len(j.Violations) > 0 {
			t.Errorf("line %d: %v", x.Line, j.Violations)
		}
		if !slices.ContainsFunc(seen, func(body string) bool { return strings.Contains(body, x.Request.UID) }) {
			t.Errorf("line %d: the webhook has not seen it", x.Line)
		}
		found = found || bytes.Contains(x.Response.Body, []byte(`"host":"xxxxxxxxx"`)) && !bytes.Contains(x.Response.Body, []byte(`"host":"localhost"`))
	}
	if !found {
		t.Errorf("no recorded response has the host redacted:\n%s", read(t, filepath.Join(p.dir, "out.jsonl")))
	}
	// The proxy was in between, so that there is no conversion without it.
	if _, err := objects("v1").Get(t.Context(), want.GetName(), metav1.GetOptions{}); err == nil || !apierrors.IsInternalError(err) && !strings.Contains(err.Error(), "conversion webhook") {
		t.Errorf("without the proxy: %v", err)
	}
}

// install installs the definition that the reference webhook converts on an embedded API server, with the webhook at a URL. It
// returns clients for its objects by version.
func install(t *testing.T, url string, ca []byte) func(version string) dynamic.ResourceInterface {
	t.Helper()
	return installOn(t, suitetest.Cluster(t, embedded.Options{}), url, ca)
}

// installOn installs the definition on an API server that runs.
func installOn(t *testing.T, api *embedded.Cluster, url string, ca []byte) func(version string) dynamic.ResourceInterface {
	t.Helper()
	definitions, err := clientset.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	crd := fixtures.Reference.New(fixtures.StoredAt("v1beta1"))
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: ca}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	objects := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).Namespace("default")
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(time.Minute)
	for {
		_, err := objects("v1").List(t.Context(), metav1.ListOptions{})
		if err == nil {
			return objects
		}
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// TestRecordKeepsSecrets looks for a secret in the file, and for what stands in its place.
func TestRecordKeepsSecrets(t *testing.T) {
	t.Parallel()
	webhookURL, ca := serve(t, webhook.Handler(), nil)
	p := record(t, webhookURL, ca, "--redact", "spec.environment.*", "--redact", "spec.imgae")
	client := p.client(t, nil)
	object := fixtures.LocalCronTab.At("v1beta1")
	if err := unstructured.SetNestedField(object.Object, "hunter2-and-more", "spec", "environment", "PASSWORD"); err != nil {
		t.Fatal(err)
	}
	applied, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	object.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": string(applied)})
	body, err := contract.Request{ReviewVersion: "v1", UID: "1", DesiredAPIVersion: "example.com/v1", Objects: corpus.JSON(object)}.Body()
	if err != nil {
		t.Fatal(err)
	}
	if response := client.Send(t.Context(), body); !bytes.Contains(response.Body, []byte("hunter2-and-more")) {
		t.Errorf("the webhook's own answer is %s", response.Body)
	}
	r := p.ended(t)
	r.exits(t, exitConforms)
	if want := "crdconform: --redact spec.imgae: no exchange has a value there; check the path, and the contents of out.jsonl\n"; r.err != want {
		t.Errorf("it says %q, want %q", r.err, want)
	}
	file := read(t, filepath.Join(p.dir, "out.jsonl"))
	if bytes.Contains(file, []byte("hunter2")) || bytes.Count(file, []byte(`"PASSWORD":"xxxxxx1-xxx-xxxx"`)) != 2 || bytes.Count(file, []byte(`\"PASSWORD\":\"xxxxxx1-xxx-xxxx\"`)) != 2 {
		t.Errorf("the file has:\n%s", file)
	}
}

// TestRecordingThatEnds goes on passing when no more can be recorded.
func TestRecordingThatEnds(t *testing.T) {
	t.Parallel()
	webhookURL, ca := serve(t, webhook.Handler(), nil)
	ask := func(t *testing.T, p *recordingProxy, n int) {
		t.Helper()
		client := p.client(t, nil)
		for range n {
			if response := client.Send(t.Context(), fixtures.ReviewRequest("v1")); response.Status != 200 {
				t.Errorf("got %+v", response)
			}
		}
	}
	for name, args := range map[string][]string{"exchanges": {"--max-exchanges", "3"}, "bytes": {"--max-size", "4Ki"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := record(t, webhookURL, ca, args...)
			ask(t, p, 10)
			r := p.ended(t)
			r.exits(t, exitConforms)
			n := len(recorded(t, filepath.Join(p.dir, "out.jsonl")).Exchanges)
			if n == 0 || n >= 10 || name == "exchanges" && n != 3 || name == "bytes" && len(read(t, filepath.Join(p.dir, "out.jsonl"))) > 4<<10 {
				t.Errorf("%d exchanges are recorded", n)
			}
			if want := fmt.Sprintf("Not recorded: %d requests after a limit was reached; raise --max-size or --max-exchanges\n", 10-n); !strings.HasSuffix(r.out, want) {
				t.Errorf("it says %q, want %q", r.out, want)
			}
			if want := "crdconform: --out out.jsonl: the recording is full; the recording ends here, and the proxy continues\n"; r.err != want {
				t.Errorf("it says %q, want %q", r.err, want)
			}
		})
	}
	t.Run("no reader", func(t *testing.T) {
		t.Parallel()
		// A pipe whose reader goes away fails as a disk does that is full.
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		opened := make(chan *os.File, 1)
		go func() {
			file, err := os.Open(pipe)
			if err != nil {
				t.Error(err)
			}
			opened <- file
		}()
		p := record(t, webhookURL, ca, "--out", pipe)
		file := <-opened
		ask(t, p, 2)
		lines := bufio.NewReader(file)
		for range 3 { // they are written when the answers are on their way
			if _, err := lines.ReadBytes('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		ask(t, p, 3)
		r := p.ended(t)
		r.exits(t, exitUnjudged)
		at := "crdconform: --out " + pipe + ": write " + pipe + ": broken pipe; the recording ends here, and the proxy continues\n"
		end := "crdconform: --out: write " + pipe + ": broken pipe; 3 requests not recorded; " + pipe + " can be read up to its last complete line\n"
		if r.err != at+end || !strings.Contains(r.out, "\nRecorded 2 exchanges, ") {
			t.Errorf("it says %q and %q, want %q", r.out, r.err, at+end)
		}
	})
	t.Run("full disk", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("this system has no /dev/full")
		}
		r := invoke(t, "record", webhookURL, "--ca-file", ca, "--listen", "127.0.0.1:0", "--out", "/dev/full")
		r.exits(t, exitUnjudged)
		if want := "crdconform: --out /dev/full: recording: write /dev/full: no space left on device\n"; r.err != want || r.out != "" {
			t.Errorf("it says %q and %q, want %q", r.out, r.err, want)
		}
	})
}

// TestRecordWithACertificate serves with a certificate that the user brings.
func TestRecordWithACertificate(t *testing.T) {
	t.Parallel()
	webhookURL, ca := serve(t, webhook.Handler(), nil)
	authority, err := pki.NewAuthority("mine")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server("a.b.svc")
	if err != nil {
		t.Fatal(err)
	}
	p := record(t, webhookURL, ca, "--tls-cert", file(t, "tls.crt", string(pair.Certificate)), "--tls-key", file(t, "tls.key", string(pair.Key)))
	client := p.client(t, func(e *wire.Endpoint) { e.CA, e.ServerName = authority.PEM(), "a.b.svc" })
	if response := client.Send(t.Context(), fixtures.ReviewRequest("v1")); response.Status != 200 {
		t.Errorf("got %+v", response)
	}
	r := p.ended(t)
	r.exits(t, exitConforms)
	if strings.Contains(r.out, "caBundle: ") || !strings.Contains(r.out, "Recorded 1 exchange, ") {
		t.Errorf("it says %q", r.out)
	}
}

// TestRecordWithoutAWebhook answers 502 when the webhook goes away, and does not begin when it is not there.
func TestRecordWithoutAWebhook(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	webhookURL, ca := serve(t, webhook.Handler(), gone)
	p := record(t, webhookURL, ca)
	client := p.client(t, nil)
	close(gone)
	direct, err := wire.Connect(wire.Endpoint{URL: webhookURL, CA: read(t, ca)})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	unreachable(t, direct)
	if response := client.Send(t.Context(), fixtures.ReviewRequest("v1")); response.Status != http.StatusBadGateway || !bytes.Contains(response.Body, []byte("the webhook gave no complete response: ")) {
		t.Errorf("got %d: %s", response.Status, response.Body)
	}
	r := p.ended(t)
	r.exits(t, exitConforms)
	if !strings.Contains(r.out, "Recorded 1 exchange, ") || !strings.Contains(r.out, "\nWithout a complete response: 1 request\n") {
		t.Errorf("it says %q", r.out)
	}
	if x := recorded(t, filepath.Join(p.dir, "out.jsonl")).Exchanges[0]; x.Response.Err == nil || x.Response.Status != 0 {
		t.Errorf("recorded %+v", x.Response)
	}
	r = invoke(t, "record", webhookURL, "--ca-file", ca, "--listen", "127.0.0.1:0", "--out", "out.jsonl")
	r.exits(t, exitUnjudged)
	if !strings.Contains(r.err, "connection refused; check that the webhook is running") || r.out != "" {
		t.Errorf("it says %q and %q", r.out, r.err)
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("it began: %v, %v", left, err)
	}
}

// TestRecordInterruptedWhilePassing has requests under way when it is told to stop: they are answered and recorded.
func TestRecordInterruptedWhilePassing(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	webhookURL, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-answer
		webhook.Handler().ServeHTTP(w, r)
	}), nil)
	p := record(t, webhookURL, ca)
	client := p.client(t, nil)
	answered := make(chan int)
	go func() {
		answered <- client.Send(context.WithoutCancel(t.Context()), fixtures.ReviewRequest("v1")).Status
	}()
	<-asked
	p.signal(t, os.Interrupt)
	unreachable(t, client) // the port is closed first
	close(answer)
	if status := <-answered; status != 200 {
		t.Errorf("got %d", status)
	}
	r := p.end()
	r.exits(t, exitConforms)
	if whole := recorded(t, filepath.Join(p.dir, "out.jsonl")); len(whole.Exchanges) != 1 || whole.Exchanges[0].Response.Status != 200 {
		t.Errorf("recorded %+v", whole.Exchanges)
	}
}

// TestRecordCutOff has a request under way that is never answered: it is not recorded, and that is told.
func TestRecordCutOff(t *testing.T) {
	t.Parallel()
	asked, over := make(chan struct{}), make(chan struct{})
	webhookURL, ca := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-over
	}), nil)
	t.Cleanup(func() { close(over) })
	p := record(t, webhookURL, ca)
	client := p.client(t, nil)
	answered := make(chan contract.Response)
	go func() {
		answered <- client.Send(context.WithoutCancel(t.Context()), fixtures.ReviewRequest("v1"))
	}()
	<-asked
	r := p.ended(t)
	r.exits(t, exitUnjudged)
	if response := <-answered; response.Err == nil {
		t.Errorf("it is answered: %+v", response)
	}
	if want := "--out out.jsonl: 1 request not recorded, because no answer came within 5s of the interruption"; !strings.Contains(r.err, want) || !strings.Contains(r.out, "Recorded 0 exchanges") {
		t.Errorf("it says %q and %q, want %q", r.out, r.err, want)
	}
	if all := recorded(t, filepath.Join(p.dir, "out.jsonl")); len(all.Exchanges) != 0 {
		t.Errorf("recorded %+v", all.Exchanges)
	}
}

// TestRecordToALink has nobody else's file be written to that comes to be there meanwhile, as a link to nothing does.
func TestRecordToALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "out.jsonl")); err != nil {
		t.Fatal(err)
	}
	url, ca := serve(t, webhook.Handler(), nil)
	r := startIn(t, dir, "record", url, "--ca-file", ca, "--listen", "127.0.0.1:0", "--out", "out.jsonl").end()
	r.exits(t, exitUsage)
	if !strings.Contains(r.err, "--out out.jsonl: the file already exists") {
		t.Errorf("it says %s", r.err)
	}
}

// TestRecordUsage gives record what it cannot work with.
func TestRecordUsage(t *testing.T) {
	t.Parallel()
	const url = "https://127.0.0.1:1/convert"
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	good, ca := serve(t, webhook.Handler(), nil)
	for name, test := range map[string]struct {
		args string
		code int
		want string
	}{
		"no URL":            {"--out o", exitUsage, "record requires the URL of a webhook"},
		"no file":           {url, exitUsage, "--out: no file to record to; give its name"},
		"plain http":        {"http://127.0.0.1:1/ --out o", exitUsage, "give a URL that begins with https://"},
		"a password":        {"https://me:secret@localhost/ --out o", exitUsage, "leave them out"},
		"no size":           {url + " --out o --max-size much", exitUsage, "--max-size much: not a size of at least 4096 bytes; write it as 64Mi or 1Gi"},
		"a small size":      {url + " --out o --max-size 1Ki", exitUsage, "--max-size 1Ki: not a size"},
		"fewer than none":   {url + " --out o --max-exchanges -1", exitUsage, "--max-exchanges -1: must be at least 0"},
		"no path":           {url + " --out o --redact spec.", exitUsage, `--redact: the path "spec." has no key after a dot`},
		"no such metadata":  {url + " --out o --redact metadata.name", exitUsage, "--redact: the path \"metadata.name\" cannot be redacted"},
		"no address":        {url + " --out o --listen 9444", exitUsage, "--listen 9444: not an address; give a host and a port"},
		"half a key":        {url + " --out o --tls-cert a", exitUsage, "--tls-cert and --tls-key must be given together"},
		"key and authority": {url + " --out o --tls-cert a --tls-key b --ca-out c", exitUsage, "cannot be combined with --tls-cert and --tls-key"},
		"no key":            {url + " --out o --tls-cert a --tls-key b", exitUsage, "--tls-cert: open a: no such file"},
		"no CA":             {url + " --out o --ca-file missing", exitUsage, "--ca-file: open missing: no such file"},
		"not there":         {url + " --out o", exitUnjudged, "connection refused"},
		"a port in use":     {good + " --ca-file " + ca + " --out o --listen " + taken.Addr().String(), exitUnjudged, "address already in use; give another host and port with --listen"},
		"a file that is":    {good + " --ca-file " + ca + " --listen 127.0.0.1:0 --out there", exitUsage, "--out there: the file already exists; give another name, or remove it"},
		"no folder":         {good + " --ca-file " + ca + " --listen 127.0.0.1:0 --out no/o", exitUsage, "--out: open no/o: no such file or directory"},
		"no folder for CA":  {good + " --ca-file " + ca + " --listen 127.0.0.1:0 --out o --ca-out no/ca", exitUsage, "--ca-out: open no/ca: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "there"), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := startIn(t, dir, append([]string{"record"}, strings.Split(test.args, " ")...)...).end()
			r.exits(t, test.code)
			if !strings.HasPrefix(r.err, "crdconform: ") || !strings.Contains(r.err, test.want) || strings.Contains(r.err, "secret") || r.out != "" {
				t.Errorf("it says %q and %q, want something with %q", r.out, r.err, test.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || string(read(t, filepath.Join(dir, "there"))) != "precious" {
				t.Errorf("it began: %v, %v", left, err)
			}
		})
	}
}

// unreachable waits until nobody listens any more.
func unreachable(t *testing.T, client *wire.Client) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(time.Minute)
	for client.Reach(t.Context()) == nil {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("%s is still there", client.URL())
		}
	}
}

// TestRecordHost knows by which name it is reached.
func TestRecordHost(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{"localhost:1": "localhost", "10.0.0.5:1": "10.0.0.5", "[::1]:1": "::1", ":1": "127.0.0.1", "0.0.0.0:1": "127.0.0.1", "[::]:1": "127.0.0.1"} {
		if got := (&recorder{listen: listen}).host(); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
	if got := (&recorder{listen: "0.0.0.0:1", names: []string{"10.0.0.5", "b"}}).host(); got != "10.0.0.5" {
		t.Errorf("got %s", got)
	}
	if u, err := url.Parse("https://" + net.JoinHostPort("::1", "1")); err != nil || u.Hostname() != "::1" {
		t.Errorf("got %v, %v", u, err)
	}
}

// TestLoadOfARedactedRecording sends what was redacted again, but for what the webhook refuses for that.
func TestLoadOfARedactedRecording(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a recording and a load")
	}
	picky := func(refuses string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if bytes.Contains(body, []byte(refuses)) {
				http.Error(w, "no such host", http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			webhook.Handler().ServeHTTP(w, r)
		})
	}
	url, ca := serve(t, webhook.Handler(), nil)
	p := record(t, url, ca, "--redact", "hostPort")
	client := p.client(t, nil)
	n := uint64(0)
	for _, q := range crontabs(t) {
		client.Send(t.Context(), q.Body)
		n++
	}
	p.ended(t).exits(t, exitConforms)
	file := filepath.Join(p.dir, "out.jsonl")
	redacted := uint64(bytes.Count(read(t, file), []byte(`"objects":[{"apiVersion":"example.com/v1beta1","hostPort":"xxxxxxxxx:`)))
	if redacted == 0 || redacted == n {
		t.Fatalf("%d of %d requests are for a host of nine letters", redacted, n)
	}
	for name, test := range map[string]struct {
		handler        http.Handler
		sent           uint64
		failing, noted bool
	}{
		"good":                      {webhook.Handler(), n, false, false},
		"refuses what was redacted": {picky(`"hostPort":"xxxxxxxxx:`), n - redacted, false, true},
		"refuses what was not":      {picky(`"host":"`), n, true, false},
	} {
		url, ca := serve(t, test.handler, nil)
		dir := t.TempDir()
		invoke(t, "load", url, "--ca-file", ca, "--recording", file, "--report-dir", dir) // which is void where the machine is busy
		var report struct {
			Notes []string `json:"notes"`
			Load  struct {
				Stages []struct {
					Requests uint64 `json:"requests"`
					Failed   uint64 `json:"failed"`
				} `json:"stages"`
			} `json:"load"`
		}
		if err := json.Unmarshal(read(t, filepath.Join(dir, "report.json")), &report); err != nil {
			t.Fatal(err)
		}
		if stages := report.Load.Stages; len(stages) != 1 || stages[0].Requests != test.sent || (stages[0].Failed > 0) != test.failing {
			t.Errorf("%s: got %+v of %d, want %+v", name, stages, n, test)
		}
		want := fmt.Sprintf("%d of %d requests are not sent: they were redacted at hostPort", redacted, n)
		if strings.Contains(strings.Join(report.Notes, "\n"), want) != test.noted {
			t.Errorf("%s: the notes are %q, want %q: %t", name, report.Notes, want, test.noted)
		}
	}
}
