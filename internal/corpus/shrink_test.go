package corpus

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

func TestShrink(t *testing.T) {
	t.Parallel()
	d := services(t)
	s := d.Schema("v1")
	large := d.Generator("v1", 1, nil).Objects(Plain, 30)
	valid := func(candidate *unstructured.Unstructured) {
		sound(t, s, []*unstructured.Unstructured{withMeta(candidate)})
	}
	at := func(object *unstructured.Unstructured, path string) (any, bool) {
		return fieldpath.Value(object.Object, fieldpath.Split(path))
	}
	for name, test := range map[string]struct {
		fails func(*unstructured.Unstructured) bool
		want  string // spec
	}{
		"anything": {func(*unstructured.Unstructured) bool { return true }, `{"image":"","maxReplicas":10,"ports":[],"replicas":0,"strategy":""}`},
		"a field":  {func(o *unstructured.Unstructured) bool { _, ok := at(o, "spec.token"); return ok }, `"token":"`},
		"a list":   {func(o *unstructured.Unstructured) bool { v, ok := at(o, "spec.rows[1].tags"); return ok && v != nil }, `"rows":[{},{"tags":{}}]`},
		"a number": {func(o *unstructured.Unstructured) bool {
			v, ok := at(o, "spec.generation")
			n, _ := v.(int64)
			return ok && n > 0
		}, `"generation":1`},
	} {
		tried := false
		for _, object := range large {
			if !test.fails(object) {
				continue
			}
			tried = true
			before, asked := encoded(object.Object), 0
			small := s.Shrink(t.Context(), object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
				asked++
				valid(candidate)
				return test.fails(candidate)
			})
			if encoded(object.Object) != before {
				t.Errorf("%s: the object was changed", name)
			}
			spec := encoded(small.Object["spec"])
			if name != "anything" && !strings.Contains(spec, test.want) || !test.fails(small) || asked > mostAsked || len(spec) > 190 {
				t.Errorf("%s: after %d calls got %s, want something with %s", name, asked, spec, test.want)
			}
			if small.GetName() != object.GetName() || small.GetUID() != object.GetUID() || len(small.GetLabels()) > 0 || len(small.GetAnnotations()) > 0 {
				t.Errorf("%s: the metadata became %v", name, small.Object["metadata"])
			}
			break
		}
		if !tried {
			t.Errorf("%s: no object fails", name)
		}
	}
}

// withMeta is a copy with the metadata that shrinking may take away.
func withMeta(object *unstructured.Unstructured) *unstructured.Unstructured {
	whole := object.DeepCopy()
	whole.SetLabels(map[string]string{"a": "b"})
	whole.SetAnnotations(map[string]string{"a": "b"})
	return whole
}

func TestShrinkEnds(t *testing.T) {
	slow(t)
	t.Parallel()
	d := services(t)
	object := d.Generator("v1", 1, nil).Objects(Plain, 1)[0]
	never := func(context.Context, *unstructured.Unstructured) bool { return false }
	if same := d.Schema("v1").Shrink(t.Context(), object, never); encoded(same.Object) != encoded(object.Object) || same == object {
		t.Error("nothing smaller fails, and the object is another")
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	d.Schema("v1").Shrink(ctx, object, func(context.Context, *unstructured.Unstructured) bool {
		if asked++; asked == 3 {
			cancel()
		}
		return true
	})
	if asked != 3 {
		t.Errorf("it went on after the end of the context, %d calls", asked)
	}
	// With a flaky failure, and without a schema, it has to end as well.
	flaky := 0
	list := make([]any, 3000)
	for i := range list {
		list[i] = fmt.Sprintf("item %d 🦄", i)
	}
	free := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"list": list}}}
	small := (*Schema)(nil).Shrink(t.Context(), free, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		flaky++
		left, _, _ := unstructured.NestedSlice(candidate.Object, "spec", "list")
		return len(left) >= 2 && flaky%5 > 0
	})
	if left, _, _ := unstructured.NestedSlice(small.Object, "spec", "list"); flaky > mostAsked || len(left) > 10 {
		t.Errorf("after %d calls %d items are left", flaky, len(left))
	}
}
