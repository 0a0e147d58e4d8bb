package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// TestConversionWorkflow wants actionlint to find nothing in the workflow that init writes, and its actions to be pinned.
func TestConversionWorkflow(t *testing.T) {
	t.Parallel()
	linter, err := actionlint.NewLinter(&strings.Builder{}, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint(".github/workflows/test-conversion.yml", conversionWorkflow, nil)
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", err, found)
	}
	if pinned := regexp.MustCompile(`uses: .*@[0-9a-f]{40} # v`).FindAll(conversionWorkflow, -1); len(pinned) != strings.Count(string(conversionWorkflow), "uses:") {
		t.Errorf("%d actions are pinned", len(pinned))
	}
}

// TestWithPart puts the part of a Makefile where it was, and otherwise at the end.
func TestWithPart(t *testing.T) {
	t.Parallel()
	const part = partBegins + " new\n" + partEnds
	for makefile, want := range map[string]string{
		"all:\n": "all:\n\n" + part,
		"all:":   "all:\n\n" + part,
		"all:\n" + partBegins + " old\nx:\n" + partEnds + "more:\n": "all:\n" + part + "more:\n",
		"all:\n" + partBegins + " old\nx:\n":                        "",
	} {
		got, err := withPart([]byte(makefile), []byte(part))
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
