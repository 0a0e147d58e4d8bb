//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// inTurn calls functions, each once, and begins with another one in each round: what comes first finds another machine than what
// comes last.
func inTurn(round int, all ...func()) {
	for i := range all {
		all[(round+i)%len(all)]()
	}
}

func TestInTurn(t *testing.T) {
	var order strings.Builder
	add := func(name string) func() { return func() { order.WriteString(name) } }
	for round := range 4 {
		inTurn(round, add("a"), add("b"), add("c"))
	}
	if got := order.String(); got != "abcbcacababc" {
		t.Errorf("the order is %s", got)
	}
}
