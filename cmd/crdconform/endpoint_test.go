package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
)

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
