package webhook

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestLimitsOfRequests has webhooks answer no large request. Where they say so by a status, it is that which is wrong; where they close the
// connection, they break down.
func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: large objects are converted")
	}
	converts := stranger{converts: func(_, _ string, _ map[string]any) string { return "" }}
	for name, test := range map[string]struct {
		refuses  func(http.ResponseWriter)
		violated requirement.ID
		verdict  requirement.Verdict
	}{
		"by a status":      {func(w http.ResponseWriter) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, requirement.WebhookResponseHTTPStatus, requirement.Tolerated},
		"by an abrupt end": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "", requirement.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if err != nil || len(text) > 100<<10 {
					test.refuses(w)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(text))
				converts.ServeHTTP(w, r)
			})}.of(t, desks)
			subject.Objects = 12
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionHuge) {
				if len(r.Findings) == 0 || slices.ContainsFunc(r.Findings, func(f reports.FieldFinding) bool { return f.Violates != test.violated || f.Field != "" }) {
					t.Errorf("found %+v", r.Findings)
				}
				if r.Verdict != test.verdict {
					t.Errorf("%s is %s, want %s: %.600s", r.Requirement, r.Verdict, test.verdict, r.Reason)
				}
			}
		})
	}
}
