package webhook

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// TestLossesCanBeDeclared takes what is attached to a loss for a configuration: with it, the webhook conforms.
func TestLossesCanBeDeclared(t *testing.T) {
	t.Parallel()
	fault, _ := webhook.FaultNamed("loses-policy")
	only := func(id requirement.ID) bool { return id == requirement.WebhookConversionRoundTrip }
	subject := suitetest.Subject(t, fault)
	subject.Objects = 6
	result := judgeSelected(t, subject, area(0), only)[0]
	at := slices.IndexFunc(result.Attachments, func(a suites.Attachment) bool { return a.Name == "lossy.yaml" })
	if result.Verdict != requirement.Failed || at < 0 {
		t.Fatalf("it is %s with %v", result.Verdict, result.Attachments)
	}
	var c config.Config
	if err := yaml.UnmarshalStrict(result.Attachments[at].Data, &c); err != nil {
		t.Fatalf("%v:\n%s", err, result.Attachments[at].Data)
	}
	subject.Lossy = func(from, through, path string) (string, bool) {
		for _, l := range c.Lossy {
			if l.Matches("example.com", "CronTab", from, through, path) {
				return l.Reason, true
			}
		}
		return "", false
	}
	if result = judgeSelected(t, subject, area(0), only)[0]; len(c.Lossy) != 4 || result.Verdict != requirement.Passed {
		t.Errorf("with %d losses declared it is %s: %s", len(c.Lossy), result.Verdict, result.Reason)
	}
}
