//go:build linux

package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// claim is a figure that the project promises.
type claim struct {
	what     string
	asked    float64
	atLeast  bool // at most otherwise
	measured float64
	unit     string
	how      string // it was measured, and what else was seen
}

func (c claim) holds() bool {
	if c.atLeast {
		return c.measured >= c.asked
	}
	return c.measured <= c.asked
}

// report writes claims as a table, and fails the benchmark for those that do not hold.
func report(b *testing.B, claims []claim) {
	b.Helper()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tasked\tmeasured\t\thow")
	for _, c := range claims {
		sign, verdict := "<=", "holds"
		if c.atLeast {
			sign = ">="
		}
		if !c.holds() {
			verdict = "MISSED"
			b.Errorf("%s: %.4g %s, want %s %.4g", c.what, c.measured, c.unit, sign, c.asked)
		}
		fmt.Fprintf(w, "%s\t%s %.4g %s\t%.4g %s\t%s\t%s\n", c.what, sign, c.asked, c.unit, c.measured, c.unit, verdict, c.how)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	b.Logf("load:\n%s", table.String())
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
