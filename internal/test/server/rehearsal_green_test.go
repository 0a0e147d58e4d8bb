package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
)

// acting is a program, which is a client of the API server.
type acting struct{ rehearsal.Build }

// Acts is true.
func (acting) Acts() bool { return true }

// greenFaults are upgrades that passed although users would have been harmed.
func greenFaults() []upgradeFault {
	one := func(properties string) string {
		return widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", properties))
	}
	alone := func(old, now string) func(*rehearsaltest.Upgrade) {
		return func(u *rehearsaltest.Upgrade) {
			u.Releases = []rehearsaltest.Release{widgetRelease(old, nil), widgetRelease(now, nil)}
		}
	}
	spec := func(properties, more string) string {
		return strings.Replace(one(properties), "spec: {type: object, ", "spec: {type: object, "+more+", ", 1)
	}
	injected := strings.Replace(goodUpgrade(1).Releases[0].Definitions, "metadata: {name: widgets.example.com}", "metadata: {name: widgets.example.com, annotations: {cert-manager.io/inject-ca-from: system/webhook}}", 1)
	owned := strings.NewReplacer("plural: widgets,", "plural: widgets, shortNames: [wd],", "metadata: {name: widgets.example.com}", `metadata:
  name: widgets.example.com
  managedFields:
  - {manager: kustomize-controller, operation: Apply, apiVersion: apiextensions.k8s.io/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:group": {}, "f:scope": {}, "f:versions": {}, "f:names": {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}}, "f:conversion": {"f:strategy": {}}}}}
  - {manager: patcher, operation: Update, apiVersion: apiextensions.k8s.io/v1, time: "2026-01-02T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:names": {"f:shortNames": {}}}}}`).Replace(one(betaFields))
	released := strings.NewReplacer("plural: widgets,", "plural: widgets, shortNames: [wd],", "metadata: {name: widgets.example.com}", `metadata:
  name: widgets.example.com
  annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: prod}
  managedFields:
  - {manager: helm, operation: Update, apiVersion: apiextensions.k8s.io/v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:group": {}, "f:scope": {}, "f:versions": {}, "f:names": {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}}, "f:conversion": {"f:strategy": {}}}}}
  - {manager: patcher, operation: Update, apiVersion: apiextensions.k8s.io/v1, time: "2026-01-02T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:names": {"f:shortNames": {}}}}}`).Replace(one(betaFields))
	preserving := strings.Replace(one(betaFields), "spec:\n", "spec:\n  preserveUnknownFields: true\n", 1)
	defaulted := one(betaFields + ", tall: {type: boolean, default: true}")
	const nothing = "\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: odd}\nspec: {size: 1x1, color: red, tone: null}\n"
	placeholder := strings.Replace(byWebhook, "clientConfig: {", "clientConfig: {caBundle: Cg==, ", 1)
	stanza := "  conversion: " + byWebhook + "\n"
	unnamed := strings.Replace(goodUpgrade(1).Releases[1].Definitions, stanza, "", 1)
	return []upgradeFault{
		{
			name: "a field that becomes required", id: requirement.UpgradeWriteCreate, object: "widget-3", step: "write",
			says:   "its users cannot change spec.color at v1beta1 any more, since the new schema makes the rest of it invalid: Widget.example.com \"widget-0\" is invalid: spec.port: Required value",
			change: alone(one(betaFields), spec(betaFields+", port: {type: integer}", "required: [port]")),
			broken: failedAll(requirement.UpgradeWriteCreate),
			twin:   alone(one(betaFields), one(betaFields+", port: {type: integer}")),
		},
		{
			name: "a rule across fields", id: requirement.UpgradeWriteCreate, object: "widget-3", step: "write", says: "red is no color any more",
			change: alone(one(betaFields), spec(betaFields, `x-kubernetes-validations: [{rule: "self.color != 'red' || self.size == ''", message: red is no color any more}]`)),
			broken: failedAll(requirement.UpgradeWriteCreate),
			twin:   alone(one(betaFields), spec(betaFields, `x-kubernetes-validations: [{rule: "self.color != 'green'", message: green is no color any more}]`)),
		},
		{
			name: "a status that is no subresource any more", id: requirement.UpgradeWriteStatus, step: "definitions", says: "the new definition has no subresource for the status at v1beta1",
			change: alone(one(betaFields), strings.Replace(one(betaFields), "    subresources: {status: {}}\n", "", 1)),
			broken: failedAll(requirement.UpgradeWriteStatus),
			twin:   alone(one(betaFields), one(betaFields)),
		},
		{
			name: "a short name that is its own singular", id: requirement.UpgradeDefinitionsAccepted, step: "definitions", says: "does not accept its names",
			change: alone(one(betaFields), strings.Replace(one(betaFields), "plural: widgets,", "plural: widgets, shortNames: [widget],", 1)),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted),
			twin:   alone(one(betaFields), strings.Replace(one(betaFields), "plural: widgets,", "plural: widgets, shortNames: [wg],", 1)),
		},
		{
			name: "a field of the status that becomes required", id: requirement.UpgradeWriteCreate, object: "widget-3", step: "write",
			says:   "controllers cannot change status.phase at v1beta1 any more, unless they mend the rest of the status",
			change: alone(one(betaFields), strings.Replace(one(betaFields), "status: {type: object, properties: {", "status: {type: object, required: [when], properties: {when: {type: string}, ", 1)),
			broken: tolerated(map[requirement.ID]requirement.Verdict{}, requirement.UpgradeWriteCreate),
			twin:   alone(one(betaFields), strings.Replace(one(betaFields), "status: {type: object, properties: {", "status: {type: object, properties: {when: {type: string}, ", 1)),
		},
		{
			name: "a new field that nothing keeps for clients of the old version", id: requirement.UpgradeWriteNoOp, object: "crdconform-new-relabeled-0", step: "create",
			says:   "loses it when a client of v1beta1 writes what it has read, since nothing converts",
			change: alone(one(betaFields), widgetCRD(noConversion, widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", betaFields+", note: {type: string}"))),
			broken: tolerated(failedAll(requirement.UpgradeWriteNoOp), requirement.UpgradeBackDefinitions),
			twin:   alone(one(betaFields), widgetCRD(noConversion, widgetVersion("v1beta1", "served", betaFields+", note: {type: string}"), widgetVersion("v1", "served stored", betaFields+", note: {type: string}"))),
		},
		{
			name: "another kind", id: requirement.UpgradeDefinitionsAccepted, step: "definitions",
			says:   `spec.names.kind: Invalid value: "Gadget": field is immutable; keep it, or make it a definition of another name`,
			change: alone(one(betaFields), strings.Replace(one(betaFields), "kind: Widget", "kind: Gadget", 1)),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted),
		},
		{
			name: "another plural", id: requirement.UpgradeDefinitionsAccepted, step: "definitions",
			says:   "the new release has it in place of widgets.example.com, whose objects it does not get: keep the plural",
			change: alone(one(betaFields), strings.NewReplacer("widgets.example.com", "gadgets.example.com", "plural: widgets", "plural: gadgets").Replace(one(betaFields))),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted),
		},
		{
			name: "a stanza that goes while somebody else owns the caBundle", id: requirement.UpgradeDefinitionsServerSideApply, step: "ways",
			says: "cainjector owns the caBundle, so that stays without the rest of the stanza",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[0].Definitions, u.Releases[1] = injected, widgetRelease(strings.Replace(one(betaFields), "  conversion: "+noConversion+"\n", "", 1), nil)
			},
			broken: failedAll(requirement.UpgradeDefinitionsApply, requirement.UpgradeDefinitionsServerSideApply),
			twin:   func(u *rehearsaltest.Upgrade) { u.Releases[0].Definitions = injected },
		},
		{
			name: "a field that somebody else than who applies the definition has added", id: requirement.UpgradeDefinitionsServerSideApply, step: "ways",
			says:   `spec.names.shortNames: expected nothing, got ["wd"] of the old one, which patcher owned`,
			change: alone(owned, one(betaFields)),
			broken: failedAll(requirement.UpgradeDefinitionsServerSideApply),
			twin:   alone(owned, strings.Replace(one(betaFields), "plural: widgets,", "plural: widgets, shortNames: [wd],", 1)),
		},
		{
			name: "a field that somebody else has changed", id: requirement.UpgradeDefinitionsServerSideApply, step: "ways",
			says:   "conflict with \"patcher\" using apiextensions.k8s.io/v1: .spec.names.shortNames; leave these fields out",
			change: alone(owned, strings.Replace(one(betaFields), "plural: widgets,", "plural: widgets, shortNames: [wdg],", 1)),
			broken: failedAll(requirement.UpgradeDefinitionsServerSideApply),
		},
		{
			name: "a field that somebody else has added to the definition of a release of Helm", id: requirement.UpgradeDefinitionsApply, step: "ways",
			says:   `after helm upgrade of the new definition over the old one with the owners that its fields have, it is not what its manifest says: spec.names.shortNames: expected nothing, got ["wd"] of the old one, which patcher owned`,
			change: alone(released, one(betaFields)),
			broken: failedAll(requirement.UpgradeDefinitionsApply),
			twin:   alone(strings.Replace(strings.Replace(released, `"f:plural"`, `"f:shortNames": {}, "f:plural"`, 1), "manager: patcher", "manager: helm", 1), one(betaFields)), // Helm takes away what it owns
		},
		{
			name: "preserveUnknownFields from long ago, which nothing sets to false", id: requirement.UpgradeDefinitionsApply, step: "ways",
			says:   "must be false in order to use defaults in the schema; the old definition has it, and it stays where the new one does not say otherwise: write preserveUnknownFields: false",
			change: alone(preserving, defaulted),
			broken: tolerated(failedAll(requirement.UpgradeDefinitionsApply), requirement.UpgradeBackDefinitions),
			twin:   alone(preserving, strings.Replace(defaulted, "spec:\n", "spec:\n  preserveUnknownFields: false\n", 1)),
		},
		{
			name: "definitions that something patches the stanza into later", id: requirement.UpgradeReadContent, object: "widget-3", step: "read",
			says: "nothing is converted: what is stored at another version is only relabelled v1",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[1].Definitions, u.Assumed = unnamed, []string{"widgets.example.com"}
			},
			broken: failedAll(requirement.UpgradeReadContent),
		},
		{
			name: "a program that wants its new definition, where the old one had a version", id: requirement.UpgradeWebhookOldDefinitions, step: "new webhook",
			says: "does not start while the old definitions are there, as with Helm",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[0] = widgetRelease(one(betaFields), nil)
				u.Releases[1].Build = acting{startsOnlyIf{rehearsaltest.Handled(rehearsaltest.Serve(widgets)), func(ctx context.Context, api cluster.Cluster) error {
					if err := listsWidgets("v1")(ctx, api); err != nil && strings.Contains(err.Error(), "could not find") {
						return err
					}
					return nil
				}}}
			},
			broken: tolerated(failedAll(), requirement.UpgradeWebhookOldDefinitions, requirement.UpgradeBackDefinitions),
			twin: func(u *rehearsaltest.Upgrade) {
				u.Releases[0] = widgetRelease(one(betaFields), nil)
				u.Releases[1].Build = acting{rehearsaltest.Handled(rehearsaltest.Serve(widgets))}
			},
		},
		{
			name: "a program that waits for itself once its objects are migrated", id: requirement.UpgradeWebhookStarts, step: "migrate",
			says: "waits for itself: it does not serve conversions before it has read its own kind, and nobody else converts the objects, which are stored at the new version when it is started again",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[1].Build = acting{startsOnlyIf{rehearsaltest.Handled(rehearsaltest.Serve(widgets)), listsWidgets("v1beta1")}}
			},
			broken: failedAll(requirement.UpgradeWebhookStarts),
			twin: func(u *rehearsaltest.Upgrade) {
				u.Releases[1].Build = acting{rehearsaltest.Handled(rehearsaltest.Serve(widgets))}
			},
		},
		{
			name: "a caBundle without a certificate in place of one with one", id: requirement.UpgradeDefinitionsApply, step: "ways",
			says: "API servers refuse another in its place: leave it out of the release, since cainjector writes it",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[0].Definitions, u.Releases[1].Definitions = injected, strings.Replace(u.Releases[1].Definitions, byWebhook, placeholder, 1)
			},
			broken: failedAll(requirement.UpgradeDefinitionsApply, requirement.UpgradeDefinitionsServerSideApply, requirement.UpgradeDefinitionsReplace),
			twin:   func(u *rehearsaltest.Upgrade) { u.Releases[0].Definitions = injected },
		},
		{
			name: "a null that a default takes the place of", id: requirement.UpgradeReadContent, object: "odd", step: "read",
			says: `read at v1beta1 after the upgrade: spec.tone: expected null, got "dark"`,
			change: func(u *rehearsaltest.Upgrade) {
				alone(one(betaFields+", tone: {type: string, nullable: true, default: dark}"), one(betaFields+", tone: {type: string, default: dark}"))(u)
				u.Objects += nothing
			},
			broken: failedAll(requirement.UpgradeReadContent),
			twin: func(u *rehearsaltest.Upgrade) {
				alone(one(betaFields+", tone: {type: string, nullable: true, default: dark}"), one(betaFields+", tone: {type: string, nullable: true, default: dark, maxLength: 9}"))(u)
				u.Objects += nothing
			},
		},
		{
			name: "objects without their managed fields, and a version that goes", // which of them name it is not known
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
					[]string{widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", gaFields)})(u)
				u.Objects = strings.ReplaceAll(u.Objects, "  namespace: default\n", "  namespace: default\n  resourceVersion: \"1\"\n") // they are from a cluster
			},
			broken: map[requirement.ID]requirement.Verdict{
				requirement.UpgradeDropSafe: requirement.Unknown, requirement.UpgradeWriteApply: requirement.Unknown, requirement.UpgradeUseApply: requirement.Unknown,
			},
			checks: func(t *testing.T, o rehearsal.Outcome) {
				t.Helper()
				for _, r := range o.Results {
					if r.Verdict == requirement.Unknown && !strings.Contains(r.Reason, "5 of 5 objects were dumped without their managed fields") || strings.Contains(r.Reason, "--show-managed-fields") != (r.Verdict == requirement.Unknown) {
						t.Errorf("%s: %s", r.ID, r.Reason)
					}
				}
			},
		},
	}
}

