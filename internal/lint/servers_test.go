package lint

import (
	"strings"
	"testing"
)

// serverTests are what servers and tools refuse, or do without an error.
func serverTests() map[RuleID][]ruleTest {
	none := edits{}
	both := func(old, now string) edits { return edits{old, now, "second:" + old, now} }
	there := func(fields string) edits { return both(size, size+"              "+fields+"\n") }
	described := func(bytes int) edits {
		return edits{"type: object\n", "type: object\n        description: " + strings.Repeat("x", bytes) + "\n"}
	}
	rule := func(text string) string {
		return "addr: {type: string, x-kubernetes-validations: [{rule: \"" + text + "\"}]}"
	}
	named := func(text string) edits {
		const root = "        type: object\n        properties:\n          spec:\n"
		return both(root, strings.Replace(root, "object\n", "object\n        x-kubernetes-validations:\n        - rule: \""+text+"\"\n", 1))
	}
	const selector = "statusReplicasPath: .status.replicas"
	selects := func(schema string) edits {
		return append(both(selector, selector+", labelSelectorPath: .status.selector"),
			both("          status:\n            type: object\n            properties:\n", "          status:\n            type: object\n            properties:\n              selector: "+schema+"\n")...)
	}
	return map[RuleID][]ruleTest{
		DefinitionTooLarge: {
			{found: described(262_144), line: "spec:", says: "kubectl apply --server-side", absent: described(250_000)},
			{found: described(1_600_000), level: Error, line: "spec:", says: "etcd refuses more than 1572864 bytes", absent: described(2000)},
		},
		NeedsKubernetes: {
			{found: there(rule("isIP(self)")), line: "rule", says: "this needs Kubernetes 1.31 or newer: isIP in rules (1.31; older servers reject the definition); say so", absent: there(rule("self.size() > 2"))},
			{found: there(rule("isIP(self) || format.dns1123Subdomain().validate(self).hasValue()")), line: "rule", says: "1.32 or newer: format, dns1123Subdomain, validate in rules (1.32; older servers reject the definition), isIP in rules (1.31;", absent: there(rule("isip(self)"))},
			{found: there("a: {type: string, x-kubernetes-validations: [{rule: \"oldSelf.hasValue() || self != ''\", optionalOldSelf: true}]}"), line: "rule", says: "optionalOldSelf (1.30; older servers drop it", absent: there("a: {type: string, x-kubernetes-validations: [{rule: \"self != ''\"}]}")},
			{found: both("    subresources:\n", "    selectableFields: [{jsonPath: .spec.size}]\n    subresources:\n"), line: "selectableFields", says: "selectableFields (1.31; older servers drop it", absent: none},
			{found: named("self.metadata.name.split('-').all(x, x.matches('^[a-z0-9]+$') && x.size() < 20 && !x.contains('zzzzz'))"), line: "- rule:", says: "1.37 or newer: a rule about the name of objects that costs too much if it has no limit (1.37; older servers reject", absent: named("self.metadata.name.size() < 40")},
			{found: there("a: {type: string, format: k8s-short-name}"), line: "a:", says: "the format k8s-short-name (1.34; older servers ignore it)", absent: there("a: {type: string, format: hostname}")},
		},
		NameTaken: {
			{found: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [widget]\n"}, line: "shortNames", says: "the name of the resource itself", absent: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [wid]\n"}},
			{found: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [wd, po]\n"}, line: "shortNames", says: "po belongs to a resource of Kubernetes", absent: none},
		},
		VersionOrder: {{
			found: edits{"second:- name: v1\n", "- name: v1api2023\n"}, line: "name: v1api2023", says: "clients that name no version, such as kubectl get, get v1beta1 and not the storage version v1api2023",
			absent: edits{"second:- name: v1\n", "- name: v1api2023\n", "served: true", "served: false"},
		}},
		ScaleType: {
			{found: selects("{type: object}"), line: "scale:", says: ".status.selector is of type object at v1beta1 and must be of type string", absent: selects("{type: string}")},
			{found: both(replicas, "              replicas: {type: string}\n          status"), line: "scale:", says: ".spec.replicas is of type string at v1beta1 and must be of type integer", absent: none},
		},
		ListTypeDiffers: {
			{found: edits{size, size + "              l: {type: array, items: {type: string}}\n", "second:" + size, size + "              l: {type: array, x-kubernetes-list-type: set, items: {type: string}}\n"}, line: "l:", says: "merges differently at v1beta1 than at v1: spec.l; who applies", absent: there("l: {type: array, x-kubernetes-list-type: set, items: {type: string}}")},
			{found: webhooks(size, size+"              m: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}\n", "second:"+size, size+"              m: {type: object, properties: {a: {type: string}}}\n"), line: "m:", says: "spec.m; who applies", absent: none},
			{found: webhooks(size, size+"              m: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}\n", "second:"+size, size+"              m: {type: object, properties: {b: {type: string}}}\n"), level: Note, line: "m:", says: "if the webhook takes them for the same", absent: none},
		},
		DefaultAtOne: {{
			found: edits{replicas, "              replicas: {type: integer, default: 2}\n          status"}, line: "replicas:", says: "default at v1beta1, but none at v1: spec.replicas",
			absent: edits{replicas, "              replicas: {type: integer, default: 0}\n          status"},
		}},
		FieldOmitted: {
			{found: edits{"storage: false", "storage: false\n    deprecated: false"}, line: "deprecated", says: "leave out spec.versions[0].deprecated, so tools", absent: edits{"storage: false", "storage: false\n    deprecated: true\n    deprecationWarning: " + "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"}},
			{found: edits{"kind: Widget\n", "kind: Widget\n    shortNames: []\n", size, size + "              l: {type: string, nullable: false}\n"}, line: "shortNames", says: "spec.names.shortNames, spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.l.nullable", absent: append(there("l: {type: string, nullable: true, default: ''}"), "  scope:", "  preserveUnknownFields: false\n  scope:", "spec:\n", "status: {storedVersions: [], acceptedNames: {kind: \"\", plural: \"\"}, conditions: []}\nspec:\n")},
		},
		MetadataPruned: {
			{found: there("template: {type: object, properties: {metadata: {type: object}, spec: {type: object, properties: {image: {type: string}}}}}"), line: "template:", says: "drop all labels and annotations in spec.template.metadata at v1beta1", absent: there("template: {type: object, properties: {metadata: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}}}")},
			{found: there("claims: {type: array, items: {type: object, properties: {metadata: {type: object}}}}"), line: "claims:", says: "spec.claims[].metadata", absent: there("claims: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}")},
			{found: there("template: {type: object, properties: {metadata: {type: object}}}"), line: "template:", says: "spec.template.metadata", absent: there("template: {type: object, properties: {metadata: {type: object, x-kubernetes-preserve-unknown-fields: true}}}")},
		},
		UninstallDeletes: {
			{found: edits{"metadata:\n", "metadata:\n  annotations: {meta.helm.sh/release-name: widgets}\n"}, line: "name: widgets.example.com", says: "helm uninstall deletes the definition, and with it all its objects", absent: edits{"metadata:\n", "metadata:\n  annotations: {meta.helm.sh/release-name: widgets, helm.sh/resource-policy: keep}\n"}},
			{found: edits{"metadata:\n", "metadata:\n  annotations: {meta.helm.sh/release-name: widgets}\n"}, line: "name: widgets.example.com", says: "resource-policy: keep", absent: edits{"metadata:\n", "metadata:\n  labels: {app.kubernetes.io/managed-by: Helm}\n"}}, // helm template says so, too
		},
		PreserveLeft: {{
			found: none, line: "spec:", says: "write preserveUnknownFields: false",
			absent: edits{"  scope:", "  preserveUnknownFields: false\n  scope:"}, old: edits{"  scope:", "  preserveUnknownFields: true\n  scope:"},
		}},
	}
}

