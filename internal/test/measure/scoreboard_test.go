package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// TestSubjects wants each operator to have what it takes, and its webhook to be Go.
func TestSubjects(t *testing.T) {
	t.Parallel()
	all, err := read()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d operators: %v", len(all), err)
	}
	for _, s := range all {
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(s.Name) || !strings.HasPrefix(s.Version, "v") || s.Licence == "" || s.CRDs == "" || len(s.Packages) < 2 {
			t.Errorf("%+v", s)
		}
		source, err := s.source()
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if len(file.Imports) != 6+len(s.Packages) {
			t.Errorf("%s imports %d packages", s.Name, len(file.Imports))
		}
	}
}
