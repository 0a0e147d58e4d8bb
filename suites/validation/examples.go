package validation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func examples(env *suites.Env) {
	for schema, all := range map[fixtures.Schema][]example{
		fixtures.RulesExamples: table(),
		fixtures.RulesScopes:   scopes(),
		fixtures.RulesNames:    names(),
		fixtures.RulesTypes:    typed(),
		fixtures.RulesLists:    lists(),
	} {
		Describe(string(schema), func() {
			setup := env.With(fixtures.Stable, fixtures.WithSchema(schema)).Together()
			for _, one := range all {
				one.It(setup, more()[one.id])
			}
			if schema == fixtures.RulesLists {
				updatedLists(setup)
			}
		})
	}
}

// more are the examples that need more objects than two.
func more() map[requirement.ID]further {
	return map[requirement.ID]further{
		requirement.ValidationExamplesIntOrString: {keeps: []string{`intOrString: 1000`}, breaks: []string{`intOrString: 99%`}},
		requirement.ValidationScopesArray:         {breaks: []string{`array: [by index]`, `array: [by macro]`}},
	}
}

// table is the documents' table of example rules.
func table() []example {
	return []example{
		{requirement.ValidationExamplesOrdered, "on three fields", `ordered: {minReplicas: 1, replicas: 2, maxReplicas: 3}`, `ordered: {minReplicas: 1, replicas: 4, maxReplicas: 3}`, "ordered"},
		{requirement.ValidationExamplesEntry, "on an entry of a map", `entry: {stateCounts: {Available: 1}}`, `entry: {stateCounts: {Unavailable: 1}}`, "entry"},
		{requirement.ValidationExamplesOneOfTwo, "on two lists", `oneOfTwo: {list1: [a], list2: []}`, `oneOfTwo: {list1: [a], list2: [b]}`, "oneOfTwo"},
		{requirement.ValidationExamplesKey, "on a key of a map", `key: {map1: {MY_KEY: abc, OTHER: "1"}}`, `key: {map1: {MY_KEY: "1"}}`, "key"},
		{
			requirement.ValidationExamplesListMapEntry, "on an entry of a list", `listMapEntry: {envars: [{name: MY_ENV, value: abc}, {name: OTHER, value: "1"}]}`,
			`listMapEntry: {envars: [{name: OTHER, value: abc}, {name: MY_ENV, value: "1"}]}`, "listMapEntry",
		},
		{
			requirement.ValidationExamplesDates, "on dates and a duration", `dates: {created: "2017-05-31T12:00:00Z", ttl: 1h, expired: "2017-05-31T13:00:01Z"}`,
			`dates: {created: "2017-05-31T12:00:00Z", ttl: 1h, expired: "2017-05-31T13:00:00Z"}`, "dates",
		},
		{requirement.ValidationExamplesPrefix, "on a prefix", `prefixed: {health: okay}`, `prefixed: {health: not ok}`, "prefixed"},
		{requirement.ValidationExamplesExists, "on an item of a list", `exists: {widgets: [{key: x, foo: 9}, {key: z, foo: 10}]}`, `exists: {widgets: [{key: x, foo: 10}, {key: z, foo: 9}]}`, "exists"},
		{requirement.ValidationExamplesIntOrString, "on an integer or string", `intOrString: 100%`, `intOrString: 100`, "intOrString"},
		{requirement.ValidationExamplesNamePrefix, "on a name", `prefix: kept-`, `prefix: other-`, ""},
		{requirement.ValidationExamplesDisjoint, "on two sets", `disjoint: {set1: [a, b], set2: [c]}`, `disjoint: {set1: [a, b], set2: [c, a]}`, "disjoint"},
		{requirement.ValidationExamplesKeyed, "on the keys of a map", `keyed: {names: [a, b], details: {b: x, a: x}}`, `keyed: {names: [a, b], details: {a: x, c: x}}`, "keyed"},
		{
			requirement.ValidationExamplesOccurrence, "on the number of items", `occurrence: {primary: a, clusters: [{name: a, region: eu}, {name: b, region: eu}]}`,
			`occurrence: {primary: a, clusters: [{name: a, region: eu}, {name: a, region: us}]}`, "occurrence",
		},
	}
}

