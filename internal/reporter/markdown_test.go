package reporter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// outside returns the lines of Markdown that are in no code block, and reports whether every block ends.
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
		`### .+`,
		`## (Failed|Errored|Unknown|KnownFailing|Tolerated|NotApplicable|Load|Changes|Run)`,
		`- (note|API server|webhook|definitions|crdconform|command|started|took|seed|profile|workload|stages|sent|void|stopped|judged|cost|search|baseline|then|changes|also|load): .*`,
		`- \*\*[^\n]+\*\* \([^\n]*\): .*`,
		`  - .+`,
		`  (Reason|Reason \(does not affect the verdict\)): .*`,
		`  (Why it matters|Spec|Source|Note): .+`,
		`  (Expected and actual|Reason|Re-run this requirement only|Smallest object|Object|Send it again, in the report folder):`,
		`  (Smallest object|Object|Send it again, in the report folder|Commands, in order|More files): .+`,
		`and \d+ more, all of them in report.html`,
		`\|.*\|`,
	}, "|") + `|)$`)
	link := regexp.MustCompile(`\[(\\.|[^\\\]])+\]\(exchanges/[a-zA-Z0-9%/._+,:;=@-]+\)`)
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t), "grid": grid(t)} {
		text := string(written(t, r, Markdown))
		for _, line := range outside(t, text) {
			line = link.ReplaceAllString(line, "LINK")
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
	for name, r := range map[string]*reports.Report{"sample": sample(t), "hostile everywhere": hostileEverywhere(t)} {
		cells, tables, rows := 0, 0, 0
		for _, line := range outside(t, string(written(t, r, Markdown))) {
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
		want, wantTables := 2+len(Chapters(r))+2+len(Causes(r))+2+len(r.Load.Stages)+2+len(r.Load.Objectives), 4
		if r.Changes != nil {
			want, wantTables = want+2+len(r.Changes.Requirements), 5
		}
		if tables != wantTables || rows != want {
			t.Errorf("%s: %d tables with %d rows, want %d with %d", name, tables, rows, wantTables, want)
		}
	}
}

func TestMarkdownHasProblems(t *testing.T) {
	r := sample(t)
	for i := range r.Results {
		r.Results[i].Reason = strings.ReplaceAll(visible.Cut(r.Results[i].Reason, 1000), hostile, "something") // which is not cut then
		r.Results[i].Spec = "a spec"
	}
	text := string(written(t, r, Markdown))
	for _, section := range []string{"\n## Failed\n", "\n## Errored\n", "\n## Unknown\n", "\n## KnownFailing\n", "\n## Tolerated\n", "\n## NotApplicable\n"} {
		_, after, found := strings.Cut(text, section)
		if !found {
			t.Fatalf("there is no%s", section)
		}
		in, _, _ := strings.Cut(after, "\n## ")
		for _, result := range r.Results {
			if "\n## "+result.Verdict.String()+"\n" != section {
				continue
			}
			rest, wants := strings.ReplaceAll(in, "\n  ", "\n"), wanted(result)
			if result.Subject != "" {
				wants = append([]string{"### " + result.Subject}, wants...)
			}
			for _, want := range wants {
				brief := result.Verdict == requirement.Unknown || result.Verdict == requirement.NotApplicable
				if brief && !slices.Contains([]string{string(result.ID), string(result.Level), result.Reason}, want) {
					continue
				}
				at := strings.Index(rest, visible.Text(want))
				if escaped := visible.Markdown(want); at < 0 {
					at = strings.Index(rest, escaped)
				}
				if at < 0 {
					t.Errorf("%s: %q lacks %q, or has it too early", result.ID, rest, want)
					break
				}
				rest = rest[at:]
			}
		}
	}
}

// TestMarkdownOfMany has what a job's page has room for, however much there is to say.
func TestMarkdownOfMany(t *testing.T) {
	r := &reports.Report{Webhook: &reports.Webhook{Kinds: []reports.Kind{{Gaps: slices.Repeat([]string{"spec.x: too deep"}, 500)}}}}
	one := sample(t).Results[2]
	for i := range 1000 {
		result := one
		result.Subject = fmt.Sprintf("kind%d.example.com", i)
		result.Reason = strings.Repeat("x", 5000)
		r.Results = append(r.Results, result)
	}
	Conclude(r)
	text := string(written(t, r, Markdown))
	if len(text) > 1_000_000 || !strings.Contains(text, "\n### kind999.example.com\n\n- **conversion.answer.uid** (MUST): ") ||
		!strings.Contains(text, "\n  - and 488 more, all of them in report.html\n") {
		t.Errorf("%d bytes, which end in %s", len(text), text[len(text)-500:])
	}
	outside(t, text)
}

func TestMarkdownErrors(t *testing.T) {
	for name, test := range map[string]struct {
		report reports.Report
		want   string
	}{
		"short":  {reports.Report{Error: "no cluster"}, "# crdconform: Could not judge: no cluster\n\n- "},
		"long":   {reports.Report{Error: "no cluster\nbecause"}, "\n```\nno cluster\nbecause\n```\n"},
		"failed": {reports.Report{Error: "no load", Results: must(requirement.Failed)}, "# crdconform: Does not conform: 1 of 1 requirement failed. Incomplete: no load\n\n- "},
	} {
		Conclude(&test.report)
		text := string(written(t, &test.report, Markdown))
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
		if got := visible.Markdown(text); got != want {
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
		if got := visible.Text(text); got != want {
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
