package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/gonum/mathext"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/loadgen"
)

// Search is a search for the highest rate at which a goal is met.
type Search struct {
	Goal     Goal
	Workload Workload // of a probe; its rate is what is searched for
}

// Goal is a limit that a share of the responses must meet.
type Goal struct {
	Percentile float64       // of the requests, such as 99
	Limit      time.Duration // of their response times
	Errors     float64       // share of the requests that may fail, from 0 to 1
}

// allowed is the share of the requests that may be over the limit.
func (g Goal) allowed() float64 { return 1 - g.Percentile/100 }

// enough is how many requests rule out, when none of them is over the limit or fails, that more are than may be.
func (g Goal) enough() float64 {
	least := g.allowed()
	if g.Errors > 0 {
		least = min(least, g.Errors)
	}
	return max(enough, math.Log((1-confidence)/2)/math.Log1p(-min(least, 0.5)))
}

// String reads as in "p99 <= 50ms, no errors".
func (g Goal) String() string {
	errors := "no errors"
	if g.Errors > 0 {
		errors = fmt.Sprintf("errors <= %.6g %%", 100*g.Errors)
	}
	return fmt.Sprintf("p%g <= %s, %s", g.Percentile, g.Limit, errors)
}

// attempt is a rate that was tried.
type attempt struct {
	Rate     float64 // requests a second
	Requests uint64  // that were due
	Over     uint64  // of them, those that were not answered within the limit
	Failed   uint64  // of them, those whose response API servers reject
	Met      bool
	Void     string // why the generator was too busy to measure; empty when it could. The rate counts as missed.
	Decided  bool   // whether chance is ruled out at 95 %; the rate counts as missed otherwise
}

// String says what decided.
func (p attempt) String() string {
	switch {
	case p.Void != "":
		return p.Void
	case p.Failed > 0:
		text := fmt.Sprintf("%d of %d failed", p.Failed, p.Requests)
		if p.Over > 0 {
			text += fmt.Sprintf(", %d of %d over the limit", p.Over, p.Requests)
		}
		if !p.Decided {
			text += ", which may be chance"
		}
		return text
	case !p.Decided:
		return fmt.Sprintf("%d of %d over the limit, which may be chance", p.Over, p.Requests)
	}
	return fmt.Sprintf("%d of %d over the limit", p.Over, p.Requests)
}

// result is what is reported of the attempt.
func (p attempt) result() loadgen.Probe {
	return loadgen.Probe{Rate: p.Rate, Met: p.Met, Measured: p.String(), Void: p.Void != ""}
}

// Found is the result of a search.
type Found struct {
	loadgen.Search

	At Summary // a longer run at the rate that was found, which met the goal too; zero when there is none
}

const (
	// askers is how many clients ask at once to find the rate to begin with: half of what they get answered.
	askers = 10

	// enough is how many requests a probe has at least, unless that takes longer than longest. None of them over the limit rules out,
	// at the confidence below, that one in a hundred is; see Goal.enough for fewer.
	enough  = 400
	longest = 30 * time.Second

	// precision is how far the two rates may be apart at the end, as a share of the higher one.
	precision = 0.05

	// patience is the maximum number of repeats of a probe until chance is ruled out.
	patience = 4

	// spoilt is the number of unusable probes after which a search ends, because this machine is too busy.
	spoilt = 3

	// confirmation is the length of the final run, in probes.
	confirmation = 3

	// confidence is that of the interval in which the true share of slow responses lies.
	confidence = 0.95
)

func (s Search) validate() error {
	if s.Goal.Limit <= 0 || s.Goal.Percentile <= 0 || s.Goal.Percentile >= 100 {
		return fmt.Errorf("load: a goal of %s for %g %% of the requests: both must be above 0, and the percentile below 100", s.Goal.Limit, s.Goal.Percentile)
	}
	if !(s.Goal.Errors >= 0 && s.Goal.Errors <= 1) {
		return fmt.Errorf("load: a goal with errors of %g: it must be a share from 0 to 1", s.Goal.Errors)
	}
	return s.Workload.Validate()
}

// Run searches. It starts with half the rate at which the webhook answers clients that ask in turn, and doubles it until the goal is
// missed. It then halves the interval between the last two rates until they are close or the generator reaches its limits, and runs
// longer at the rate found. If the goal is missed there, the search continues below, unless the generator was three times too busy to
// measure.
func (s Search) Run(ctx context.Context, client *wire.Client, requests []contract.Request, watch func(Workload) Watch) (Found, error) {
	if err := s.validate(); err != nil {
		return Found{}, err
	}
	first, err := s.first(ctx, client, requests, watch)
	if err != nil {
		return Found{}, err
	}
	found, err := find(ctx, first, func(rate float64, times int) (attempt, Summary, error) {
		return s.probe(ctx, rate, time.Duration(times)*s.Workload.Length(), func(w Workload) (Summary, error) {
			return Run(ctx, client, requests, w, watch(w))
		})
	})
	found.Goal = s.Goal.String()
	return found, err
}

