package schema

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// TestLeavingIsCaught proves that what a webhook left in an answer is told from what it did not leave.
func TestLeavingIsCaught(t *testing.T) {
	for _, one := range []struct {
		webhook *leaving
		want    []string
	}{
		{leavesHostPort(), []string{"localhost:1234", "example.com:2345"}},
		{&leaving{faulty: webhook.Handler()}, nil},
	} {
		one.webhook.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(fixtures.ReviewRequest("v1"))))
		if got := one.webhook.left(); !slices.Equal(got, one.want) {
			t.Errorf("left %q, want %q", got, one.want)
		}
	}
}
