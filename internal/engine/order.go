package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/webhook"
)

// slow are the requirements of a webhook that take most of the time of its chapter.
func slow() []requirement.ID {
	return []requirement.ID{
		requirement.WebhookBatchBadObject, requirement.WebhookBatchSizes, requirement.WebhookConversionEdits, requirement.WebhookConversionGrowth,
		requirement.WebhookConversionHuge, requirement.WebhookConversionPure,
	}
}

// likely are the requirements that webhooks with a defect violate most, as the public operators of the scoreboard show.
func likely() []requirement.ID {
	return []requirement.ID{requirement.WebhookConversionRoundTrip, requirement.WebhookConversionZeroValues}
}

// priority returns the order in which the requirements of a kind are judged, so that a failure is known soon: what failed the last time comes
// first, what needs no API server before what does, and of that what is likely to fail first and what takes long last. The specs of an API
// server have no order, so that none relies on another.
func (p *Plan) priority(kind corpus.Corpus) func(requirement.ID) int {
	if p.want.JudgesServer {
		return nil
	}
	return func(id requirement.ID) int {
		priority := 0
		if p.failedBefore(kind, id) {
			priority += 4
		}
		if id.Area() == webhook.Area.Name {
			priority += 2
			switch {
			case slices.Contains(likely(), id):
				priority++
			case slices.Contains(slow(), id):
				priority--
			}
		}
		return priority
	}
}

func (p *Plan) failedBefore(kind corpus.Corpus, id requirement.ID) bool {
	return p.want.First != nil && p.want.First(nameOf(kind), id)
}

// inTurn returns the kinds in the order in which they are judged: those first of which something failed the last time. Load is sent to the
// first kind, whatever failed.
func (p *Plan) inTurn() []corpus.Corpus {
	kinds := slices.Clone(p.kinds)
	if len(p.loads) > 0 {
		return kinds
	}
	turn := func(kind corpus.Corpus) int {
		if slices.ContainsFunc(p.selected, func(id requirement.ID) bool { return p.failedBefore(kind, id) }) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(kinds, func(a, b corpus.Corpus) int { return turn(a) - turn(b) })
	return kinds
}

// arrange puts what the report says of kinds into the order of their definitions, in which they may not have been judged.
func (s *session) arrange() {
	place := map[string]int{}
	for i, kind := range s.kinds {
		place[nameOf(kind)] = i
	}
	slices.SortStableFunc(s.report.Results, func(a, b reports.Result) int { return place[a.Subject] - place[b.Subject] })
	if w := s.report.Webhook; w != nil {
		slices.SortStableFunc(w.Kinds, func(a, b reports.Kind) int { return place[a.Definition] - place[b.Definition] })
	}
}

// isEnough reports whether a result is the failure at which the run stops.
func (s *session) isEnough(result suites.Result) bool {
	if !s.want.FailFast {
		return false
	}
	verdict, _ := s.Revise(result.Requirement, result.Verdict, result.Reason)
	return s.report.Failing(reports.Result{Verdict: verdict})
}

// noteEnough says in the report what was not judged after the first failure.
func (s *session) noteEnough(left []corpus.Corpus) {
	open := len(s.report.With(requirement.Unknown))
	text := fmt.Sprintf("the run stopped at the first failure: %s not judged", visible.Count(open, "requirement was", "requirements were"))
	var names []string
	for _, kind := range left {
		names = append(names, nameOf(kind))
	}
	if len(names) > 0 {
		text += ", and nothing of " + strings.Join(names, ", ")
	}
	if len(s.loads) > 0 {
		text += "; no load was sent"
	}
	s.note(text)
}
