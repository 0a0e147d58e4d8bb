package server_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestEmbeddedHangsUp looks at the connection by which the API server has called a webhook over HTTP/2, on which a webhook that stops would wait.
func TestEmbeddedHangsUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	var opened, closed atomic.Int32
	server := httptest.NewUnstartedServer(webhook.Handler())
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			closed.Add(1)
		default:
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := startEmbedded(t, embedded.Options{})
	url, ca := server.URL+webhook.Path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	s := sceneOn(t, c.Config(), c, fixtures.Webhook, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: ca}
	})
	if _, err := s.at("v1beta1").Create(t.Context(), s.crontab("called"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.at("v1").Get(t.Context(), "called", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if opened.Load() == 0 || closed.Load() > 0 {
		t.Fatalf("%d connections were opened and %d closed before it hung up", opened.Load(), closed.Load())
	}
	s.eventually("every connection to the webhook is closed", func(context.Context) bool {
		c.HangUp() // those that are not idle yet are left
		return closed.Load() == opened.Load()
	})
}
