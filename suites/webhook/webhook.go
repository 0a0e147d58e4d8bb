// Package webhook checks what a conversion webhook owes the API server. It talks to the webhook directly and needs no
// cluster.
package webhook

import (
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
)

// Area is the chapter on the webhook's side of a conversion.
var Area = area(tick)

// area is the chapter with a time after which the same is asked for again.
func area(tick time.Duration) suites.Area {
	return suites.Area{Name: "webhook", Register: func(env *suites.Env) { register(env, tick) }}
}

func register(env *suites.Env, tick time.Duration) {
	p := &prober{
		env: env,
	}
	p.definition = &definition{env: env}
	p.budget = &budget{env: env}
	p.exhibits = &exhibits{env: env}
	p.connection = &connection{env: env, exhibits: p.exhibits}
	p.talk = &conversation{env: env, exhibits: p.exhibits, connection: p.connection, written: map[*unstructured.Unstructured]json.RawMessage{}}
	p.routes = &routes{env: env, definition: p.definition, connection: p.connection, talk: p.talk}
	p.stock = &stock{
		env: env, definition: p.definition, budget: p.budget, exhibits: p.exhibits, connection: p.connection, talk: p.talk,
		routes: p.routes, pools: map[string]*pool{}, unwanted: map[string][]refusal{},
		everything: map[string][]*unstructured.Unstructured{}, mixed: map[string]int{},
		special: map[string]map[corpus.Style][]*unstructured.Unstructured{},
	}
	p.crossings = &crossings{env: env, definition: p.definition, talk: p.talk, routes: p.routes, stock: p.stock}
	p.standard = &standards{
		env: env, exhibits: p.exhibits, connection: p.connection, talk: p.talk, routes: p.routes, stock: p.stock,
		crossings: p.crossings,
	}
	p.coverage = &coverage{
		env: env, definition: p.definition, stock: p.stock, crossings: p.crossings, of: map[corpus.Pair]*corpus.Coverage{},
		reported: map[corpus.Pair]reports.Coverage{},
	}
	p.journeys = &journeys{talk: p.talk, stock: p.stock, coverage: p.coverage, trips: map[corpus.Pair][]trip{}}
	p.losses = &losses{env: env, definition: p.definition, talk: p.talk, declarations: map[string]bool{}}
	p.effort = &effort{}
	p.survivors = &survivors{
		definition: p.definition, connection: p.connection, talk: p.talk, stock: p.stock, crossings: p.crossings,
		journeys: p.journeys, places: map[corpus.Pair]map[string]bool{},
	}
	p.failures = &failures{
		env: env, definition: p.definition, talk: p.talk, routes: p.routes, stock: p.stock, crossings: p.crossings,
		standard: p.standard, journeys: p.journeys,
	}
	p.dependence = &dependence{
		definition: p.definition, exhibits: p.exhibits, connection: p.connection, talk: p.talk, stock: p.stock,
		crossings: p.crossings, standard: p.standard, journeys: p.journeys, lonely: map[corpus.Pair][]*unstructured.Unstructured{},
	}
	p.recall = &recall{definition: p.definition, talk: p.talk, stock: p.stock, crossings: p.crossings}
	p.findings = &findings{env: env, definition: p.definition}
	p.examiner = &examiner{
		env: env, definition: p.definition, budget: p.budget, connection: p.connection, talk: p.talk, routes: p.routes,
		stock: p.stock, standard: p.standard, journeys: p.journeys, survivors: p.survivors, failures: p.failures,
		dependence: p.dependence, recall: p.recall, findings: p.findings,
	}
	p.trials = &trials{
		env: env, definition: p.definition, budget: p.budget, exhibits: p.exhibits, crossings: p.crossings, standard: p.standard,
		effort: p.effort, survivors: p.survivors, findings: p.findings, examiner: p.examiner,
	}
	p.keeping = &keeping{
		definition: p.definition, stock: p.stock, crossings: p.crossings, coverage: p.coverage, journeys: p.journeys,
		losses: p.losses, effort: p.effort, survivors: p.survivors, failures: p.failures,
	}
	p.roundTrips = &roundTrips{
		env: env, definition: p.definition, talk: p.talk, routes: p.routes, stock: p.stock, journeys: p.journeys, losses: p.losses,
		effort: p.effort, keeping: p.keeping,
	}
	p.batches = &batches{
		env: env, definition: p.definition, exhibits: p.exhibits, talk: p.talk, routes: p.routes, stock: p.stock,
		crossings: p.crossings, standard: p.standard, journeys: p.journeys, effort: p.effort, dependence: p.dependence,
		trials: p.trials, roundTrips: p.roundTrips,
	}
	p.editing = &editing{
		env: env, definition: p.definition, budget: p.budget, talk: p.talk, stock: p.stock, journeys: p.journeys, losses: p.losses,
		effort: p.effort, survivors: p.survivors, keeping: p.keeping,
	}
	p.fields = &fields{
		env: env, definition: p.definition, budget: p.budget, exhibits: p.exhibits, connection: p.connection, talk: p.talk,
		stock: p.stock, crossings: p.crossings, standard: p.standard, coverage: p.coverage, journeys: p.journeys, losses: p.losses,
		effort: p.effort, dependence: p.dependence, findings: p.findings, trials: p.trials, keeping: p.keeping,
	}
	p.repetition = &repetition{
		env: env, definition: p.definition, exhibits: p.exhibits, connection: p.connection, talk: p.talk, stock: p.stock,
		crossings: p.crossings, standard: p.standard, journeys: p.journeys, effort: p.effort, trials: p.trials, tick: tick,
	}
	p.past = &past{
		env: env, definition: p.definition, talk: p.talk, stock: p.stock, crossings: p.crossings, standard: p.standard,
		journeys: p.journeys, losses: p.losses, effort: p.effort, trials: p.trials, keeping: p.keeping, stale: map[string]*earlier{},
	}
	p.requests = &requests{
		env: env, definition: p.definition, exhibits: p.exhibits, connection: p.connection, talk: p.talk, routes: p.routes,
		stock: p.stock, crossings: p.crossings, standard: p.standard, failures: p.failures, trials: p.trials, fields: p.fields,
	}
	p.breakdowns = &breakdowns{
		env: env, definition: p.definition, talk: p.talk, routes: p.routes, stock: p.stock, crossings: p.crossings,
		standard: p.standard, journeys: p.journeys, effort: p.effort, failures: p.failures, trials: p.trials, fields: p.fields,
	}
	p.responses = &responses{
		env: env, definition: p.definition, exhibits: p.exhibits, connection: p.connection, talk: p.talk, stock: p.stock,
		crossings: p.crossings, standard: p.standard, journeys: p.journeys,
	}
	p.security = &security{
		env: env, exhibits: p.exhibits, connection: p.connection, talk: p.talk, routes: p.routes, stock: p.stock,
		standard: p.standard,
	}

	BeforeEach(p.budget.inBudget)
	transport(env, p)
	request(env, p)
	response(env, p)
	batch(env, p)
	conversion(env, p)
	failure(env, p)
}
