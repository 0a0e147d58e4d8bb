// Package needs skips tests for want of what a machine may lack, unless it must be there.
package needs

import (
	"os"
	"testing"
)

// APIServer skips the test where there is no kube-apiserver, or fails it if CRDCONFORM_REQUIRE_TOOLS is set, as in CI.
func APIServer(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" { //nolint:forbidigo // envtest goes by it too
		const missing = "KUBEBUILDER_ASSETS does not say where kube-apiserver and etcd are"
		if os.Getenv("CRDCONFORM_REQUIRE_TOOLS") != "" { //nolint:forbidigo // CI sets it for the tests of all packages
			t.Fatal(missing + ", and CRDCONFORM_REQUIRE_TOOLS is set")
		}
		t.Skip(missing)
	}
}
