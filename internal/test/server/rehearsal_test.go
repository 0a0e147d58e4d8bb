package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/rehearsal/rehearsaltest"
	"github.com/crdconform/crdconform/requirement"
)

// widgetCRD is a definition of widgets with some versions, as YAML.
func widgetCRD(conversion string, versions ...string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  conversion: %s
  versions:
%s`, conversion, strings.Join(versions, ""))
}

const (
	byWebhook    = `{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: system, name: webhook}}}}`
	noConversion = `{strategy: None}`
)

// widgetVersion is a version of widgets, with flags such as "served stored" and properties of spec.
func widgetVersion(name, flags, properties string) string {
	return fmt.Sprintf(`
  - name: %s
    served: %t
    storage: %t
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {%s}}
          status: {type: object, properties: {phase: {type: string}}}
`, name, strings.Contains(flags, "served"), strings.Contains(flags, "stored"), properties)
}

// The fields of widgets: size at v1beta1 is what width and height are at v1.
const (
	betaFields = `size: {type: string}, color: {type: string, default: grey}`
	gaFields   = `width: {type: string}, height: {type: string}, color: {type: string, default: grey}`
)

// widgets converts between size and width and height.
func widgets(object map[string]any, _, to string) error {
	spec := rehearsaltest.Spec(object)
	if to == "v1" {
		size, _ := spec["size"].(string)
		if width, height, found := strings.Cut(size, "x"); found {
			spec["width"], spec["height"] = width, height
		}
		delete(spec, "size")
		return nil
	}
	width, _ := spec["width"].(string)
	height, _ := spec["height"].(string)
	if width != "" || height != "" {
		spec["size"] = width + "x" + height
	}
	delete(spec, "width")
	delete(spec, "height")
	return nil
}

// widgetObjects are n widgets at v1beta1, one of which has been applied by server-side apply.
func widgetObjects(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `
---
apiVersion: example.com/v1beta1
kind: Widget
metadata:
  name: widget-%d
  namespace: default
  uid: 00000000-0000-4000-8000-0000000000%02d
spec: {size: %dx2, color: red}
status: {phase: Ready}
`, i, i, i+1)
	}
	return b.String()
}

// widgetRelease is a release of widgets.
func widgetRelease(definitions string, converts rehearsaltest.Converter) rehearsaltest.Release {
	return rehearsaltest.Release{Definitions: definitions, Converts: converts}
}

// goodUpgrade is an upgrade that is as it should be: the new release stores at a version that the old one knows.
func goodUpgrade(n int) rehearsaltest.Upgrade {
	return rehearsaltest.Upgrade{
		Releases: []rehearsaltest.Release{
			widgetRelease(widgetCRD(byWebhook, widgetVersion("v1beta1", "served stored", betaFields), widgetVersion("v1", "served", gaFields)), widgets),
			widgetRelease(widgetCRD(byWebhook, widgetVersion("v1beta1", "served", betaFields), widgetVersion("v1", "served stored", gaFields)), widgets),
		},
		Objects: widgetObjects(n),
	}
}

func TestRehearsalGoodUpgradePasses(t *testing.T) {
	t.Parallel()
	outcome := goodUpgrade(5).Rehearse(t, start(t))
	for _, r := range outcome.Results {
		t.Logf("%-14s %s %s", r.Verdict, r.ID, r.Reason)
	}
	for id, v := range rehearsaltest.Broken(outcome) {
		t.Errorf("%s is %s", id, v)
	}
	for _, s := range outcome.Legs[0].Steps {
		t.Logf("%-12s %.2f %+v", s.Name, s.Seconds, s.Cells)
	}
	t.Log(outcome.Notes, outcome.Legs[0].Return)
	_, _ = rehearsal.Apply, requirement.Passed
}
