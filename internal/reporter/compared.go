package reporter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/crdconform/crdconform/internal/load/compare"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/requirement"
)

// regressed returns the statistics that are proved to be worse than the baseline by more than their limits.
func regressed(l *loadgen.Load) []loadgen.Row {
	if l == nil || l.Comparison == nil {
		return nil
	}
	return compare.RegressedRows(*l.Comparison)
}

// incomparable returns the statistics whose limits cannot be checked.
func incomparable(l *loadgen.Load) []loadgen.Row {
	if l == nil || l.Comparison == nil {
		return nil
	}
	return compare.UndecidedRows(*l.Comparison)
}

// telling returns the rows worth showing: those with a limit, and those that differ.
func telling(c *loadgen.Comparison) []loadgen.Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r loadgen.Row) bool { return r.Limit == "" && r.Verdict == compare.NoDifference })
}

// comparisonText returns the comparison as a table for a terminal, without rows that are not worth showing.
func comparisonText(c *loadgen.Comparison) string {
	var b strings.Builder
	if len(telling(c)) == 0 {
		return "no difference is proved\n"
	}
	_ = compare.WriteText(&b, loadgen.Comparison{Rows: telling(c)}) // a builder takes all that is written
	return b.String()
}

// rowClass is what a verdict on a row is shown as.
func rowClass(r loadgen.Row) string {
	switch r.Verdict {
	case compare.Regressed:
		return "missed"
	case compare.Improved, compare.Faster:
		return "met"
	case compare.Incomparable, compare.TooFewRepeats, compare.TooNoisy, compare.Missing, compare.Slower:
		return "void"
	default:
		return ""
	}
}

// changePercent is a ratio as what was gained or lost.
func changePercent(ratio float64) string {
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// comparedCases are the cases that no statistic has regressed by more than its limit.
func comparedCases(l *loadgen.Load, names unique) []testcase {
	var cases []testcase
	if l.Comparison == nil {
		return nil
	}
	for _, row := range l.Comparison.Rows {
		if row.Limit == "" {
			continue
		}
		c := testcase{Name: names.of("compared: " + compare.Name(row)), Classname: "load", Time: seconds(0)}
		p := &problem{Message: brief(rowText(row)), Text: comparisonText(l.Comparison)}
		switch {
		case slices.ContainsFunc(regressed(l), func(r loadgen.Row) bool { return compare.Name(r) == compare.Name(row) }):
			p.Type, c.Failure = requirement.Failed.String(), p
		case slices.ContainsFunc(incomparable(l), func(r loadgen.Row) bool { return compare.Name(r) == compare.Name(row) }):
			p.Type, c.Error = requirement.Errored.String(), p
		}
		cases = append(cases, c)
	}
	return cases
}

// words are the words that a verdict's name is made of, such as "no difference".
func words(v compare.Verdict) string {
	var text strings.Builder
	for i, r := range v {
		if i > 0 && unicode.IsUpper(r) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// rowText describes the outcome of a row in one sentence.
func rowText(r loadgen.Row) string {
	if r.Why != "" {
		return strings.TrimSuffix(r.Why, ".") // others put it into sentences
	}
	if r.Ratio == nil {
		return fmt.Sprintf("%s: %s", compare.Name(r), r.Verdict)
	}
	return fmt.Sprintf("%s: %+.1f %%, limit %s", compare.Name(r), 100*(r.Ratio.Value-1), r.Limit)
}
