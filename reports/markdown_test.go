package reports

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// outside returns the lines of Markdown that are in no code block, and tells whether every block ends.
func outside(t *testing.T, text string) []string {
	t.Helper()
	var lines []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		marks := regexp.MustCompile("^ {0,3}(`{3,})$").FindStringSubmatch(line)
		switch {
		case marks != nil && fence == "":
			fence = marks[1]
		case marks != nil && len(marks[1]) >= len(fence):
			fence = ""
		case fence == "":
			lines = append(lines, line)
		}
	}
	if fence != "" {
		t.Errorf("a block does not end in\n%s", text)
	}
	return lines
}

// TestMarkdownStaysIntact has every line outside of code be one that this package writes.
func TestMarkdownStaysIntact(t *testing.T) {
	lines := regexp.MustCompile(`^(` + strings.Join([]string{
		`# crdconform: [^\n]+`,
		`## (Failed|Errored|Unknown|KnownFailing|Tolerated|NotApplicable|Load)`,
		`- (API server|webhook|crdconform|command|started|took|seed): .*`,
		`- \*\*[^\n]+\*\* \([^\n]*\): .*`,
		`  Reason: .*`,
		`200 requests a second .*`,
		`\|.*\|`,
	}, "|") + `|)$`)
	for name, r := range map[string]*Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		text := string(written(t, r.Markdown))
		for _, line := range outside(t, text) {
			if !lines.MatchString(line) {
				t.Fatalf("%s: there is the line %q", name, line)
			}
			if bare := regexp.MustCompile("(^|[^\\\\])[`\\[$~]|<").FindString(line); bare != "" {
				t.Fatalf("%s: %q is not escaped in %q", name, bare, line)
			}
		}
		if control := regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{202e}]`).FindString(text); control != "" {
			t.Errorf("%s: there is %q", name, control)
		}
	}
}

// TestMarkdownTables has as many cells in each row as there are in the head.
func TestMarkdownTables(t *testing.T) {
	for name, r := range map[string]*Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		cells, tables, rows := 0, 0, 0
		for _, line := range outside(t, string(written(t, r.Markdown))) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
			if cells == 0 {
				cells = n
				tables++
			}
			if rows++; n != cells {
				t.Errorf("%s: %q has %d cells, want %d", name, line, n-1, cells-1)
			}
		}
		if want := 2 + len(r.Chapters()) + 2 + 3; tables != 2 || rows != want {
			t.Errorf("%s: %d tables with %d rows, want 2 with %d", name, tables, rows, want)
		}
	}
}

func TestMarkdownHasProblems(t *testing.T) {
	r := sample(t)
	for _, strict := range []bool{false, true} {
		r.Strict = strict
		text := string(written(t, r.Markdown))
		for _, result := range r.Results {
			line := "- **" + string(result.ID) + "** (" + string(result.Level) + "): "
			if got, want := strings.Contains(text, line), result.Verdict != requirement.Passed; got != want {
				t.Errorf("strict %t: %s, %s, is there: %t", strict, result.ID, result.Verdict, got)
			}
			detailed := strings.Contains(text, "\n  Run it again: "+result.Rerun+"\n")
			want := slices.Contains([]requirement.Verdict{requirement.Failed, requirement.Errored, requirement.KnownFailing}, result.Verdict) ||
				strict && result.Verdict == requirement.Tolerated
			if detailed != want {
				t.Errorf("strict %t: %s, %s, is there in detail: %t", strict, result.ID, result.Verdict, detailed)
			}
		}
	}
}

func TestMarkdownErrors(t *testing.T) {
	for name, test := range map[string]struct {
		report Report
		want   string
	}{
		"short":  {Report{Error: "no cluster"}, "# crdconform: Could not judge: no cluster\n\n- "},
		"long":   {Report{Error: "no cluster\nbecause"}, "\n```\nno cluster\nbecause\n```\n"},
		"failed": {Report{Error: "no load", Results: must(requirement.Failed)}, "\n```\nno load\n```\n"},
	} {
		test.report.Conclude()
		text := string(written(t, test.report.Markdown))
		if !strings.Contains(text, test.want) || name == "short" && strings.Contains(text, "```\n") {
			t.Errorf("%s: got\n%s\nwant something with\n%s", name, text, test.want)
		}
	}
}

func TestEscapeMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, 1.5 > 1": "plain text, 1.5 > 1",
		"a|b":                 `a\|b`,
		"a\nb\r\nc\rd":        "a b c d",
		"`a` *b* _c_ ~d~ $e$": "\\`a\\` \\*b\\* \\_c\\_ \\~d\\~ \\$e\\$",
		`\|`:                  `\\\|`,
		"<b>&lt;":             "&lt;b>&amp;lt;",
		"![a](b)":             `!\[a](b)`,
		"\x1b[0m\x00":         "\uFFFD\\[0m\uFFFD",
	} {
		if got := escapeMarkdown(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFence(t *testing.T) {
	for text, want := range map[string]string{
		"a":            "```\na\n```",
		"```":          "````\n```\n````",
		"`````\n```":   "``````\n`````\n```\n``````",
		"a\r```\r<b>":  "````\na\n```\n<b>\n````",
		"``\x00`\x1b[": "```\n``\uFFFD`\uFFFD[\n```",
	} {
		if got := fence(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := fence(strings.Repeat("é", 5000)); len(got) > 2*4000+20 || !strings.HasSuffix(got, "é…\n```") {
		t.Errorf("5000 characters become %d bytes that end in %q", len(got), got[len(got)-10:])
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"a\tb\nc é 世 🙂":              "a\tb\nc é 世 🙂",
		"a\r\nb\rc":                  "a\nb\nc",
		"\x00\x07\x1b\x7f\u0085":     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		"\ufffe\uffff\U0001ffff\xff": "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\u202e\u2066\u2069":         "\uFFFD\uFFFD\uFFFD",
		"\u200b\u2029":               "\uFFFD\uFFFD",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"\n\n a \nb":              "a",
		"a\rb":                    "a",
		"a\x1bb":                  "a\uFFFDb",
		strings.Repeat("é", 300):  strings.Repeat("é", 300),
		strings.Repeat("é", 301):  strings.Repeat("é", 300) + "…",
		strings.Repeat("ab", 400): strings.Repeat("ab", 150) + "…",
	} {
		if got := brief(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
