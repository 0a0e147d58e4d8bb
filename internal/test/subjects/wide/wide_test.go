package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// TestFiles holds the files that are checked in to what the program makes of them. CRDCONFORM_UPDATE=1 writes them again.
func TestFiles(t *testing.T) {
	for file, want := range map[string]string{"crd.yaml": definition(), "samples.yaml": samples()} {
		if os.Getenv("CRDCONFORM_UPDATE") != "" { //nolint:forbidigo // it is set after a change of the definition
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is out of date (%v); CRDCONFORM_UPDATE=1 writes it again", file, err)
		}
	}
}

func convertOne(t *testing.T, object, desired string) (string, error) {
	t.Helper()
	converted, err := newConverter().convert(program.Review{Desired: desired, Objects: []json.RawMessage{json.RawMessage(object)}})
	if err != nil {
		return "", err
	}
	return string(converted[0]), nil
}

func TestConvert(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"plain":         {`{"apiVersion":"wide.example.org/v1beta1","spec":{"setting001":1}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option001":1}}`},
		"no spec":       {`{"apiVersion":"wide.example.org/v1beta1","kind":"Panel"}`, `{"apiVersion":"wide.example.org/v1","kind":"Panel"}`},
		"null spec":     {`{"apiVersion":"wide.example.org/v1beta1","spec":null}`, `{"apiVersion":"wide.example.org/v1","spec":null}`},
		"list as spec":  {`{"apiVersion":"wide.example.org/v1beta1","spec":["setting001","setting001"]}`, `{"apiVersion":"wide.example.org/v1","spec":["setting001","setting001"]}`},
		"text as spec":  {`{"apiVersion":"wide.example.org/v1beta1","spec":"setting001"}`, `{"apiVersion":"wide.example.org/v1","spec":"setting001"}`},
		"nested names":  {`{"apiVersion":"wide.example.org/v1beta1","spec":{"setting001":{"setting002":[{"setting003":1}, "setting004"]}}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option001":{"setting002":[{"setting003":1}, "setting004"]}}}`},
		"values":        {`{"apiVersion":"wide.example.org/v1beta1","spec":{"setting001":"setting002","x":"setting003"}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option001":"setting002","x":"setting003"}}`},
		"escapes":       {`{"apiVersion":"wide.example.org/v1beta1","spec":{"\u0073etting001":"\\\"}","setting002":"{,"}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option001":"\\\"}","option002":"{,"}}`},
		"space":         {"{\"apiVersion\":\"wide.example.org/v1beta1\",\"spec\": {\n \"setting001\" : 1 ,\n\"setting199\":2 } }", "{\"apiVersion\":\"wide.example.org/v1\",\"spec\":{\n \"option001\" : 1 ,\n\"option199\":2 }}"},
		"out of range":  {`{"apiVersion":"wide.example.org/v1beta1","spec":{"setting200":1,"setting":2}}`, `{"apiVersion":"wide.example.org/v1","spec":{"setting200":1,"setting":2}}`},
		"elsewhere":     {`{"apiVersion":"wide.example.org/v1beta1","status":{"setting001":1}}`, `{"apiVersion":"wide.example.org/v1","status":{"setting001":1}}`},
		"its own":       {`{"apiVersion":"wide.example.org/v1","spec":{"option001":1}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option001":1}}`},
		"other version": {`{"apiVersion":"wide.example.org/v1alpha1","spec":{"field000":9223372036854775807}}`, `{"apiVersion":"wide.example.org/v1","spec":{"option000":9223372036854775807}}`},
	} {
		if got, err := convertOne(t, test.object, "wide.example.org/v1"); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
		}
	}
}

func TestWhatCannotBeConverted(t *testing.T) {
	const good = `{"apiVersion":"wide.example.org/v1","spec":{}}`
	for name, test := range map[string]struct{ object, desired, want string }{
		"no object":       {`[]`, "wide.example.org/v1", "no JSON object"},
		"no apiVersion":   {`{}`, "wide.example.org/v1", "no apiVersion"},
		"number":          {`{"apiVersion":1}`, "wide.example.org/v1", "no apiVersion"},
		"other group":     {`{"apiVersion":"example.org/v1"}`, "wide.example.org/v1", "cannot convert example.org/v1"},
		"unknown version": {`{"apiVersion":"wide.example.org/v7"}`, "wide.example.org/v1", "cannot convert wide.example.org/v7"},
		"unknown target":  {good, "wide.example.org/v7", "cannot convert wide.example.org/v1 to wide.example.org/v7"},
		"target's group":  {good, "example.org/v1", "cannot convert to example.org/v1"},
		"no target":       {good, "", "cannot convert to"},
	} {
		if got, err := convertOne(t, test.object, test.desired); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %s, %v, want something with %q", name, got, err, test.want)
		}
	}
}

// FuzzRename holds that whatever is renamed stays valid and comes back.
func FuzzRename(f *testing.F) {
	f.Add([]byte(`{"setting001":{"a":[1,"}\""]},"\u0073etting002":null}`))
	f.Add([]byte(`"setting001"`))
	f.Add([]byte(` [ {"setting001":1} ] `))
	c := newConverter()
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		raw = bytes.TrimSpace(raw) // as a json.RawMessage is
		var there, back bytes.Buffer
		rename(&there, raw, c.names[pair{"v1beta1", "v1"}])
		if !json.Valid(there.Bytes()) {
			t.Fatalf("%s became %s", raw, there.Bytes())
		}
		if bytes.Contains(raw, []byte("option")) || bytes.Contains(raw, []byte(`\`)) {
			return // names of both versions, or ones that come back unescaped
		}
		if rename(&back, there.Bytes(), c.names[pair{"v1", "v1beta1"}]); !bytes.Equal(back.Bytes(), raw) {
			t.Fatalf("%s came back as %s", raw, back.Bytes())
		}
	})
}

func BenchmarkConvert(b *testing.B) {
	fields := map[string]any{}
	for n := range 200 {
		fields[name("setting", n)] = "some text that is not long"
	}
	object, err := json.Marshal(map[string]any{"apiVersion": "wide.example.org/v1beta1", "kind": "Panel", "metadata": map[string]any{"name": "a"}, "spec": fields})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(object)))
	c := newConverter()
	for b.Loop() {
		if _, err := c.one(object, "v1"); err != nil {
			b.Fatal(err)
		}
	}
}
