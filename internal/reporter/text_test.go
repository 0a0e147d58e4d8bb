package reporter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// TestLinesOfReasons expects a reason of several lines to become one that says what was found.
func TestLinesOfReasons(t *testing.T) {
	for reason, want := range map[string]struct{ brief, flat string }{
		"":                                     {},
		"expected a, got b":                    {"expected a, got b", "expected a, got b"},
		"\n expected a \r\n\nand c\n":          {"expected a", "expected a and c"},
		"v1 -> v2: a\nv2 -> v1: b\nobject: {}": {"v1 -> v2: a", "v1 -> v2: a; v2 -> v1: b; object: {}"},
		"the response:\nspec.a: expected 1, got 2": {"the response: spec.a: expected 1, got 2", "the response: spec.a: expected 1, got 2"},
		"the response:":                              {"the response:", "the response:"},
		"one:\n\ntwo:\n  three\nfour":                {"one: two: three", "one: two: three four"},
		"so it is\nExpected\n    1\nto equal\n    2": {"so it is", "so it is; Expected 1 to equal 2"},
	} {
		if got := Brief((reports.Result{Reason: reason})); got != want.brief {
			t.Errorf("%q in brief: got %q, want %q", reason, got, want.brief)
		}
		if got := flat(reason); got != want.flat {
			t.Errorf("%q in one line: got %q, want %q", reason, got, want.flat)
		}
	}
	if got := []rune(brief(strings.Repeat("ö:\n", 1000))); len(got) != 301 {
		t.Errorf("a line of a list has %d characters", len(got))
	}
}

// TestLogsObeyNothing has the log of a CI not take for a command what a webhook says.
func TestLogsObeyNothing(t *testing.T) {
	for text, want := range map[string]string{
		"::error::no":                      "\uFFFD:error::no",
		"no:\n  ::add-mask::a ::group::b":  "no:\n  \uFFFD:add-mask::a \uFFFD:group::b",
		"\t::error file=a.go,line=1::no":   "\t\uFFFD:error file=a.go,line=1::no",
		"a ##[error]b ##vso[task.a]c":      "a \uFFFD#[error]b \uFFFD#vso[task.a]c",
		"##teamcity[testFailed]":           "\uFFFD#teamcity[testFailed]",
		"std::string, ::1 and ::ffff:10.0": "std::string, ::1 and ::ffff:10.0",
		"## heading, #[1]":                 "## heading, #[1]",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestJSONIsVisible has a terminal that a report is shown on obey nothing of it, and nothing of it be lost.
func TestJSONIsVisible(t *testing.T) {
	const evil = "a\x00\x1b[31m\x7f\u0085\u009b2J\u202eb\u2066c\u200d\U000e0041 \U0001f600\tä\n"
	report := &reports.Report{Error: evil}
	Conclude(report)
	text := written(t, report, JSON)
	if shown := visible.Text(string(text)); shown != string(text) || !bytes.Contains(text, []byte("\\u009b2J\\u202eb\\u2066c\\u200d\\udb40\\udc41 \U0001f600\\tä\\n")) {
		t.Errorf("there is something else in %q", text)
	}
	if again, err := reports.Read(text); err != nil || again.Error != evil {
		t.Errorf("read back: %v, %v", again, err)
	}
}
