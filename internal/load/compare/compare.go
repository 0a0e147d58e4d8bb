// Package compare reports whether one load run was slower than another. It measures nothing: it gets the values and judges them.
//
// A run is measured in several repeats, each of which gives one value of every statistic. Two samples of such values are
// compared by the exact test of Mann and Whitney (1947, "On a Test of Whether one of Two Random Variables is Stochastically
// Larger than the Other"), which assumes nothing of their distribution. The ratio is estimated as Hodges and Lehmann do (1963,
// "Estimates of Location Based on Rank Tests"), by the median of the ratios of all pairs; its interval has the ratios that the
// test does not reject.
//
// # What is proved
//
// The repeats of a run show how much they differ from each other. They do not show how much the run differs as a whole from
// another of the same build, made an hour later beside other neighbours, or on another machine. To compare the repeats alone
// would take that for a regression. So each repeat measures a control as well: a target that is the same in all runs and does
// the same work under the same load, such as the reference webhook, right before or after the webhook itself. What the control
// is slower by is put down to the machine: as much as the upper bound of its interval, or twice what is estimated (the ratio
// squared), since a webhook may depend on the machine more than the control does. Where the webhook's times are shorter than the
// control's, that is not the same share of them but the same time. A regression is proved when the test rejects that the webhook is
// slower by no more than the limit on top of that. What lies beyond its limit and may be the machine's is
// Incomparable, and nothing is proved without a control.
//
// All limits together are wrongly taken for exceeded in at most 1 of 100 comparisons, however much the repeats differ, by the
// correction of Holm (1979, "A Simple Sequentially Rejective Multiple Test Procedure"). It is less than 1 of 1,000 where
// repeats differ by no more than the limit. TestSelfComparisons has the numbers, TestRegressionsAreFound has what is found.
//
// Nothing here detects that a slightly slower machine brings a webhook near saturation to a standstill while the control has
// capacity to spare. Rates should be well below saturation, or measure it.
package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
)

const (
	// alpha is the probability of reporting a regression although there is none.
	alpha = 0.01

	// error95 is the probability of an error on either side of a 95 % interval.
	error95 = 0.025
)

// MaxRepeats is how many values a series may have. Longer repeats serve better than more of them.
const MaxRepeats = 100

// Series has what was measured of one statistic in the repeats of a run.
type Series struct {
	Stage          string    `json:"stage,omitempty"` // of the load; empty when there is only one, and for a control of all stages
	Statistic      string    `json:"statistic"`       // such as p99 or objects/s
	Unit           string    `json:"unit,omitempty"`  // such as ms
	HigherIsBetter bool      `json:"higherIsBetter,omitempty"`
	Control        bool      `json:"control,omitempty"` // of a target that is the same in every run; in 4 repeats or more
	Values         []float64 `json:"values"`            // one for each repeat that is not void; not negative
}

// key identifies a series within a run.
type key struct {
	stage, statistic string
	control          bool
}

func (s Series) key() key { return key{s.Stage, s.Statistic, s.Control} }

// name is what messages call a series.
func (s Series) name() string { return name(s.Control, s.Stage, s.Statistic) }

func name(control bool, stage, statistic string) string {
	words := []string{stage, statistic}
	if control {
		words = []string{"control", stage, statistic}
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}

// Verdict is what became of a series.
type Verdict = string

// The verdicts. Slower and Faster are by the 95 % interval of each series by itself: one in twenty is by chance.
const (
	NoDifference  Verdict = "NoDifference"  // none is proved
	Slower        Verdict = "Slower"        // worse, and not proved to be beyond a limit
	Faster        Verdict = "Faster"        // better, and not proved to be beyond a limit
	Regressed     Verdict = "Regressed"     // proved to be worse by more than its limit
	Improved      Verdict = "Improved"      // proved to be better by more than its limit
	Incomparable  Verdict = "Incomparable"  // worse by more than its limit, and that may be the machine's
	TooFewRepeats Verdict = "TooFewRepeats" // so many repeats cannot prove anything, whatever their values
	TooNoisy      Verdict = "TooNoisy"      // neither its limit nor that nothing changed can be ruled out
	Missing       Verdict = "Missing"       // measured in one of the runs only
)

// Name is what messages call the series, such as "batch 10 p99".
func Name(r loadgen.Row) string { return name(r.Control, r.Stage, r.Statistic) }

// RegressedRows returns the series that are proved to be worse by more than their limits.
func RegressedRows(c loadgen.Comparison) []loadgen.Row { return limited(c, Regressed) }

// UndecidedRows returns the series whose limits could not be judged.
func UndecidedRows(c loadgen.Comparison) []loadgen.Row {
	return limited(c, Incomparable, TooFewRepeats, TooNoisy, Missing)
}

func limited(c loadgen.Comparison, verdicts ...Verdict) []loadgen.Row {
	var rows []loadgen.Row
	for _, row := range c.Rows {
		if row.Limit != "" && slices.Contains(verdicts, row.Verdict) {
			rows = append(rows, row)
		}
	}
	return rows
}

// RepeatsFor is how many repeats both runs need for anything to be provable about so many series with limits: 5 for up to 2,
// 6 for up to 9, 7 for up to 34. With no more than that, nearly every repeat has to be beyond the limit.
func RepeatsFor(limited int) int {
	for n := 1; n < MaxRepeats; n++ {
		if least := tails(n, n)[0]; least <= error95 && least*float64(limited) <= alpha {
			return n
		}
	}
	return MaxRepeats
}

// Runs compares a run with the baseline. Limits hold for the statistics that they name in all stages, and not for controls. A
// control is for the same statistic of its stage, or of all stages if it has none.
func Runs(base, now []Series, limits []Limit) (loadgen.Comparison, error) {
	before, err := index("the baseline", base)
	if err != nil {
		return loadgen.Comparison{}, err
	}
	after, err := index("the run", now)
	if err != nil {
		return loadgen.Comparison{}, err
	}
	all, err := meet(before, after, slices.Concat(now, base))
	if err != nil {
		return loadgen.Comparison{}, err
	}
	if err := check(limits, all); err != nil {
		return loadgen.Comparison{}, err
	}
	return judge(all, limits), nil
}

// index finds series by their keys.
func index(run string, series []Series) (map[key]Series, error) {
	found := map[key]Series{}
	for _, s := range series {
		if _, twice := found[s.key()]; twice {
			return nil, fmt.Errorf("compare: %s has %s twice; remove one", run, s.name())
		}
		if len(s.Values) > MaxRepeats {
			return nil, fmt.Errorf("compare: %s has %d repeats of %s, more than the maximum of %d; use fewer, longer ones",
				run, len(s.Values), s.name(), MaxRepeats)
		}
		for i, v := range s.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || s.Control && v == 0 {
				return nil, fmt.Errorf("compare: %s has %g for %s in repeat %d, which is impossible; measure it again", run, v, s.name(), i+1)
			}
		}
		found[s.key()] = s
	}
	return found, nil
}
