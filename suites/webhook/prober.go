package webhook

import (
	"github.com/crdconform/crdconform/internal/suites"
)

// prober converses with the webhook under test on behalf of all specs of the area. What several specs look at is asked
// once.
type prober struct {
	env *suites.Env

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
	trials     *trials
	keeping    *keeping
	roundTrips *roundTrips
	batches    *batches
	editing    *editing
	fields     *fields
	repetition *repetition
	past       *past
	requests   *requests
	breakdowns *breakdowns
	responses  *responses
	security   *security
}
