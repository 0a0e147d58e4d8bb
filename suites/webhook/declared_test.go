package webhook

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestDeclaredLosses has webhooks that lose a field that is declared lossy, or a part of it, and others that change its value, which nobody
// declared: that is said, though it fails nobody.
func TestDeclaredLosses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path  string
		spoil func(spec map[string]any)
		by    []requirement.ID // that say that a value is another
	}{
		"lost":      {"spec.hosts", func(spec map[string]any) { delete(spec, "hosts") }, nil},
		"a default": {"spec.prefix", func(spec map[string]any) { delete(spec, "prefix") }, nil},
		"shortened": {"spec.hosts", func(spec map[string]any) {
			if hosts, _ := spec["hosts"].([]any); len(hosts) > 1 {
				spec["hosts"] = hosts[1:]
			}
		}, nil},
		"changed": {"spec.prefix", func(spec map[string]any) {
			if prefix, is := spec["prefix"].(string); is {
				spec["prefix"] = strings.TrimSuffix(prefix, "/")
			}
		}, []requirement.ID{requirement.WebhookConversionStrings}},
		"another": {"spec.prefix", func(spec map[string]any) {
			if _, is := spec["prefix"].(string); is {
				spec["prefix"] = "another"
			}
		}, []requirement.ID{requirement.WebhookConversionRoundTrip}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := boxed(t, test.spoil)
			subject.Lossy = func(_, _, path string) (string, bool) {
				return "it was declared", path == test.path || strings.HasPrefix(path, test.path+"[")
			}
			said := map[requirement.ID]bool{}
			for _, r := range seeded(t, subject, 1) {
				is := strings.Contains(r.Reason, "(declared lossy, but it comes back as another value)")
				said[r.Requirement] = is
				if r.Verdict == requirement.Failed && r.Requirement != requirement.WebhookConversionEqualFields || is != (r.Verdict == requirement.Tolerated) {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
			for _, id := range test.by {
				if !said[id] {
					t.Errorf("%s does not say it", id)
				}
			}
			if len(test.by) == 0 && (said[requirement.WebhookConversionRoundTrip] || said[requirement.WebhookConversionStrings]) {
				t.Error("it is said of what was declared")
			}
		})
	}
}
