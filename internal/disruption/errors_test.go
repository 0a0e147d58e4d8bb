package disruption

import (
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/kube"
)

// TestLooks names the fields in which an object differs from how it was seen first, and not their values.
func TestLooks(t *testing.T) {
	t.Parallel()
	clients := &fleet.Clients{}
	var l looks
	for _, c := range []struct {
		version, spec string
		want          []string
	}{
		{"v1", `{"a": 1, "b": 2}`, nil},
		{"v1beta1", `{"a": 1}`, nil},
		{"v1", `{"a": 1, "b": 2}`, nil},
		{"v1", `{"a": 3, "c": 2}`, []string{"spec.a is another one", "spec.b is gone", "spec.c is new"}},
		{"v1beta1", `{"a": 1}`, nil},
	} {
		s, err := sees(clients, []byte(`{"metadata": {"name": "one", "resourceVersion": "`+c.version+`"}, "spec": `+c.spec+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.differs(c.version, s); !slices.Equal(got, c.want) {
			t.Errorf("%s at %s: got %q, want %q", c.spec, c.version, got, c.want)
		}
	}
}

// TestRefusalKind distinguishes what happened on the way to a webhook from what the webhook says, whatever that quotes.
func TestRefusalKind(t *testing.T) {
	t.Parallel()
	const call = "conversion webhook for example.com/v1, Kind=CronTab failed: "
	for text, want := range map[string]record.Error{
		call + `Post "https://webhook.ns.svc:443/convert?timeout=30s": dial tcp 10.0.0.1:443: connect: connection refused`:               record.Refused,
		call + `Post "https://webhook.ns.svc:443/convert?timeout=30s": tls: failed to verify certificate: x509: certificate has expired`: record.Certificate,
		call + `Post "https://webhook.ns.svc:443/convert?timeout=30s": context deadline exceeded`:                                        record.Timeout,
		call + `Post "https://webhook.ns.svc:443/convert?timeout=30s": EOF`:                                                              record.Reset,
		call + "context deadline exceeded": record.Timeout,
		call + `an error on the server ("Head \"https://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused") has prevented the request from succeeding`: record.Answer,
		call + "the server is currently unable to handle the request":                   record.Answer,
		call + "x509: the database's certificate has expired":                           record.Answer,
		call + `reading the database: Post "http://db": read: connection reset by peer`: record.Answer,
		"StorageError: corrupt object, Code: 7: object not decodable revision=19: " + call + `Post "https://webhook.ns.svc:443/convert?timeout=30s": http2: client connection lost`: record.Reset,
		"etcdserver: request timed out":                        record.Internal,
		"dial tcp 127.0.0.1:2379: connect: connection refused": record.Refused,
	} {
		if got := refusalKind(&kube.RefusedError{Code: http.StatusInternalServerError, Status: metav1.Status{Message: text}}); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
