package corpus

import (
	"strings"
	"testing"
)

// TestLaden wants much of what other versions lack, within what annotations hold, and little of what they have.
func TestLaden(t *testing.T) {
	t.Parallel()
	common := `shared: {type: string}, tags: {type: array, items: {type: string}}`
	const second = "{name: v2"
	more, _, _ := strings.Cut(widget(spec(common+`, users: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], maxItems: 64, items: {type: object, required: [name],
		properties: {name: {type: string, pattern: '^[a-z0-9-]{1,63}$'}, hosts: {type: array, maxItems: 8, items: {type: string, pattern: '^[a-z0-9.*-]{1,253}$'}}}}}, kept: {type: object, additionalProperties: {type: string, maxLength: 100}}`)), second)
	_, less, _ := strings.Cut(widget(spec(common)), second)
	d := defined(t, more+second+less)
	for seed := range int64(5) {
		object := d.Generator("v1", seed+1, nil).Laden()
		if object == nil {
			t.Fatalf("seed %d: there is none", seed+1)
		}
		sound(t, d.Schema("v1"), objectsOf([]Single{{Object: object}}))
		fields, _ := object.Object["spec"].(map[string]any)
		for field, is := range map[string]bool{"users": size(fields["users"]) > 32<<10, "kept": size(fields["kept"]) > 32<<10, "shared": size(fields["shared"]) < 1<<10, "tags": size(fields["tags"]) < 1<<10} {
			if !is {
				t.Errorf("seed %d: %s has %d bytes", seed+1, field, size(fields[field]))
			}
		}
		if size(object.Object) > 200<<10 {
			t.Errorf("seed %d: there are %d bytes", seed+1, size(object.Object))
		}
	}
	if object := d.Generator("v2", 1, nil).Laden(); object != nil {
		t.Errorf("v1 lacks nothing, and there is %v", object)
	}
}
