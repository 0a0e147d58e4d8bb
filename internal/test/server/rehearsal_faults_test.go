package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// exchange answers requests to the API server, or passes them on.
type exchange func(r *http.Request, next http.RoundTripper) (*http.Response, error)

// upgradeFault is an upgrade with something wrong.
type upgradeFault struct {
	name    string
	change  func(u *rehearsaltest.Upgrade)
	tamper  exchange
	collect bool                                    // the cluster pretends to have a garbage collector
	broken  map[requirement.ID]requirement.Verdict  // exactly these
	step    string                                  // of the finding of the first of them
	object  string                                  // its name; empty if it is about none
	says    string                                  // its message contains this
	id      requirement.ID                          // which it is
	checks  func(t *testing.T, o rehearsal.Outcome) // may be nil

	// twin is the same upgrade, corrected. Nil says that this is the good upgrade, or the same upgrade if somebody tampers with it.
	twin func(u *rehearsaltest.Upgrade)
}

// failedAll are requirements that fail.
func failedAll(ids ...requirement.ID) map[requirement.ID]requirement.Verdict {
	all := map[requirement.ID]requirement.Verdict{}
	for _, id := range ids {
		all[id] = requirement.Failed
	}
	return all
}

// tolerated adds requirements whose violation is tolerated.
func tolerated(all map[requirement.ID]requirement.Verdict, ids ...requirement.ID) map[requirement.ID]requirement.Verdict {
	for _, id := range ids {
		all[id] = requirement.Tolerated
	}
	return all
}

// refusing answers requests as the API server does that fails.
func refusing(which func(r *http.Request, body string) bool) exchange {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !which(r, string(suitetest.Body(r))) {
			return next.RoundTrip(r)
		}
		return suitetest.Answer(r, http.StatusInternalServerError, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "made up",
		}), nil
	}
}

// ofWidgets reports whether a request is about widgets at v1.
func ofWidgets(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/apis/example.com/v1/") && strings.Contains(r.URL.Path, "/widgets")
}

func named(r *http.Request, name string) bool { return strings.HasSuffix(r.URL.Path, "/widgets/"+name) }

func tried(r *http.Request) bool { return r.URL.Query().Get("dryRun") != "" }

// notingMigration notes that objects were migrated.
func notingMigration(seen *atomic.Bool) exchange {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPatch && ofWidgets(r) && !tried(r) && strings.Contains(r.Header.Get("Content-Type"), "merge-patch") {
			seen.Store(true)
		}
		return next.RoundTrip(r)
	}
}

// failingFor fails conversions to a version for one object.
func failingFor(name, to, message string) rehearsaltest.Converter {
	return func(object map[string]any, from, target string) error {
		meta, _ := object["metadata"].(map[string]any)
		if target == to && meta["name"] == name {
			return errors.New(message)
		}
		return widgets(object, from, target)
	}
}

// losing loses the color on the way to a version, while something holds.
func losing(to string, while func() bool) rehearsaltest.Converter {
	return func(object map[string]any, from, target string) error {
		if target == to && while() {
			delete(rehearsaltest.Spec(object), "color")
		}
		return widgets(object, from, target)
	}
}

// repainting is losing, but for another color in its place.
func repainting(to string, while func() bool) rehearsaltest.Converter {
	return func(object map[string]any, from, target string) error {
		if spec := rehearsaltest.Spec(object); target == to && spec["color"] != nil && while() {
			spec["color"] = "repainted"
		}
		return widgets(object, from, target)
	}
}

func always() bool { return true }

// startsOnlyIf is a build that does not start unless something holds.
type startsOnlyIf struct {
	rehearsal.Build
	starts func(ctx context.Context, api cluster.Cluster) error
}

// Start starts it, if it starts. Definitions name it before.
func (f startsOnlyIf) Start(ctx context.Context, api cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	server, err := webhook.StartAt(ctx, "127.0.0.1:0", "/nobody", http.NotFoundHandler())
	if err != nil {
		return nil, err
	}
	if err := server.Close(); err != nil {
		return nil, err
	}
	if err := at(apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: server.CA}); err != nil {
		return nil, err
	}
	if err := f.starts(ctx, api); err != nil {
		return nil, err
	}
	return f.Build.Start(ctx, api, at)
}

