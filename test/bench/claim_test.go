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
	void     string // why loadgen says that its own run tells nothing; empty if it does not
}

// holds tells whether the figure is as promised. A run that its own generator calls void proves nothing, whatever its figures.
func (c claim) holds() bool {
	if c.void != "" {
		return false
	}
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
		switch {
		case c.void != "":
			verdict = "VOID"
			b.Errorf("%s: the run is void: %s", c.what, c.void)
		case !c.holds():
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

// inTurn calls functions, each once, and begins with another one in each round: what comes first finds another machine than what
// comes last.
func inTurn(round int, all ...func()) {
	for i := range all {
		all[(round+i)%len(all)]()
	}
}

// TestVoidClaims has a claim not hold by a run that is void, however good its figures are.
func TestVoidClaims(t *testing.T) {
	for _, atLeast := range []bool{false, true} {
		c := claim{asked: 1, measured: 1, atLeast: atLeast}
		if !c.holds() {
			t.Errorf("%+v does not hold", c)
		}
		c.void = "too busy"
		if c.holds() {
			t.Errorf("%+v holds", c)
		}
	}
}

func TestInTurn(t *testing.T) {
	var order strings.Builder
	add := func(name string) func() { return func() { order.WriteString(name) } }
	for round := range 4 {
		inTurn(round, add("a"), add("b"), add("c"))
	}
	if got := order.String(); got != "abcbcacababc" {
		t.Errorf("the order is %s", got)
	}
}
