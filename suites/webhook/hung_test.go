package webhook

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// TestHung has a webhook that answers nothing any more after a request that it refuses, as one does that forgets to unlock a mutex. It is asked
// by one spec, which shows the request before; others pass over it.
func TestHung(t *testing.T) {
	t.Parallel()
	var locked atomic.Bool
	var asked atomic.Int32 // without an answer
	subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if locked.Load() {
			asked.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection would not be seen
			<-r.Context().Done()
			return
		}
		stranger{converts: func(_, _ string, object map[string]any) string {
			if text, _ := specOf(object)["second"].(string); strings.Contains(text, "%") {
				locked.Store(true)
				return "it has a percent sign"
			}
			return ""
		}}.ServeHTTP(w, r)
	}), client: func(e *wire.Endpoint) { e.Timeout = 2 * time.Second }}.of(t, evident)
	subject.Objects = 12
	failed, passedOver := 0, 0
	for _, r := range selected(t, subject, 1, requirement.WebhookConversionStrings, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionZeroValues, requirement.WebhookConversionAdditions, requirement.WebhookConversionEdits) {
		switch {
		case r.Verdict == requirement.Failed:
			failed++
			if !strings.Contains(r.Reason, "it hangs: ") || !strings.Contains(r.Reason, "and got HTTP status 200 and the result Failed") || !hasFile(r, "request-before.json") {
				t.Errorf("%s does not say why: %s", r.Requirement, r.Reason)
			}
		case strings.Contains(r.Reason, "it hangs: "):
			passedOver++
		}
	}
	if failed != 1 || passedOver == 0 {
		t.Errorf("%d fail, and %d are passed over, want 1 and some", failed, passedOver)
	}
	if gone := subject.Gone(); gone == nil || !strings.Contains(gone.Error(), " fails: it hangs: ") {
		t.Errorf("other chapters see %v", gone)
	}
	if n := asked.Load(); n > 4 {
		t.Errorf("it was asked %d times while it hung", n)
	}
}

// TestOutlives has a program whose server catches panics break the connection over each object. Whether the program has ended is not waited for
// each time.
func TestOutlives(t *testing.T) {
	t.Parallel()
	var broken, looks atomic.Int32
	subject := served{handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		broken.Add(1)
		panic(http.ErrAbortHandler)
	})}.of(t, evident)
	subject.Objects = 12
	subject.Alive = func() error {
		looks.Add(1)
		return nil
	}
	selected(t, subject, 1, requirement.WebhookConversionZeroValues)
	if asked, looked := broken.Load(), looks.Load(); asked < 20 || looked > 2*asked+40 {
		t.Errorf("%d requests broke down, and it was looked %d times whether the program runs", asked, looked)
	}
}
