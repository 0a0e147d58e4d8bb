package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/reporter"
)

// TestObserved has the figures of a load test scraped while it runs, and reads its results with vegeta.
func TestObserved(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a load that lasts until it was looked at")
	}
	url, ca := serve(t, webhook.Handler(), nil)
	p := start(t, "load", url, "--ca-file", ca, "--duration", "3s", "--rate", "20", "--set", "load.metricsAddress=127.0.0.1:0", "--set", "load.vegetaResults=results.gob")
	p.Await(t, "s of 3s")
	address := regexp.MustCompile(`metrics: (\S+)`).FindStringSubmatch(p.Out.String())
	if address == nil {
		t.Fatalf("it says %s", p.Out.String())
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1], nil)
	check(t, err)
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	for _, want := range []string{`crdconform_load_requests_total{stage="constant"} `, `crdconform_load_failed_requests_total{stage="constant"} 0`, `crdconform_load_response_seconds{quantile="0.99",stage="constant"} 0.`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in\n%s%v", want, text, err)
		}
	}
	r := p.End()
	decode, n := vegeta.NewDecoder(bytes.NewReader(read(t, filepath.Join(r.Dir, "results.gob")))), 0
	for err = nil; err == nil; n++ {
		err = decode.Decode(new(vegeta.Result))
	}
	if n--; !errors.Is(err, io.EOF) || n != int(reporter.Requests(reportOf(t, r).Load)) || n == 0 {
		t.Errorf("%d results of %d requests, and %v", n, reporter.Requests(reportOf(t, r).Load), err)
	}
}

// TestResultsWithoutAReader has the file for results be a pipe whose reader goes away. The command says so, and that hides no outcome.
func TestResultsWithoutAReader(t *testing.T) {
	t.Parallel()
	for fault, code := range map[string]int{"": exitUnjudged, "wrong-uid": exitViolates} {
		faults := slices.DeleteFunc(webhook.Faults(), func(f webhook.Fault) bool { return f.Name != fault })
		url, ca := serve(t, webhook.Handler(faults...), nil)
		var r result
		for busy := true; busy; busy = void(r) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			check(t, syscall.Mkfifo(pipe, 0o600))
			go func() { // opening it waits for the other end
				if reader, err := os.Open(pipe); err == nil {
					reader.Close()
				}
			}()
			r = ran(t, "load", url, "--ca-file", ca, "--duration", "500ms", "--rate", "4", "--set", "load.vegetaResults="+pipe)
		}
		r.Exits(t, code)
		has(t, r.Err, "crdconform: load.vegetaResults: write ", "broken pipe")
	}
}
