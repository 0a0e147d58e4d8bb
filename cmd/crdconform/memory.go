package main

import "runtime/debug"

// softMemory is how much memory a run or a check takes, in bytes, before garbage is collected more often than usual. An API server in the
// process makes much garbage: without it a run takes 600 MiB, of which a third is in use.
const softMemory = 384 << 20

// limitMemory limits the memory unless the user has, and returns what lifts the limit.
func (s streams) limitMemory() func() {
	if s.variable != nil {
		if _, given := s.variable("GOMEMLIMIT"); given {
			return func() {}
		}
	}
	before := debug.SetMemoryLimit(softMemory)
	return func() { debug.SetMemoryLimit(before) }
}
