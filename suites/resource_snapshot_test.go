package suites_test

import "net/http"

// fleets have fields at v1 that v1beta1 lacks, in the spec, in an inner object and in the items of a list.
const fleets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: fleets, singular: fleet, kind: Fleet, listKind: FleetList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              template: {type: object, properties: {image: {type: string}, command: &command {type: array, items: {type: string}}}}
              nodes:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}
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
              template: {type: object, properties: {image: {type: string}, command: *command, timeout: {type: integer}}}
              nodes:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}, zone: {type: string}}}
              paused: {type: boolean}
              strategy: {type: object, properties: {surge: {type: integer}, kind: {type: string, enum: [Rolling, Recreate]}}}
`

const fleetSample = `
apiVersion: example.com/v1
kind: Fleet
metadata: {name: sample}
spec:
  template: {image: a, command: [b], timeout: 30}
  nodes: [{name: a, size: 3, zone: b}]
  paused: true
  strategy: {surge: 3, kind: Rolling}
`

// snapshots is a webhook for fleets that keeps all of what v1 has in an annotation. From that it restores what v1beta1 lacks, whatever else has
// changed, where that belongs to something that there still is.
func snapshots() http.Handler {
	const key = "example.com/conversion-data"
	only := []string{"paused", "strategy"}
	return rewriting(func(_, to string, o map[string]any) {
		spec := within(o, "spec")
		if to == "v1beta1" {
			if o["spec"] == nil {
				return
			}
			annotate(o, key, spec)
			for _, field := range only {
				delete(spec, field)
			}
			delete(within(spec, "template"), "timeout")
			for _, item := range listIn(spec, "nodes") {
				delete(item, "zone")
			}
			return
		}
		kept, found := annotated(o, key)
		if !found {
			return
		}
		forget(o, key)
		for _, field := range only {
			restore(spec, kept, field)
		}
		restore(within(spec, "template"), member(kept, "template"), "timeout")
		was, _ := kept.(map[string]any)
		for _, item := range listIn(spec, "nodes") {
			for _, old := range listIn(was, "nodes") {
				if old["name"] == item["name"] {
					restore(item, old, "zone")
				}
			}
		}
	})
}

// restore gives an object a member that another has.
func restore(to map[string]any, from any, name string) {
	if value := member(from, name); value != nil {
		to[name] = value
	}
}

// listIn returns the items of a list of objects.
func listIn(object map[string]any, key string) []map[string]any {
	list, _ := object[key].([]any)
	var items []map[string]any
	for _, item := range list {
		if fields, is := item.(map[string]any); is {
			items = append(items, fields)
		}
	}
	return items
}

// forget removes an annotation, and what is empty without it.
func forget(o map[string]any, key string) {
	annotations := within(within(o, "metadata"), "annotations")
	delete(annotations, key)
	if len(annotations) == 0 {
		delete(within(o, "metadata"), "annotations")
	}
}
