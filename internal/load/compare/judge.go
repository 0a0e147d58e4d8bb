package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/crdconform/crdconform/loadgen"
)

// matter is a series of two runs while it is being judged. In quotients greater is worse: rates are turned upside down.
type matter struct {
	row       loadgen.Row
	quotients pairs             // of the new run by the baseline; empty when it is missing in one of them
	machine   *loadgen.Estimate // quotient of the control; nil when there is none
	excuse    *loadgen.Estimate // what the machine accounts for, going by that
	limit     *Limit            // nil when there is none
}

// meet brings the series of two runs together, in the order in which they are listed.
func meet(before, after map[key]Series, order []Series) ([]*matter, error) {
	var all []*matter
	seen, known := map[key]bool{}, chances{}
	for _, s := range order {
		if seen[s.key()] {
			continue
		}
		seen[s.key()] = true
		b, n := before[s.key()], after[s.key()]
		m := &matter{row: loadgen.Row{
			Stage: s.Stage, Statistic: s.Statistic, Unit: s.Unit, HigherIsBetter: s.HigherIsBetter, Control: s.Control,
			BaseRepeats: len(b.Values), NowRepeats: len(n.Values), P: 1,
		}}
		all = append(all, m)
		if len(b.Values) > 0 && len(n.Values) > 0 {
			if b.Unit != n.Unit || b.HigherIsBetter != n.HigherIsBetter {
				return nil, fmt.Errorf("compare: %s is in %q now but was in %q in the baseline; measure the baseline again",
					s.name(), n.Unit, b.Unit)
			}
			m.quotients = quotients(b, n, known)
			m.machine, m.excuse = machine(before, after, s, known)
		}
		m.describe(b, n)
	}
	return all, nil
}

// quotients divides what is worse when greater by the baseline, and the baseline by what is worse when smaller.
func quotients(base, now Series, c chances) pairs {
	tail := c.of(len(base.Values), len(now.Values))
	if base.HigherIsBetter {
		return between(base.Values, now.Values, tail)
	}
	return between(now.Values, base.Values, tail)
}

// machine is what the control for the same statistic says, of the same stage or else of all stages, and what that accounts for in a
// series; nil when there is none, or one with so few repeats that the bounds of its interval mean nothing.
func machine(before, after map[key]Series, s Series, c chances) (says, accounts *loadgen.Estimate) {
	if s.Control {
		return nil, nil
	}
	for _, stage := range []string{s.Stage, ""} {
		k := key{stage, s.Statistic, true}
		b, n := before[k], after[k]
		if len(b.Values) == 0 || len(n.Values) == 0 {
			continue
		}
		if e := quotients(b, n, c).estimate(); e.Confidence >= 1-2*error95 {
			scaled := e
			if own := median(before[s.key()].Values).Value; !s.HigherIsBetter && own > 0 {
				scaled = stretched(e, max(1, median(b.Values).Value/own))
			}
			return &e, &scaled
		}
	}
	return nil, nil
}

// stretched has a change of the control count for a series of shorter times: what makes a control slower by a time may do so to each
// request, however short it is.
func stretched(e loadgen.Estimate, times float64) loadgen.Estimate {
	for _, value := range []*float64{&e.Value, &e.Low, &e.High} {
		*value = max(0, 1+(*value-1)*times)
	}
	return e
}

// describe fills in what the values say by themselves.
func (m *matter) describe(base, now Series) {
	if len(base.Values) > 0 {
		m.row.Base = new(median(base.Values))
	}
	if len(now.Values) > 0 {
		m.row.Now = new(median(now.Values))
	}
	if m.missing() {
		return
	}
	m.row.P = min(1, 2*min(m.quotients.above(1), m.quotients.below(1)))
	m.row.Ratio = m.ratio(m.quotients.estimate())
	if m.machine != nil {
		m.row.Machine = m.ratio(*m.machine)
	}
}

// ratio turns a quotient into the ratio of now to the baseline; nil when there is no number for it.
func (m *matter) ratio(quotient loadgen.Estimate) *loadgen.Estimate {
	if m.row.HigherIsBetter {
		quotient = inverse(quotient)
	}
	if !finite(quotient) {
		return nil
	}
	return &quotient
}

func (m *matter) missing() bool { return len(m.quotients.quotients) == 0 }

// worse returns the p value of not being worse by more than a share of the baseline: as measured, and with as much put down to
// the machine as can be. Without a control that is everything.
func (m *matter) worse(share float64) (asMeasured, proved float64) {
	factor := 1 + share
	if m.row.HigherIsBetter {
		factor = 1 / (1 - share)
	}
	asMeasured = m.quotients.above(factor)
	if m.excuse == nil {
		return asMeasured, 1
	}
	return asMeasured, m.quotients.above(factor * max(1, m.excuse.High, m.excuse.Value*m.excuse.Value))
}

