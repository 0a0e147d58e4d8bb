package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// TestExceptions sets the levels of findings by rule, definition and field. Fields of another level are apart from those that share a
// finding.
func TestExceptions(t *testing.T) {
	t.Parallel()
	fields := "              l: {type: array, items: {type: object, properties: {a: {type: string, default: x}, b: {type: string, default: x}}}}\n"
	text := edits{size, size + fields, "second:" + size, size + strings.ReplaceAll(fields, "default: x", "default: z")}.apply(t, plainWidgets)
	at := func(path string) *fieldpath.Pattern {
		p, err := fieldpath.ParsePattern(path)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	for name, test := range map[string]struct {
		exceptions []Exception
		want       string // the level and the fields of each finding
	}{
		"none":                {nil, "warning: spec.l[].a, spec.l[].b"},
		"another rule":        {[]Exception{{Rule: DefaultMissing, Level: Off}}, "warning: spec.l[].a, spec.l[].b"},
		"off":                 {[]Exception{{Rule: DefaultDiffers, Level: Off}}, ""},
		"an error":            {[]Exception{{Rule: DefaultDiffers, Level: Error}}, "error: spec.l[].a, spec.l[].b"},
		"the definition":      {[]Exception{{Rule: DefaultDiffers, Definition: "widgets.example.com", Level: Note}}, "note: spec.l[].a, spec.l[].b"},
		"another definition":  {[]Exception{{Rule: DefaultDiffers, Definition: "gadgets.example.com", Level: Note}}, "warning: spec.l[].a, spec.l[].b"},
		"a field":             {[]Exception{{Rule: DefaultDiffers, Field: at("spec.l[*].b"), Level: Off}}, "warning: spec.l[].a"},
		"a field, other":      {[]Exception{{Rule: DefaultDiffers, Field: at("spec.l[*].a"), Level: Error}}, "error: spec.l[].a, warning: spec.l[].b"},
		"what is above":       {[]Exception{{Rule: DefaultDiffers, Field: at("spec"), Level: Note}}, "note: spec.l[].a, spec.l[].b"},
		"in the definition":   {[]Exception{{Rule: DefaultDiffers, Field: at("spec.versions[0]"), Level: Note}}, "note: spec.l[].a, spec.l[].b"},
		"the last of several": {[]Exception{{Rule: DefaultDiffers, Level: Off}, {Rule: DefaultDiffers, Field: at("spec.l[*].a"), Level: Note}}, "note: spec.l[].a"},
	} {
		report, err := Check(t.Context(), []File{{Name: "crd.yaml", Data: []byte(text)}}, Options{Now: now(), Exceptions: test.exceptions})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range report.Findings {
			_, fields, _ := strings.Cut(f.Message, "v1beta1 and v1: ")
			fields, _, _ = strings.Cut(fields, ";")
			found = append(found, string(f.Level)+": "+fields)
		}
		if got := strings.Join(found, ", "); got != test.want {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
	const judged = "widgets.example.com"
	report, err := Check(t.Context(), []File{{Name: "crd.yaml", Data: []byte(text)}}, Options{Now: now(), Exceptions: []Exception{
		{Rule: DefaultDiffers, Definition: judged, Field: at("spec.l[*].a"), Level: Note},
		{Rule: DefaultDiffers, Definition: judged, Level: Off},                // both fit
		{Rule: DefaultMissing, Definition: judged, Level: Off},                // fits nothing
		{Rule: DefaultMissing, Level: Off},                                    // may fit in other files
		{Rule: IdentityChanged, Definition: judged, Level: Off},               // may fit with old definitions
		{Rule: DefaultMissing, Definition: "gadgets.example.com", Level: Off}, // is of another
		{Rule: DefaultDiffers, Definition: judged, Field: at("spec.m"), Level: Off},
	}})
	if err != nil || !slices.Equal(report.Unused, []int{2, 6}) {
		t.Errorf("unused: %v, %v", report, err)
	}
	if _, err := Check(t.Context(), []File{{Name: "crd.yaml", Data: []byte(text)}}, Options{Exceptions: []Exception{{Rule: "default-differ", Level: Off}}}); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a rule that does not exist: %v", err)
	}
}

func TestOfObjects(t *testing.T) {
	t.Parallel()
	const schema = "spec.versions[1].schema.openAPIV3Schema"
	for path, want := range map[string]string{
		"spec.names.shortNames[0]": "spec.names.shortNames[0]",
		schema:                     "",
		schema + ".properties[spec].properties[a.b].items.properties[items]":                 "spec['a.b'][0].items",
		schema + ".properties[spec].additionalProperties.x-kubernetes-validations[0]":        "spec.key",
		schema + ".properties[spec].properties[properties].properties[additionalProperties]": "spec.properties.additionalProperties",
	} {
		if got := ofObjects(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
