// Package defaulting checks when API servers fill in the defaults of schemas, which version's, and what they do with nulls.
package defaulting

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
)

// Area is the chapter on defaulting.
var Area = suites.Area{Name: "defaulting", Register: register}

func register(env *suites.Env) {
	requests(env)
	reads(env)
	defaults(env)
	nullable(env)
	severalVersions(env)
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	properties = apiextensionsv1.JSONSchemaProps
)

// text is the schema of a string with a default.
func text(value string) properties { return defaulted(properties{Type: "string"}, `"`+value+`"`) }

// defaulted gives a schema a default, in JSON.
func defaulted(schema properties, value string) properties {
	schema.Default = &apiextensionsv1.JSON{Raw: []byte(value)}
	return schema
}

// have matches an object that has a field with a value, in YAML.
func have(field, value string) types.GomegaMatcher {
	want := fixtures.Value(value)
	if want == nil {
		return HaveField("Object", HaveKeyWithValue(field, BeNil()))
	}
	return HaveField("Object", HaveKeyWithValue(field, want))
}

// haveNo matches an object that does not have a field.
func haveNo(field string) types.GomegaMatcher { return HaveField("Object", Not(HaveKey(field))) }
