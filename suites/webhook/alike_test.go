package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestAlikeItems has one function change texts, items of a set and keys of a list map. An item that has another key then is lost, and yet that is the
// same cause.
func TestAlikeItems(t *testing.T) {
	t.Parallel()
	each := func(spec map[string]any, changed func(string) any) {
		text := func(in map[string]any, field string) {
			if text, is := in[field].(string); is {
				if in[field] = changed(text); in[field] == nil {
					delete(in, field)
				}
			}
		}
		for _, field := range []string{"first", "second", "third"} {
			text(spec, field)
		}
		hosts, _ := spec["hosts"].([]any)
		for i := range hosts {
			hosts[i] = changed(hosts[i].(string))
		}
		rules, _ := spec["rules"].([]any)
		for _, rule := range rules {
			text(rule.(map[string]any), "name")
		}
	}
	definition := strings.Replace(assorted, "paused:", `hosts: {type: array, x-kubernetes-list-type: set, items: {type: string}}, rules: {type: array, x-kubernetes-list-type: map,
    x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}}, paused:`, 1)
	for name, test := range map[string]struct {
		changed func(string) any
		begins  string
	}{
		"in lower case": {func(text string) any { return strings.ToLower(text) }, "in the same way, such as from "},
		"trimmed, and left out if empty": {func(text string) any {
			if trimmed := strings.TrimSpace(text); trimmed != "" {
				return trimmed
			}
			return nil
		}, "in the same way, such as from "},
		"in no way": {func(text string) any { return text }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: changesAt("v2", func(spec map[string]any) { each(spec, test.changed) })}.of(t, definition)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionStrings) {
				var whens, fields []string
				for _, f := range r.Findings {
					if !slices.Contains(whens, f.When) {
						whens = append(whens, f.When)
					}
					if !slices.Contains(fields, f.Field) {
						fields = append(fields, f.Field)
					}
				}
				if test.begins == "" {
					if r.Verdict != requirement.Passed {
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				} else if len(whens) != 1 || !strings.HasPrefix(whens[0], test.begins) || !slices.Contains(fields, "spec.hosts[*]") || !slices.Contains(fields, "spec.rules[*]") || !slices.Contains(fields, "spec.first") {
					t.Errorf("%s is %s for %q, with %q: %s", r.Requirement, r.Verdict, fields, whens, r.Reason)
				}
			}
		})
	}
}
