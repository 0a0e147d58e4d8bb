package lint

import (
	"strings"
	"testing"
)

// upgradeTests are what a definition breaks that replaces another. What is found is about both versions, unless only one is edited.
func upgradeTests() map[RuleID][]ruleTest {
	none := edits{}
	// at both edits both versions, and there gives both another field.
	both := func(old, now string) edits { return edits{old, now, "second:" + old, now} }
	there := func(fields string) edits { return both(size, size+"              "+fields+"\n") }
	const required = "            required: [size]\n"
	rule := func(text string) edits {
		return both(required, required+"            x-kubernetes-validations: [{rule: \""+text+"\"}]\n")
	}
	rooted := func(text string) edits {
		const root = "        type: object\n        properties:\n          spec:\n"
		return both(root, strings.Replace(root, "object\n", "object\n        x-kubernetes-validations: [{rule: \""+text+"\"}]\n", 1))
	}
	return map[RuleID][]ruleTest{
		StoredValuesDropped: {
			{found: none, line: "          spec:", says: `spec.color: the field is no longer in the schema, so API servers drop it, such as in {"spec":{"color":"`, absent: there("color: {type: string}"), old: there("color: {type: string}")},
			{found: none, line: "          spec:", says: "at v1beta1, spec.color", absent: edits{"served: true", "served: false"}, old: edits{size, size + "              color: {type: string}\n"}},
			{found: there("any: {type: object}"), line: "any:", says: "spec.any", absent: none, old: there("any: {type: object, x-kubernetes-preserve-unknown-fields: true}")},
			{found: edits{"  scope:", "  preserveUnknownFields: false\n  scope:"}, level: Note, line: "preserveUnknownFields:", says: "the old definition keeps fields that its schemas do not name", absent: none, old: edits{"  scope:", "  preserveUnknownFields: true\n  scope:"}},
			{found: there("nil: {type: string}"), level: Warning, line: "nil:", says: "keep nullable: true", absent: there("nil: {type: string, nullable: true}"), old: there("nil: {type: string, nullable: true}")},
		},
		StoredObjectsRefused: {
			{found: both(required, "            required: [size, replicas]\n"), line: "replicas:", says: "spec.replicas: the field is required now, such as in {\"spec\":{\"size\":\"big\"}}; stored objects can be read, but every change to spec is refused", absent: append(both(required, "            required: [size, replicas]\n"), both(replicas, "              replicas: {type: integer, default: 1}\n          status")...), old: none},
			{found: both("        type: object\n        properties:\n          spec:\n", "        type: object\n        required: [spec]\n        properties:\n          spec:\n"), line: "spec:", says: "every change to the object, also to its status, is refused", absent: none, old: none},
			{found: there("l: {type: array, items: {type: object, required: [a], properties: {a: {type: string}}}}"), line: "l:", says: "every change to spec.l is refused", absent: none, old: there("l: {type: array, items: {type: object, properties: {a: {type: string}}}}")},
			{found: there("l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [a, k], properties: {a: {type: string}, k: {type: string}}}}"), line: "l:", says: "every change to spec.l[*] is refused", absent: none, old: there("l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {a: {type: string}, k: {type: string}}}}")},
			{found: rule("!has(self.replicas) || self.replicas < 9"), line: "spec:", says: "a rule must hold now", absent: rule("self.replicas == oldSelf.replicas"), old: none},
			{found: rooted("size(self.metadata.name) <= 40"), level: Warning, line: "openAPIV3Schema:", says: `a rule must hold now: size(self.metadata.name) <= 40, such as in {"metadata":{"name":"a-name-of-some-length-`, absent: rooted("size(self.metadata.name) <= 253"), old: none},
			{found: both(required, required+"            minProperties: 2\n"), line: "spec:", says: "at least 2 fields", absent: none, old: none},
			{found: both(required, required+"            anyOf: [{required: [replicas]}]\n"), line: "spec:", says: "there is an anyOf now", absent: both(required, required+"            anyOf: [{required: [size]}]\n"), old: none},
		},
		ValuesRefused: {
			{found: rule("oldSelf.hasValue() || !has(self.replicas) || self.replicas < 9\", optionalOldSelf: true, message: \"few"), level: Warning, line: "spec:", says: "new objects like it are refused; those that are stored can be changed still", absent: none, old: none},
			{found: rule("self.replicas == oldSelf.replicas"), level: Warning, line: "spec:", says: "spec: a rule must hold now of what is changed: self.replicas == oldSelf.replicas; updates that break it are refused", absent: none, old: none},
			{found: there("mode: {type: string, enum: [a]}"), line: "mode:", says: `at v1beta1 and v1, spec.mode: the value "b" is no longer allowed, such as in {"spec":{"mode":"b","size":"big"}}; writes with it are refused; stored objects keep it`, absent: there("mode: {type: string, enum: [b, a, c]}"), old: there("mode: {type: string, enum: [a, b]}")},
			{found: there("any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}"), level: Note, line: "a:", says: "the schema did not name the field", absent: none, old: there("any: {type: object, x-kubernetes-preserve-unknown-fields: true}")},
			{found: there("mode: {type: string, enum: [a]}"), level: Warning, line: "mode:", says: "only these values are allowed now", absent: there("mode: {type: string}"), old: there("mode: {type: string}")},
			{found: both("maxLength: 9", "maxLength: 5"), line: "size:", says: "at most 5 characters long now, and not 9", absent: both("maxLength: 9", "maxLength: 10"), old: none},
			{found: there("count: {type: integer, maximum: 5}"), line: "count:", says: "at most 5 now", absent: there("count: {type: integer, maximum: 50}"), old: there("count: {type: integer, maximum: 9}")},
			{found: there("count: {type: integer, minimum: 5}"), line: "count:", says: "at least 5 now", absent: there("count: {type: integer, minimum: -1}"), old: there("count: {type: integer, minimum: 1}")},
			{found: there("count: {type: integer, maximum: 9, exclusiveMaximum: true}"), line: "count:", says: "less than 9 now", absent: none, old: there("count: {type: integer, maximum: 9}")},
			{found: there("count: {type: integer, multipleOf: 4}"), line: "count:", says: "a multiple of 4 now", absent: there("count: {type: integer, multipleOf: 2}"), old: there("count: {type: integer, multipleOf: 2}")},
			{found: there("host: {type: string, pattern: '^[a-z]+$'}"), line: "host:", says: "it must match ^[a-z]+$ now, and not only ^[a-z.]+$", absent: there("host: {type: string, pattern: '^[.a-z]+$'}"), old: there("host: {type: string, pattern: '^[a-z.]+$'}")},
			{found: there("at: {type: string, format: date-time}"), level: Warning, line: "at:", says: "the format date-time now", absent: none, old: there("at: {type: string}")},
			{found: there("l: {type: array, items: {type: string, maxLength: 3}}"), line: "l:", says: "stored objects keep it while spec.l does not change", absent: none, old: there("l: {type: array, items: {type: string}}")},
			{found: there("l: {type: array, maxItems: 1, items: {type: string}}"), line: "l:", says: "at most 1 item now", absent: there("l: {type: array, maxItems: 3, items: {type: string}}"), old: there("l: {type: array, maxItems: 2, items: {type: string}}")},
			{found: there("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), level: Warning, line: "l:", says: "its items must be distinct now", absent: none, old: there("l: {type: array, items: {type: string}}")},
		},
		TypeChanged: {{found: there("port: {type: string}"), line: "port:", says: `it was an integer and must be a string now, such as in {"spec":{"port":`, absent: there("port: {x-kubernetes-int-or-string: true}"), old: there("port: {type: integer}")}},
		DefaultChanged: {
			{found: both("default: big", "default: tiny"), line: "size:", says: `the default was "big" and is "tiny" now`, absent: both("default: big", `default: "big"`), old: none},
			{found: both(", default: big", ""), line: "size:", says: `the default was "big", and there is none now`, absent: none, old: none},
			{found: both(replicas, "              replicas: {type: integer, default: 1}\n          status"), level: Note, line: "replicas:", says: "there is a default now, 1", absent: none, old: none},
		},
		ListTypeChanged: {{
			found: there("l: {type: array, items: {type: string}}"), line: "l:", says: "the list was a set and is atomic now",
			absent: there("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), old: there("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"),
		}, {
			found: there("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}"), level: Note, line: "l:", says: "the list was atomic and is a set now",
			absent: none, old: there("l: {type: array, items: {type: string}}"),
		}},
		ValuesExtended: {
			{found: there("mode: {type: string, enum: [a, b]}"), line: "mode:", says: `new values are allowed: "b"`, absent: there("mode: {type: string, enum: [a]}"), old: there("mode: {type: string, enum: [a]}")},
			{found: there("mode: {type: string}"), line: "mode:", says: "any value is allowed now", absent: none, old: there("mode: {type: string, enum: [a]}")},
			{found: there("mode: {type: string, nullable: true}"), line: "mode:", says: "null is allowed now", absent: none, old: there("mode: {type: string}")},
		},
		DifferenceUnshown: {{
			found: there("l: {type: array, maxItems: 100000, items: {type: string}}"), line: "l:", says: "at most 100000 items now: it takes more than 100000",
			absent: there("l: {type: array, items: {type: string}}"), old: there("l: {type: array, items: {type: string}}"),
		}},
		SchemasNotCompared: {{found: there("a: {type: string}"), line: "versions:", says: "the old definition widgets.example.com", absent: none, old: there("a: {}")}},
		SubresourceChanged: {
			{found: edits{"      status: {}\n", ""}, line: "subresources:", says: "v1beta1 no longer has the status subresource", absent: none, old: none},
			{found: none, level: Warning, line: "status: {}", says: "v1beta1 has the status subresource now", absent: edits{"      status: {}\n", ""}, old: edits{"      status: {}\n", ""}},
			{found: edits{"      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}\n", ""}, line: "subresources:", says: "v1beta1 no longer has the scale subresource", absent: none, old: none},
			{found: edits{".spec.replicas", ".spec.count"}, level: Warning, line: "scale:", says: "other paths (.spec.count, .status.replicas, before: .spec.replicas, .status.replicas)", absent: none, old: none},
		},
		SelectableRemoved: {{
			found: none, line: "- name: v1beta1", says: ".spec.size is no longer selectable at v1beta1",
			absent: edits{"storage: false\n", "storage: false\n    selectableFields: [{jsonPath: .spec.size}]\n"}, old: edits{"storage: false\n", "storage: false\n    selectableFields: [{jsonPath: .spec.size}]\n"},
		}},
		ColumnRemoved: {{found: edits{"    - {name: Size,", "    - {name: Length,"}, line: "additionalPrinterColumns", says: "kubectl get: Size;", absent: edits{"jsonPath: .spec.size}\n", "jsonPath: .spec.size}\n    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}\n"}, old: none}},
		NamesChanged: {
			{found: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [w]\n"}, line: "shortNames:", says: "wd is no longer a short name", absent: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [w, wd]\n"}, old: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [wd]\n"}},
			{found: none, line: "names:", says: "no longer in the category acme, so kubectl get acme leaves it out", absent: edits{"kind: Widget\n", "kind: Widget\n    categories: [acme]\n"}, old: edits{"kind: Widget\n", "kind: Widget\n    categories: [acme]\n"}},
			{found: edits{"kind: Widget\n", "kind: Widget\n    singular: widgy\n"}, line: "singular:", says: "singular was widget and is widgy now", absent: edits{"kind: Widget\n", "kind: Widget\n    singular: widget\n"}, old: none},
			{found: edits{"kind: Widget\n", "kind: Widget\n    listKind: Widgets\n"}, line: "listKind:", says: "listKind was WidgetList", absent: edits{"kind: Widget\n", "kind: Widget\n    listKind: WidgetList\n"}, old: none},
		},
		ChartLeavesDefinition: {
			{found: there("color: {type: string}"), line: "name: widgets", says: "drop what only this one has", absent: edits{"metadata:\n", "metadata:\n  labels: {a: b}\n"}, old: none},
			{found: none, line: "name: widgets", says: "needs the kind Widget", absent: none, old: edits{"name: widgets.example.com", "name: gadgets.example.com", "plural: widgets", "plural: gadgets"}},
		},
		WebhookMoved: {
			{found: webhooks("name: widgets}", "name: converter}"), line: "clientConfig:", says: "the webhook was the service system/widgets and is the service system/converter now", absent: webhooks("name: widgets}", "name: widgets, port: 8443}"), old: webhooks()},
		},
		ConversionRemoved: {
			{found: none, level: Error, line: "spec:", says: "cainjector owns caBundle there", absent: webhooks(), old: webhooks()},
			{found: edits{"  versions:\n", "  conversion: {strategy: None}\n  versions:\n"}, line: "conversion:", says: "relabelled and not converted", absent: webhooks(), old: webhooks(injected, "metadata:\n")},
			{found: none, level: Error, line: "spec:", says: "my-injector owns caBundle there", absent: webhooks(), old: webhooks(injected, "metadata:\n  managedFields: [{manager: my-injector, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:spec: {f:conversion: {f:webhook: {f:clientConfig: {f:caBundle: {}}}}}}}]\n")},
		},
	}
}

// TestSameAtSomeVersions names what differs at several versions once.
func TestSameAtSomeVersions(t *testing.T) {
	t.Parallel()
	now := strings.ReplaceAll(plainWidgets, "maxLength: 9", "maxLength: 5")
	if found := of(ValuesRefused, check(t, now, plainWidgets)); len(found) != 1 || !strings.HasPrefix(found[0].Message, "at v1beta1 and v1, spec.size: ") {
		t.Errorf("found %+v", found)
	}
}
