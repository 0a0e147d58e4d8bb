// Package webhook checks what a conversion webhook owes the API server. It talks to the webhook directly and needs no
// cluster.
package webhook

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on the webhook's side of a conversion.
var Area = area(tick)

// area is the chapter with a time after which the same is asked for again.
func area(tick time.Duration) suites.Area {
	return suites.Area{Name: "webhook", Register: func(env *suites.Env) { register(env, tick) }}
}

func register(env *suites.Env, tick time.Duration) *chapter {
	ch := assemble(env, tick)
	BeforeEach(ch.budget.inBudget)
	AfterEach(func() {
		if env.Last() {
			ch.forget()
		}
	})
	transport(env, ch)
	request(env, ch)
	response(env, ch)
	batch(env, ch)
	conversion(env, ch)
	failure(env, ch)
	return ch
}
