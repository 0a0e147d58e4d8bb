package engine

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/reports"
)

// TestWrongAuthority names the certificate of another authority: nothing can be judged, as if none had been named.
func TestWrongAuthority(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(webhook.Handler())
	defer server.Close()
	other, err := pki.NewAuthority("another")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, other.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, ca := range map[string]string{"another": file, "none": ""} {
		report := checked(t, Description{Config: config.Config{Webhook: config.Webhook{URL: server.URL, CAFile: ca}}})
		if want := "its certificate is signed by an authority that is not "; report.Outcome != reports.Unjudged || len(report.Results) > 0 || !strings.Contains(report.Error, want) {
			t.Errorf("%s: %s with %v and %q, want %q", name, report.Outcome, report.Counts, report.Error, want)
		}
	}
}
