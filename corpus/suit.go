package corpus

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Lesson is an object that somebody refuses although the schema allows it.
type Lesson struct {
	Object *unstructured.Unstructured // the smallest one

	// Settled tells that objects with other values in the same places are made from now on.
	Settled bool
}

const (
	// lessons is how often Suit changes what is generated.
	lessons = 100

	// learning and shrinking are how long that may take, and finding the smallest object for one lesson.
	learning  = 20 * time.Second
	shrinking = 5 * time.Second
)

// Suit makes n plain objects and sees which are refused. It finds out which values the refused ones are refused for, and
// makes objects with others there, since a schema often says less than a webhook wants: that a string is a duration. The
// function is given objects and says of each why it is refused, in words that are the same for the same cause; empty if it is
// not. The result is those of the objects that are not refused, and what was learned.
func (g *Generator) Suit(ctx context.Context, n int, refused func(context.Context, []*unstructured.Unstructured) []string) ([]*unstructured.Unstructured, []Lesson) {
	var learned []Lesson
	for ends := time.Now().Add(learning); ; {
		objects := g.Objects(Plain, n)
		causes := refused(ctx, objects)
		at := slices.IndexFunc(causes, func(cause string) bool { return cause != "" })
		if at >= 0 && len(learned) < lessons && time.Now().Before(ends) && ctx.Err() == nil {
			lesson := g.learn(ctx, objects[at], causes[at], refused)
			learned = append(learned, lesson)
			if lesson.Settled {
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

// learn finds out which values of an object are refused, and goes on to others.
func (g *Generator) learn(ctx context.Context, object *unstructured.Unstructured, cause string, refused func(context.Context, []*unstructured.Unstructured) []string) Lesson {
	within, cancel := context.WithTimeout(ctx, shrinking)
	defer cancel()
	lesson := Lesson{Object: g.schema.Shrink(within, object, func(_ context.Context, candidate *unstructured.Unstructured) bool {
		return within.Err() == nil && refused(ctx, []*unstructured.Unstructured{candidate})[0] == cause
	})}
	for _, path := range g.culprits(ctx, lesson.Object, refused) {
		if g.Refuse(path) {
			lesson.Settled = true
		}
	}
	return lesson
}

// culprits returns the leaves of an object without which it is not refused; all that are not defaults when no single one is to
// blame, or the schema requires them.
func (g *Generator) culprits(ctx context.Context, object *unstructured.Unstructured, refused func(context.Context, []*unstructured.Unstructured) []string) []string {
	var suspects, guilty []string
	for _, path := range Leaves(object) {
		way := steps(path)
		if n := g.schema.at(way); n != nil && n.def != nil {
			if value, _ := at(object.Object, way); reflect.DeepEqual(value, n.def) {
				continue
			}
		}
		suspects = append(suspects, path)
	}
	for _, path := range suspects {
		way := steps(path)
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
