package crdconform

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/loadgen"
	"github.com/crdconform/crdconform/reports"
)

// add adds what came of a stage.
func add(stages *[]reports.Stage, summary loadgen.Summary, repeat int) error {
	s, err := stageOf(summary)
	if err != nil {
		return err
	}
	s.Repeat = repeat
	for i := range s.Findings {
		for j := range s.Findings[i].Files {
			file := &s.Findings[i].Files[j]
			file.Path = fmt.Sprintf("load/%d-%s", len(*stages)+1, file.Path)
		}
	}
	*stages = append(*stages, *s)
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// planned is a workload as a stage of which nothing is measured yet.
func planned(w loadgen.Workload) *reports.Stage {
	l := &reports.Stage{
		Name: w.Name, Recorded: len(w.Due) > 0, Clients: w.Clients, Most: w.Requests, InFlight: w.InFlight, Rate: w.Rate(),
		Duration: w.Length().Seconds(), Batch: w.Batch, Bytes: w.Bytes, ReviewVersion: w.ReviewVersion,
	}
	if w.JudgeEvery > 1 {
		l.JudgeEvery = w.JudgeEvery
	}
	for _, p := range w.Phases {
		l.Phases = append(l.Phases, reports.Phase{Seconds: p.Duration.Seconds(), Rate: p.Rate, To: p.To})
	}
	for _, p := range w.Pairs {
		l.Pairs = append(l.Pairs, reports.Pair{From: p.From, To: p.To})
	}
	return l
}

// stageOf translates what came of a workload for a report.
func stageOf(s loadgen.Summary) (*reports.Stage, error) {
	response, err1 := reports.NewTimes(s.Response)
	service, err2 := reports.NewTimes(s.Service)
	lag, err3 := reports.NewTimes(s.Lag)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	g, l := s.Generator, planned(s.Workload)
	l.Workers, l.HTTP = s.Workers, cmp.Or(strings.TrimSuffix(s.Protocol, ".0"), "HTTP")
	l.Seconds, l.Requests, l.Objects, l.Judged, l.Failed = s.Elapsed.Seconds(), s.Requests, s.Objects, s.Judged, s.Failed()
	l.SentPerSecond, l.RequestsPerSecond, l.ObjectsPerSecond = s.SentRate(), s.RequestRate(), s.ObjectRate()
	l.BytesSent, l.BytesReceived = s.BytesOut, s.BytesIn
	l.Response, l.Service, l.Lag = response, service, lag
	l.Late, l.LateAfter, l.Unsent, l.Unanswered = s.Late, milliseconds(s.LateAfter()), s.Unsent, s.Unanswered
	l.VoidReason, l.Behind = s.VoidReason(), s.Behind()
	l.Partial = s.Partial || l.Behind != "" && s.Requests < s.Workload.Requests // clients did not send all
	l.Errors, l.Violations = map[string]uint64{}, s.Violations
	l.Generator = reports.Generator{
		ProcessorSeconds: g.Processor.Seconds(), Cores: g.Cores, Collections: g.Collections,
		Paused: milliseconds(g.Paused), Waited: milliseconds(g.Waited),
	}
	if lost := s.PartialReason(); lost != "" { // the webhook was not under the load that was asked for
		l.VoidReason = strings.TrimPrefix(l.VoidReason+"; "+lost+"; find out why, and run it again", "; ")
	}
	for kind, n := range s.Errors {
		l.Errors[string(kind)] = n
	}
	if good := 1 - float64(l.Failed)/float64(max(l.Requests, 1)); good > 0 {
		l.ObjectsPerSecond *= (1 - failedShare(*l)) / good
	}
	for _, second := range s.Seconds {
		l.Series = append(l.Series, reports.Second{
			End: second.End.Seconds(), Requests: second.Requests, Objects: second.Objects, Failed: second.Failed,
			P50: milliseconds(second.P50), P90: milliseconds(second.P90), P99: milliseconds(second.P99), Max: milliseconds(second.Max),
		})
	}
	for _, f := range s.Findings {
		l.Findings = append(l.Findings, findingOf(f))
	}
	return l, nil
}

// findingOf translates a violation for a report, with its exchange as files.
func findingOf(f loadgen.Finding) reports.LoadFinding {
	finding := reports.LoadFinding{
		Request: f.Request, Requirement: f.Violation.Requirement, Tolerated: f.Violation.Severity == contract.Tolerated, Text: f.Violation.String(),
	}
	for _, file := range []reports.File{
		{Path: fmt.Sprintf("%d-request.json", f.Request), Data: f.Sent},
		{Path: fmt.Sprintf("%d-response", f.Request), Data: f.Received},
	} {
		if file.Data != nil {
			finding.Files = append(finding.Files, file)
		}
	}
	return finding
}
