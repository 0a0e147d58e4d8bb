package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/reports"
)

// TestCompareReadsReportsOnly has what "crdconform report" refuses be refused as a baseline too, and a latency.json be taken.
func TestCompareReadsReportsOnly(t *testing.T) {
	t.Parallel()
	base := measured(t, 100, 10, 11, 12, 10, 11, 12)
	text := string(read(t, base))
	changed := func(old, now string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the report has no %s", old)
		}
		return strings.Replace(text, old, now, 1)
	}
	var report reports.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	latency, err := json.Marshal(report.Load)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		code int
		want string
	}{
		"a later format":          {changed(`"crdconform.dev/v1alpha1"`, `"crdconform.dev/v9"`), exitUsage, "its format is crdconform.dev/v9, and this crdconform reads crdconform.dev/v1alpha1"},
		"another program":         {changed(`"crdconform.dev/v1alpha1"`, `"example.com/v1"`), exitUsage, "not a report of crdconform"},
		"another kind":            {changed(`"kind":"Report"`, `"kind":"Matrix"`), exitUsage, "it is of kind Matrix"},
		"what contradicts itself": {changed(`"outcome":"Conformant"`, `"outcome":"Conformant","error":"no cluster"`), exitUsage, "it was changed after the run"},
		"half of it":              {text[:len(text)/2], exitUsage, "it is truncated in line "},
		"latency.json":            {string(latency), exitConforms, "no difference proved"},
		"half a latency.json":     {string(latency[:len(latency)/2]), exitUsage, "it is truncated in line "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := invoke(t, "compare", file(t, "other.json", test.text), base)
			r.exits(t, test.code)
			if !strings.Contains(r.out+r.err, test.want) {
				t.Errorf("it says\n%s%s, want %q", r.out, r.err, test.want)
			}
		})
	}
}

// TestCompareShowsNamesAsText has no name of a stage be obeyed by a terminal.
func TestCompareShowsNamesAsText(t *testing.T) {
	t.Parallel()
	base := measured(t, 100, 10, 11, 12, 10, 11, 12)
	if err := os.WriteFile(base, []byte(strings.ReplaceAll(string(read(t, base)), `"name":""`, `"name":"n\u001b[2J\u202e\ne"`)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"text", "json"} {
		r := invoke(t, "compare", base, base, "--output", form)
		r.exits(t, exitConforms)
		if strings.ContainsAny(r.out, "\x1b\u202e\u009b") || !strings.Contains(r.out, "[2J") {
			t.Errorf("%s: it says %q", form, r.out)
		}
		if form == "json" && !json.Valid([]byte(r.out)) {
			t.Errorf("it is no JSON:\n%s", r.out)
		}
	}
}
