package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestSubjects wants each operator to have what its style takes, and its webhook to be Go.
func TestSubjects(t *testing.T) {
	t.Parallel()
	all, err := read()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d operators: %v", len(all), err)
	}
	names := map[string]bool{}
	imports := map[string]int{"": 6, "knative": 11, "handler": 4}
	for _, s := range all {
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(s.Name) || !strings.HasPrefix(s.Version, "v") || s.Licence == "" || s.CRDs == "" || len(s.Packages) == 0 || !s.complete() {
			t.Errorf("%+v", s)
		}
		for _, c := range s.Checked {
			if c.Cause == "" || c.How == "" || !slices.Contains([]string{"true", "arguable", "meant", "false"}, c.Verdict) {
				t.Errorf("%s: %+v", s.Name, c)
			}
		}
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		source, err := s.source("v0.25.2")
		if err != nil {
			t.Fatal(err)
		}
		if s.Style == "program" {
			if _, start := s.builds(); len(source) > 0 || !strings.Contains(strings.Join(start, " "), "{port}") {
				t.Errorf("%s is started as %v, of %s", s.Name, start, source)
			}
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		also := len(s.Imports)
		if s.Setup != "" {
			also++
		}
		if len(file.Imports) != imports[s.Style]+len(s.Packages)+also {
			t.Errorf("%s imports %d packages", s.Name, len(file.Imports))
		}
	}
}

// complete reports whether a subject has what its style takes, and nothing of another.
func (s subject) complete() bool {
	has := map[string]bool{"kind": s.Kind != "", "hub": s.Hub != "", "handle": s.Handle != "", "arguments": len(s.Arguments) > 0}
	takes, known := map[string][]string{"": nil, "knative": {"kind", "hub"}, "handler": {"handle"}, "program": {"arguments"}}[s.Style]
	for key, is := range has {
		if is != slices.Contains(takes, key) {
			return false
		}
	}
	return known && (s.Context == "" || s.Style == "knative") && (s.Style != "" || len(s.Packages) > 1) && (s.Style != "program" || len(s.Packages) == 1)
}

// TestKnativeVersions wants the types of versions alone to be converted, each under the name of its version.
func TestKnativeVersions(t *testing.T) {
	t.Parallel()
	s := subject{Module: "example.com/m", Packages: []string{"apis/v1beta1", "apis/v2", "injection"}, style: style{Style: "knative", Kind: "Crop.example.com", Hub: "v2", Context: "types2.With(ctx)"}}
	source, err := s.source("")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"v1beta1": &types0.Crop{},`, `"v2": &types1.Crop{},`, `{HubVersion: "v2"`, `ParseGroupKind("Crop.example.com")`, `{ return types2.With(ctx) }`} {
		if !strings.Contains(string(source), want) {
			t.Errorf("no %s in\n%s", want, source)
		}
	}
	if strings.Contains(string(source), "types2.Crop") {
		t.Errorf("a package without versions is converted:\n%s", source)
	}
}

// TestRendered wants the lines of a chart's template left out, and only where the file is one.
func TestRendered(t *testing.T) {
	t.Parallel()
	const file = "metadata:\n  labels: {{- include \"labels\" . | nindent 4 }}\n  name: crops.example.com\n"
	if got := string(style{Template: true}.rendered([]byte(file))); got != "metadata:\n  name: crops.example.com\n" {
		t.Errorf("a template is %q", got)
	}
	if got := string(style{}.rendered([]byte(file))); got != file {
		t.Errorf("another file is %q", got)
	}
}

// TestHandlers wants the handler that each version of controller-runtime has, in a program that is Go.
func TestHandlers(t *testing.T) {
	t.Parallel()
	s := subject{Module: "example.com/m", Packages: []string{"v1", "v2"}, Setup: "types0.Set(func(schema.GroupKind) {})"}
	for runtime, want := range map[string]string{"v0.14.6": "injected(scheme))", "v0.22.4": "conversion.NewWebhookHandler(scheme))", "v0.23.0": "conversion.NewRegistry()))"} {
		source, err := s.source(runtime)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = parser.ParseFile(token.NewFileSet(), "main.go", source, 0); err != nil || !strings.Contains(string(source), want) || !strings.Contains(string(source), s.Setup) || !strings.Contains(string(source), "pkg/runtime/schema") {
			t.Errorf("%s: %v\n%s", runtime, err, source)
		}
	}
}

// TestBoard wants a cause to have what a person says about it, and one that nobody compared to say so.
func TestBoard(t *testing.T) {
	t.Parallel()
	failure := func(field, effect string, lacking bool) reports.Result {
		return reports.Result{
			Requirement: requirement.Requirement{ID: "webhook.conversion.round-trip"}, Verdict: requirement.Failed,
			Findings: []reports.FieldFinding{{Field: field, Effect: effect, From: "v1", To: "v2", Lacking: lacking, Message: "an | example"}},
		}
	}
	report := &reports.Report{Outcome: reports.NonConformant, Counts: map[requirement.Verdict]int{requirement.Failed: 2}, Results: []reports.Result{
		failure("spec.port", "changed", false), failure("spec.portName", "changed", false), failure("spec.old", "lost", true),
	}}
	s := subject{Name: "a", Module: "example.com/a", Version: "v1.0.0", Checked: []checkedCause{
		{"spec", "arguable", "b.go:9"}, {"spec.port is changed", "true", "a.go:7"}, {"spec.old", "meant", "a_test.go:8"}, {"spec.po", "false", "c.go:1"},
	}}
	dir := t.TempDir()
	if err := writeBoard(dir, []row{{s, report, "12"}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [a](https://pkg.go.dev/example.com/a@v1.0.0) | v1.0.0 |", "| 3 | 1, 1, 1, 0 | 1 | 12 s | [report](a/report.html) |",
		"- true: spec.port is changed", "a.go:7", "- meant: spec.old is lost", "- arguable: spec.portName is changed",
		"- not found: spec.po, which was compared with the source",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(string(text), "not found") != 1 {
		t.Errorf("something else is not found in\n%s", text)
	}
	for what, want := range map[string]bool{"spec.new is lost": true, "spec.new is lost, though both versions have it": true, "spec.new is lostless": false} {
		if got := (checkedCause{Cause: "spec.new is lost"}).isAbout(reporter.Cause{What: what}); got != want {
			t.Errorf("%q is about it: %t", what, got)
		}
	}
	s.Checked = nil
	if err := writeBoard(dir, []row{{s, report, "12"}}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "<td>0, 0, 0, 0; not checked: 3</td>") || !strings.Contains(string(page), `<a href="../index.html">`) {
		t.Error(string(page))
	}
}
