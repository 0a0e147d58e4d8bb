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

// TestExceptionsOfPaths has exceptions for fields fit what is found where a definition has the path of the field.
func TestExceptionsOfPaths(t *testing.T) {
	t.Parallel()
	crd := func(path, column string) []byte {
		return []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec:\n  group: example.com\n" +
			"  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}\n  scope: Namespaced\n  versions:\n" +
			"  - name: v1\n    served: true\n    storage: true\n    additionalPrinterColumns: [{name: C, type: string, jsonPath: " + column + "}]\n" +
			"    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: " + path + "}}\n" +
			"    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}, " +
			"status: {type: object, properties: {replicas: {type: integer}, selector: {type: object, properties: {a: {type: string}}}}}}}}\n")
	}
	for name, test := range map[string]struct {
		rule         RuleID
		path, column string
		fields       []string // that fit; the last does not
	}{
		"type":    {ScaleType, ".status.selector", ".status.replicas", []string{"status.selector", "status", "spec.versions[*].subresources.scale", "status.replicas"}},
		"missing": {ScalePath, ".status.gone", ".status.replicas", []string{"status.gone", "spec.versions", "status.selector"}},
		"column":  {ColumnPath, ".status.selector.a", ".status.lost", []string{"status.lost", "spec.versions[0].additionalPrinterColumns[0].jsonPath", "spec.lost"}},
	} {
		for i, text := range test.fields {
			pattern, err := fieldpath.ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Check(t.Context(), []File{{Name: "crd.yaml", Data: crd(test.path, test.column)}}, Options{Now: now(), Exceptions: []Exception{{Rule: test.rule, Field: &pattern, Level: Off}}})
			if err != nil {
				t.Fatal(err)
			}
			there := slices.ContainsFunc(report.Findings, func(f Diagnostic) bool { return f.Rule == test.rule })
			if there != (i == len(test.fields)-1) {
				t.Errorf("%s: with an exception for %s, found: %t: %v", name, text, there, report.Findings)
			}
		}
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
