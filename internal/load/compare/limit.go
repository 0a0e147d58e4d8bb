package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
)

// Limit is how much worse a statistic may be than at baseline.
type Limit struct {
	Statistic string  // one of Statistics, or Every
	Share     float64 // of the baseline: by 0.1 a time may grow, or a rate fall, by ten per cent. At least LeastShare; less than 1 where rates have it.
}

// Every stands for all statistics that have no limit of their own.
const Every = "*"

// LeastShare is the smallest share that a limit may be. How a program happens to lie in memory makes differences of that size
// between two starts of the same build, and neither repeats nor a control show them (Mytkowicz and others, 2009, "Producing Wrong
// Data Without Doing Anything Obviously Wrong!").
const LeastShare = 0.05

// Statistics returns the statistics that can have limits.
func Statistics() []string {
	return []string{"min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "requests/s", "objects/s"}
}

// ParseLimit reads a limit such as p99=10%, objects/s=5% or *=10%.
func ParseLimit(text string) (Limit, error) {
	statistic, share, found := strings.Cut(text, "=")
	if !found {
		return Limit{}, fmt.Errorf("the limit %q: want STATISTIC=SHARE, such as p99=10%%", text)
	}
	if statistic != Every && !slices.Contains(Statistics(), statistic) {
		return Limit{}, fmt.Errorf("the limit %q: unknown statistic %q (want %s, or %s for all without a limit of their own)",
			text, statistic, strings.Join(Statistics(), ", "), Every)
	}
	number, percent := strings.CutSuffix(share, "%")
	value, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil {
		return Limit{}, fmt.Errorf("the limit %q: %q is not a percentage of the baseline; use, for example, 10%% or 7.5%%", text, share)
	}
	limit := Limit{Statistic: statistic, Share: value / 100}
	return limit, limit.validate()
}

// validate says what is wrong with a limit.
func (l Limit) validate() error {
	switch {
	case !(l.Share >= 0):
		return fmt.Errorf("the limit %s: it must not be negative: it is how much worse a statistic may be; use at least %g%%", l, 100*LeastShare)
	case l.Share < LeastShare:
		return fmt.Errorf("the limit %s: two starts of the same build differ by that much; use at least %g%%", l, 100*LeastShare)
	case math.IsInf(l.Share, 1):
		return fmt.Errorf("the limit %s: nothing can exceed it; omit it", l)
	case l.Share >= 1 && l.Statistic == Every:
		return fmt.Errorf("the limit %s: it applies to rates too, which cannot fall by that much; use less than 100%%, or a separate limit for each time", l)
	case l.Share >= 1 && strings.HasSuffix(l.Statistic, "/s"):
		return fmt.Errorf("the limit %s: a rate cannot fall by that much; use less than 100%%", l)
	}
	return nil
}

// String writes a limit as ParseLimit reads it.
func (l Limit) String() string { return l.Statistic + "=" + percent(l.Share) }

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + "%" }

// holdsFor reports whether a series has this limit, unless there is one of its own.
func (l Limit) holdsFor(r loadgen.Row) bool {
	return !r.Control && (l.Statistic == Every || l.Statistic == r.Statistic)
}

// limitOf finds the limit of a series; nil when it has none.
func limitOf(r loadgen.Row, limits []Limit) *Limit {
	var found *Limit
	for _, l := range limits {
		if l.holdsFor(r) && (found == nil || found.Statistic == Every) {
			found = &l
		}
	}
	return found
}

// check says what is wrong with limits, given what was measured.
func check(limits []Limit, rows []*matter) error {
	for i, l := range limits {
		if err := l.validate(); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if slices.ContainsFunc(limits[:i], func(other Limit) bool { return other.Statistic == l.Statistic }) {
			return fmt.Errorf("compare: %s has two limits; remove one", l.Statistic)
		}
		if !slices.ContainsFunc(rows, func(m *matter) bool { return l.holdsFor(m.row) }) {
			return fmt.Errorf("compare: nothing was measured for the limit %s (measured: %s)", l, strings.Join(measured(rows), ", "))
		}
	}
	return nil
}

// measured returns the names of the statistics that there are.
func measured(rows []*matter) []string {
	var names []string
	for _, m := range rows {
		if !m.row.Control {
			names = append(names, m.row.Statistic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
