package webhook

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
)

// asking is what it takes to ask the webhook.
type asking struct {
	env        *suites.Env
	definition *definition
	budget     *budget
	exhibits   *exhibits
	connection *connection
	talk       *conversation
	routes     *routes
}

// material is what the webhook is asked to convert, and what came of that. What several specs look at is asked once, and kept in the
// part that asks.
type material struct {
	asking
	stock     *stock
	crossings *crossings
	standard  *standards
	coverage  *coverage
	journeys  *journeys
	losses    *losses
}

// judging is what turns what came back into findings.
type judging struct {
	material
	effort     *effort
	survivors  *survivors
	failures   *failures
	dependence *dependence
	recall     *recall
	findings   *findings
	examiner   *examiner
	causes     *causes
	gathering  *gathering
	trials     *trials
	keeping    *keeping
}

// chapter has the types that the specs are methods of. Each embeds the layer that it needs, and parts embed the layer below their own.
type chapter struct {
	judging

	roundTrips   *roundTrips
	batches      *batches
	editing      *editing
	styles       *styles
	sizes        *sizes
	results      *results
	comparison   *comparison
	expectations *expectations
	repetition   *repetition
	past         *past
	requests     *requests
	breakdowns   *breakdowns
	responses    *responses
	security     *security
}

// assemble makes the parts for one run. The same is asked for again after a tick.
func assemble(env *suites.Env, tick time.Duration) *chapter {
	j := newJudging(newMaterial(newAsking(env)))
	trips := &roundTrips{judging: j}
	return &chapter{
		judging:      j,
		roundTrips:   trips,
		batches:      &batches{judging: j, roundTrips: trips},
		editing:      &editing{judging: j},
		styles:       &styles{judging: j},
		sizes:        &sizes{judging: j},
		results:      &results{judging: j},
		comparison:   &comparison{judging: j},
		expectations: &expectations{material: j.material},
		repetition:   &repetition{judging: j, tick: tick},
		past:         &past{judging: j, stale: map[string]*earlier{}},
		requests:     &requests{judging: j},
		breakdowns:   &breakdowns{judging: j},
		responses:    &responses{material: j.material},
		security:     &security{material: j.material},
	}
}

func newAsking(env *suites.Env) asking {
	a := asking{env: env, definition: &definition{env: env}, budget: &budget{env: env}, exhibits: &exhibits{env: env}}
	a.connection = &connection{env: env, exhibits: a.exhibits}
	a.talk = &conversation{env: env, exhibits: a.exhibits, connection: a.connection, written: map[*unstructured.Unstructured]json.RawMessage{}}
	a.routes = &routes{env: env, definition: a.definition, connection: a.connection, talk: a.talk}
	return a
}

func newMaterial(a asking) material {
	m := material{asking: a, losses: &losses{asking: a, declarations: map[string]bool{}}}
	m.stock = &stock{
		asking: a, pools: map[string]*pool{}, unwanted: map[string][]refusal{},
		everything: map[string][]*unstructured.Unstructured{}, mixed: map[string]int{},
		special: map[string]map[corpus.Style][]*unstructured.Unstructured{},
	}
	m.crossings = &crossings{asking: a, stock: m.stock}
	m.standard = &standards{asking: a, stock: m.stock, crossings: m.crossings}
	m.coverage = &coverage{
		asking: a, stock: m.stock, crossings: m.crossings, of: map[corpus.Pair]*corpus.Coverage{},
		reported: map[corpus.Pair]reports.Coverage{},
	}
	m.journeys = &journeys{asking: a, stock: m.stock, coverage: m.coverage, trips: map[corpus.Pair][]trip{}}
	return m
}

func newJudging(m material) judging {
	j := judging{
		material: m, effort: &effort{}, failures: &failures{material: m}, recall: &recall{material: m}, findings: &findings{asking: m.asking},
		survivors:  &survivors{material: m, known: map[corpus.Pair]*corpus.Survivors{}},
		dependence: &dependence{material: m, lonely: map[corpus.Pair][]*unstructured.Unstructured{}},
	}
	j.examiner = &examiner{asking: m.asking, findings: j.findings}
	j.causes = &causes{material: m, survivors: j.survivors, failures: j.failures, examiner: j.examiner}
	j.gathering = &gathering{material: m, dependence: j.dependence, recall: j.recall, examiner: j.examiner, causes: j.causes}
	j.trials = &trials{material: m, effort: j.effort, survivors: j.survivors, findings: j.findings, gathering: j.gathering}
	j.keeping = &keeping{material: m, effort: j.effort, survivors: j.survivors, failures: j.failures}
	return j
}

// forget drops the objects that were made, and what came of them: of a large definition, more than all that other chapters use. What is asked
// for again is made again.
func (ch *chapter) forget() {
	clear(ch.stock.pools)
	clear(ch.stock.everything)
	clear(ch.stock.special)
	clear(ch.journeys.trips)
	clear(ch.dependence.lonely)
	clear(ch.talk.written)
}
