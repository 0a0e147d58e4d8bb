package corpus

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Rejection is an object that a webhook refuses although the schema allows it.
type Rejection struct {
	Object *unstructured.Unstructured // the smallest one

	// Settled reports whether objects with other values in the same places are made from now on.
	Settled bool
}

const (
	// rejections is how many times Adapt changes what is generated.
	rejections = 100

	// learning and shrinking are how long that may take, and finding the smallest object for one rejection.
	learning  = 20 * time.Second
	shrinking = 5 * time.Second
)

// Adapt makes n plain objects and sees which are refused. It finds out which values the refused ones are refused for, and
// makes objects with others there, because a webhook often requires more than the schema says: that a string is a duration.
// The function is given objects and says of each why it is refused, in words that are the same for the same cause; empty if it
// is not. The result is those of the objects that are not refused, and what was learned.
func (g *Generator) Adapt(ctx context.Context, n int, refused func(context.Context, []*unstructured.Unstructured) []string) ([]*unstructured.Unstructured, []Rejection) {
	var learned []Rejection
	for ends := time.Now().Add(learning); ; {
		objects := g.Objects(Plain, n)
		causes := refused(ctx, objects)
		at := slices.IndexFunc(causes, func(cause string) bool { return cause != "" })
		if at >= 0 && len(learned) < rejections && time.Now().Before(ends) && ctx.Err() == nil {
			rejection := g.learn(ctx, objects[at], causes[at], refused)
			learned = append(learned, rejection)
			if rejection.Settled {
				continue
			}
		}
		var taken []*unstructured.Unstructured
		for i, object := range objects {
			if causes[i] == "" {
				taken = append(taken, object)
			}
		}
		return taken, learned
	}
}

// learn determines which values of an object are rejected, and continues with others.
func (g *Generator) learn(ctx context.Context, object *unstructured.Unstructured, cause string, refused func(context.Context, []*unstructured.Unstructured) []string) Rejection {
	within, cancel := context.WithTimeout(ctx, shrinking)
	defer cancel()
	rejection := Rejection{Object: g.schema.Shrink(within, object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		g.makeUsual(candidate, g.refusedMetadata())
		return within.Err() == nil && refused(ctx, []*unstructured.Unstructured{candidate})[0] == cause
	})}
	g.makeUsual(rejection.Object, g.refusedMetadata())
	if rejection.Settled = g.blameMetadata(ctx, rejection.Object, refused); rejection.Settled {
		return rejection
	}
	for _, path := range g.culprits(ctx, rejection.Object, refused) {
		if g.Refuse(path) {
			rejection.Settled = true
		}
	}
	return rejection
}

// culprits returns the leaves of an object without which it is not refused; all that are not defaults when no single one is to
// blame, or the schema requires them.
func (g *Generator) culprits(ctx context.Context, object *unstructured.Unstructured, refused func(context.Context, []*unstructured.Unstructured) []string) []string {
	var suspects, guilty []string
	for _, path := range Leaves(object) {
		way := fieldpath.Split(path)
		if n := g.schema.at(way); n != nil && n.def != nil {
			if value, _ := fieldpath.Value(object.Object, way); reflect.DeepEqual(value, n.def) {
				continue
			}
		}
		suspects = append(suspects, path)
	}
	for _, path := range suspects {
		way := fieldpath.Split(path)
		candidate := object.DeepCopy()
		without(candidate.Object, way[:len(way)-1], way[len(way)-1:])
		g.schema.Prepare(candidate.Object)
		if len(g.schema.Problems(candidate.Object)) == 0 && refused(ctx, []*unstructured.Unstructured{candidate})[0] == "" {
			guilty = append(guilty, path)
		}
	}
	if len(guilty) > 0 {
		return guilty
	}
	return suspects
}
