package main

import "runtime/debug"

const (
	// softMemory is how much memory a run or a check takes, in bytes, before garbage is collected more often than usual. An API server in
	// the process makes much garbage: without it a run takes 600 MiB, of which a third is in use.
	softMemory = 384 << 20

	// garbage is how much garbage may wait below that limit, in percent of what is in use. Go's 100 would have a check of a wide definition
	// spend a fifth of its processor time on collecting 20 MiB at a time.
	garbage = 200
)

// limitMemory sets when garbage is collected, as far as the user has not, and returns what undoes it.
func (s streams) limitMemory() func() {
	var undo []func()
	if !s.set("GOMEMLIMIT") {
		before := debug.SetMemoryLimit(softMemory)
		undo = append(undo, func() { debug.SetMemoryLimit(before) })
	}
	if !s.set("GOGC") {
		before := debug.SetGCPercent(garbage)
		undo = append(undo, func() { debug.SetGCPercent(before) })
	}
	return func() {
		for _, back := range undo {
			back()
		}
	}
}

// set reports whether the environment has a variable.
func (s streams) set(variable string) bool {
	if s.variable == nil {
		return false
	}
	_, found := s.variable(variable)
	return found
}