// find searches, beginning with a rate. A probe takes some times as long as usual.
func find(ctx context.Context, rate float64, probe func(rate float64, times int) (attempt, Summary, error)) (Found, error) {
	var found Found
	for ctx.Err() == nil {
		tried, _, err := probe(rate, 1)
		if err != nil || ctx.Err() != nil {
			found.Partial = err == nil
			return found, err
		}
		found.add(tried)
		switch {
		case found.spoiled() >= spoilt && found.Met == 0:
			return found, nil
		case found.Met == 0 && found.Missed > 0 && (found.Missed < 1 || tried.Requests > 0 && tried.Failed == tried.Requests):
			return found, nil // slower makes no sense, or is of no help
		case found.spoiled() >= spoilt: // the rate that was found remains to be confirmed
		case found.Missed == 0 && found.Met >= profiles.MaxRate:
			return found, errors.New("load: the goal is met at every rate")
		case found.Missed == 0:
			rate = min(2*found.Met, profiles.MaxRate)
			continue
		case found.Missed-found.Met > precision*found.Missed:
			rate = (found.Met + found.Missed) / 2
			continue
		}
		confirmed, summary, err := probe(found.Met, confirmation)
		if err != nil || ctx.Err() != nil {
			found.Partial = err == nil
			return found, err
		}
		if confirmed.Met {
			found.Probes, found.At = append(found.Probes, confirmed.result()), summary
			return found, nil
		}
		if confirmed.Void != "" && found.spoiled()+1 >= spoilt {
			found.Probes = append(found.Probes, confirmed.result())
			return found, nil // that this machine is too busy says nothing against the rate
		}
		found.Met = found.below(confirmed.Rate)
		found.add(confirmed)
		rate = (found.Met + found.Missed) / 2
	}
	found.Partial = true
	return found, nil
}

// first is the rate to begin with.
func (s Search) first(ctx context.Context, client *wire.Client, requests []contract.Request, watch func(Workload) Watch) (float64, error) {
	w := s.Workload
	w.Name, w.Clients, w.Duration, w.Phases = "capacity", askers, w.Length(), nil
	summary, err := Run(ctx, client, requests, w, watch(w))
	return max(summary.RequestRate()/2, 1), err
}

// add records the result of a probe.
func (f *Found) add(p attempt) {
	f.Probes = append(f.Probes, p.result())
	if p.Met {
		f.Met = max(f.Met, p.Rate)
	} else if f.Missed == 0 || p.Rate < f.Missed {
		f.Missed = p.Rate
	}
}

// spoiled returns the number of unusable probes.
func (f *Found) spoiled() int {
	n := 0
	for _, p := range f.Probes {
		if p.Void {
			n++
		}
	}
	return n
}

// below returns the highest rate below another that met the goal.
func (f *Found) below(rate float64) float64 {
	highest := 0.0
	for _, p := range f.Probes {
		if p.Met && p.Rate < rate {
			highest = max(highest, p.Rate)
		}
	}
	return highest
}

// probe tries a rate, again and again until chance is ruled out.
func (s Search) probe(ctx context.Context, rate float64, length time.Duration, run func(Workload) (Summary, error)) (attempt, Summary, error) {
	p := attempt{Rate: rate}
	w := s.Workload
	w.Name = plain(rate) + "/s"
	w.Phases = Constant(rate, max(length, min(time.Duration(s.Goal.enough()/rate*float64(time.Second)), longest), time.Duration(2/rate*float64(time.Second))))
	for range patience {
		summary, err := run(w)
		if err != nil || summary.Partial && ctx.Err() != nil {
			return p, summary, err
		}
		p.Requests += summary.Requests + summary.Unanswered
		p.Failed += summary.Failed()
		failing, good := s.failing(p)
		if p.Void = summary.VoidReason(); p.Void != "" && !failing {
			p.Requests, p.Failed, p.Over = 0, 0, 0
			continue // the machine may have more room the next time
		}
		p.Void = "" // what is wrong is wrong, however busy the generator was
		p.Over += over(summary.Response, s.Goal.Limit)
		low, high := interval(p.Over, p.Requests)
		if failing || low > s.Goal.allowed() {
			p.Decided = true
			return p, summary, nil
		}
		if good && high <= s.Goal.allowed() {
			p.Decided, p.Met = true, true
			return p, summary, nil
		}
		if p.Over+p.Failed == 0 && w.Length() >= longest {
			// So slow a rate has not enough requests to rule chance out. None of them failed or took too long.
			p.Met = true
			return p, summary, nil
		}
	}
	return p, Summary{}, nil
}

// failing reports whether more requests fail than allowed, and good whether they do not; neither is true if it may be chance.
func (s Search) failing(p attempt) (failing, good bool) {
	if s.Goal.Errors == 0 {
		return p.Failed > 0, p.Failed == 0
	}
	low, high := interval(p.Failed, p.Requests)
	return low > s.Goal.Errors, high <= s.Goal.Errors
}

// over counts the times that are longer than a limit.
func over(h *hdrhistogram.Histogram, limit time.Duration) uint64 {
	n := uint64(0)
	for _, bar := range h.Distribution() {
		if bar.From > limit.Microseconds() {
			n += uint64(bar.Count)
		}
	}
	return n
}

// interval is that of Clopper and Pearson for the true share, after k of n: quantiles of beta distributions.
func interval(k, n uint64) (low, high float64) {
	alpha := (1 - confidence) / 2
	low, high = 0, 1
	if k > 0 {
		low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), alpha)
	}
	if k < n {
		high = mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-alpha)
	}
	return low, high
}