// listsWidgets fails unless the widgets can be listed at a version.
func listsWidgets(version string) func(ctx context.Context, api cluster.Cluster) error {
	return func(ctx context.Context, api cluster.Cluster) error {
		client, err := dynamic.NewForConfig(api.Config())
		if err != nil {
			return err
		}
		_, err = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}).List(ctx, metav1.ListOptions{})
		return err
	}
}

func redefined(oldVersions, newVersions []string) func(*rehearsaltest.Upgrade) {
	return func(u *rehearsaltest.Upgrade) {
		u.Releases[0].Definitions, u.Releases[1].Definitions = widgetCRD(byWebhook, oldVersions...), widgetCRD(byWebhook, newVersions...)
	}
}

// appliedWidget is a managed field of a manager that has applied a label, at a version.
func appliedWidget(version string) string {
	return fmt.Sprintf(`
---
apiVersion: example.com/v1beta1
kind: Widget
metadata:
  name: applied
  namespace: default
  labels: {a: b}
  managedFields:
  - {manager: argocd, operation: Apply, apiVersion: example.com/%s, fieldsType: FieldsV1, time: "2020-01-01T00:00:00Z", fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:size": {}, "f:color": {}}}}
spec: {size: 1x1}
`, version)
}

// widgetsInCluster is a definition in a cluster, with its status.
func widgetsInCluster(stored string) string {
	return "\n---" + widgetCRD(byWebhook, widgetVersion("v1beta1", "served stored", betaFields)) + "\nstatus: {storedVersions: [" + stored + "]}\n"
}