func TestRehearsalIsNotGreenByMistake(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: an upgrade takes seconds")
	}
	api := suitetest.Cluster(t, embedded.Options{})
	for _, f := range greenFaults() {
		t.Run(f.name, func(t *testing.T) {
			catchUpgradeFault(t, f, api)
			if f.twin == nil {
				return
			}
			twin := goodUpgrade(5)
			f.twin(&twin)
			for id, v := range rehearsaltest.Broken(twin.Rehearse(t, api)) {
				if id != requirement.UpgradeBackDefinitions { // a version that the old release does not have
					t.Errorf("corrected, %s is %s", id, v)
				}
			}
		})
	}
}

// What was there before the upgrade, and kinds of one release only, are not held against it.
func TestRehearsalBlamesNoUpgradeForWhatItDidNotDo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: an upgrade takes seconds")
	}
	api := suitetest.Cluster(t, embedded.Options{})
	gadgets := strings.NewReplacer("widget", "gadget", "Widget", "Gadget").Replace(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)))
	for _, c := range []struct {
		name   string
		change func(u *rehearsaltest.Upgrade)
		note   string
	}{
		{"a kind that only the new release has", func(u *rehearsaltest.Upgrade) { u.Releases[1].Definitions += "\n---" + gadgets }, ""},
		{"a kind that only the old release has", func(u *rehearsaltest.Upgrade) { u.Releases[0].Definitions += "\n---" + gadgets }, "gadgets.example.com is gone from the new release"},
		{"an object that was invalid before", func(u *rehearsaltest.Upgrade) {
			u.Objects += "\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: odd}\nspec: {size: 1x1, color: true}\n"
		}, "1 object of widgets.example.com was not valid at v1beta1 before the upgrade, such as default/odd"},
		{"objects that were last applied at a version that goes", func(u *rehearsaltest.Upgrade) {
			redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)})(u)
			u.Objects += "\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata:\n  name: manual\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\": \"example.com/v1alpha1\"}'}\nspec: {size: 1x1}\n"
		}, "1 object of widgets.example.com was last applied at v1alpha1 by kubectl, such as default/manual"},
		{"a version that is served no more", func(u *rehearsaltest.Upgrade) {
			redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1alpha1", "", betaFields), widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", gaFields)})(u)
		}, "widgets.example.com does not serve v1alpha1 any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := goodUpgrade(5)
			c.change(&u)
			outcome := u.Rehearse(t, api)
			for _, r := range outcome.Results {
				if r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable {
					t.Errorf("%s is %s: %s", r.ID, r.Verdict, r.Reason)
				}
			}
			if notes := strings.Join(outcome.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("no note says %q: %s", c.note, notes)
			}
		})
	}
}

