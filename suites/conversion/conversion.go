// Package conversion checks what passes between the API server and a conversion webhook, as far as the API server is
// bound by it: strategies, how the webhook is reached, requests, what becomes of responses, and failures.
package conversion

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on conversion.
var Area = suites.Area{Name: "conversion", Register: register}

func register(env *suites.Env) {
	converted := env.With(fixtures.Webhook).InTurn()
	none(env)
	client(env)
	request(env, converted)
	response(env, converted)
	metadata(env, converted)
	failure(env, converted)
}

type definition = apiextensionsv1.CustomResourceDefinition

// failConversion matches the error of a request whose conversion failed.
func failConversion() types.GomegaMatcher {
	return MatchError(ContainSubstring("conversion webhook for "))
}
