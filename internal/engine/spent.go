package engine

import (
	"time"

	"github.com/crdconform/crdconform/internal/suites"
)

// spend adds to the report what the specs of a kind spent time on. An API server that is judged is in the same process, mostly, and so is what
// it waits for.
func (s *session) spend(began time.Time, outcome suites.Outcome, subject *suites.Subject) {
	if s.want.JudgesServer {
		return
	}
	if s.report.Spent == nil {
		s.report.Spent = map[string]float64{"starting": began.Sub(s.report.Started).Seconds()}
	}
	for _, result := range outcome.Results {
		s.report.Spent["chapter."+result.Requirement.Area()] += result.Duration.Seconds()
	}
	for what, duration := range subject.SpentOn() {
		s.report.Spent[what] += duration.Seconds()
	}
	s.judged = time.Now()
}

// spendStopping adds how long it took to stop everything after the specs.
func (s *session) spendStopping() {
	if s.report.Spent != nil {
		s.report.Spent["stopping"] = time.Since(s.judged).Seconds()
	}
}
