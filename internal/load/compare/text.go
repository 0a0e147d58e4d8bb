package compare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/loadgen"
)

// WriteText writes the comparison for a terminal: a line for each series, and what is to be said about limits below.
func WriteText(w io.Writer, c loadgen.Comparison) error {
	table := visible.Table{Head: []string{"", "baseline", "now", "change", "p", "verdict"}}
	var why strings.Builder
	for _, row := range c.Rows {
		table.Add(visible.Line(Name(row)), quantity(row.Base, row.Unit), quantity(row.Now, row.Unit), change(row.Ratio), chance(row), verdict(row))
		if row.Why != "" {
			why.WriteString(visible.Line(row.Why) + "\n")
		}
	}
	if _, err := io.WriteString(w, table.Text()+why.String()); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// quantity writes a median with how far its interval reaches.
func quantity(e *loadgen.Estimate, unit string) string {
	if e == nil {
		return "-"
	}
	text := number(e.Value)
	if per, rate := strings.CutPrefix(unit, "1/"); rate {
		text += "/" + per
	} else if unit != "" {
		text += " " + unit
	}
	if e.Value == 0 {
		return text
	}
	return fmt.Sprintf("%s ± %.0f%%", text, 100*max(e.High/e.Value-1, 1-e.Low/e.Value))
}

// number writes a value with four digits, or more before the point.
func number(v float64) string {
	digits := 3
	if v != 0 {
		digits = min(max(3-int(math.Floor(math.Log10(v))), 0), 6)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// change writes a ratio as what was gained or lost, with its interval.
func change(ratio *loadgen.Estimate) string {
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%s (%s to %s)", signed(ratio.Value), signed(ratio.Low), signed(ratio.High))
}

func signed(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) }

// chance writes the p value, with the number of repeats.
func chance(r loadgen.Row) string {
	if r.Verdict == Missing {
		return "-"
	}
	p := "<0.001"
	if r.P >= 0.001 {
		p = fmt.Sprintf("%.3f", r.P)
	}
	return fmt.Sprintf("%s n=%d+%d", p, r.BaseRepeats, r.NowRepeats)
}

// verdict writes the verdict in words, with the limit.
func verdict(r loadgen.Row) string {
	words := map[Verdict]string{
		NoDifference: "no difference proved", Slower: "slower", Faster: "faster", Regressed: "regressed", Improved: "improved",
		Incomparable: "incomparable", TooFewRepeats: "too few repeats", TooNoisy: "too noisy", Missing: "missing",
	}[r.Verdict]
	if r.Limit == "" {
		return words
	}
	return words + ", limit " + r.Limit
}
