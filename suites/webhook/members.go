package webhook

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
)

// members looks for places that take two members, which are objects, of what may be a union: many webhooks take over the first of those that are there.
func (q *inquiry) members(ctx context.Context, places []found) {
	type union struct{ version, at string }
	asked := map[union]int{} // of how many places, since one may be lost for another reason
	for first, f := range places {
		schema := q.c.definition.schemaOf(f.pair.From)
		for _, around := range slices.Backward(structsAround(schema, f.effect.at)) {
			at := schema.Pattern(fieldpath.Join(around))
			is := union{f.pair.From, at}
			if !q.isOpen(places[first]) || asked[is] == fewSharing || q.loneMember(f, at) == nil {
				continue
			}
			asked[is]++
			q.share(ctx, places, first, &turn{
				example: f.subject,
				without: func(of found) *unstructured.Unstructured { return q.loneMember(of, at) },
				words:   "where " + at + " has several members",
			})
		}
	}
}

// structsAround returns the objects with fields that a path leads through, the outermost first.
func structsAround(schema *corpus.Schema, path string) [][]fieldpath.Step {
	steps, places := fieldpath.Split(path), fieldpath.Split(schema.Place(path))
	var all [][]fieldpath.Step
	for i := range steps {
		if i > 0 && !steps[i].List && places[i].Key != "*" {
			all = append(all, steps[:i])
		}
	}
	return all
}

// loneMember returns the object of a finding without the objects that are beside that of the finding in another; nil if there are none.
func (q *inquiry) loneMember(f found, at string) *unstructured.Unstructured {
	schema := q.c.definition.schemaOf(f.pair.From)
	for _, around := range structsAround(schema, f.effect.at) {
		if schema.Pattern(fieldpath.Join(around)) != at {
			continue
		}
		value, _ := fieldpath.Value(f.subject.Object, around)
		all, _ := value.(map[string]any)
		own, less := fieldpath.Split(f.effect.at)[len(around)].Key, maps.Clone(all)
		maps.DeleteFunc(less, func(member string, value any) bool {
			_, is := value.(map[string]any)
			return is && member != own
		})
		if len(less) < len(all) {
			without := f.subject.DeepCopy()
			fieldpath.Put(without.Object, around, less)
			return without
		}
	}
	return nil
}
