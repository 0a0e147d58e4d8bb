package deployed

import (
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/cluster"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const said = "conversion webhook for probe.crdconform.dev/v1, Kind=Probe failed: "
	const post = said + `Post "https://192.0.2.1:9443/convert?timeout=30s": `
	away := apiextensionsv1.WebhookClientConfig{URL: new("https://192.0.2.1:9443/convert")}
	for text, want := range map[string]string{
		post + "dial tcp 192.0.2.1:9443: connect: connection refused":       "does not reach the webhook at https://192.0.2.1:9443/convert: dial tcp 192.0.2.1:9443: connect: connection refused; check that the webhook listens on that address",
		post + "dial tcp: lookup away on 10.0.0.1:53: no such host":         "no such host",
		post + "context deadline exceeded":                                  "does not reach",
		post + "EOF":                                                        "does not reach",
		post + "tls: failed to verify certificate: x509: unknown authority": "does not trust it",
		post + "http: server gave HTTP response to HTTPS client":            "it does not use TLS",
		"Internal error occurred: etcd is away":                             "testing whether the API server reaches the webhook",
		said + "connection refused by my database":                          "",
		said + "expected uid":                                               "",
		said + "the server could not find the requested resource":           "",
		"StorageError: corrupt object: " + post + "EOF":                     "does not reach",
	} {
		err := classify(errors.New(text), away)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if got := errors.Is(err, cluster.ErrNotReached); got != strings.Contains(want, "does not reach") && want != "no such host" {
			t.Errorf("%q: ErrNotReached is %t", text, got)
		}
	}
	if err := classify(nil, away); err != nil {
		t.Error(err)
	}
	for address, want := range map[string]bool{"https://localhost:1/": true, "https://127.0.0.1:1/": true, "https://[::1]:1/": true, "https://192.0.2.1/": false} {
		err := &unreachable{apiextensionsv1.WebhookClientConfig{URL: &address}, "refused"}
		if got := strings.Contains(err.Error(), "is the machine or the container of the API server itself"); got != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	service := &unreachable{apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "a", Name: "b"}}, "refused"}
	if got := service.Error(); got != "the API server does not reach the service a/b at port 443: refused" {
		t.Error(got)
	}
}
