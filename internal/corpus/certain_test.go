package corpus

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// TestCertain has objects of random schemas spoiled at random: what is certainly valid must be so by upstream's validation.
func TestCertain(t *testing.T) {
	t.Parallel()
	tried, certain, plain, sure := 0, 0, 0, 0
	for number := range uint64(80) {
		s, g := randomDefinition(t, number).Schema("v1"), randomDefinition(t, number).Generator("v1", int64(number), nil)
		rng := rand.New(rand.NewPCG(number, 1))
		for _, style := range styles() {
			objects := g.Objects(style, 4)
			for _, object := range objects {
				if style == Plain && !s.unsure {
					plain++
					if s.certain(object.Object) {
						sure++
					}
				}
				for range 8 {
					spoiled := object.DeepCopy()
					spoil(rng, spoiled, objects)
					tried++
					if !s.certain(spoiled.Object) {
						continue
					}
					certain++
					if problems := s.validated(t.Context(), spoiled.Object); len(problems) > 0 {
						t.Fatalf("schema %d: %v in %s", number, problems, encoded(spoiled.Object))
					}
				}
			}
		}
	}
	t.Logf("%d of %d certain, %d of %d as generated", certain, tried, sure, plain)
	if certain < tried/20 || sure < plain/3 {
		t.Error("hardly any object is certain")
	}
}

// spoil changes an object at some leaf, or near it.
func spoil(rng *rand.Rand, object *unstructured.Unstructured, others []*unstructured.Unstructured) {
	values := []any{nil, "", "A", "a-b", "12", "10s", int64(0), int64(-1), int64(7), int64(1) << 40, 0.5, 2.0, 1e30, true, map[string]any{}, map[string]any{"a": "b"}, []any{}, []any{"a", "a"}}
	leaves := Leaves(object)
	if len(leaves) == 0 {
		object.Object["spec"] = values[rng.IntN(len(values))]
		return
	}
	way := fieldpath.Split(leaves[rng.IntN(len(leaves))])
	way = way[:1+rng.IntN(len(way))]
	switch rng.IntN(4) {
	case 0:
		without(object.Object, way[:len(way)-1], way[len(way)-1:])
	case 1:
		if value, found := fieldpath.Value(others[rng.IntN(len(others))].DeepCopy().Object, way); found {
			fieldpath.Put(object.Object, way, value)
		}
	case 2:
		switch inside, _ := fieldpath.Value(object.Object, way); inside := inside.(type) {
		case map[string]any:
			inside["another"] = values[rng.IntN(len(values))]
		case []any:
			if len(inside) > 0 {
				fieldpath.Put(object.Object, way, append(inside, inside[0]))
			}
		}
	default:
		fieldpath.Put(object.Object, way, values[rng.IntN(len(values))])
	}
}

// TestMaySolve exchanges values of objects that are not valid: none becomes valid where that is said to be impossible.
func TestMaySolve(t *testing.T) {
	t.Parallel()
	tried, ruledOut, solved := 0, 0, 0
	for number := range uint64(25) {
		d := randomDefinition(t, number)
		s := d.Schema("v1")
		rng := rand.New(rand.NewPCG(number, 2))
		objects := d.Generator("v1", int64(number), nil).Objects(Plain, 4)
		for _, object := range objects {
			for range 10 {
				spoiled := object.DeepCopy()
				spoil(rng, spoiled, objects)
				problems := s.Problems(spoiled.Object)
				for _, path := range Leaves(spoiled) {
					for _, other := range objects {
						if variant, different := Exchange(spoiled, other, path); different && len(problems) > 0 {
							tried++
							valid, possible := len(s.Problems(variant.Object)) == 0, MaySolve(problems, path)
							switch {
							case valid && !possible:
								t.Fatalf("schema %d: %v is solved by %s", number, problems, path)
							case valid:
								solved++
							case !possible:
								ruledOut++
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d of %d ruled out, %d valid", ruledOut, tried, solved)
	if ruledOut < tried/2 || solved == 0 {
		t.Error("this shows nothing")
	}
}
