package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSubjects wants each operator to have what its style takes, and its webhook to be Go.
func TestSubjects(t *testing.T) {
	t.Parallel()
	all, err := read()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d operators: %v", len(all), err)
	}
	imports := map[string]int{"": 6, "knative": 11, "handler": 4}
	for _, s := range all {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(s.Name) || !strings.HasPrefix(s.Version, "v") || s.Licence == "" || s.CRDs == "" || len(s.Packages) == 0 || !s.complete() {
			t.Errorf("%+v", s)
		}
		for _, c := range s.Checked {
			if c.Cause == "" || c.How == "" || !slices.Contains([]string{"true", "arguable", "meant", "false"}, c.Verdict) {
				t.Errorf("%s: %+v", s.Name, c)
			}
		}
		source, err := s.source()
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
		if len(file.Imports) != imports[s.Style]+len(s.Packages) {
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
	source, err := s.source()
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
