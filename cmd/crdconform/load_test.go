package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// loaded runs crdconform load, again when this machine was too busy for the run to count. What is wrong is wrong however busy
// the machine is.
func loaded(t *testing.T, args func() []string) result {
	t.Helper()
	for range 50 {
		r := invoke(t, append([]string{"load"}, args()...)...)
		if l := r.report(t).Load; l == nil || reporter.Void(l) == "" || r.code == exitViolates {
			return r
		}
		r.exits(t, exitUnjudged)
	}
	t.Fatal("this machine is too busy to load a webhook")
	return result{}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	r := loaded(t, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "200ms", "--rate", "50", "--batch", "3", "--from", "v1", "--to", "v1beta1", "--review-version", "v1beta1", "--http2"}
	})
	r.exits(t, exitConforms)
	report := r.report(t)
	if report.Outcome != reports.Conformant || len(report.Results) > 0 || report.Webhook == nil || report.Webhook.URL != url {
		t.Errorf("got %s with %v of %v", report.Outcome, report.Results, report.Webhook)
	}
	if len(report.Load.Stages) != 1 || report.Load.Profile != "constant" {
		t.Fatalf("got %+v", report.Load)
	}
	l := report.Load.Stages[0]
	if l.SentPerSecond < 1 || l.SentPerSecond > 50 || l.RequestsPerSecond > 50 {
		t.Errorf("%g sent and %g answered a second", l.SentPerSecond, l.RequestsPerSecond)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "crdconform-report", "apiserver.log")); !os.IsNotExist(err) {
		t.Errorf("there is a log of an API server: %v", err)
	}
	if l.Requests != 10 || l.Objects != 30 || l.Failed != 0 || l.Pairs[0] != (loadgen.Pair{From: "v1", To: "v1beta1"}) || l.ReviewVersion != "v1beta1" || l.HTTP != "HTTP/2" || l.Rate != 50 || l.Duration != 0.2 {
		t.Errorf("got %+v", l)
	}
	for _, name := range []string{"latency.json", "latency.hgrm"} {
		if info, err := os.Stat(filepath.Join(r.dir, "crdconform-report", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(r.out, ": "+url+", seed ") || !strings.Contains(r.out, "\nConforms: all 10 responses under load are correct") {
		t.Errorf("it says:\n%s", r.out)
	}
}

// TestContentOfLoad has a webhook that loses a field now and then, and one field that differs each time.
func TestContentOfLoad(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	url, ca := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		webhook.Handler().ServeHTTP(recorder, r)
		n := answers.Add(1)
		answer := strings.ReplaceAll(recorder.Body.String(), `"example.com/owner":"somebody"`, fmt.Sprintf(`"example.com/owner":"%d"`, n))
		if n > 320 && n%10 == 0 { // there are 256 answers before the load, and 64 for the way back
			answer = strings.ReplaceAll(answer, `"port":`, `"lost":`)
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}), nil)
	r := loaded(t, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "500ms", "--rate", "200", "--batch", "2", "--from", "v1beta1", "--to", "v1", "--judge-content"}
	})
	r.exits(t, exitViolates)
	s := r.report(t).Load.Stages[0]
	if !s.JudgeContent || s.Requests != 100 || s.Failed < 5 || s.Failed > 15 || s.Errors["content"] != s.Failed || s.Violations[requirement.WebhookConversionPure] != s.Failed {
		t.Errorf("got %+v", s)
	}
	const example = "object 0: port: expected "
	if !strings.Contains(r.out, " content)") || !strings.Contains(r.out, example) || !strings.Contains(r.out, "metadata.annotations['example.com/owner']") {
		t.Errorf("it says:\n%s", r.out)
	}
	for _, name := range []string{"junit.xml", "report.html"} {
		text := html.UnescapeString(string(read(t, filepath.Join(r.dir, "crdconform-report", name))))
		if !strings.Contains(text, fmt.Sprintf("(%d content)", s.Failed)) || !strings.Contains(text, example) {
			t.Errorf("%s does not have it", name)
		}
	}
}

