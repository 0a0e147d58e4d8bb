package corpus

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// TestCertain has objects of random schemas spoiled at random: what is certainly valid must be so by upstream's validation.
func TestCertain(t *testing.T) {
	slow(t)
	t.Parallel()
	tried, certain, plain, sure := 0, 0, 0, 0
	for number := range uint64(80 / portion) {
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
					if problems := s.validated(t.Context(), spoiled.Object); slices.ContainsFunc(problems, func(p Problem) bool { return p.Sort != Rule }) {
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

// randomChoice makes what a schema may say of which of the fields a to d are there.
func randomChoice(rng *rand.Rand, depth int) map[string]any {
	made := map[string]any{"required": []any{[]string{"a", "b", "c", "d"}[rng.IntN(4)]}}
	if depth == 0 {
		return made
	}
	if rng.IntN(2) == 0 {
		delete(made, "required")
	}
	branches := func() []any { return []any{randomChoice(rng, depth-1), randomChoice(rng, depth-1)} }
	switch rng.IntN(4) {
	case 0:
		made["not"] = randomChoice(rng, depth-1)
	case 1:
		made["oneOf"] = branches()
	case 2:
		made["anyOf"] = branches()
	case 3:
		made["allOf"] = branches()
	}
	return made
}

// TestCertainChoices wants the same problems as upstream finds, where choices are about which fields are there, with or without a rule.
func TestCertainChoices(t *testing.T) {
	slow(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	sure, broken, ruled := 0, 0, 0
	for range 60 {
		spec := randomChoice(rng, 3)
		spec["type"] = "object"
		spec["properties"] = map[string]any{"a": map[string]any{"type": "string"}, "b": map[string]any{"type": "integer"}, "c": map[string]any{"type": "string"}, "d": map[string]any{"type": "boolean"}}
		if rng.IntN(2) == 0 {
			spec["x-kubernetes-validations"] = []any{map[string]any{"rule": "!has(self.a) || self.a != 'no'"}}
		}
		s := defined(t, widget(encoded(map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}))).Schema("v1")
		for subset := range 32 {
			fields := map[string]any{}
			for i, field := range []string{"a", "b", "c", "d"} {
				if subset&(1<<i) != 0 {
					fields[field] = []any{"yes", int64(1), "c", true}[i]
				}
			}
			if subset&16 != 0 && fields["a"] != nil {
				fields["a"] = "no"
			}
			object := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one"}, "spec": fields}
			got, want := s.Problems(object), s.validated(t.Context(), object)
			if !slices.Equal(got, want) {
				t.Fatalf("%s in %s: got %v, want %v", encoded(fields), encoded(spec), got, want)
			}
			switch {
			case s.certain(object) && len(want) > 0:
				ruled++
			case s.certain(object):
				sure++
			case len(want) > 0:
				broken++
			default:
				t.Fatalf("%s in %s is valid, and not certainly", encoded(fields), encoded(spec))
			}
		}
	}
	t.Logf("%d certain, %d broken, %d against a rule", sure, broken, ruled)
	if sure < 200 || broken < 200 || ruled < 20 {
		t.Error("this shows nothing")
	}
}

// TestCertainFreeLists has lists that keep unknown fields of their items: what is certain of them, API servers do not change.
func TestCertainFreeLists(t *testing.T) {
	t.Parallel()
	const inside = "type: object, properties: {a: {type: string, default: b}, list: {type: array, items: {type: integer}}}"
	rng, certain, dropped := rand.New(rand.NewPCG(1, 4)), 0, 0
	for _, items := range []string{inside, inside + ", x-kubernetes-preserve-unknown-fields: true", "type: array, items: {" + inside + "}", "type: object, additionalProperties: {" + inside + "}"} {
		d := defined(t, widget(spec("free: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {"+items+"}}")))
		s, objects := d.Schema("v1"), d.Generator("v1", 1, nil).Objects(Plain, 20)
		for _, object := range objects {
			for range 30 {
				spoiled := object.DeepCopy()
				spoil(rng, spoiled, objects)
				problems := s.validated(t.Context(), spoiled.Object)
				switch {
				case !s.certain(spoiled.Object):
					dropped += min(1, len(problems))
				case len(problems) > 0:
					t.Fatalf("%v in %s with items: {%s}", problems, encoded(spoiled.Object), items)
				default:
					certain++
					prepared, pruned := spoiled.DeepCopy(), spoiled.DeepCopy()
					s.Prepare(prepared.Object)
					s.prune(pruned.Object)
					defaulting.Default(pruned.Object, s.structural)
					if !reflect.DeepEqual(prepared, pruned) {
						t.Fatalf("%s is prepared as %s, not as %s", encoded(spoiled.Object), encoded(prepared.Object), encoded(pruned.Object))
					}
				}
			}
		}
	}
	if certain < 200 || dropped < 200 {
		t.Errorf("%d certain and %d with problems show nothing", certain, dropped)
	}
}

// TestMaySolve exchanges values of objects that are not valid: none becomes valid where that is said to be impossible.
func TestMaySolve(t *testing.T) {
	slow(t)
	t.Parallel()
	tried, ruledOut, solved := 0, 0, 0
	for number := range uint64(24 / portion) {
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
