package lint

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/requirement"
)

// plainWidgets has two versions with one schema and no conversion. Nothing is wrong with it.
const plainWidgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names:
    plural: widgets
    kind: Widget
  versions:
  - name: v1beta1
    served: true
    storage: false
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    schema:
      openAPIV3Schema: # of v1beta1
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: string, maxLength: 9, default: big}
              replicas: {type: integer}
          status:
            type: object
            properties:
              replicas: {type: integer}
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    schema:
      openAPIV3Schema: # of v1
        type: object
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: string, maxLength: 9, default: big}
              replicas: {type: integer}
          status:
            type: object
            properties:
              replicas: {type: integer}
`

// hook makes the definition one with a webhook, with which nothing is wrong either.
const hook = `  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig:
        service: {namespace: system, name: widgets}
  versions:
`

const injected = "metadata:\n  annotations:\n    cert-manager.io/inject-ca-from: system/serving-cert\n"

// The lines that the versions differ in by nothing, at each version.
const (
	size     = "              size: {type: string, maxLength: 9, default: big}\n"
	replicas = "              replicas: {type: integer}\n          status"
)

// now is when the tests take place.
func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// edits are pairs of a text and what it is replaced by, once: the first that there is.
type edits []string

// apply makes the edits. Those that begin with "second:" replace the last text that there is.
func (e edits) apply(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(e); i += 2 {
		old, second := strings.CutPrefix(e[i], "second:")
		n := strings.Index(text, old)
		if second && n >= 0 {
			n = strings.LastIndex(text, old)
		}
		if n < 0 {
			t.Fatalf("there is no %q to replace in\n%s", old, text)
		}
		text = text[:n] + e[i+1] + text[n+len(old):]
	}
	return text
}

// webhooks returns edits after those that put a webhook into the definition.
func webhooks(more ...string) edits {
	return append(edits{"  versions:\n", hook, "metadata:\n", injected}, more...)
}

func check(t *testing.T, text string, old ...string) []Diagnostic {
	t.Helper()
	return checkFile(t, File{Name: "crd.yaml", Data: []byte(text)}, old...)
}

func checkFile(t *testing.T, file File, old ...string) []Diagnostic {
	t.Helper()
	options := Options{Now: now()}
	for _, o := range old {
		options.Old = append(options.Old, File{Name: "old.yaml", Data: []byte(o)})
	}
	report, err := Check(t.Context(), []File{file}, options)
	if err != nil {
		t.Fatalf("%v in\n%s", err, file.Data)
	}
	return report.Findings
}

// of returns the findings of a rule.
func of(rule RuleID, all []Diagnostic) []Diagnostic {
	return slices.DeleteFunc(slices.Clone(all), func(f Diagnostic) bool { return f.Rule != rule })
}

func TestNothingWrong(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no conversion": plainWidgets,
		"a webhook":     webhooks().apply(t, plainWidgets),
	} {
		if found := check(t, text); len(found) > 0 {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// ruleTest shows a rule that finds something, in a line and with words, and that finds nothing in what comes close.
type ruleTest struct {
	found  edits
	level  Level // that of the rule when empty
	line   string
	says   string
	absent edits
	old    edits // of the old definition, for both
}

func ruleTests(t *testing.T) map[RuleID][]ruleTest {
	t.Helper()
	day := 24 * time.Hour
	bundle := func(pems ...string) string {
		return "        caBundle: " + base64.StdEncoding.EncodeToString([]byte(strings.Join(pems, ""))) + "\n        service"
	}
	ca := func(from, to time.Duration) string { return certificate(t, true, now().Add(from), now().Add(to)) }
	good := ca(-day, 365*day)
	url := func(u string) edits {
		return webhooks("service: {namespace: system, name: widgets}", "url: "+u, injected, "metadata:\n")
	}
	service := func(s string) edits { return webhooks("{namespace: system, name: widgets}", s) }
	beside := func(namespace, name string) edits {
		manifest := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {namespace: %s, name: %s}\n---\n", namespace, name)
		return append(service("{namespace: hooks, name: webhook}"), "apiVersion: apiextensions", manifest+"apiVersion: apiextensions")
	}
	reviews := func(s string) edits { return webhooks("[v1]", s) }
	caBundle := func(s string) edits { return webhooks("        service", s, injected, "metadata:\n") }
	deprecated := func(warning string) edits {
		return edits{"storage: false", "storage: false\n    deprecated: true\n    deprecationWarning: " + warning}
	}
	const fine = "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"
	none := edits{}
	tests := map[RuleID][]ruleTest{
		UnknownField: {{found: edits{"    kind: Widget\n", "    kind: Widget\n    listkind: Widgets\n"}, line: "listkind", says: `spec.names has no field "listkind"`, absent: edits{"    kind: Widget\n", "    kind: Widget\n    listKind: Widgets\n"}}},
		DuplicateKey: {{found: edits{"  scope: Namespaced\n", "  scope: Namespaced\n  scope: Cluster\n"}, line: "scope: Cluster", says: `"scope"`, absent: none}},
		DefinitionName: {
			{found: edits{"name: widgets.example.com", "name: widget.example.com"}, line: "name: widget.", says: `"widgets.example.com"`, absent: none},
		},
		APIApproved: {{
			found: edits{"name: widgets.example.com", "name: widgets.example.k8s.io", "group: example.com", "group: example.k8s.io"}, line: "metadata", says: "api-approved.kubernetes.io",
			absent: edits{"name: widgets.example.com", "name: widgets.my-k8s.io", "group: example.com", "group: my-k8s.io"},
		}, {
			found: edits{"name: widgets.example.com", "name: widgets.kubernetes.io", "group: example.com", "group: kubernetes.io"}, line: "metadata", says: "kubernetes.io",
			absent: edits{"name: widgets.example.com", "name: widgets.x.k8s.io\n  annotations: {api-approved.kubernetes.io: \"https://github.com/kubernetes/kubernetes/pull/1\"}", "group: example.com", "group: x.k8s.io"},
		}},
		StorageVersionCount: {
			{found: edits{"storage: true", "storage: false"}, line: "versions:", says: "no version", absent: none},
			{found: edits{"storage: false", "storage: true"}, line: "versions:", says: "v1beta1, v1", absent: edits{"storage: false", "storage: true", "second:storage: true", "storage: false"}},
		},
		StorageVersionServed: {{found: edits{"second:served: true", "served: false"}, line: "served: false", says: "v1 is the storage version", absent: edits{"served: true", "served: false"}}},
		NoVersionServed:      {{found: edits{"served: true", "served: false", "second:served: true", "served: false"}, line: "versions:", says: "no version is served", absent: edits{"served: true", "served: false"}}},
		StoredVersionMissing: {{
			found: edits{"spec:\n", "status: {storedVersions: [v1alpha1, v1]}\nspec:\n"}, line: "status", says: "v1alpha1",
			absent: edits{"spec:\n", "status: {storedVersions: [v1beta1, v1]}\nspec:\n"},
		}, {
			found: edits{"spec:\n", "status: {storedVersions: [v2]}\nspec:\n"}, line: "status", says: "v2",
			absent: edits{"spec:\n", "status: {storedVersions: [], acceptedNames: {kind: \"\", plural: \"\"}, conditions: []}\nspec:\n"},
		}},
		PreferredDeprecated: {{found: edits{"storage: true", "storage: true\n    deprecated: true"}, line: "deprecated", says: "not v1beta1", absent: edits{"storage: false", "storage: false\n    deprecated: true"}}},
		StorageDeprecated: {{
			found: edits{"storage: true", "storage: true\n    deprecated: true"}, line: "deprecated", says: "such as v1beta1",
			absent: edits{"storage: true", "storage: true\n    deprecated: true", "storage: false", "storage: false\n    deprecated: true"},
		}},
		WarningUnused: {{found: edits{"storage: true", "storage: true\n    deprecationWarning: gone"}, line: "deprecationWarning", says: "v1 has", absent: deprecated(fine)}},
		WarningInvalid: {
			{found: deprecated(`""`), line: "deprecationWarning", says: "is empty", absent: deprecated(fine)},
			{found: deprecated(strings.Repeat("x", 257)), line: "deprecationWarning", says: "257 bytes", absent: deprecated(strings.Repeat("x", 256))},
			{found: deprecated(`"a\tb"`), line: "deprecationWarning", says: `'\t'`, absent: deprecated(`"ä b"`)},
		},
		WarningVague: {
			{found: deprecated("old"), line: "deprecationWarning", says: "the kind Widget, nor the version to use instead, v1;", absent: deprecated(fine)},
			{found: deprecated("example.com/v1beta1 Widget is deprecated"), line: "deprecationWarning", says: "does not name the version to use instead, v1;", absent: deprecated("the v1beta1 version of widgets in example.com is deprecated; move to v1")},
			{found: deprecated("Widget v1beta1 is deprecated, use v1"), level: Note, line: "deprecationWarning", says: "does not name the group example.com;", absent: append(deprecated("example.com/v1beta1 Widget is gone soon"), "second:served: true", "served: false")},
		},
		WebhookOneVersion: {{
			found: webhooks(plainWidgets[strings.Index(plainWidgets, "  - name: v1beta1"):strings.Index(plainWidgets, "  - name: v1\n")], ""),
			line:  "strategy", says: "only one version, v1",
			absent: edits{plainWidgets[strings.Index(plainWidgets, "  - name: v1beta1"):strings.Index(plainWidgets, "  - name: v1\n")], ""},
		}},
		ReviewVersionsNone: {
			{found: reviews("[v1alpha1, v2]"), line: "conversionReviewVersions", says: "add v1", absent: reviews("[v1alpha1, v1]")},
			{found: reviews("[]"), line: "conversionReviewVersions", says: "add v1", absent: none},
		},
		ReviewVersionsUnknown: {
			{found: reviews("[v1, v2]"), line: "conversionReviewVersions", says: "there is no version v2", absent: reviews("[v1, v1beta1]")},
			{found: append(reviews("[v1, v1alpha1]"), "- name: v1beta1", "- name: v1alpha1"), line: "conversionReviewVersions", says: "v1alpha1 is a version of this definition", absent: none},
		},
		ReviewVersionsOld: {{found: reviews("[v1beta1]"), line: "conversionReviewVersions", says: "only v1beta1", absent: reviews("[v1beta1, v1]")}},
		URLInvalid: {
			{found: url("http://example.com/convert"), line: "url", says: "https://", absent: url("https://example.com/convert")},
			{found: url(`"https://example.com/convert?a=b"`), line: "url", says: "a query", absent: url("https://example.com:8443")},
			{found: url(`"https://example.com/convert#a"`), line: "url", says: "a fragment", absent: url("https://[2001:db8::1]/")},
			{found: url(`"https://me@example.com/"`), line: "url", says: "a user", absent: none},
			{found: url(`"https:///convert"`), line: "url", says: "no host", absent: none},
			{found: url(`"https://a b%"`), line: "url", says: "cannot be parsed", absent: none},
		},
		URLInCluster: {
			{found: url("https://widgets.system.svc:443/convert"), line: "url", says: "service reference", absent: url("https://svc.example.com/")},
			{found: url("https://Widgets.System.svc.Cluster.local./"), line: "url", says: "service reference", absent: url("https://hooks.example.com/a.b.svc")},
		},
		URLLocalhost: {
			{found: url("https://localhost:9443/"), line: "url", says: "on the host of every API server", absent: url("https://localhost.example.com/")},
			{found: url("https://127.0.0.2/"), line: "url", says: "127.0.0.2", absent: url("https://128.0.0.1/")},
			{found: url(`"https://[::1]:1/"`), line: "url", says: "::1", absent: none},
		},
		ServiceInvalid: {
			{found: service("{name: widgets}"), line: "service", says: "no namespace", absent: service("{name: widgets, namespace: system, port: 65535, path: /convert}")},
			{found: service("{namespace: widgets}"), line: "service", says: "no name;", absent: none},
			{found: service("{namespace: system, name: widgets, port: 65536}"), line: "service", says: "65536", absent: service("{namespace: system, name: widgets, port: 1}")},
			{found: service("{namespace: system, name: widgets, path: convert}"), line: "service", says: `write "/convert"`, absent: service("{namespace: system, name: widgets, path: /}")},
		},
		ServiceElsewhere: {
			{found: service("{namespace: system, name: webhook-service}"), line: "service", says: "the namespace system", absent: service("{namespace: widgets-system, name: webhook-service}")},
			{found: service("{namespace: system, name: widgets-webhook-service}"), line: "service", says: "config/default", absent: service("{namespace: system, name: widgets}")},
			{found: beside("widgets-system", "webhook"), line: "service", says: "is widgets-system/webhook", absent: beside("hooks", "webhook")},
			{found: beside("hooks", "widgets-webhook"), line: "service", says: "is hooks/widgets-webhook", absent: beside("hooks", "metrics")},
			{found: beside(`""`, "widgets-webhook"), line: "service", says: "is widgets-webhook:", absent: beside(`""`, "webhook")},
		},
		CABundleInvalid: {
			{found: caBundle("        caBundle: Cg==\n        service"), line: "caBundle", says: "placeholder", absent: caBundle(bundle(good))},
			{found: webhooks("        service", "        caBundle: Cg==\n        service"), level: Warning, line: "caBundle", says: "leave it out", absent: webhooks("        service", "        caBundle: \"\"\n        service")},
			{found: caBundle("        caBundle: <ca>\n        service"), line: "caBundle", says: "not base64", absent: none},
			{found: caBundle(bundle("hello")), line: "caBundle", says: "not PEM", absent: caBundle(bundle("a comment\n", good))},
			{found: caBundle(bundle("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")), line: "caBundle", says: "no certificate", absent: none},
			{found: caBundle(bundle("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), line: "caBundle", says: "cannot be parsed", absent: none},
		},
		CABundleExpired:     {{found: caBundle(bundle(ca(-9*day, -day))), line: "caBundle", says: "2026-02-28", absent: caBundle(bundle(ca(-9*day, -day), good))}},
		CABundleNotYetValid: {{found: caBundle(bundle(ca(day, 99*day))), line: "caBundle", says: "2026-03-02", absent: caBundle(bundle(ca(day, 99*day), good))}},
		CABundleExpiring: {
			{found: caBundle(bundle(ca(-day, 29*day))), line: "caBundle", says: "2026-03-30", absent: caBundle(bundle(ca(-day, 31*day)))},
			{found: caBundle(bundle(ca(-day, day), ca(-day, 2*day))), line: "caBundle", says: "2026-03-03", absent: caBundle(bundle(ca(-day, 29*day), good))},
		},
		CABundleLeaf: {{found: caBundle(bundle(certificate(t, false, now().Add(-day), now().Add(99*day)))), line: "caBundle", says: "instead of an authority", absent: caBundle(bundle(certificate(t, false, now().Add(-day), now().Add(99*day)), good))}},
		CABundleMissing: {
			{found: caBundle("        caBundle: \"\\n\"\n        service"), line: "clientConfig", says: "no caBundle", absent: none},
			{found: webhooks(injected, "metadata:\n"), line: "clientConfig", says: "no caBundle", absent: webhooks("cert-manager.io/inject-ca-from: system/serving-cert", `service.beta.openshift.io/inject-cabundle: "true"`)},
			{found: webhooks("cert-manager.io/inject-ca-from: system", "example.com/inject-ca-from: system"), line: "clientConfig", says: "no caBundle", absent: url("https://hooks.example.com/")},
		},
		InjectionMalformed: {
			{found: webhooks("system/serving-cert", "serving-cert"), line: "inject-ca-from", says: "namespace/name", absent: none},
			{found: webhooks("system/serving-cert", "$(CERTIFICATE_NAMESPACE)/$(CERTIFICATE_NAME)"), line: "inject-ca-from", says: "render it first", absent: none},
			{found: webhooks("system/serving-cert", "CERTIFICATE_NAMESPACE/CERTIFICATE_NAME"), line: "inject-ca-from", says: "render it first", absent: none},
			{found: webhooks("cert-manager.io/inject-ca-from: system/serving-cert", `service.beta.openshift.io/inject-cabundle: "yes"`), line: "inject-cabundle", says: `"true"`, absent: webhooks("cert-manager.io/inject-ca-from: system/serving-cert", `service.beta.openshift.io/inject-cabundle: "true"`)},
		},
		InjectionLegacy: {{found: webhooks("cert-manager.io", "certmanager.k8s.io"), line: "inject-ca-from", says: "no longer reads", absent: webhooks()}},
		SchemaMissing:   {{found: edits{plainWidgets[strings.Index(plainWidgets, "    schema:\n"):strings.Index(plainWidgets, "  - name: v1\n")], ""}, line: "- name: v1beta1", says: "v1beta1 has no schema", absent: none}},
		SchemaNotStructural: {{
			found: edits{"              replicas: {type: integer}\n", "              replicas: {type: integer}\n              any: {}\n"}, line: "any:", says: "must not be empty",
			absent: edits{"              replicas: {type: integer}\n", "              replicas: {type: integer}\n              any: {x-kubernetes-preserve-unknown-fields: true}\n"},
		}},
		PreserveUnknown: {{found: edits{"spec:\n", "spec:\n  preserveUnknownFields: true\n"}, line: "preserveUnknownFields", says: "remove it", absent: edits{"spec:\n", "spec:\n  preserveUnknownFields: false\n"}}},
		StatusDiffers: {{
			found: edits{"      status: {}\n", ""}, line: "subresources", says: "v1 has the status subresource and v1beta1 does not",
			absent: edits{"      status: {}\n", "", "served: true", "served: false"},
		}},
		ScaleDiffers: {{
			found: edits{"statusReplicasPath: .status.replicas}", "statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}"}, line: "subresources", says: "v1beta1 and v1",
			absent: edits{"statusReplicasPath: .status.replicas}", "statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}", "served: true", "served: false"},
		}},
		ScalePath: {{
			found: edits{".spec.replicas", ".spec.replica"}, line: ".spec.replica,", says: ".spec.replica is not in the schema of v1beta1",
			absent: edits{".spec.replicas", ".spec.replica", "            required: [size]\n", "            x-kubernetes-preserve-unknown-fields: true\n"},
		}},
		ColumnPath: {
			{found: edits{"jsonPath: .spec.size", "jsonPath: .spec.length"}, line: ".spec.length", says: `the column "Size" of v1beta1`, absent: edits{"jsonPath: .spec.size", "jsonPath: .metadata.creationTimestamp"}},
			{found: edits{"jsonPath: .spec.size", `jsonPath: ".status.conditions[?(@.type=='Ready')].status"`}, line: ".status.conditions", says: "v1beta1", absent: edits{"jsonPath: .spec.size", `jsonPath: ".metadata.labels['a\\.b']"`}},
			{
				found: edits{"jsonPath: .spec.size", `jsonPath: ".spec.ports[*].nam"`, replicas, "              ports: {type: array, items: {type: object, properties: {name: {type: string}}}}\n" + replicas}, line: ".nam\"", says: "v1beta1",
				absent: edits{"jsonPath: .spec.size", `jsonPath: ".spec.ports[?(@.a==1)].name"`, replicas, "              ports: {type: array, items: {type: object, properties: {name: {type: string}}}}\n" + replicas},
			},
		},
		NoneLosesFields: {
			{found: edits{size, size + "              old: {type: string}\n"}, line: "old:", says: "written at v1beta1 loses fields that the storage version v1 lacks: spec.old", absent: webhooks(size, size+"              old: {type: string}\n")},
			{found: edits{"second:" + size, size + "              new: {type: object, properties: {a: {type: string}}}\n"}, line: "new:", says: "v1beta1 lacks fields of the storage version v1, and an object written back at v1beta1 loses them: spec.new", absent: edits{size, size + "              old: {type: string}\n", "served: true", "served: false"}},
			{found: edits{size, size + "              any: {type: object, x-kubernetes-preserve-unknown-fields: true}\n", "second:" + size, size + "              any: {type: object}\n"}, line: "any:", says: "spec.any.*", absent: edits{size, size + "              any: {type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: true}\n", "second:" + size, size + "              any: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"}},
			{found: edits{size, size + "              any: {type: object, additionalProperties: {type: string}}\n", "second:" + size, size + "              any: {type: object, properties: {a: {type: string}}}\n"}, line: "any:", says: "spec.any.*", absent: edits{size, size + "              any: {type: object, additionalProperties: {type: string}}\n", "second:" + size, size + "              any: {type: object, additionalProperties: {type: string}}\n"}},
			{found: edits{size, size + "              l: {type: array, items: {type: object, properties: {a: {type: string}}}}\n", "second:" + size, size + "              l: {type: array, items: {type: object, properties: {b: {type: string}}}}\n"}, line: "l:", says: "spec.l[].a", absent: none},
		},
		NoneValidation: {{found: edits{"maxLength: 9", "maxLength: 5"}, line: "maxLength: 5", says: "spec.size", absent: edits{"type: integer}", "type: integer, description: how many}"}}},
		NoneRequired: {{
			found: edits{"required: [size]", "required: [size, replicas]"}, line: "replicas:", says: "required at v1beta1 and optional without a default at v1, whose objects may lack it: spec.replicas",
			absent: edits{"required: [size]", "required: [size, replicas]", "second:" + replicas, "              replicas: {type: integer, default: 1}\n          status"},
		}},
		TypeDiffers: {
			{found: edits{replicas, "              replicas: {type: string}\n          status"}, line: "replicas: {type: string}", says: "spec.replicas; strategy None", absent: edits{replicas, "              replicas: {x-kubernetes-preserve-unknown-fields: true}\n          status"}},
			{found: webhooks(replicas, "              replicas: {type: string}\n          status"), level: Note, line: "replicas: {type: string}", says: "must convert it", absent: none},
		},
		DefaultDiffers: {
			{found: edits{"default: big", "default: small"}, line: "default: small", says: "spec.size", absent: edits{"default: big", `default: "big"`}},
			{found: webhooks("default: big", "default: small"), level: Note, line: "default: small", says: "spec.size", absent: none},
		},
		DefaultMissing: {{found: edits{", default: big", ""}, line: "default: big", says: "a default at v1 but not at v1beta1: spec.size", absent: edits{", default: big", "", "second:, default: big", ""}}},
		IdentityChanged: {
			{found: edits{"scope: Namespaced", "scope: Cluster"}, line: "scope", says: "Namespaced", absent: edits{"kind: Widget\n", "kind: Widget\n    shortNames: [w]\n"}, old: edits{}},
			{found: edits{"kind: Widget\n", "kind: Gadget\n"}, line: "kind: Gadget", says: "Widget", absent: none, old: edits{}},
			{found: edits{"widgets.example.com", "gizmos.example.com", "plural: widgets", "plural: gizmos"}, line: "plural: gizmos", says: "this was widgets and is gizmos now, which makes it another definition than widgets.example.com, with none of its objects; API servers do not even accept the kind", absent: none, old: edits{}},
			{found: edits{"widgets.example.com", "widgets.example.org", "group: example.com", "group: example.org"}, line: "group: example.org", says: "this was example.com and is example.org now, which makes it another definition than widgets.example.com, with none of its objects; keep the group", absent: none, old: edits{}},
		},
		VersionRemovedStored: {
			{found: none, line: "versions:", says: "stored objects at v1alpha1, which is missing", absent: edits{"- name: v1beta1", "- name: v1alpha1"}, old: edits{"- name: v1beta1", "- name: v1alpha1", "spec:\n", "status: {storedVersions: [v1alpha1, v1]}\nspec:\n"}},
			{found: none, line: "versions:", says: "stored objects at v0, which is missing", absent: edits{"second:- name: v1\n", "- name: v0\n"}, old: edits{"second:- name: v1\n", "- name: v0\n"}},
		},
		VersionNoLongerServed: {
			{found: edits{"served: true", "served: false"}, line: "served: false", says: "v1beta1 is no longer served", absent: none, old: edits{}},
			{found: edits{"- name: v1beta1", "- name: v1beta2"}, line: "versions:", says: "served v1beta1, which is missing", absent: none, old: edits{"spec:\n", "status: {storedVersions: [v1]}\nspec:\n"}},
		},
		Refused: {
			{found: edits{"- name: v1beta1", "- name: v1", "storage: false", "storage: true"}, line: "versions:", says: "must contain unique version names", absent: none},
			{found: edits{"    kind: Widget", "    shortNames: [w_]\n    kind: Widget"}, line: "shortNames: [w_]", says: "spec.names.shortNames[0]", absent: none},
			{found: edits{"{type: string, maxLength: 9, default: big}", "{type: string, default: 1}"}, line: "default: 1", says: "default", absent: none},
			{found: edits{"storage: false\n", "storage: false\n    selectableFields: [{jsonPath: .spec.size}]\n"}, line: "selectableFields", says: "they mix up versions", absent: edits{"storage: false\n", "storage: false\n    selectableFields: [{jsonPath: .spec.size}]\n", "storage: true\n", "storage: true\n    selectableFields: [{jsonPath: .spec.size}]\n"}},
			{found: edits{"metadata:\n", "metadata:\n  labels: {app: \"{{ .Name }}\"}\n"}, line: "labels", says: "this looks like a template: render it first", absent: none},
			{found: edits{"            required: [size]", "            x-kubernetes-validations: [{rule: \"self.siz == 'a'\"}]\n            required: [size]"}, line: "rule:", says: "undefined field 'siz'", absent: edits{"            required: [size]", "            x-kubernetes-validations: [{rule: \"self.size == 'a'\"}]\n            required: [size]"}},
			{found: append(webhooks(), "service: {namespace: system, name: widgets}", "{}"), line: "clientConfig", says: "exactly one of url or service", absent: webhooks()},
		},
	}
	maps.Copy(tests, upgradeTests())
	maps.Copy(tests, serverTests())
	return tests
}

// testedAlone reports whether a rule needs more than a definition, or two: TestKustomization has it.
func testedAlone(rule RuleID) bool { return rule == KustomizationUnbuilt }

// TestRules wants every rule to find what it is for, at its place, and nothing in what only comes close.
func TestRules(t *testing.T) {
	t.Parallel()
	tests := ruleTests(t)
	for _, rule := range Rules() {
		if len(tests[rule.ID]) == 0 && !testedAlone(rule.ID) {
			t.Errorf("%s has no test", rule.ID)
		}
		for _, test := range tests[rule.ID] {
			var old []string
			if test.old != nil {
				old = append(old, test.old.apply(t, plainWidgets))
			}
			text := test.found.apply(t, plainWidgets)
			inChart := func(text string) File { return File{Name: "crd.yaml", Data: []byte(text), InChart: true} }
			found := of(rule.ID, checkFile(t, inChart(text), old...))
			if len(found) == 0 {
				t.Errorf("%s finds nothing in\n%s", rule.ID, text)
				continue
			}
			f := found[0]
			level := test.level
			if level == "" {
				level = rule.Level
			}
			if line := strings.Split(text, "\n")[f.Line-1]; !strings.Contains(line, test.line) || f.Level != level || !strings.Contains(f.Message, test.says) || f.Definition == "" || f.File != "crd.yaml" {
				t.Errorf("%s: found %+v in line %q; want level %s, a line with %q and a message with %q", rule.ID, f, line, level, test.line, test.says)
			}
			if wrong := of(rule.ID, checkFile(t, inChart(test.absent.apply(t, plainWidgets)), old...)); len(wrong) > 0 && len(test.absent) > 0 {
				t.Errorf("%s: found %+v where nothing is wrong", rule.ID, wrong)
			}
		}
	}
}

// TestRulesExplainThemselves holds the texts to one form.
func TestRulesExplainThemselves(t *testing.T) {
	t.Parallel()
	seen := map[RuleID]bool{}
	for _, rule := range Rules() {
		if seen[rule.ID] {
			t.Errorf("%s is there twice", rule.ID)
		}
		seen[rule.ID] = true
		for _, text := range []string{rule.Summary, rule.Why, rule.Help} {
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
				t.Errorf("%s says %q", rule.ID, text)
			}
		}
		if !slices.Contains([]Level{Error, Warning, Note}, rule.Level) {
			t.Errorf("%s has the level %q", rule.ID, rule.Level)
		}
		for _, id := range rule.Requirements {
			if r, found := requirement.Lookup(id); !found || r.Binds != requirement.Author {
				t.Errorf("%s checks %s, which is no advice to authors", rule.ID, id)
			}
		}
	}
	if _, found := Lookup("no-such-rule"); found {
		t.Error("found a rule that does not exist")
	}
}

// certificate returns a certificate, of an authority or of a server, as PEM.
func certificate(t *testing.T, authority bool, from, to time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to,
		IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