func upgradeFaults() []upgradeFault {
	both := func() []string {
		return []string{widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", gaFields)}
	}
	return []upgradeFault{
		{
			name: "an annotation of kubectl apply that knows nothing of the conversion", id: requirement.UpgradeDefinitionsApply, says: "spec.conversion.strategy: expected \"None\", got \"Webhook\"",
			change: unconverted(`"group":"example.com"`),
			broken: failedAll(requirement.UpgradeDefinitionsApply), step: "ways",
			twin: unconverted(`"group":"example.com","conversion":{"strategy":"Webhook"}`), // it was applied with its conversion
		},
		{
			// v1beta1 sets preserveUnknownFields to true where nothing was said, and what was not applied no apply removes.
			name: "an old definition at v1beta1 that keeps unknown fields", id: requirement.UpgradeDefinitionsApply, says: "must be None if spec.preserveUnknownFields is true",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[0] = widgetRelease(`
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, version: v1beta1}
`, nil)
			},
			broken: tolerated(failedAll(requirement.UpgradeDefinitionsApply), requirement.UpgradeBackDefinitions), step: "ways",
			checks: func(t *testing.T, o rehearsal.Outcome) {
				t.Helper()
				if back := strings.Join(o.Legs[0].Return, "\n"); !strings.Contains(back, "cannot be put back any more: CustomResourceDefinition") {
					t.Errorf("the way back: %s", back)
				}
			},
			twin: func(u *rehearsaltest.Upgrade) { // the new definition says that it keeps none
				old := `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, version: v1beta1}
`
				u.Releases[0] = widgetRelease(old, nil)
				u.Releases[1].Definitions = strings.Replace(u.Releases[1].Definitions, "  scope: Namespaced", "  scope: Namespaced\n  preserveUnknownFields: false", 1)
			},
		},
		{
			name: "a field that definitions do not have", id: requirement.UpgradeDefinitionsServerSideApply, says: "field not declared in schema",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[1].Definitions = strings.Replace(u.Releases[1].Definitions, "  scope: Namespaced", "  scope: Namespaced\n  validation: {}", 1)
			},
			broken: failedAll(requirement.UpgradeDefinitionsServerSideApply), step: "ways",
		},
		{
			name: "replacing is refused", id: requirement.UpgradeDefinitionsReplace, says: "made up",
			tamper: refusing(func(r *http.Request, _ string) bool {
				return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "customresourcedefinitions")
			}),
			broken: failedAll(requirement.UpgradeDefinitionsReplace), step: "ways",
		},
		{
			name: "the storage version is dropped", id: requirement.UpgradeDefinitionsAccepted, says: "status.storedVersions[0]: Invalid value: \"v1beta1\": missing from spec.versions",
			change: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1", "served stored", gaFields)}),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted, requirement.UpgradeDropSafe), step: "definitions",
			checks: func(t *testing.T, o rehearsal.Outcome) {
				t.Helper()
				if f := rehearsaltest.Found(o, requirement.UpgradeDropSafe); len(f) != 1 || f[0].Count != 5 || !strings.Contains(f[0].Message, "stored at v1beta1") {
					t.Errorf("got %+v", f)
				}
				if !strings.Contains(strings.Join(o.Notes, "\n"), "its objects were migrated to v1 under the old definition") {
					t.Errorf("notes %q", o.Notes)
				}
			},
			twin: redefined([]string{widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", gaFields)}, []string{widgetVersion("v1", "served stored", gaFields)}),
		},
		{
			name: "storedVersions has a version without objects", id: requirement.UpgradeDefinitionsAccepted, says: "\"v1alpha1\": missing from spec.versions",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields)}, both())(u)
				u.Objects += widgetsInCluster("v1alpha1, v1beta1")
				u.Releases[0].Converts = widgets
			},
			broken: tolerated(failedAll(requirement.UpgradeDefinitionsAccepted), requirement.UpgradeBackDefinitions), step: "definitions",
			twin: func(u *rehearsaltest.Upgrade) { // it was trimmed
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields)}, both())(u)
				u.Objects += widgetsInCluster("v1beta1")
			},
		},
		{
			name: "no version in common", id: requirement.UpgradeDefinitionsAccepted, says: "missing from spec.versions",
			change: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields)}, []string{widgetVersion("v1", "served stored", gaFields)}),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted, requirement.UpgradeDropSafe), step: "definitions",
			twin: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields)}, both()),
		},
		{
			name: "a definition that no API server accepts", id: requirement.UpgradeDefinitionsAccepted, says: "even where no old one exists",
			change: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields)}, []string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served stored", gaFields)}),
			broken: failedAll(requirement.UpgradeDefinitionsAccepted), step: "ways",
		},
		{
			name: "an object that was broken before", id: requirement.UpgradeObjectsReadable, object: "widget-3", says: "even before the upgrade: conversion webhook for example.com/v1beta1, Kind=Widget failed: no size",
			change: func(u *rehearsaltest.Upgrade) { u.Releases[0].Converts = failingFor("widget-3", "v1", "no size") },
			broken: tolerated(failedAll(), requirement.UpgradeObjectsReadable), step: "objects",
		},
		{
			name: "managed fields at a version that goes", id: requirement.UpgradeDropSafe, object: "applied", says: "v1alpha1 is removed, and managed fields of argocd name it",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, both())(u)
				u.Objects += appliedWidget("v1alpha1")
			},
			broken: failedAll(requirement.UpgradeDropSafe), step: "drop",
			twin: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, both())(u)
				u.Objects += appliedWidget("v1beta1")
			},
		},
		{
			name: "a new webhook that has forgotten the old version", id: requirement.UpgradeWebhookOldDefinitions, says: "unknown version v1alpha1",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, both())(u)
				u.Releases[1].Converts = func(object map[string]any, from, to string) error {
					if to == "v1alpha1" {
						return errors.New("unknown version v1alpha1")
					}
					return widgets(object, from, to)
				}
			},
			broken: failedAll(requirement.UpgradeWebhookOldDefinitions), step: "new webhook",
			twin: redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, both()),
		},
		{
			name: "a new program that wants its new definitions", id: requirement.UpgradeWebhookOldDefinitions, says: "does not start while the old definitions are there",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, append(both(), widgetVersion("v2", "served", gaFields)))(u)
				u.Releases[1].Build = startsOnlyIf{rehearsaltest.Handled(rehearsaltest.Serve(widgets2)), func(ctx context.Context, api cluster.Cluster) error {
					if err := listsWidgets("v2")(ctx, api); err != nil && strings.Contains(err.Error(), "could not find") {
						return err
					}
					return nil
				}}
			},
			broken: tolerated(failedAll(), requirement.UpgradeWebhookOldDefinitions), step: "new webhook",
			twin: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, append(both(), widgetVersion("v2", "served", gaFields)))(u)
				u.Releases[1].Converts = widgets2
			},
		},
		{
			name: "a storage version that the old webhook does not know", id: requirement.UpgradeWebhookOldBuild, says: "until all pods are of the new release, every write fails",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields)}, append(both(), widgetVersion("v1alpha1", "served", betaFields)))(u)
				u.Releases[0].Converts = func(object map[string]any, from, to string) error {
					if to == "v1" {
						return errors.New("unknown version v1")
					}
					return widgets(object, from, to)
				}
			},
			broken: tolerated(failedAll(requirement.UpgradeWebhookOldBuild), requirement.UpgradeBackDefinitions), step: "old webhook",
			checks: func(t *testing.T, o rehearsal.Outcome) {
				t.Helper()
				if back := strings.Join(o.Legs[0].Return, "\n"); !strings.Contains(back, "before anything is written, the old definition can be put back only after the new one was changed to store at v1beta1") {
					t.Errorf("the way back: %s", back)
				}
			},
			twin: redefined([]string{widgetVersion("v1alpha1", "served", betaFields), widgetVersion("v1beta1", "served stored", betaFields)}, append(both(), widgetVersion("v1alpha1", "served", betaFields))),
		},
		{
			name: "a version that the old release does not have", id: requirement.UpgradeBackDefinitions, says: "the API server refuses the old definition over the new one, before anything is written: CustomResourceDefinition",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[0] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)), nil)
				u.Releases[1] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", betaFields)), nil)
			},
			broken: tolerated(failedAll(), requirement.UpgradeBackDefinitions), step: "back",
			twin: func(u *rehearsaltest.Upgrade) {
				u.Releases[0] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", betaFields)), nil)
				u.Releases[1] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", betaFields)), nil)
			},
		},
		{
			name: "a program that waits for itself", id: requirement.UpgradeWebhookStarts, says: "waits for itself",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields)}, both())(u)
				u.Releases[0].Definitions, u.Releases[0].Converts = widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)), nil
				u.Releases[1].Build = startsOnlyIf{rehearsaltest.Handled(rehearsaltest.Serve(widgets)), listsWidgets("v1")}
			},
			broken: tolerated(failedAll(requirement.UpgradeWebhookStarts), requirement.UpgradeBackDefinitions), step: "start",
			twin: func(u *rehearsaltest.Upgrade) {
				redefined(nil, both())(u)
				u.Releases[0] = widgetRelease(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)), nil)
			},
		},
		{
			name: "a program that does not start", id: requirement.UpgradeWebhookStarts, says: "does not start: no such flag",
			change: func(u *rehearsaltest.Upgrade) {
				u.Releases[1].Build = startsOnlyIf{rehearsaltest.Handled(rehearsaltest.Serve(widgets)), func(context.Context, cluster.Cluster) error { return errors.New("no such flag") }}
			},
			broken: failedAll(requirement.UpgradeWebhookStarts), step: "start",
		},
		{
			name: "an object that the new webhook cannot convert", id: requirement.UpgradeReadGet, object: "widget-3", says: "it cannot be read at v1 after the upgrade: conversion webhook for example.com/v1beta1, Kind=Widget failed: nil pointer",
			change: func(u *rehearsaltest.Upgrade) { u.Releases[1].Converts = failingFor("widget-3", "v1", "nil pointer") },
			broken: failedAll(requirement.UpgradeReadGet), step: "read",
		},
		{
			name: "lists fail", id: requirement.UpgradeReadList, says: "the objects cannot be listed at v1 after the upgrade: made up",
			tamper: refusing(func(r *http.Request, _ string) bool {
				return ofWidgets(r) && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/widgets") && !strings.Contains(r.Header.Get("Accept"), "Table") && r.URL.Query().Get("watch") == "" && r.URL.Query().Get("limit") == "500"
			}),
			change: func(u *rehearsaltest.Upgrade) {
				u.Selects = func(id requirement.ID) bool { return strings.HasPrefix(string(id), "upgrade.read.") }
			},
			broken: failedAll(requirement.UpgradeReadList), step: "read",
		},
		{
			name: "watches show nothing", id: requirement.UpgradeReadWatch, object: "widget-0", says: "made up",
			tamper: refusing(func(r *http.Request, _ string) bool { return ofWidgets(r) && r.URL.Query().Get("watch") != "" }),
			broken: failedAll(requirement.UpgradeReadWatch), step: "read",
		},
		{
			name: "a default that changes", id: requirement.UpgradeReadContent, object: "plain", says: "read at v1beta1 after the upgrade: spec.color: expected \"grey\", got \"blue\"",
			change: func(u *rehearsaltest.Upgrade) {
				blue := func(properties string) string { return strings.Replace(properties, "grey", "blue", 1) }
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1beta1", "served stored", blue(betaFields)), widgetVersion("v1", "served", blue(gaFields))})(u)
				u.Objects += "\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: plain}\nspec: {size: 1x1}\n"
			},
			broken: failedAll(requirement.UpgradeReadContent), step: "read",
			twin: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)})(u)
				u.Objects += "\n---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: plain}\nspec: {size: 1x1}\n"
			},
		},
		{
			name: "a field that goes", id: requirement.UpgradeReadPruned, object: "widget-0", says: "spec.color is gone, since the new schema of v1beta1 does not have the field; it was \"red\"",
			change: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1beta1", "served stored", "size: {type: string}"), widgetVersion("v1", "served", strings.ReplaceAll(gaFields, ", default: grey", ""))}),
			broken: failedAll(requirement.UpgradeReadPruned), step: "read",
			twin: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1beta1", "served stored", betaFields+", weight: {type: string}"), widgetVersion("v1", "served", gaFields+", weight: {type: string}")}),
		},
		{
			name: "a webhook that cannot convert back", id: requirement.UpgradeWriteNoOp, object: "widget-0", says: "the API server refuses to write it at v1 as it is read there",
			change: func(u *rehearsaltest.Upgrade) {
				redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)})(u)
				u.Releases[1].Converts = func(object map[string]any, from, to string) error {
					if to == "v1beta1" {
						return errors.New("not implemented")
					}
					return widgets(object, from, to)
				}
			},
			broken: failedAll(requirement.UpgradeWriteNoOp), step: "write",
			twin: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}, []string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)}),
		},
		{
			name: "a webhook that loses a field on the way back", id: requirement.UpgradeWriteNoOp, object: "widget-0", says: "written at v1beta1 as it was read there, it changes: spec.color: expected \"red\"",
			change: func(u *rehearsaltest.Upgrade) { u.Releases[1].Converts = losing("v1beta1", always) },
			broken: failedAll(requirement.UpgradeWriteNoOp), step: "write",
		},
		{
			name: "a status that cannot be written", id: requirement.UpgradeWriteStatus, object: "widget-0", says: "made up",
			tamper: refusing(func(r *http.Request, _ string) bool {
				return ofWidgets(r) && strings.HasSuffix(r.URL.Path, "/status") && r.Method == http.MethodPut
			}),
			broken: failedAll(requirement.UpgradeWriteStatus), step: "write",
		},
		{
			name: "a manager that cannot apply again", id: requirement.UpgradeWriteApply, object: "applied", says: "the manager argocd cannot apply what it has applied (at v1beta1) at v1 after the upgrade: made up",
			change: func(u *rehearsaltest.Upgrade) { u.Objects += appliedWidget("v1beta1") },
			tamper: refusing(func(r *http.Request, _ string) bool {
				return ofWidgets(r) && named(r, "applied") && strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
			}),
			broken: failedAll(requirement.UpgradeWriteApply), step: "write",
		},
		{
			name: "managed fields at a version that went before", id: "", change: func(u *rehearsaltest.Upgrade) { u.Objects += appliedWidget("v1alpha9") },
			broken: failedAll(),
			checks: func(t *testing.T, o rehearsal.Outcome) {
				t.Helper()
				if !strings.Contains(strings.Join(o.Notes, "\n"), "could not be applied before the upgrade either") {
					t.Errorf("notes %q", o.Notes)
				}
			},
		},
		{
			name: "a pattern that objects do not match", id: requirement.UpgradeWriteCreate, object: "widget-0", says: "it could not be created again at v1beta1 as it is: spec.size",
			change: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1beta1", "served stored", strings.Replace(betaFields, "size: {type: string}", "size: {type: string, pattern: '^[0-9]+ x [0-9]+$'}", 1)), widgetVersion("v1", "served", gaFields)}),
			broken: tolerated(failedAll(), requirement.UpgradeWriteCreate), step: "read",
			twin: redefined([]string{widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)},
				[]string{widgetVersion("v1beta1", "served stored", strings.Replace(betaFields, "size: {type: string}", "size: {type: string, pattern: '^[0-9]+x[0-9]+$'}", 1)), widgetVersion("v1", "served", gaFields)}),
		},
		{
			name: "an object that cannot be migrated", id: requirement.UpgradeMigrationProved, object: "widget-2", says: "it cannot be migrated to v1: made up",
			tamper: refusing(func(r *http.Request, _ string) bool {
				return ofWidgets(r) && r.Method == http.MethodPatch && named(r, "widget-2") && !tried(r)
			}),
			broken: failedAll(requirement.UpgradeMigrationProved), step: "migrate",
		},
		{
			name: "objects cannot be created", id: requirement.UpgradeUseCreate, object: "crdconform-new-v1-0", says: "made up",
			tamper: refusing(func(r *http.Request, _ string) bool { return ofWidgets(r) && r.Method == http.MethodPost }),
			broken: failedAll(requirement.UpgradeUseCreate), step: "create",
		},
		{
			name: "objects cannot be deleted", id: requirement.UpgradeUseDelete, object: "widget-1", says: "made up",
			tamper: refusing(func(r *http.Request, _ string) bool {
				return ofWidgets(r) && r.Method == http.MethodDelete && named(r, "widget-1")
			}),
			broken: failedAll(requirement.UpgradeUseDelete), step: "use",
		},
		{
			name: "what is owned is not collected", id: requirement.UpgradeUseCollected, object: "crdconform-new-v1beta1-1", says: "is still there", collect: true,
			broken: failedAll(requirement.UpgradeUseCollected), step: "use",
		},
	}
}

