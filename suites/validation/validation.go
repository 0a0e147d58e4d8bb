// Package validation checks which schemas API servers take, and which objects they refuse for them: by OpenAPI, and by rules in the
// Common Expression Language.
package validation

import (
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// Area is the chapter on validation.
var Area = suites.Area{Name: "validation", Register: register}

func register(env *suites.Env) {
	restrictions(env)
	objects(env)
	rules(env)
	compilation(env)
	examples(env)
	transitions(env)
	cost(env)
	severalVersions(env)
}

type (
	definition = apiextensionsv1.CustomResourceDefinition
	properties = apiextensionsv1.JSONSchemaProps
)

// at is where API servers see the parts of the schema of a definition that has one version.
const at = "spec.validation.openAPIV3Schema"

// with gives the schema of the first version another property foo.
func with(foo properties) func(crd *definition) {
	return func(crd *definition) { crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["foo"] = foo }
}

// ruled gives a schema rules.
func ruled(schema properties, rules ...string) properties {
	for _, rule := range rules {
		schema.XValidations = append(schema.XValidations, apiextensionsv1.ValidationRule{Rule: rule})
	}
	return schema
}

func items(item properties) *apiextensionsv1.JSONSchemaPropsOrArray {
	return &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
}

func values(value properties) *apiextensionsv1.JSONSchemaPropsOrBool {
	return &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &value}
}

// example is a rule that a schema has, by objects of its own: one that keeps it, and one that breaks it.
type example struct {
	id     requirement.ID
	about  string
	keeps  string // fields of an object, in YAML
	breaks string
	at     string // where the object that breaks it is refused, parted by blanks; empty for the root, which API servers name in different ways
}

// further are fields of more objects that keep the rule of an example, and that break it, where one of each is not enough.
type further struct{ keeps, breaks []string }

// name is the name of the object that breaks the rule.
func (e example) name() string { return strings.ReplaceAll(string(e.id), ".", "-") }

// alone leaves nothing in the schema but the properties that the example is about, and the rules at the root only if it is about them.
func (e example) alone(crd *definition) {
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	about, _ := fixtures.Value(e.keeps).(map[string]any)
	maps.DeleteFunc(schema.Properties, func(name string, _ properties) bool { return about[name] == nil })
	if e.at != "" {
		schema.XValidations = nil
	}
}

// It declares the spec of the example, whose rule is in a schema with many others. Where the API server refuses that, the spec makes
// do with its own part.
func (e example) It(setup suites.Setup, more further) {
	setup.Apart(e.alone).It(e.id, "creates an object that keeps a rule "+e.about+", and one that breaks it", func(ctx SpecContext, crd *suites.Resource) {
		for n, fields := range append([]string{e.keeps}, more.keeps...) {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab(fmt.Sprintf("kept-%s-%d", e.name(), n), fields))).Error().NotTo(HaveOccurred(), fields)
		}
		refused := And(suites.BeInvalidAt(), MatchError(ContainSubstring("failed rule: self.")))
		if e.at != "" {
			refused = suites.BeInvalidAt(strings.Fields(e.at)...)
		}
		Expect(crd.At("v1").Create(ctx, fixtures.CronTab(e.name(), e.breaks))).Error().To(refused)
		for n, fields := range more.breaks {
			Expect(crd.At("v1").Create(ctx, fixtures.CronTab(fmt.Sprintf("%s-%d", e.name(), n+1), fields))).Error().To(refused, fields)
		}
	})
}