// better is the counterpart of worse.
func (m *matter) better(share float64) (asMeasured, proved float64) {
	factor := 1 - share
	if m.row.HigherIsBetter {
		factor = 1 / (1 + share)
	}
	asMeasured = m.quotients.below(factor)
	if m.excuse == nil {
		return asMeasured, 1
	}
	return asMeasured, m.quotients.below(factor * min(1, m.excuse.Low, m.excuse.Value*m.excuse.Value))
}

// judge gives the verdicts.
func judge(all []*matter, limits []Limit) loadgen.Comparison {
	var limited []*matter
	for _, m := range all {
		if m.limit = limitOf(m.row, limits); m.limit == nil {
			continue
		}
		m.row.Limit = percent(m.limit.Share)
		if !m.missing() {
			limited = append(limited, m)
			_, p := m.worse(m.limit.Share)
			m.row.PLimit = &p
		}
	}
	suspected := holm(limited, func(m *matter) float64 { p, _ := m.worse(m.limit.Share); return p })
	regressed := holm(limited, func(m *matter) float64 { _, p := m.worse(m.limit.Share); return p })
	improved := holm(limited, func(m *matter) float64 { _, p := m.better(m.limit.Share); return p })
	var c loadgen.Comparison
	for _, m := range all {
		switch {
		case m.missing():
			m.row.Verdict = Missing
		case regressed[m]:
			m.row.Verdict = Regressed
		case suspected[m]:
			m.row.Verdict = Incomparable
		case improved[m]:
			m.row.Verdict = Improved
		case m.tooFew(len(limited)):
			m.row.Verdict = TooFewRepeats
		case m.tooNoisy():
			m.row.Verdict = TooNoisy
		default:
			m.row.Verdict = m.tendency()
		}
		m.row.Why = m.why(len(limited))
		c.Rows = append(c.Rows, m.row)
	}
	return c
}

// why says what is to be known about a limit that is exceeded or could not be judged.
func (m *matter) why(limited int) string {
	if m.limit == nil {
		return ""
	}
	r := m.row
	switch {
	case r.Verdict == Regressed:
		return fmt.Sprintf("%s is worse by more than %s, and by more than the machine accounts for.", Name(r), r.Limit)
	case r.Verdict == Incomparable && m.machine == nil:
		return fmt.Sprintf("%s is worse by more than %s, and without a control there is no way to know whether the machine is the cause; "+
			"measure a control in both runs, with at least 4 repeats.", Name(r), r.Limit)
	case r.Verdict == Incomparable:
		return fmt.Sprintf("%s is worse by more than %s, which the machine may have caused: the control changed by %s; "+
			"measure both runs again on the same quiet machine.", Name(r), r.Limit, change(r.Machine))
	case r.Verdict == TooFewRepeats:
		return fmt.Sprintf("%s has %d and %d repeats, too few to prove anything about %d limits; "+
			"use at least %d in both runs.", Name(r), r.BaseRepeats, r.NowRepeats, limited, RepeatsFor(limited))
	case r.Verdict == TooNoisy:
		return fmt.Sprintf("%s changed by %s, so it may be the same or worse by more than %s; use more repeats, or a longer load, in both runs.", Name(r), change(r.Ratio), r.Limit)
	case r.Verdict == Missing && r.NowRepeats == 0:
		return Name(r) + " has a limit but was not measured; measure the same stages as the baseline."
	case r.Verdict == Missing:
		return Name(r) + " has a limit but no baseline; measure the baseline again."
	}
	return ""
}

// tooFew reports whether not even the most different values would prove anything.
func (m *matter) tooFew(limited int) bool {
	least := m.quotients.tail[0]
	return least > error95 || m.limit != nil && least*float64(limited) > alpha
}

// tooNoisy reports whether neither the limit nor that nothing changed can be ruled out: a regression beyond the limit would not have been seen.
func (m *matter) tooNoisy() bool {
	if m.limit == nil || m.row.Ratio == nil {
		return false
	}
	factor := 1 + m.limit.Share
	if m.row.HigherIsBetter {
		factor = 1 / (1 - m.limit.Share)
	}
	e := m.quotients.estimate()
	return e.Low <= 1 && e.High > factor
}

// tendency is the verdict without a limit. Where there is a control, what may be due to the machine is no difference.
func (m *matter) tendency() Verdict {
	slower, slowerProved := m.worse(0)
	faster, fasterProved := m.better(0)
	if m.machine != nil {
		slower, faster = slowerProved, fasterProved
	}
	switch {
	case slower <= error95:
		return Slower
	case faster <= error95:
		return Faster
	}
	return NoDifference
}

// holm returns those whose p values are significant at alpha for all of them together.
func holm(all []*matter, p func(*matter) float64) map[*matter]bool {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *matter) int { return cmp.Compare(p(a), p(b)) })
	significant := map[*matter]bool{}
	for i, m := range sorted {
		if p(m)*float64(len(sorted)-i) > alpha {
			break
		}
		significant[m] = true
	}
	return significant
}
