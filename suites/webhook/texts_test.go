package webhook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/crdconform/crdconform/requirement"
)

// desks have at v1 alone what a webhook keeps in one annotation.
const desks = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: desks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: desks, kind: Desk}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      purpose: {type: string}, floor: {type: string}, owner: {type: string}, count: {type: integer}, hosts: {type: array, items: {type: string}},
      parts: {type: array, items: {type: object, properties: {name: {type: string}}}}, limits: {type: object, additionalProperties: {type: string}}}}}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {purpose: {type: string}}}}}}
`

// TestTextsThatSpoil has a webhook keep several fields in one annotation, which it does not read back where some text is in it. All are lost for that.
func TestTextsThatSpoil(t *testing.T) {
	t.Parallel()
	const key = "example.com/v1"
	for name, test := range map[string]struct {
		spoils func(text string) bool
		when   string
	}{
		"beyond ASCII": {func(text string) bool {
			return strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
		}, "where a text has a character beyond ASCII"},
		"line ends":  {func(text string) bool { return strings.Contains(text, "\n") }, "where a text has a control character or a line end"},
		"spaces":     {func(text string) bool { return strings.TrimSpace(text) != text }, "where a text has a space at an end"},
		"quotes":     {func(text string) bool { return strings.Contains(text, `"`) }, "where a text has a quote or a backslash"},
		"separators": {func(text string) bool { return strings.Contains(text, ",") }, "where a text has punctuation"},
		"upper case": {func(text string) bool { return strings.ToLower(text) != text }, "where a text has an upper-case letter"},
		"nothing":    {func(string) bool { return false }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
				spec, notes := specOf(object), metadataOf(object, "annotations")
				old, _ := notes[key].(string)
				delete(notes, key)
				if to == "v1" && spec != nil && old != "" {
					kept := map[string]any{}
					decoder := json.NewDecoder(strings.NewReader(old))
					decoder.UseNumber()
					_ = decoder.Decode(&kept)
					if !slices.ContainsFunc(textsIn(kept), test.spoils) {
						maps.Copy(spec, kept)
					}
				}
				if to == "v2" && spec != nil {
					kept := maps.Clone(spec)
					delete(kept, "purpose")
					maps.DeleteFunc(spec, func(field string, _ any) bool { return field != "purpose" })
					if text, err := json.Marshal(kept); err == nil && len(kept) > 0 {
						notes[key] = string(text)
					}
				}
				return ""
			}}}.of(t, desks)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionStrings) {
				var whens []string
				fields := map[string]bool{}
				for _, f := range r.Findings {
					fields[f.Field] = true
					if !slices.Contains(whens, f.When) {
						whens = append(whens, f.When)
					}
				}
				if test.when == "" {
					if r.Verdict != requirement.Passed {
						t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
					}
				} else if len(whens) != 1 || whens[0] != test.when || len(fields) < 4 {
					t.Errorf("%s is %s for %d fields, with %q: %s", r.Requirement, r.Verdict, len(fields), whens, r.Reason)
				}
			}
		})
	}
}

// textsIn are the texts in a value.
func textsIn(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, item := range value {
			all = append(all, textsIn(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, member := range value {
			all = append(all, textsIn(member)...)
		}
		return all
	}
	return nil
}