// TestNamesOfAGroup finds the same name in two definitions of a group, and not in two groups.
func TestNamesOfAGroup(t *testing.T) {
	t.Parallel()
	short := strings.Replace(plainWidgets, "    kind: Widget\n", "    kind: Widget\n    shortNames: [w]\n", 1)
	other := strings.NewReplacer("widgets", "gadgets", "Widget", "Gadget").Replace(short)
	for name, test := range map[string]struct {
		other string
		want  int
	}{
		"the same short name": {other, 1},
		"another short name":  {strings.Replace(other, "[w]", "[g]", 1), 0},
		"another group":       {strings.ReplaceAll(other, "example.com", "example.org"), 0},
		"the same kind":       {strings.NewReplacer("[w]", "[g]", "kind: Gadget\n", "kind: Widget\n    singular: gadget\n").Replace(other), 1},
	} {
		report, err := Check(t.Context(), []File{{Name: "a.yaml", Data: []byte(short)}, {Name: "b.yaml", Data: []byte(test.other)}}, Options{Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		found := of(NameTaken, report.Findings)
		if len(found) != test.want || len(found) > 0 && (found[0].File != "b.yaml" || found[0].Level != Error || !strings.Contains(found[0].Message, "of widgets.example.com too (a.yaml)")) {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// TestInstalled says nothing of the size of a definition from a cluster, nor of what that needs: it is there.
func TestInstalled(t *testing.T) {
	t.Parallel()
	text := edits{"  name: widgets", "  uid: 8c4f\n  name: widgets", "type: object\n", "type: object\n        description: " + strings.Repeat("x", 262_144) + "\n", "storage: false\n", "storage: false\n    selectableFields: [{jsonPath: .spec.size}]\n"}.apply(t, plainWidgets)
	if found := check(t, text); len(of(DefinitionTooLarge, found))+len(of(NeedsKubernetes, found)) > 0 {
		t.Errorf("found %+v", found)
	}
}

// TestOldBeta compares with a definition at v1beta1, which may be installed.
func TestOldBeta(t *testing.T) {
	t.Parallel()
	const old = `apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  version: v1
`
	if found := of(PreserveLeft, check(t, plainWidgets, old)); len(found) != 1 {
		t.Errorf("found %+v", found)
	}
	patch := old[:strings.Index(old, "spec:")] + "spec: {conversion: {strategy: Webhook}}\n"
	if found := of(PreserveLeft, check(t, plainWidgets, old+"---\n"+patch)); len(found) != 1 {
		t.Errorf("found %+v beside a patch at v1beta1", found)
	}
	if found := of(PreserveLeft, check(t, plainWidgets, old+"  preserveUnknownFields: false\n")); len(found) > 0 {
		t.Errorf("found %+v where it was false", found)
	}
}
