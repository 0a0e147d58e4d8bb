package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/crdconform/crdconform/loadgen/compare"
	"github.com/crdconform/crdconform/requirement"
)

// regressed are the statistics that are proved to be worse than at baseline by more than their limits.
func (l *Load) regressed() []compare.Row {
	if l == nil || l.Comparison == nil {
		return nil
	}
	return l.Comparison.Regressed()
}

// incomparable are the statistics of which it cannot be told whether they keep their limits.
func (l *Load) incomparable() []compare.Row {
	if l == nil || l.Comparison == nil {
		return nil
	}
	return l.Comparison.Undecided()
}

// Telling are the rows that say something: those with a limit, and those that differ.
func (c *Comparison) Telling() []compare.Row {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(r compare.Row) bool { return r.Limit == "" && r.Verdict == compare.NoDifference })
}

// Text is the comparison as a table for a terminal, without the rows that say nothing.
func (c *Comparison) Text() string {
	var b strings.Builder
	if len(c.Telling()) == 0 {
		return "no difference is proved\n"
	}
	_ = compare.Comparison{Rows: c.Telling()}.WriteText(&b) // a builder takes all that is written
	return b.String()
}

// Class is what a verdict on a row is shown as.
func (c *Comparison) Class(r compare.Row) string {
	switch r.Verdict {
	case compare.Regressed:
		return "missed"
	case compare.Improved, compare.Faster:
		return "met"
	case compare.Incomparable, compare.TooFewRepeats, compare.Missing, compare.Slower:
		return "void"
	default:
		return ""
	}
}

// Percent is a ratio as what was gained or lost.
func (c *Comparison) Percent(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// compared are the cases that no statistic has regressed by more than its limit.
func (l *Load) compared(names unique) []testcase {
	var cases []testcase
	if l.Comparison == nil {
		return nil
	}
	for _, row := range l.Comparison.Rows {
		if row.Limit == "" {
			continue
		}
		c := testcase{Name: names.of("compared: " + row.Name()), Classname: "load", Time: seconds(0)}
		p := &problem{Message: brief(told(row)), Text: l.Comparison.Text()}
		switch {
		case slices.ContainsFunc(l.regressed(), func(r compare.Row) bool { return r.Name() == row.Name() }):
			p.Type, c.Failure = requirement.Failed.String(), p
		case slices.ContainsFunc(l.incomparable(), func(r compare.Row) bool { return r.Name() == row.Name() }):
			p.Type, c.Error = requirement.Errored.String(), p
		}
		cases = append(cases, c)
	}
	return cases
}

// words are the words that a verdict's name is made of, such as "no difference".
func words(v compare.Verdict) string {
	var text strings.Builder
	for i, r := range string(v) {
		if i > 0 && unicode.IsUpper(r) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// told says in one sentence what became of a row.
func told(r compare.Row) string {
	if r.Why != "" {
		return strings.TrimSuffix(r.Why, ".") // others put it into sentences
	}
	if r.Ratio == nil {
		return fmt.Sprintf("%s: %s", r.Name(), r.Verdict)
	}
	return fmt.Sprintf("%s: %+.1f %%, limit %s", r.Name(), 100*(r.Ratio.Value-1), r.Limit)
}
