package corpus

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// large is a definition with some 200 fields in each version, of all kinds.
func large(tb testing.TB) *Definition {
	tb.Helper()
	group := func(name string) string {
		return name + `: {type: object, required: [name], properties: {
			name: {type: string}, replicas: {type: integer, format: int32, minimum: 0}, size: {type: integer}, ratio: {type: number},
			enabled: {type: boolean}, mode: {type: string, enum: [A, B, C]}, since: {type: string, format: date-time},
			label: {type: string, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63}, port: {x-kubernetes-int-or-string: true},
			tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}, limits: {type: object, additionalProperties: {type: string}},
			timeout: {type: string, default: 30s},
			rules: {type: array, items: {type: object, required: [host], properties: {host: {type: string}, weight: {type: integer, minimum: 1, maximum: 100},
				paths: {type: array, items: {type: object, properties: {path: {type: string}, exact: {type: boolean}}}}}}}}}`
	}
	var parts []string
	for i := range 10 {
		parts = append(parts, group(fmt.Sprintf("part%d", i)))
	}
	properties := "{type: object, properties: {" + strings.Join(parts, ", ") + "}}"
	d := defined(tb, widget("{type: object, properties: {spec: "+properties+", status: {type: object, properties: {"+group("last")+"}}}}"))
	if d.Schema("v1").nodes < 200 {
		tb.Fatalf("%d fields", d.Schema("v1").nodes)
	}
	return d
}

func BenchmarkObjects(b *testing.B) {
	g := large(b).Generator("v1", 1, nil)
	const batch = 1000
	made, bytes := 0, 0
	for b.Loop() {
		objects := g.Objects(Plain, batch)
		made += len(objects)
		bytes = len(encoded(objects[0].Object))
	}
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "objects/s")
	b.ReportMetric(float64(bytes), "bytes/object")
}

func BenchmarkShrink(b *testing.B) {
	d := services(b)
	object := d.Generator("v1", 1, nil).Objects(Plain, 1)[0]
	asked, shrunk := 0, 0
	for b.Loop() {
		d.Schema("v1").Shrink(context.Background(), object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
			asked++
			ports, _, _ := unstructured.NestedSlice(candidate.Object, "spec", "ports")
			return len(ports) > 0
		})
		shrunk++
	}
	b.ReportMetric(float64(shrunk)/b.Elapsed().Seconds(), "objects/s")
	b.ReportMetric(float64(asked)/float64(shrunk), "asked/object")
}

func BenchmarkLosses(b *testing.B) {
	d := large(b)
	objects := d.Generator("v1", 1, nil).Objects(Plain, 100)
	compared := 0
	for b.Loop() {
		for _, object := range objects {
			if lost := d.Schema("v1").Losses(object.Object, object.Object); lost != nil {
				b.Fatal(lost)
			}
			compared++
		}
	}
	b.ReportMetric(float64(compared)/b.Elapsed().Seconds(), "objects/s")
}
