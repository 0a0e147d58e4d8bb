package suites_test

import (
	"maps"
	"net/http"
	"slices"
)

// gateways have a map at one version, and at the other a list of its entries without a field.
const gateways = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gateways.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gateways, singular: gateway, kind: Gateway, listKind: GatewayList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1alpha1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              class: {type: string}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, minLength: 1}, port: {type: integer, minimum: 1, maximum: 65535}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              class: {type: string}
              listeners:
                type: object
                additionalProperties: {type: object, properties: {port: {type: integer, minimum: 1, maximum: 65535}, hosts: {type: array, items: {type: string}}}}
`

const gatewaySample = `
apiVersion: example.com/v1
kind: Gateway
metadata: {name: a}
spec: {class: shared, listeners: {web: {port: 80, hosts: [a.example.com]}, tls: {port: 443, hosts: [b.example.com]}}}
---
apiVersion: example.com/v1alpha1
kind: Gateway
metadata: {name: b}
spec: {class: own, ports: [{name: web, port: 8080}]}
`

// entries is a correct webhook for gateways. It keeps the hosts of each listener in an annotation, and drops those of listeners that are gone.
func entries() http.Handler {
	const key = "example.com/hosts"
	return rewriting(func(_, to string, o map[string]any) {
		spec := within(o, "spec")
		if to == "v1alpha1" {
			listeners, is := spec["listeners"].(map[string]any)
			if !is {
				return
			}
			hosts, ports := map[string]any{}, []any{}
			for _, name := range slices.Sorted(maps.Keys(listeners)) {
				listener := listeners[name]
				if kept := member(listener, "hosts"); kept != nil {
					hosts[name] = kept
				}
				ports = append(ports, having(having(listener, "hosts", nil), "name", name))
			}
			annotate(o, key, hosts)
			delete(spec, "listeners")
			spec["ports"] = ports
			return
		}
		hosts, found := annotated(o, key)
		if found {
			delete(within(within(o, "metadata"), "annotations"), key)
		}
		if ports, is := spec["ports"].([]any); is {
			listeners := map[string]any{}
			for _, port := range ports {
				name := member(port, "name").(string)
				listeners[name] = having(having(port, "name", nil), "hosts", member(hosts, name))
			}
			delete(spec, "ports")
			spec["listeners"] = listeners
		}
	})
}