func TestLoadToleratesWhatServersDo(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, faulty(t, "content-type-text"), nil)
	r := loaded(t, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "100ms", "--samples", threeVersions(t)}
	})
	r.exits(t, exitConforms)
	if l := r.report(t).Load.Stages[0]; l.Failed != 0 || l.Violations[requirement.WebhookResponseContentType] != l.Requests || l.Pairs[0] != (loadgen.Pair{From: "v1alpha1", To: "v1beta1"}) {
		t.Errorf("got %+v", l)
	}
}

// TestVoidLoad asks for more than any generator can send on one thread.
func TestVoidLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a load that is too much for any machine")
	}
	url, ca := serve(t, webhook.Handler(), nil)
	t.Setenv("GOMAXPROCS", "1")
	r := invoke(t, "load", url, "--ca-file", ca, "--rate", "1000000", "--duration", "5ms")
	r.exits(t, exitUnjudged)
	if report := r.report(t); report.Outcome != reports.Unjudged || report.Load == nil || reporter.Void(report.Load) == "" || report.Load.Stages[0].Late == 0 {
		t.Errorf("got %s with %+v", report.Outcome, report.Load)
	}
	if !strings.Contains(r.out, "the generator was too busy") || !strings.Contains(r.out, "send less") {
		t.Errorf("it says:\n%s", r.out)
	}
}

// TestLoadOfDefinition has no samples, so objects are generated, for a program that is started.
func TestLoadOfDefinition(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"crd.yaml": gadgets})
	r := startIn(t, dir, append([]string{
		"load", "--crd", "crd.yaml", "--profile", "apiserver", "--duration", "300ms", "--objective", "kep", "--objective", "errors=0",
	}, webhookProgram(t, "serve")...)...).end()
	l := r.report(t).Load
	if l == nil || len(l.Stages) != 2 || l.Stages[0].Clients != 1 || l.Stages[1].Clients != 10 || reporter.FailedRequests(l) != 0 || reporter.Requests(l) < 20 {
		t.Fatalf("got %+v, and it says\n%s%s", l, r.out, r.err)
	}
	if len(l.Objectives) != 4 || l.Objectives[1].Source == "" || l.Objectives[1].Limit != 50 {
		t.Errorf("the objectives are %+v", l.Objectives)
	}
}

// TestObjectivesOfLoad misses some.
func TestObjectivesOfLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a load for each objective")
	}
	url, ca := serve(t, faulty(t, "wrong-uid"), nil)
	load := func(objectives ...string) result {
		return loaded(t, func() []string {
			args := []string{url, "--ca-file", ca, "--duration", "200ms"}
			for _, o := range objectives {
				args = append(args, "--objective", o)
			}
			return args
		})
	}
	r := load("errors=100%")
	r.exits(t, exitConforms)
	if want := "20 of 20 responses under load failed, which the objectives allow"; !strings.Contains(r.out, want) {
		t.Errorf("it says:\n%swant %q", r.out, want)
	}
	r = load("errors=1%", "objects/s=1")
	r.exits(t, exitViolates)
	missed := map[string]bool{}
	for _, o := range r.report(t).Load.Objectives {
		missed[o.Name] = !o.Met
	}
	if !missed["errors"] || !missed["objects/s"] || len(missed) != 2 {
		t.Errorf("missed are %v", missed)
	}
}