// scopes are the documents' rules by what they are scoped to.
func scopes() []example {
	return []example{
		{requirement.ValidationScopesRoot, "at the root", `{spec: {minReplicas: 2, maxDesired: 9}, status: {availableReplicas: 2, actual: 0}}`, `{spec: {minReplicas: 2, maxDesired: 9}, status: {availableReplicas: 1, actual: 0}}`, ""},
		{requirement.ValidationScopesObject, "at an object", `object: {foo: 1}`, `object: {}`, "object"},
		{requirement.ValidationRulesNullAbsent, "that asks for a field", `object: {foo: 1}`, `object: {foo: null}`, "object"},
		{requirement.ValidationScopesMap, "at a map", `map: {xyz: {foo: 1}, other: {foo: 0}}`, `map: {xyz: {foo: 0}, other: {foo: 1}}`, "map"},
		{requirement.ValidationScopesArray, "at a list", `array: [a]`, `array: [a, b]`, "array"},
		{requirement.ValidationScopesScalar, "at an integer", `scalar: 1`, `scalar: 0`, "scalar"},
		{requirement.ValidationScopesRootObject, "at the root object", `{spec: {minReplicas: 0, maxDesired: 9}, status: {availableReplicas: 0, actual: 9}}`, `{spec: {minReplicas: 0, maxDesired: 9}, status: {availableReplicas: 0, actual: 10}}`, ""},
		{requirement.ValidationScopesMapOfObjects, "on a map of objects", `mapOfObjects: {components: {Widget: {priority: 9}}}`, `mapOfObjects: {components: {Widget: {priority: 10}}}`, "mapOfObjects"},
		{requirement.ValidationScopesListOfIntegers, "on a list of integers", `listOfIntegers: {values: [0, 99]}`, `listOfIntegers: {values: [0, 100]}`, "listOfIntegers"},
		{requirement.ValidationScopesString, "at a string", `string: kubernetes`, `string: docker`, "string"},
	}
}

// names are rules on fields whose names are escaped.
func names() []example {
	return []example{
		{requirement.ValidationNamesKeyword, "on a field that is called namespace", `names: {namespace: 1}`, `names: {namespace: 0}`, "names"},
		{requirement.ValidationNamesDash, "on a field with a dash in its name", `names: {x-prop: 1}`, `names: {x-prop: 0}`, "names"},
		{requirement.ValidationNamesUnderscores, "on a field with underscores in its name", `names: {redact__d: 1}`, `names: {redact__d: 0}`, "names"},
		{requirement.ValidationNamesPlain, "on a field that is called string", `names: {string: kubernetes}`, `names: {string: docker}`, "names"},
		{requirement.ValidationNamesDot, "on a field with a dot in its name", `names: {dotted.name: 1}`, `names: {dotted.name: 0}`, "names"},
		{requirement.ValidationNamesSlash, "on a field with a slash in its name", `names: {slashed/name: 1}`, `names: {slashed/name: 0}`, "names"},
		{requirement.ValidationNamesWholeKeyword, "on a field that has a reserved word in its name", `names: {imports: 1}`, `names: {imports: 0}`, "names"},
	}
}

