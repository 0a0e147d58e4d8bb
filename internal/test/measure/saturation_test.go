//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// How generators are compared: each in turn, several times over, so that what slows the machine down for a while slows all
// of them. Here they are meant to be at their limits, so loadgen may call its runs void.
const (
	saturationRounds = 5
	saturationTime   = 3 * time.Second
	connections      = 64
)

// measureSaturation compares how many requests a second generators get answered by a server that costs next to nothing. It
// returns loadgen's rate with one object as well.
func measureSaturation(b *testing.B, others []tool) ([]figures.Claim, float64) {
	b.Helper()
	var measured []figures.Claim
	var single float64
	for _, promise := range []struct {
		content

		rate float64 // of vegeta's, at least
		cost float64 // of processors a request, of vegeta's, at most
		goal bool    // whether that is not promised yet
	}{
		// 1.48 to 2.08 and 0.53 to 0.54 were seen on a busy machine: the server, the kernel, TLS and vegeta's work for a hit are the same for both.
		{content{1, 1 << 10}, 1.6, 0.55, true},
		// 1.14 to 1.44 and 0.63 to 0.67 were seen on a busy machine: most of it is TLS, and copying by the kernel.
		{content{500, 1 << 10}, 1.4, 0.8, true},
	} {
		c := promise.content
		var all map[string]series
		pace, err := figures.Paced(func() { all = saturate(b, c, others) })
		if err != nil {
			b.Fatal(err)
		}
		own, vegeta := all[loadgenAttack].rate(), all[vegetaAttack].rate()
		if c.Batch == 1 {
			single = own
		}
		seen := []string{
			fmt.Sprintf("loadgen %s, each response judged", all[loadgenAttack]),
			fmt.Sprintf("vegeta %s, none", all[vegetaAttack]),
		}
		how := fmt.Sprintf("%s; %d connections at most for each, which is vegeta's MaxWorkers too, medians of %d times %s in turn, each first in another round",
			strings.Join(seen, "; "), connections, saturationRounds, saturationTime)
		measured = append(measured, figures.Claim{
			What: "saturation against vegeta, " + c.String(), Asked: promise.rate, AtLeast: true, Goal: promise.goal, Measured: own / vegeta, Unit: "x", How: how, Missing: pace.Busy(),
		}, figures.Claim{
			What: "processor time a request against vegeta's, " + c.String(), Asked: promise.cost, Goal: promise.goal, Measured: all[loadgenAttack].each() / all[vegetaAttack].each(), Unit: "x", How: how, Missing: pace.Busy(),
		})
		for _, t := range others {
			measured = append(measured, t.against(c, own, all[t.name]))
		}
	}
	return measured, single
}

// series are the outcomes of one generator, round by round.
type series []outcome

// rate is the median of requests a second.
func (s series) rate() float64 { return s.median(outcome.rate) }

// each is the median of microseconds of processors a request.
func (s series) each() float64 { return s.median(outcome.each) }

func (s series) median(of func(outcome) float64) float64 {
	var values []float64
	for _, o := range s {
		values = append(values, of(o))
	}
	return median(values)
}

// String says how fast the generator is, and what a request costs it.
func (s series) String() string {
	return fmt.Sprintf("%.0f/s at %.3g us of processors a request", s.rate(), s.each())
}

// saturate has each of the generators attack in each round.
func saturate(b *testing.B, c content, others []tool) map[string]series {
	b.Helper()
	requests := c.requests(b)[:1] // most tools send one only
	server := start(b, cannedServer, requests[0])
	defer server.stop(b)
	a := attack{Requests: requests, Connections: connections, Duration: saturationTime}
	server.read(b, &a.Endpoint)
	all := map[string]series{}
	add := func(name string, o outcome) {
		b.Logf("%s, %s: %.0f/s at %.3g us of processors a request", c, name, o.rate(), o.each())
		all[name] = append(all[name], o)
	}
	generators := []func(){
		func() { add(loadgenAttack, a.by(b, loadgenAttack)) },
		func() { add(vegetaAttack, a.by(b, vegetaAttack)) },
	}
	for _, t := range others {
		if t.path != "" {
			generators = append(generators, func() { add(t.name, t.attack(b, a)) })
		}
	}
	for round := range saturationRounds {
		inTurn(round, generators...)
	}
	return all
}