// unconverted is an upgrade from a definition that kubectl last applied with some fields of its spec, to one that says nothing of conversion.
func unconverted(applied string) func(u *rehearsaltest.Upgrade) {
	return func(u *rehearsaltest.Upgrade) {
		u.Releases[0].Definitions = strings.Replace(u.Releases[0].Definitions, "metadata: {name: widgets.example.com}", `metadata:
  name: widgets.example.com
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{`+applied+"}}'", 1)
		u.Releases[1] = widgetRelease(strings.Replace(widgetCRD(noConversion, widgetVersion("v1beta1", "served stored", betaFields)), "  conversion: "+noConversion+"\n", "", 1), nil)
	}
}

// widgets2 also converts to v2, which is like v1.
func widgets2(object map[string]any, from, to string) error {
	like := func(version string) string { return strings.Replace(version, "v2", "v1", 1) }
	if like(from) == like(to) {
		return nil
	}
	return widgets(object, like(from), like(to))
}

// lateUpgradeFaults depend on whether the objects were migrated.
func lateUpgradeFaults() []upgradeFault {
	late := func(f func(u *rehearsaltest.Upgrade, seen *atomic.Bool), tamper func(seen *atomic.Bool) exchange, rest upgradeFault) upgradeFault {
		seen := &atomic.Bool{}
		rest.change = func(u *rehearsaltest.Upgrade) { f(u, seen) }
		rest.tamper = tamper(seen)
		return rest
	}
	return []upgradeFault{
		late(func(u *rehearsaltest.Upgrade, seen *atomic.Bool) {
			u.Releases[1].Converts = losing("v1beta1", seen.Load)
		}, notingMigration, upgradeFault{
			name: "a field that is lost once the objects are migrated", id: requirement.UpgradeUseRead, object: "widget-0", says: "read at v1beta1 after the objects were written and migrated: spec.color",
			broken: failedAll(requirement.UpgradeUseRead), step: "use",
		}),
		late(func(u *rehearsaltest.Upgrade, seen *atomic.Bool) {
			u.Releases[0].Converts = func(object map[string]any, from, to string) error {
				if seen.Load() && to == "v1beta1" {
					return errors.New("too new")
				}
				return widgets(object, from, to)
			}
		}, notingMigration, upgradeFault{
			name: "an old webhook that cannot read what the new one wrote", id: requirement.UpgradeBackRead, object: "widget-0", says: "once the old release was back (after objects were written): conversion webhook",
			broken: tolerated(failedAll(), requirement.UpgradeBackRead), step: "back again",
		}),
		late(func(u *rehearsaltest.Upgrade, seen *atomic.Bool) {
			u.Releases[0].Converts = losing("v1beta1", seen.Load)
		}, notingMigration, upgradeFault{
			name: "an old webhook that loses what the new one wrote", id: requirement.UpgradeBackContent, object: "widget-0", says: "spec.color",
			broken: tolerated(failedAll(), requirement.UpgradeBackContent), step: "back again",
		}),
		late(func(*rehearsaltest.Upgrade, *atomic.Bool) {}, func(seen *atomic.Bool) exchange {
			refuse := refusing(func(r *http.Request, _ string) bool {
				return seen.Load() && ofWidgets(r) && strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
			})
			note := notingMigration(seen)
			return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if seen.Load() {
					return refuse(r, next)
				}
				return note(r, next)
			}
		}, upgradeFault{
			name: "applies that fail once the objects are migrated", id: requirement.UpgradeUseApply, object: "widget-0", says: "cannot apply an annotation at v1 once the objects are migrated: made up",
			broken: failedAll(requirement.UpgradeUseApply), step: "use",
		}),
	}
}

