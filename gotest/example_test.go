package gotest_test

import (
	"net/http"
	"testing"

	"github.com/crdconform/crdconform/gotest"
)

// In a project of kubebuilder, the handler is conversion.NewWebhookHandler of controller-runtime, with a scheme that knows the types of
// all versions. This is the body of a test function in internal/webhook/v1.
func ExampleCheck() {
	t := &testing.T{} // of the test function
	gotest.Check(t, gotest.Webhook{
		CRD:     "../../../config/crd/bases",
		Handler: http.HandlerFunc(convert),
		Args:    []string{"--samples", "../../../config/samples"},
		Version: "latest",
	})
}

// convert stands for the webhook of an operator.
func convert(w http.ResponseWriter, r *http.Request) { converter{}.ServeHTTP(w, r) }
