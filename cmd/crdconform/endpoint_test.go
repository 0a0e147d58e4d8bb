package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestWebhooksOutOfReach has check and load say what is wrong where, and what to do, in one sentence.
func TestWebhooksOutOfReach(t *testing.T) {
	t.Parallel()
	good, ca := serve(t, webhook.Handler(), nil)
	_, otherCA := serve(t, webhook.Handler(), nil)
	plain := httptest.NewServer(webhook.Handler())
	t.Cleanup(plain.Close)
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, test := range map[string]struct {
		url  string
		args []string
		want string
	}{
		"closed port":      {"https://127.0.0.1:1/convert", nil, "connection refused; check that the webhook is running"},
		"no CA":            {good, nil, "give the authority's certificate by --ca-file"},
		"wrong CA":         {good, []string{"--ca-file", otherCA}, "give the authority's certificate by --ca-file"},
		"wrong name":       {good, []string{"--ca-file", ca, "--server-name", "service.namespace.svc"}, "give the name in its certificate by --server-name"},
		"plain HTTP there": {"https" + strings.TrimPrefix(plain.URL, "http"), nil, "does not use TLS on that port; API servers call webhooks only over https, so give it a certificate"},
		"silent":           {"https://" + silent.Addr().String(), []string{"--timeout", "200ms"}, "no complete response within 200ms"},
	} {
		for _, command := range []string{"check", "load"} {
			if command == "check" && name == "wrong name" {
				continue // see TestCertificateThatDoesNotVerify
			}
			t.Run(name+"/"+command, func(t *testing.T) {
				t.Parallel()
				r := invoke(t, append([]string{command, test.url}, test.args...)...)
				r.exits(t, exitUnjudged)
				report := r.report(t)
				if report.Outcome != reports.Unjudged || len(report.Results) > 0 || report.Load != nil {
					t.Errorf("got %s with %v", report.Outcome, report.Results)
				}
				if got := report.Error; !strings.HasPrefix(got, "webhook "+test.url+": ") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
					t.Errorf("the error is %q, want one line with %q", got, test.want)
				}
				if want := "\nCould not judge: " + report.Error + "\n"; !strings.Contains(r.out, want) || r.err != "" {
					t.Errorf("it says:\n%s%swant %q", r.out, r.err, want)
				}
			})
		}
	}
}

// TestCertificateThatDoesNotVerify is a verdict for check, and for one requirement only.
func TestCertificateThatDoesNotVerify(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, webhook.Handler(), nil)
	r := invoke(t, "check", url, "--ca-file", ca, "--server-name", "service.namespace.svc")
	r.exits(t, exitViolates)
	report := r.report(t)
	if bad := report.With(requirement.Failed, requirement.Tolerated, requirement.Errored, requirement.Unknown); len(bad) != 1 || bad[0].ID != requirement.WebhookTransportCertificate || !strings.Contains(bad[0].Reason, "x509: ") {
		t.Errorf("got %v, and %q", report.Counts, report.Error)
	}
}

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

// faulty returns the reference webhook with a fault.
func faulty(t *testing.T, name string) http.Handler {
	t.Helper()
	fault, found := webhook.FaultNamed(name)
	if !found {
		t.Fatalf("there is no fault %s", name)
	}
	return webhook.Handler(fault)
}

// TestWebhooksThatMisbehave lets nothing that a webhook may answer keep check and load from a verdict.
func TestWebhooksThatMisbehave(t *testing.T) {
	t.Parallel()
	garbage := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte("\x1b[2J\xff\x00garbage\r\n"))
	})
	for name, test := range map[string]struct {
		handler http.Handler // one that dies when nil
		want    requirement.ID
		kind    string
	}{
		"hangs":               {faulty(t, "hangs"), requirement.WebhookResponseInTime, "timeout"},
		"garbage":             {garbage, requirement.WebhookResponseBody, "contract"},
		"half a body":         {faulty(t, "half-body"), requirement.WebhookResponseBody, "transport"},
		"10 MiB of zeros":     {faulty(t, "zeros"), requirement.WebhookResponseBody, "transport"}, // load reads less than that
		"knows no such place": {http.NotFoundHandler(), requirement.WebhookResponseHTTPStatus, "http"},
		"dies in mid-run":     {nil, requirement.WebhookResponseInTime, "transport"},
	} {
		args := func(t *testing.T) []string {
			t.Helper()
			url, ca := "", ""
			if test.handler == nil {
				url, ca = dying(t, 5)
			} else {
				url, ca = serve(t, test.handler, nil)
			}
			if name == "hangs" {
				return []string{url, "--ca-file", ca, "--timeout", "2s"}
			}
			return []string{url, "--ca-file", ca}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("check", func(t *testing.T) {
				t.Parallel()
				if testing.Short() && name == "10 MiB of zeros" {
					t.Skip("left out by -short: a gigabyte is sent")
				}
				r := invoke(t, append([]string{"check"}, args(t)...)...)
				r.exits(t, exitViolates)
				if report := r.report(t); report.Outcome != reports.NonConformant || !slices.Contains(verdicts(report, requirement.Failed), test.want) {
					t.Errorf("got %s with %v Failed, want %s among them", report.Outcome, verdicts(report, requirement.Failed), test.want)
				}
				if strings.ContainsAny(r.out, "\x1b\x00") || !utf8.ValidString(r.out) {
					t.Errorf("what the webhook sends is shown as it is: %q", r.out)
				}
			})
			t.Run("load", func(t *testing.T) {
				t.Parallel()
				rate := "4" // for more, some machines are too busy
				if test.handler == nil {
					rate = "20" // more than it answers
				}
				r := loaded(t, func() []string { return append(args(t), "--rate", rate, "--duration", "500ms") })
				r.exits(t, exitViolates)
				if l := r.report(t).Load.Stages[0]; l.Failed == 0 || l.Errors[test.kind] == 0 || l.Violations[test.want] == 0 {
					t.Errorf("%d of %d failed: %v, want %s; %v, want %s", l.Failed, l.Requests, l.Errors, test.kind, l.Violations, test.want)
				}
				if strings.ContainsAny(r.out, "\x1b\x00") || !utf8.ValidString(r.out) {
					t.Errorf("what the webhook sends is shown as it is: %q", r.out)
				}
			})
		})
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
	if err := flags.Parse([]string{"--ca-file", ca, "--server-name", "a.b.svc", "--http2"}); err != nil {
		t.Fatal(err)
	}
	client, err := r.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if e := client.Endpoint(); e.ServerName != "a.b.svc" || !e.HTTP2 || e.Timeout != wire.APIServerTimeout || string(e.CA) != string(read(t, ca)) {
		t.Errorf("got %+v", e)
	}
}
