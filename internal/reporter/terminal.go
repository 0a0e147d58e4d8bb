package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// Columns is how many characters a line has at most where there is no terminal, or a wider one.
const Columns = 100

// narrowest is how many characters lines have room for on every terminal.
const narrowest = 40

// LoadLines sums the load test up for a terminal, in lines of so many columns, from 40 to 100. Tables take what they need, which is
// 100 columns at most but for that of a comparison. Nothing in the lines is obeyed by a terminal.
func LoadLines(l *loadgen.Load, columns int) []string {
	const most = 5
	lines := loadIntro(l, columns)
	lines = append(lines, loadTable(l)...)
	add := func(label string, texts ...string) {
		for _, text := range visible.Few(texts, most, ", in report.html") {
			lines = append(lines, labelled(label, text, columns)...)
			label = ""
		}
	}
	var failed, missed, void []string
	for _, s := range l.Stages {
		if against(l, s) > 0 {
			failed = append(failed, fmt.Sprintf("%s: %s", stageTitle(l, s), stageFailures(s)))
		}
		if s.VoidReason != "" {
			void = append(void, stageTitle(l, s)+": "+s.VoidReason)
		}
	}
	for _, target := range missedTargets(l) {
		missed = append(missed, joined(targetText(l, target), ", ", objectiveMargin(target.Objective)))
	}
	add("failed", failed...)
	add("findings", firstFindings(l, 3)...)
	add("missed", missed...)
	if targets := targetsOf(l); len(targets) > 0 {
		met := slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return t.Outcome != "met" })
		add("met", fmt.Sprintf("%d of %s", len(met), visible.Count(len(targets), "objective", "")))
	}
	add("void", void...)
	for _, fact := range furtherFacts(l) {
		add(fact.Name, fact.Value)
	}
	if l.Server != nil {
		lines = append(lines, labelled("server", fmt.Sprintf("Kubernetes %s with %d objects at %s", l.Server.Version, l.Server.Objects, l.Server.StorageVersion), columns)...)
		for line := range strings.Lines(serverText(l.Server)) {
			lines = append(lines, visible.Text("    "+strings.TrimRight(line, "\n")))
		}
		add("calls", overBudget(l)...)
	}
	if l.Comparison != nil {
		lines = append(lines, labelled("compared", "with "+l.Comparison.Baseline, columns)...)
		for line := range strings.Lines(comparisonText(l.Comparison)) {
			lines = append(lines, visible.Text("    "+strings.TrimRight(line, "\n")))
		}
	}
	return lines
}

// loadIntro says what was sent: all there is to know of a single stage, and how much it was in all of several.
func loadIntro(l *loadgen.Load, columns int) []string {
	switch groups := groupsOf(l); {
	case len(groups) == 0:
		return nil
	case len(groups) == 1:
		s := groups[0].Runs[0]
		return append(labelled("load", StageWhen(s)+", "+StageWhat(s), columns), labelled("sent", loadSent(l), columns)...)
	default:
		return labelled("load", fmt.Sprintf("%s: %s, %s", stageTitle(l, loadgen.Stage{}), visible.Count(len(groups), "stage", ""), loadSent(l)), columns)
	}
}

// loadSent says how much was sent, and how much of it failed.
func loadSent(l *loadgen.Load) string {
	all := loadgen.Stage{Errors: map[string]uint64{}}
	for _, s := range l.Stages {
		all.Requests, all.Objects, all.Failed = all.Requests+s.Requests, all.Objects+s.Objects, all.Failed+s.Failed
		for kind, n := range s.Errors {
			all.Errors[kind] += n
		}
	}
	return fmt.Sprintf("%s with %s, %s", many(all.Requests, "request"), many(all.Objects, "object"), stageFailures(all))
}

// firstFindings are some of the findings of all stages, in a line each: what counts against the webhook first, and what is tolerated once,
// with the number of responses.
func firstFindings(l *loadgen.Load, most int) []string {
	var texts, tolerated []string
	seen := map[requirement.ID]bool{}
	for _, s := range l.Stages {
		for _, f := range s.Findings {
			text := visible.Cut(firstLine(findingText(f)), 400)
			if severalStages(l) {
				text = stageTitle(l, s) + ": " + text
			}
			switch {
			case !f.Tolerated:
				texts = append(texts, text)
			case !seen[f.Requirement]:
				seen[f.Requirement] = true
				n := sum(l, func(s loadgen.Stage) uint64 { return s.Violations[f.Requirement] })
				tolerated = append(tolerated, fmt.Sprintf("%d of %s: %s: %s (tolerated)", n, many(Requests(l), "response"), f.Requirement, visible.Cut(firstLine(f.Text), 400)))
			}
		}
	}
	texts = append(texts, tolerated...)
	return texts[:min(len(texts), most)]
}

// loadTable has a line for each workload, and another one with ranges for those that ran several times.
func loadTable(l *loadgen.Load) []string {
	const most = 30
	groups := groupsOf(l)
	if len(groups) == 0 {
		return nil
	}
	t := visible.Table{Head: append(append([]string{"times in ms"}, columns()...), "failed", "outcome"), Numbers: len(columns()) + 1}
	under := map[int]string{}
	for _, g := range groups[:min(len(groups), most)] {
		_, label := worstOf(l, g)
		if g.Repeated() {
			under[len(t.Rows)+1] = fmt.Sprintf("  %s, with p99 from %s ms", g.Counted(), cmp.Or(g.Figures()[3].Range(), g.Figures()[3].String()))
		}
		row := []any{visible.Cut(firstLine(g.Name), 23)}
		for _, f := range g.Figures() {
			row = append(row, f)
		}
		t.Add(append(row, wholeNumber(g.Failed()), label)...)
	}
	var all []string
	for i, line := range strings.Split(strings.TrimSuffix(t.Text(), "\n"), "\n") {
		all = append(all, line)
		if text := under[i]; text != "" {
			all = append(all, text)
		}
	}
	if n := len(groups) - most; n > 0 {
		all = append(all, "  "+visible.More(n)+" in report.html")
	}
	return all
}

// labelled breaks a text into lines of so many columns between its words, with a label before the first.
func labelled(label, text string, columns int) []string {
	const indent = 10
	columns = min(max(columns, narrowest), Columns)
	var lines []string
	line := fmt.Sprintf("%-*s", indent-1, label)
	for word := range strings.FieldsSeq(visible.Text(text)) {
		word = visible.Cut(word, columns-indent-1)
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines = append(lines, line)
			line = strings.Repeat(" ", indent-1)
		}
		line += " " + word
	}
	return append(lines, line)
}

func nonempty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
