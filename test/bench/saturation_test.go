//go:build linux

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
func measureSaturation(b *testing.B, others []tool) ([]claim, float64) {
	b.Helper()
	var claims []claim
	var single float64
	for _, c := range []content{{1, 1 << 10}, {500, 1 << 10}} {
		series := saturate(b, c, others)
		own, vegeta := series[loadgenAttack].rate(), series[vegetaAttack].rate()
		if c.Batch == 1 {
			single = own
		}
		seen := []string{
			fmt.Sprintf("loadgen %s, each response judged", series[loadgenAttack]),
			fmt.Sprintf("vegeta %s, none", series[vegetaAttack]),
		}
		for _, t := range others {
			if t.path == "" {
				seen = append(seen, t.name+" is not installed")
				continue
			}
			seen = append(seen, fmt.Sprintf("%s %s", t.name, series[t.name]))
		}
		claims = append(claims, claim{
			what: "saturation against vegeta, " + c.String(), asked: 1, atLeast: true, measured: own / vegeta, unit: "x",
			how: fmt.Sprintf("%s; %d connections at most for each, which is vegeta's MaxWorkers too, medians of %d times %s in turn, each first in another round",
				strings.Join(seen, "; "), connections, saturationRounds, saturationTime),
		})
	}
	return claims, single
}

// series are the outcomes of one generator, round by round.
type series []outcome

// rate is the median of requests a second.
func (s series) rate() float64 { return s.median(outcome.rate) }

func (s series) median(of func(outcome) float64) float64 {
	var values []float64
	for _, o := range s {
		values = append(values, of(o))
	}
	return median(values)
}

// String says how fast the generator is, and what a request costs it.
func (s series) String() string {
	return fmt.Sprintf("%.0f/s at %.3g us of processors a request", s.rate(), s.median(outcome.each))
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
