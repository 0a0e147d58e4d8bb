package webhook

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
)

// chapter is made of parts. Each says at its fields which of those above it it uses. What several specs look at is asked once, and
// kept in the part that asks.
type chapter struct {
	definition *definition
	budget     *budget
	exhibits   *exhibits
	connection *connection
	talk       *conversation
	routes     *routes
	stock      *stock
	crossings  *crossings
	standard   *standards
	coverage   *coverage
	journeys   *journeys
	losses     *losses
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

	// the specs
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
	ch := &chapter{}
	ch.definition = &definition{env: env}
	ch.budget = &budget{env: env}
	ch.exhibits = &exhibits{env: env}
	ch.connection = &connection{env: env, exhibits: ch.exhibits}
	ch.talk = &conversation{env: env, exhibits: ch.exhibits, connection: ch.connection, written: map[*unstructured.Unstructured]json.RawMessage{}}
	ch.routes = &routes{env: env, definition: ch.definition, connection: ch.connection, talk: ch.talk}
	ch.stock = &stock{
		env: env, definition: ch.definition, budget: ch.budget, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk,
		routes: ch.routes, pools: map[string]*pool{}, unwanted: map[string][]refusal{},
		everything: map[string][]*unstructured.Unstructured{}, mixed: map[string]int{},
		special: map[string]map[corpus.Style][]*unstructured.Unstructured{},
	}
	ch.crossings = &crossings{env: env, definition: ch.definition, talk: ch.talk, routes: ch.routes, stock: ch.stock}
	ch.standard = &standards{
		env: env, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, routes: ch.routes, stock: ch.stock,
		crossings: ch.crossings,
	}
	ch.coverage = &coverage{
		env: env, definition: ch.definition, stock: ch.stock, crossings: ch.crossings, of: map[corpus.Pair]*corpus.Coverage{},
		reported: map[corpus.Pair]reports.Coverage{},
	}
	ch.journeys = &journeys{talk: ch.talk, stock: ch.stock, coverage: ch.coverage, trips: map[corpus.Pair][]trip{}}
	ch.losses = &losses{env: env, definition: ch.definition, talk: ch.talk, declarations: map[string]bool{}}
	ch.effort = &effort{}
	ch.survivors = &survivors{
		definition: ch.definition, connection: ch.connection, talk: ch.talk, stock: ch.stock, crossings: ch.crossings,
		journeys: ch.journeys, places: map[corpus.Pair]map[string]bool{},
	}
	ch.failures = &failures{
		env: env, definition: ch.definition, talk: ch.talk, routes: ch.routes, stock: ch.stock, crossings: ch.crossings,
		standard: ch.standard, journeys: ch.journeys,
	}
	ch.dependence = &dependence{
		definition: ch.definition, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, stock: ch.stock,
		crossings: ch.crossings, standard: ch.standard, journeys: ch.journeys, lonely: map[corpus.Pair][]*unstructured.Unstructured{},
	}
	ch.recall = &recall{definition: ch.definition, talk: ch.talk, stock: ch.stock, crossings: ch.crossings}
	ch.findings = &findings{env: env, definition: ch.definition}
	ch.examiner = &examiner{
		env: env, definition: ch.definition, budget: ch.budget, connection: ch.connection, talk: ch.talk, findings: ch.findings,
	}
	ch.causes = &causes{
		env: env, definition: ch.definition, budget: ch.budget, connection: ch.connection, talk: ch.talk, routes: ch.routes,
		stock: ch.stock, journeys: ch.journeys, survivors: ch.survivors, failures: ch.failures, examiner: ch.examiner,
	}
	ch.gathering = &gathering{
		connection: ch.connection, talk: ch.talk, standard: ch.standard, dependence: ch.dependence, recall: ch.recall,
		examiner: ch.examiner, causes: ch.causes,
	}
	ch.trials = &trials{
		env: env, definition: ch.definition, budget: ch.budget, exhibits: ch.exhibits, crossings: ch.crossings, standard: ch.standard,
		effort: ch.effort, survivors: ch.survivors, findings: ch.findings, gathering: ch.gathering,
	}
	ch.keeping = &keeping{
		definition: ch.definition, talk: ch.talk, stock: ch.stock, crossings: ch.crossings, coverage: ch.coverage, journeys: ch.journeys,
		losses: ch.losses, effort: ch.effort, survivors: ch.survivors, failures: ch.failures,
	}
	ch.roundTrips = &roundTrips{
		env: env, definition: ch.definition, talk: ch.talk, routes: ch.routes, stock: ch.stock, journeys: ch.journeys, losses: ch.losses,
		effort: ch.effort, keeping: ch.keeping,
	}
	ch.batches = &batches{
		env: env, definition: ch.definition, exhibits: ch.exhibits, talk: ch.talk, routes: ch.routes, stock: ch.stock,
		crossings: ch.crossings, standard: ch.standard, journeys: ch.journeys, effort: ch.effort, dependence: ch.dependence,
		trials: ch.trials, roundTrips: ch.roundTrips,
	}
	ch.editing = &editing{
		env: env, definition: ch.definition, budget: ch.budget, talk: ch.talk, stock: ch.stock, journeys: ch.journeys, losses: ch.losses,
		effort: ch.effort, survivors: ch.survivors, keeping: ch.keeping,
	}
	ch.styles = &styles{
		env: env, definition: ch.definition, exhibits: ch.exhibits, talk: ch.talk, stock: ch.stock, crossings: ch.crossings,
		standard: ch.standard, journeys: ch.journeys, losses: ch.losses, effort: ch.effort, trials: ch.trials, keeping: ch.keeping,
	}
	ch.sizes = &sizes{
		env: env, definition: ch.definition, budget: ch.budget, connection: ch.connection, talk: ch.talk, stock: ch.stock,
		crossings: ch.crossings, standard: ch.standard, journeys: ch.journeys, effort: ch.effort, findings: ch.findings,
		trials: ch.trials, keeping: ch.keeping,
	}
	ch.results = &results{
		env: env, definition: ch.definition, budget: ch.budget, stock: ch.stock, crossings: ch.crossings, standard: ch.standard,
		journeys: ch.journeys, losses: ch.losses, effort: ch.effort, dependence: ch.dependence, findings: ch.findings,
		trials: ch.trials, keeping: ch.keeping,
	}
	ch.comparison = &comparison{
		env: env, definition: ch.definition, stock: ch.stock, standard: ch.standard, journeys: ch.journeys, losses: ch.losses,
		effort: ch.effort, dependence: ch.dependence, trials: ch.trials,
	}
	ch.expectations = &expectations{
		env: env, definition: ch.definition, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, standard: ch.standard,
	}
	ch.repetition = &repetition{
		env: env, definition: ch.definition, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, stock: ch.stock,
		crossings: ch.crossings, standard: ch.standard, journeys: ch.journeys, effort: ch.effort, trials: ch.trials, tick: tick,
	}
	ch.past = &past{
		env: env, definition: ch.definition, talk: ch.talk, stock: ch.stock, crossings: ch.crossings, standard: ch.standard,
		journeys: ch.journeys, losses: ch.losses, effort: ch.effort, trials: ch.trials, keeping: ch.keeping, stale: map[string]*earlier{},
	}
	ch.requests = &requests{
		env: env, definition: ch.definition, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, routes: ch.routes,
		stock: ch.stock, crossings: ch.crossings, standard: ch.standard, failures: ch.failures, trials: ch.trials, keeping: ch.keeping,
	}
	ch.breakdowns = &breakdowns{
		env: env, definition: ch.definition, talk: ch.talk, routes: ch.routes, stock: ch.stock, crossings: ch.crossings,
		standard: ch.standard, journeys: ch.journeys, effort: ch.effort, failures: ch.failures, trials: ch.trials, keeping: ch.keeping,
	}
	ch.responses = &responses{
		env: env, definition: ch.definition, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, stock: ch.stock,
		crossings: ch.crossings, standard: ch.standard, journeys: ch.journeys,
	}
	ch.security = &security{
		env: env, exhibits: ch.exhibits, connection: ch.connection, talk: ch.talk, routes: ch.routes, stock: ch.stock,
		standard: ch.standard,
	}
	return ch
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
