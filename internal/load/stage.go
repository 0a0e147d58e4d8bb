package load

import (
	"cmp"
	"strings"

	"github.com/crdconform/crdconform/internal/histogram"
	"github.com/crdconform/crdconform/loadgen"
)

// Stage returns the workload as a stage without measurements.
func (w Workload) Stage() loadgen.Stage {
	s := loadgen.Stage{
		Name: w.Name, Phases: w.Phases, Recorded: len(w.Due) > 0, Clients: w.Clients, Most: w.Requests, InFlight: w.InFlight, Rate: w.Rate(),
		Duration: w.Length().Seconds(), Batch: w.Batch, Bytes: w.Bytes, ReviewVersion: w.ReviewVersion, Pairs: w.Pairs,
	}
	s.JudgeContent = w.JudgeContent
	return s
}

// Stage returns the summary in the form of reports.
func (s Summary) Stage() loadgen.Stage {
	l := s.Workload.Stage()
	l.Workers, l.HTTP = s.Workers, cmp.Or(strings.TrimSuffix(s.Protocol, ".0"), "HTTP")
	l.Seconds, l.Requests, l.Objects, l.Judged, l.Failed = s.Elapsed.Seconds(), s.Requests, s.Objects, s.Requests, s.Failed()
	l.SentPerSecond, l.RequestsPerSecond, l.ObjectsPerSecond = s.SentRate(), s.RequestRate(), s.ObjectRate()
	l.BytesSent, l.BytesReceived = s.BytesOut, s.BytesIn
	l.Response, l.Service, l.Lag = histogram.Times(s.Response), histogram.Times(s.Service), histogram.Times(s.Lag)
	l.Late, l.LateAfter, l.Unsent, l.Unanswered = s.Late, milliseconds(lateAfter), s.Unsent, s.Unanswered
	l.VoidReason, l.Behind = s.VoidReason(), s.Behind()
	l.Partial = s.Partial || l.Behind != "" && s.Requests < s.Workload.Requests // clients did not send all
	l.Errors, l.Violations, l.Findings, l.Generator = s.Errors, s.Violations, s.Findings, s.Generator
	if lost := s.PartialReason(); lost != "" { // the webhook was not under the load that was asked for
		l.VoidReason = strings.TrimPrefix(l.VoidReason+"; "+lost+"; find the cause, and run it again", "; ")
	}
	for _, second := range s.Seconds {
		l.Series = append(l.Series, second.Second)
	}
	return l
}
