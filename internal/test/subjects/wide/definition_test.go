package main

import (
	"fmt"
	"strings"
)

// schemas are the types of the fields, one after the other and over again, with a value for a sample.
func schemas() []struct{ schema, sample string } {
	return []struct{ schema, sample string }{
		{"{type: string}", `text %d`},
		{"{type: integer, format: int64}", `90071992547%05d`},
		{"{type: boolean}", `false`},
		{"{type: number}", `%d.25`},
		{"{type: array, items: {type: string}}", `[a, "", "%d"]`},
		{"{type: object, additionalProperties: {type: string}}", `{key: "%d"}`},
		{"{type: object, properties: {name: {type: string}, size: {type: integer}}}", `{name: field001, size: %d}`},
		{"{type: string, enum: [Small, Large]}", `Large`},
	}
}

// definition returns crd.yaml.
func definition() string {
	var b strings.Builder
	b.WriteString(`# Made by the program's own test: CRDCONFORM_UPDATE=1 go test ./internal/test/subjects/wide
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: panels.wide.example.org
spec:
  group: wide.example.org
  scope: Namespaced
  names: {plural: panels, singular: panel, kind: Panel, listKind: PanelList}
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service: {name: wide, namespace: default, path: /convert}
      conversionReviewVersions: [v1]
  versions:
`)
	for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		fmt.Fprintf(&b, `  - name: %s
    served: true
    storage: %t
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`, version, version == "v1")
		for n := range fields {
			types := schemas()
			fmt.Fprintf(&b, "              %s: %s\n", name(prefixes()[version], n), types[n%len(types)].schema)
		}
	}
	return b.String()
}

// samples returns samples.yaml: for each version, a Panel with all fields and one with none.
func samples() string {
	var b strings.Builder
	b.WriteString("# Made by the program's own test: CRDCONFORM_UPDATE=1 go test ./internal/test/subjects/wide\n")
	for i, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		if i > 0 {
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "apiVersion: %s/%s\nkind: Panel\nmetadata: {name: bare-%d}\n---\n", group, version, i)
		fmt.Fprintf(&b, "apiVersion: %s/%s\nkind: Panel\nmetadata: {name: full-%d, labels: {app: panel}}\nspec:\n", group, version, i)
		for n := range fields {
			types := schemas()
			value := types[n%len(types)].sample
			if strings.Contains(value, "%") {
				value = fmt.Sprintf(value, n)
			}
			fmt.Fprintf(&b, "  %s: %s\n", name(prefixes()[version], n), value)
		}
	}
	return b.String()
}
