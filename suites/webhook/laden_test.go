package webhook

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestNotesOfSomeSize has webhooks that drop what they note once it is long. No field is long by itself.
func TestNotesOfSomeSize(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: large objects are converted")
	}
	bounded := strings.NewReplacer("LIST", "maxItems: 500, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],", "role: {type: string}", "role: {type: string, maxLength: 60}", "region: {type: string}", "region: {type: string, maxLength: 60}").Replace(teams)
	for most, want := range map[int]requirement.Verdict{4 << 10: requirement.Failed, 32 << 10: requirement.Failed, 1 << 20: requirement.Passed} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			t.Parallel()
			keeps := func(_ string, news map[string]any) bool {
				text, err := json.Marshal(news)
				return err == nil && len(text) <= most
			}
			subject := served{handler: stranger{converts: team{func(_ int, name string, _ int) string { return "member " + name }, false, keeps}.convert}}.of(t, bounded)
			subject.Objects = 12
			for seed := range int64(2) {
				for _, r := range selected(t, subject, seed+1, requirement.WebhookConversionRoundTrip) {
					if r.Verdict != want {
						t.Errorf("seed %d: %s is %s, want %s: %.600s", seed+1, r.Requirement, r.Verdict, want, r.Reason)
					}
				}
			}
		})
	}
}
