package apiserver

import (
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/wire"
)

// serve serves a webhook until the end of the test.
func serve(t *testing.T, handler http.Handler) wire.Endpoint {
	t.Helper()
	server, err := webhook.Start(t.Context(), "127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return wire.Endpoint{URL: server.URL, CA: server.CA}
}

func served(crd *apiextensionsv1.CustomResourceDefinition, versions []string) *apiextensionsv1.CustomResourceDefinition {
	var kept []apiextensionsv1.CustomResourceDefinitionVersion
	for _, name := range versions {
		kept = append(kept, *fixtures.Version(crd, name))
	}
	crd.Spec.Versions = kept
	return crd
}