// typed are rules that hold for values of one type in the language only.
func typed() []example {
	return []example{
		{requirement.ValidationTypesObject, "on an object", `object: {foo: 9}`, `object: {foo: 10}`, "object"},
		{requirement.ValidationTypesMap, "on a map", `map: {foo: 9}`, `map: {foo: 10}`, "map"},
		{requirement.ValidationTypesEmbedded, "on an embedded object", `embedded: {apiVersion: v1, kind: Pod, metadata: {name: good, generateName: a-}}`, `embedded: {apiVersion: v1, kind: Pod, metadata: {name: good, generateName: b-}}`, "embedded"},
		{requirement.ValidationTypesPreserved, "on an object that is preserved", `preserved: {foo: 9, other: 10}`, `preserved: {foo: 10, other: 9}`, "preserved"},
		{requirement.ValidationTypesIntOrString, "on an integer or string", `intOrString: 10%`, `intOrString: 10`, "intOrString"},
		{requirement.ValidationTypesList, "on a list", `list: [9, 10]`, `list: [10, 9]`, "list"},
		{requirement.ValidationTypesListMap, "on a list of type map", `listMap: [{name: bar, value: 10}, {name: foo, value: 9}]`, `listMap: [{name: bar, value: 9}, {name: foo, value: 10}]`, "listMap"},
		{requirement.ValidationTypesSet, "on a set", `set: [2, 1]`, `set: [2, 3]`, "set"},
		{requirement.ValidationTypesBoolean, "on a boolean", `boolean: true`, `boolean: false`, "boolean"},
		{requirement.ValidationTypesNumber, "on numbers", `{number: 9, float: 9.5}`, `{number: 10, float: 10.5}`, "number float"},
		{requirement.ValidationTypesInteger, "on integers", `{integer: 9007199254740992, int32: 9}`, `{integer: 9007199254740993, int32: 10}`, "integer int32"},
		{requirement.ValidationTypesNull, "on a field that is null", `nothing: {foo: null}`, `nothing: {foo: 0}`, "nothing"},
		{requirement.ValidationTypesString, "on a string", `string: kubernetes`, `string: docker`, "string"},
		{requirement.ValidationTypesByte, "on bytes", `byte: a3ViZQ==`, `byte: a3ViZXI=`, "byte"},
		{requirement.ValidationTypesDate, "on a date", `date: "2017-12-31"`, `date: "2018-01-01"`, "date"},
		{requirement.ValidationTypesDateTime, "on a date and time", `dateTime: "2018-01-01T00:59:59+01:00"`, `dateTime: "2018-01-01T00:00:00Z"`, "dateTime"},
		{requirement.ValidationTypesDuration, "on a duration", `duration: 59m`, `duration: 60m`, "duration"},
	}
}

// lists are rules on lists in one object.
func lists() []example {
	return []example{
		{requirement.ValidationListsSetEquality, "that two sets are equal", `sets: {left: [1, 2], right: [2, 1]}`, `sets: {left: [1, 2], right: [2, 3]}`, "sets"},
		{requirement.ValidationListsAtomicEquality, "that two lists are equal", `atomic: {left: [1, 2], right: [1, 2]}`, `atomic: {left: [1, 2], right: [2, 1]}`, "atomic"},
		{requirement.ValidationListsSetConcatenation, "on the sum of two sets", `sets: {left: [2, 1], right: [3, 1, 4], sum: [2, 1, 3, 4]}`, `sets: {left: [2, 1], right: [3, 1, 4], sum: [2, 1, 3, 1, 4]}`, "sets"},
	}
}

// updatedLists are the specs of rules on a list and what it was before.
func updatedLists(setup suites.Setup) {
	const before = `{list: [{key: a, value: 1}, {key: b, value: 2}]}`

	setup.It(requirement.ValidationListsMapEquality,
		"updates a list to the same in another order, and to another one", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("equal", `maps: `+before))
			Expect(crd.At("v1").MergePatch(ctx, "equal", `{"maps": {"list": [{"key": "b", "value": 2}, {"key": "a", "value": 1}]}}`)).Error().NotTo(HaveOccurred())
			Expect(crd.At("v1").MergePatch(ctx, "equal", `{"maps": {"list": [{"key": "b", "value": 2}, {"key": "a", "value": 3}]}}`)).Error().To(suites.BeInvalidAt("maps"))
		})

	setup.It(requirement.ValidationListsMapConcatenation,
		"updates a list to one with a wrong sum and with the right sum of both", func(ctx SpecContext, crd *suites.Resource) {
			crd.Create(ctx, "v1", fixtures.CronTab("concatenated", `maps: `+before))
			sum := func(sum string) error {
				return suites.ErrorOf(crd.At("v1").MergePatch(ctx, "concatenated", `{"maps": {"sum": `+sum+`, "list": [{"key": "c", "value": 9}, {"key": "a", "value": 3}, {"key": "d", "value": 4}]}}`))
			}
			Expect(sum(`[1, 2, 9, 4]`)).To(suites.BeInvalidAt("maps"), "values of the first")
			Expect(sum(`[2, 9, 3, 4]`)).To(suites.BeInvalidAt("maps"), "places of the second")
			Expect(sum(`[3, 2, 9, 4]`)).To(Succeed())
		})
}
