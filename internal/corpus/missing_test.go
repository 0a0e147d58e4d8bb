package corpus

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMissing has objects that lack fields at every level, have null for them, or have something of another type there.
func TestMissing(t *testing.T) {
	t.Parallel()
	object := func(fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields}
	}
	other := object(map[string]any{
		"metadata": map[string]any{"name": "a"}, "kind": "Widget",
		"spec":   map[string]any{"a": int64(1), "b": map[string]any{"c": "x", "d": []any{map[string]any{"e": true}}}},
		"status": map[string]any{"phase": "Ready"},
	})
	for name, test := range map[string]struct {
		has  map[string]any
		want []string
	}{
		"nothing":      {map[string]any{}, []string{"spec", "status"}},
		"null":         {map[string]any{"spec": nil, "status": map[string]any{"phase": nil}}, []string{"spec", "status.phase"}},
		"a part":       {map[string]any{"spec": map[string]any{"b": map[string]any{"d": []any{}}}, "status": map[string]any{}}, []string{"spec.a", "spec.b.c", "status.phase"}},
		"another type": {map[string]any{"spec": map[string]any{"a": int64(1), "b": "text"}, "status": map[string]any{"phase": ""}}, nil},
		"all":          {other.Object, nil},
	} {
		if got := Missing(object(test.has), other); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
