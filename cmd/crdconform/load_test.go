package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// loaded runs crdconform load, again when this machine was too busy for the run to count.
func loaded(t *testing.T, args func() []string) result {
	t.Helper()
	for range 50 {
		r := invoke(t, append([]string{"load"}, args()...)...)
		if l := r.report(t).Load; l == nil || l.VoidReason == "" {
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
		return []string{url, "--ca-file", ca, "--duration", "200ms", "--rate", "50", "--batch", "3", "--from", "v1", "--review-version", "v1beta1", "--http2"}
	})
	r.exits(t, exitConforms)
	report := r.report(t)
	if report.Outcome != reports.Conformant || len(report.Results) > 0 || report.Webhook == nil || report.Webhook.URL != url {
		t.Errorf("got %s with %v of %v", report.Outcome, report.Results, report.Webhook)
	}
	l := report.Load
	if l.Requests != 10 || l.Objects != 30 || l.Failed != 0 || l.From != "v1" || l.To != "v1beta1" || l.ReviewVersion != "v1beta1" || l.HTTP != "HTTP/2" || l.Rate != 50 || l.Duration != 0.2 {
		t.Errorf("got %+v", l)
	}
	for _, name := range []string{"latency.json", "latency.hgrm"} {
		if info, err := os.Stat(filepath.Join(r.dir, "crdconform-report", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(r.out, ": "+url+"\n") || !strings.Contains(r.out, "\nload         "+l.Headline()+"\n") || !strings.Contains(r.out, "\nConforms: all of 10 responses under load are good") {
		t.Errorf("it says:\n%s", r.out)
	}
}

func TestLoadToleratesWhatServersDo(t *testing.T) {
	t.Parallel()
	url, ca := serve(t, faulty(t, "content-type-text"), nil)
	r := loaded(t, func() []string {
		return []string{url, "--ca-file", ca, "--duration", "100ms", "--samples", threeVersions(t)}
	})
	r.exits(t, exitConforms)
	if l := r.report(t).Load; l.Failed != 0 || l.Violations[requirement.WebhookResponseContentType] != l.Requests || l.From != "v1alpha1" || l.To != "v1beta1" {
		t.Errorf("got %+v", l)
	}
}

// TestVoidLoad asks for more than any generator can send on one thread.
func TestVoidLoad(t *testing.T) {
	url, ca := serve(t, webhook.Handler(), nil)
	t.Setenv("GOMAXPROCS", "1")
	r := invoke(t, "load", url, "--ca-file", ca, "--rate", "100000", "--duration", "5ms")
	r.exits(t, exitUnjudged)
	if report := r.report(t); report.Outcome != reports.Unjudged || report.Load == nil || report.Load.VoidReason == "" || report.Load.Late == 0 {
		t.Errorf("got %s with %+v", report.Outcome, report.Load)
	}
	if !strings.Contains(r.out, "the generator was too busy") {
		t.Errorf("it says:\n%s", r.out)
	}
}