// More objects than are shown are counted, and one cause is one, whatever values the API server repeats.
func TestRehearsalCounts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: an upgrade takes seconds")
	}
	const objects = 30
	u := goodUpgrade(objects)
	redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1", "served stored", gaFields)})(&u)
	outcome := u.Rehearse(t, start(t))
	found := rehearsaltest.Found(outcome, requirement.UpgradeDropSafe)
	if len(found) != 1 || found[0].Count != objects {
		t.Errorf("got %+v", found)
	}
	for _, s := range outcome.Legs[0].Steps {
		if s.Name == "drop" && (s.Cells[0].Found != objects || s.Cells[0].Objects != objects) {
			t.Errorf("got %+v", s.Cells[0])
		}
	}

	u = goodUpgrade(1)
	u.Releases[0] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)), nil)
	u.Releases[1] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", "size: {type: string}, color: {type: object, properties: {name: {type: string}}}")), nil)
	u.Objects = ""
	for _, color := range []string{"red", "green", "blue"} {
		u.Objects += fmt.Sprintf("\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: %s}\nspec: {size: 1x1, color: %s}\n", color, color)
	}
	if found := rehearsaltest.Found(u.Rehearse(t, start(t)), requirement.UpgradeWriteApply); len(found) != 1 || found[0].Count != 3 {
		t.Errorf("got %+v", found)
	}
}
