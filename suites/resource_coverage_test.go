package suites_test

import (
	"fmt"
	"testing"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/suites/resource"
)

// TestResourceCoverage has each field written at each version in each way that clients write, with any seed: of a union too, of which no
// object has more than one.
func TestResourceCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the chapter runs once more")
	}
	const union = `{level: {type: integer, minimum: 1}, way: {type: object, maxProperties: 1, minProperties: 1, properties: {
		a: {type: object, properties: {size: {type: integer}}}, b: {type: object, properties: {name: {type: string}}}, c: {type: object, properties: {active: {type: boolean}}}, d: {type: string}}}}`
	passesOn := rewriting(func(_, _ string, _ map[string]any) {})
	subresources := "{status: {}, scale: {specReplicasPath: .spec.level, statusReplicasPath: .status.replicas}}"
	for _, seed := range []int64{1, 2} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			s := subject(t, passesOn, corpusOf(t, twin(union, union, subresources), ""))
			var written []reports.Coverage
			s.Written = func(all []reports.Coverage) { written = all }
			env := suitetest.Env(t, suites.Options{Cluster: apiServer.Cluster(t), Subject: s, Seed: seed})
			if _, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{}); err != nil {
				t.Fatal(err)
			}
			totals := map[string]int{}
			for _, c := range written {
				totals[c.Verb+" at "+c.From] = c.Total
				if c.Exercised != c.Total || len(c.Never) > 0 {
					t.Errorf("%s at %s: %d of %d, never %v", c.Verb, c.From, c.Exercised, c.Total, c.Never)
				}
			}
			for _, version := range []string{"v1", "v2"} {
				for verb, least := range map[string]int{"create": 9, "update": 9, "json patch": 9, "merge patch": 9, "apply": 9, "status": 3, "scale": 1} {
					if totals[verb+" at "+version] < least {
						t.Errorf("%s at %s: %d fields, want at least %d", verb, version, totals[verb+" at "+version], least)
					}
				}
			}
		})
	}
}
