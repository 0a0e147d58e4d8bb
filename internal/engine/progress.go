package engine

import (
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Progress receives the progress of a run: of a check, a load test, a rehearsal or a disruption. It is never called concurrently.
type Progress interface {
	suites.Progress
	rehearsal.Progress

	// Say reports what is useful later, such as the name of a cluster that is kept.
	Say(text string)

	// Step reports a measurement through an API server, such as "get at v1, 10 at a time", which takes seconds.
	Step(text string)

	// Loading is called when a stage or a probe of a search begins, and returns what receives its progress.
	Loading(w load.Workload) load.Watch

	// Judging reports that the specs for a kind begin, with the URL of its webhook and the name of its definition, if it has one.
	Judging(url, definition string)

	// Checking reports that the specs for an API server begin, with the name of the cluster and its version of Kubernetes.
	Checking(name, version string)

	// Disrupted reports the result of a scenario. The disruption is nil if there are no figures.
	Disrupted(reports.Result, *reports.Disruption)
}

// quiet discards everything.
type quiet struct{}

func (quiet) Started(int)                                   {}
func (quiet) SpecStarted(requirement.ID, string)            {}
func (quiet) SpecDone(suites.Result)                        {}
func (quiet) Note(string)                                   {}
func (quiet) Say(string)                                    {}
func (quiet) Checking(string, string)                       {}
func (quiet) Step(string)                                   {}
func (quiet) Judging(string, string)                        {}
func (quiet) Loading(load.Workload) load.Watch              { return load.Watch{} }
func (quiet) Rehearsing(string, string)                     {}
func (quiet) Stepped(reports.LegStep)                       {}
func (quiet) Disrupted(reports.Result, *reports.Disruption) {}
