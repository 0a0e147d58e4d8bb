package main

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// dying serves the reference webhook for a number of requests. With the next one it closes the port and does not answer.
func dying(t *testing.T, requests int64) (url, ca string) {
	t.Helper()
	var seen atomic.Int64
	var once sync.Once
	died := make(chan struct{})
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) > requests {
			once.Do(func() { close(died) })
			panic(http.ErrAbortHandler)
		}
		webhook.Handler().ServeHTTP(w, r)
	}), died)
}

// TestWebhookThatDies has check and load come to a verdict on a webhook that ends in the middle.
func TestWebhookThatDies(t *testing.T) {
	t.Parallel()
	url, ca := dying(t, 5)
	r := ran(t, "check", url, "--ca-file", ca)
	r.exits(t, exitViolates)
	if report := r.report(t); report.Outcome != reports.NonConformant || !slices.Contains(verdicts(report, requirement.Failed), requirement.WebhookResponseInTime) {
		t.Errorf("got %s with %v Failed", report.Outcome, verdicts(report, requirement.Failed))
	}
	r = loaded(t, func() []string {
		url, ca := dying(t, 5)
		return []string{url, "--ca-file", ca, "--rate", "20", "--duration", "500ms"} // more than it answers
	})
	r.exits(t, exitViolates)
	if l := r.report(t).Load.Stages[0]; l.Failed == 0 || l.Errors["transport"] == 0 || l.Violations[requirement.WebhookResponseInTime] == 0 {
		t.Errorf("%d of %d failed: %v, %v", l.Failed, l.Requests, l.Errors, l.Violations)
	}
}

func TestReferenceToItself(t *testing.T) {
	s := selection{knownFailing: "it's.txt"}
	if got, want := s.again(true), ` --strict --known-failing 'it'\''s.txt'`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := new(selection).again(false); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}

// TestEndpointIsChecked looks at what record does before it connects.
func TestEndpointIsChecked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"nothing": "", "no PEM": "nonsense", "a key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		path := file(t, "ca.crt", text)
		if _, err := authority("ca-file", path); err == nil || err.Error() != "--ca-file "+path+": no certificate in it; give PEM, beginning with -----BEGIN CERTIFICATE-----" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, ca := serve(t, webhook.Handler(), nil)
	r, flags := &recorder{url: "https://localhost/"}, pflag.NewFlagSet("record", pflag.ContinueOnError)
	r.flags.bind(flags, "record")
	check(t, flags.Parse([]string{"--ca-file", ca, "--server-name", "a.b.svc", "--http2"}))
	client, err := r.connect()
	check(t, err)
	defer client.Close()
	if e := client.Endpoint(); e.ServerName != "a.b.svc" || !e.HTTP2 || e.Timeout != wire.APIServerTimeout || string(e.CA) != string(read(t, ca)) {
		t.Errorf("got %+v", e)
	}
}