// TestObserved has the figures of a load test scraped while it runs, and reads its results with vegeta.
func TestObserved(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	p := start(t, "load", url, "--ca-file", ca, "--duration", "5s", "--rate", "20", "--metrics-address", "127.0.0.1:0", "--vegeta-results", "results.gob")
	at := regexp.MustCompile(`metrics: (\S+)`)
	var address []string
	said(`s of 5s`)(t, p)
	if address = at.FindStringSubmatch(p.out.String()); address == nil {
		t.Fatalf("it says %s", p.out.String())
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	for _, want := range []string{`crdconform_load_requests_total{stage="constant"} `, `crdconform_load_failed_requests_total{stage="constant"} 0`, `crdconform_load_response_seconds{quantile="0.99",stage="constant"} 0.`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in\n%s%v", want, text, err)
		}
	}
	r := p.end()
	data, err := os.ReadFile(filepath.Join(r.dir, "results.gob"))
	if err != nil {
		t.Fatal(err)
	}
	decode, n := vegeta.NewDecoder(bytes.NewReader(data)), 0
	for {
		var result vegeta.Result
		if err := decode.Decode(&result); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != int(reporter.Requests(r.report(t).Load)) || n == 0 {
		t.Errorf("%d results of %d requests", n, reporter.Requests(r.report(t).Load))
	}
}

// TestResultsThatCannotBeWritten has the file for them be on a full disk, or be a pipe whose reader goes away. That is told, and
// hides no outcome.
func TestResultsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	good, goodCA := serve(t, webhook.Handler(), nil)
	bad, badCA := serve(t, faulty(t, "wrong-uid"), nil)
	for name, test := range map[string]struct {
		url, ca string
		code    int
	}{"good": {good, goodCA, exitUnjudged}, "bad": {bad, badCA, exitViolates}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat("/dev/full"); err != nil {
				t.Skip(err)
			}
			r := loaded(t, func() []string {
				return []string{test.url, "--ca-file", test.ca, "--duration", "500ms", "--rate", "4", "--vegeta-results", "/dev/full"}
			})
			r.exits(t, test.code)
			if !strings.Contains(r.err, "crdconform: --vegeta-results: write /dev/full: no space left on device") {
				t.Errorf("it says %s", r.err)
			}
			r = loaded(t, func() []string {
				pipe := filepath.Join(t.TempDir(), "pipe")
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Fatal(err)
				}
				go func() { // opening it waits for the other end
					if reader, err := os.Open(pipe); err == nil {
						reader.Close()
					}
				}()
				return []string{test.url, "--ca-file", test.ca, "--duration", "500ms", "--rate", "4", "--vegeta-results", pipe}
			})
			r.exits(t, test.code)
			if !strings.Contains(r.err, "crdconform: --vegeta-results: write ") || !strings.Contains(r.err, "broken pipe") {
				t.Errorf("it says %s", r.err)
			}
		})
	}
}

// TestResultsOfBefore has nothing be overwritten, and no file be left by a load test that cannot begin.
func TestResultsOfBefore(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	dir := folder(t, map[string]string{"results.gob": "of before", "file": ""})
	args := []string{"load", url, "--ca-file", ca, "--duration", "100ms", "--vegeta-results", "results.gob"}
	r := startIn(t, dir, args...).end()
	r.exits(t, exitUsage)
	if got := string(read(t, filepath.Join(dir, "results.gob"))); got != "of before" || !strings.Contains(r.err, "--vegeta-results results.gob: the file already exists; give another name") {
		t.Errorf("the file has %q, and it says %s", got, r.err)
	}
	if err := os.Remove(filepath.Join(dir, "results.gob")); err != nil {
		t.Fatal(err)
	}
	startIn(t, dir, append(args, "--report-dir", "file")...).end().exits(t, exitUsage)
	if _, err := os.Stat(filepath.Join(dir, "results.gob")); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestCommandOfLoad has the command in a report be one that a shell and the command take again as it is.
func TestCommandOfLoad(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	r := loaded(t, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "100ms", "--rate", "20,12.5", "--objective", "p99=1m", "--objective", "errors=50%"}
	})
	want := "crdconform load " + url + " --ca-file=" + ca + " --duration=100ms --objective=p99=1m --objective='errors=50%' --rate=20,12.5"
	if got := r.report(t).Command; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
