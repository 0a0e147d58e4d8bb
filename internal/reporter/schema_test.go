package reporter

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// compiled is the published schema.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const name = "report.schema.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// refusal is what the schema has against a report.
func refusal(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

// TestSchema takes every report, and no report with a mistake.
func TestSchema(t *testing.T) {
	schema := compiled(t)
	empty, bare := &reports.Report{}, &reports.Report{Results: must(requirement.Passed), Load: one(loadgen.Stage{}), Webhook: &reports.Webhook{Kinds: []reports.Kind{{}}}}
	Conclude(empty)
	Conclude(bare)
	for name, r := range map[string]*reports.Report{"sample": sample(t), "grid": grid(t), "empty": empty, "with changes": changed(t), "bare": bare} {
		if err := refusal(t, schema, written(t, r, JSON)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := written(t, sample(t), JSON)
	for old, wrong := range map[string]string{
		`"crdconform.dev/v1alpha1"`: `"v2"`, `"verdict": "Passed"`: `"verdict": "Fine"`, `"seed": 7`: `"seed": "7"`, `"outcome": "NonConformant"`: `"outcome": ""`,
		`"tool": "v0.1.0",`: ``,
	} {
		if text := bytes.Replace(good, []byte(old), []byte(wrong), 1); bytes.Equal(text, good) || refusal(t, schema, text) == nil {
			t.Errorf("it takes %s in the place of %s, or that is not there", wrong, old)
		}
	}
}

// TestEarlierReports has reports that earlier versions wrote be shown, or be refused rather than be shown in part. Their files are
// named after the commits that wrote them, and never change: a format that cannot read one of them has to have another version.
func TestEarlierReports(t *testing.T) {
	const unstaged = "its load test has no stages, as it was before the first release; run it again"
	for name, refused := range map[string]string{"556e577": unstaged, "8de52e7": unstaged, "6b9647f": ""} {
		file := filepath.Join("testdata", "earlier", name+".json")
		r, err := reports.ReadFile(file)
		if refused != "" {
			if err == nil || err.Error() != file+": "+refused {
				t.Errorf("got %v, want %s", err, refused)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, format := range Formats(nil) {
			if len(written(t, r, format.Write)) == 0 {
				t.Errorf("%s: there is nothing as %s", file, format.Name)
			}
		}
		if r.Outcome != reports.NonConformant || len(r.Results) != 13 || Requests(r.Load) != 6000 {
			t.Errorf("%s: it is %s, with %d results and %d requests", file, r.Outcome, len(r.Results), Requests(r.Load))
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := refusal(t, compiled(t), text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
