package disruption

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/kube"
)

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
