package server_test

import (
	"regexp"
	"strconv"
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
)

// TestEmbeddedVerifiesOnce has the certificate of a client not verified for each of its requests.
func TestEmbeddedVerifiesOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	client := discovery.NewDiscoveryClientForConfigOrDie(startEmbedded(t, embedded.Options{}).Config()).RESTClient()
	verifications := func() int {
		metrics, err := client.Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		total := regexp.MustCompile(`(?m)^apiserver_client_certificate_expiration_seconds_count (\d+)$`).FindSubmatch(metrics)
		if total == nil {
			t.Fatal("the metrics do not say how many certificates were verified")
		}
		n, err := strconv.Atoi(string(total[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const requests = 100
	before := verifications()
	for range requests {
		if err := client.Get().AbsPath("/version").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if n := verifications() - before; n > requests/2 { // those of other tests count too
		t.Errorf("got %d verifications for %d requests, want none but those of others", n, requests)
	}
}
