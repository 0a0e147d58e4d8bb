package engine

import (
	"github.com/crdconform/crdconform/internal/load"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Progress is told how a check goes on. The calls come one after another.
type Progress interface {
	suites.Progress

	// Note is told what goes on between the specs, such as "starting an API server".
	Note(text string)

	// Say is told what is good to know later, such as where a cluster stays.
	Say(text string)

	// Step is told what is measured through an API server, such as "get at v1, 10 at a time", which takes seconds.
	Step(text string)

	Loading

	// Judging is told that the specs for a kind begin, which have the URL of its webhook and the name of its definition. The
	// name is empty where there is none.
	Judging(url, definition string)

	// Checking is told that the specs for an API server begin: the name of the cluster, and its version of Kubernetes.
	Checking(name, version string)
}

// quiet shows nothing.
type quiet struct{}

func (quiet) Started(int)                        {}
func (quiet) SpecStarted(requirement.ID, string) {}
func (quiet) SpecDone(suites.Result)             {}
func (quiet) Note(string)                        {}
func (quiet) Say(string)                         {}
func (quiet) Checking(string, string)            {}
func (quiet) Step(string)                        {}
func (quiet) Judging(string, string)             {}
func (quiet) Loading(load.Workload) load.Watch   { return load.Watch{} }