// TestRehearsalFaultsAreCaught shows of each requirement that it can fail, and that nothing else fails with it that has another cause.
func TestRehearsalFaultsAreCaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: an upgrade takes seconds, and there are dozens")
	}
	all := append(upgradeFaults(), lateUpgradeFaults()...)
	const servers = 3 // an upgrade waits more than it computes
	for n := range servers {
		t.Run(fmt.Sprint("server ", n), func(t *testing.T) {
			t.Parallel()
			api := suitetest.Cluster(t, embedded.Options{})
			for i := n; i < len(all); i += servers {
				t.Run(all[i].name, func(t *testing.T) {
					wantEmpty(t, api)
					catchUpgradeFault(t, all[i], api)
				})
			}
		})
	}
	caught := map[requirement.ID]bool{}
	for _, f := range all {
		caught[f.id] = true
	}
	for _, id := range rehearsal.IDs() {
		if !caught[id] {
			t.Errorf("no fault shows that %s can fail", id)
		}
	}
}

// catchUpgradeFault rehearses an upgrade with a fault, and wants that to be found, and nothing else.
func catchUpgradeFault(t *testing.T, f upgradeFault, server rehearsaltest.API) {
	t.Helper()
	u, api := goodUpgrade(5), server
	if f.change != nil {
		f.change(&u)
	}
	if f.tamper != nil {
		api = rehearsaltest.Tampered{API: api, Exchange: f.tamper}
	}
	if f.collect {
		api = rehearsaltest.Tampered{API: api, Exchange: idleCollector()}
	}
	outcome := u.Rehearse(t, api)
	broken := rehearsaltest.Broken(outcome)
	if !maps.Equal(broken, f.broken) {
		t.Errorf("got %v, want %v", broken, f.broken)
		for _, r := range outcome.Results {
			if broken[r.ID] != f.broken[r.ID] {
				t.Logf("%s %s: %s", r.ID, r.Verdict, r.Reason)
			}
		}
	}
	if f.checks != nil {
		f.checks(t, outcome)
	}
	if f.id == "" {
		return
	}
	found := rehearsaltest.Found(outcome, f.id)
	if !slices.ContainsFunc(found, func(c reports.LegFinding) bool {
		return c.Step == f.step && strings.Contains(c.Message, f.says) && (f.object == "" || c.Name == f.object || slices.Contains(c.Others, "default/"+f.object))
	}) {
		t.Errorf("no finding of %s in the step %q of %q that says %q: %+v", f.id, f.step, f.object, f.says, found)
	}
}

// idleCollector pretends that there is a garbage collector, which collects nothing.
func idleCollector() exchange {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		switch {
		case strings.Contains(r.URL.Path, "/leases/kube-controller-manager"):
			return suitetest.Answer(r, http.StatusOK, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "kube-controller-manager"}}), nil
		case strings.HasPrefix(r.URL.Path, "/api/v1/") && strings.Contains(r.URL.Path, "/configmaps"):
			return suitetest.Answer(r, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}), nil
		}
		return next.RoundTrip(r)
	}
}
